//! Who may read and write the board's files, and whether they are files at all.

use std::fs::Metadata;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::{Finding, Scene};
use crate::flow::failure::Failure;

const WHY: &str = "whoever may write there can change the board behind liza's back, and read tokens";

/// Directories 0700, and nobody else may write to or read what tells secrets.
pub fn permissions(scene: &Scene) -> Result<Vec<Finding>, Failure> {
    let layout = scene.ctx.store.layout();
    let me = rustix::process::geteuid().as_raw();
    let mut found = Vec::new();
    let secret = |path: &Path| {
        path == layout.state()
            || path == layout.lock()
            || path == layout.log()
            || [layout.images(), layout.tokens(), layout.edits()].iter().any(|dir| path.parent() == Some(dir))
    };
    for (path, meta) in everything(layout.dir(), &layout.trash()) {
        if meta.uid() != me && me != 0 {
            found.push(Finding::new(
                "rights.owner",
                format!("{} belongs to user {}, not to you ({me})", path.display(), meta.uid()),
                WHY,
                "give it back to the user the board belongs to; liza changes only what is its user's own",
            ));
            continue;
        }
        // A switch that somebody touched is as good with ordinary rights: nobody else gets into the directory.
        let forbidden = if meta.is_dir() || secret(&path) { 0o077 } else { 0o022 };
        let mode = meta.mode() & 0o7777;
        if mode & forbidden == 0 {
            continue;
        }
        let wanted = mode & !0o077;
        found.push(
            Finding::new(
                "rights.mode",
                format!("{} has mode {mode:04o}: others may enter, read or write it", path.display()),
                WHY,
                format!("its mode becomes {wanted:04o}"),
            )
            .mended_by(move |_| {
                std::fs::set_permissions(&path, std::fs::Permissions::from_mode(wanted))
                    .map(|()| None)
                    .map_err(|error| Failure::io("change the mode of", &path, &error))
            }),
        );
    }
    Ok(found)
}

/// Files and directories below the board's directory and that itself; links are not followed, the trash is not entered.
fn everything(dir: &Path, trash: &Path) -> Vec<(PathBuf, Metadata)> {
    walkdir::WalkDir::new(dir)
        .into_iter()
        .filter_entry(|entry| entry.path().parent() != Some(trash))
        .flatten()
        .filter_map(|entry| Some((entry.path().to_owned(), std::fs::symlink_metadata(entry.path()).ok()?)))
        .filter(|(_, meta)| meta.is_dir() || meta.is_file())
        .collect()
}

/// Links, pipes and the like where liza expects a file or a directory. The board itself is looked at on its own.
pub fn odd_files(scene: &Scene) -> Result<Vec<Finding>, Failure> {
    let layout = scene.ctx.store.layout();
    let files = [
        layout.log(),
        layout.worktree_lock(),
        layout.merge_lock(),
        layout.watch_lock(),
        layout.oversight_lock(),
        layout.alerts_log(),
        layout.alerts_told(),
        layout.lock_table(),
    ];
    let mut found = Vec::new();
    let mut odd = |path: PathBuf, wanted: &str| {
        found.push(Finding::new(
            "file.odd",
            format!("{} is not a {wanted}", path.display()),
            "liza follows no link and waits for no pipe: every command that needs it fails",
            format!("put the {wanted} itself there; liza does not guess where it was meant to lead"),
        ));
    };
    for path in files {
        if std::fs::symlink_metadata(&path).is_ok_and(|meta| !meta.is_file()) {
            odd(path, "file");
        }
    }
    for path in layout.directories().into_iter().chain([layout.overseer()]) {
        if std::fs::symlink_metadata(&path).is_ok_and(|meta| !meta.is_dir()) {
            odd(path, "directory");
        }
    }
    if std::fs::symlink_metadata(scene.ctx.worktrees_dir()).is_ok_and(|meta| !meta.is_dir()) {
        odd(scene.ctx.worktrees_dir(), "directory");
    }
    Ok(found)
}
