//! Who may read and write the board's files, and whether they are regular files.

use std::os::unix::fs::MetadataExt;

use super::{Finding, Scene};
use crate::flow::prelude::*;

const WHY: &str = "users who may write there can change the board without liza, and read tokens";

/// Directories have mode 0700, and other users may neither write files nor read those with secrets.
pub fn permissions(scene: &Scene) -> Result<Vec<Finding>> {
    let (store, machine) = (&scene.ctx.store, &scene.ctx.machine);
    let me = rustix::process::geteuid().as_raw();
    let mut found = Vec::new();
    for (path, meta) in machine.files() {
        if meta.uid() != me && me != 0 {
            found.push(Finding::new(
                "rights.owner",
                format!("{} belongs to user {}, not to you ({me})", path.display(), meta.uid()),
                WHY,
                "change its owner to the board's user; liza changes only files of its own user",
            ));
            continue;
        }
        // A switch made with `touch` may have ordinary permissions: other users cannot enter the directory.
        let forbidden =
            if meta.is_dir() || store.is_secret(&path) || machine.is_token(&path) { 0o077 } else { 0o022 };
        let mode = meta.mode() & 0o7777;
        if mode & forbidden == 0 {
            continue;
        }
        let wanted = mode & !0o077;
        found.push(
            Finding::new(
                "rights.mode",
                format!("{} has mode {mode:04o}: other users may enter, read or write it", path.display()),
                WHY,
                format!("sets its mode to {wanted:04o}"),
            )
            .fixed_by(move |_| {
                fs::set_permissions(&path, fs::Permissions::from_mode(wanted))
                    .map(|()| None)
                    .map_err(|error| Failure::io("change the mode of", &path, &error))
            }),
        );
    }
    Ok(found)
}

/// Links, pipes and the like where liza expects a file or a directory. The board itself is examined separately.
pub fn odd_files(scene: &Scene) -> Result<Vec<Finding>> {
    let odd = scene.ctx.store.odd_files().into_iter().chain(scene.ctx.machine.odd_files());
    let found = odd.map(|(path, wanted)| {
        Finding::new(
            "file.odd",
            format!("{} is not a {wanted}", path.display()),
            "liza follows no link and waits for no pipe: every command that needs it fails",
            format!("put the {wanted} itself there; liza does not guess its target"),
        )
    });
    Ok(found.collect())
}
