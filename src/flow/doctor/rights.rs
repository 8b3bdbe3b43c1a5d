//! Who may read and write the board's files, and whether they are files at all.

use std::os::unix::fs::MetadataExt;

use super::{Finding, Scene};
use crate::flow::prelude::*;

const WHY: &str = "whoever may write there can change the board behind liza's back, and read tokens";

/// Directories 0700, and nobody else may write to or read what tells secrets.
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
                "give it back to the user the board belongs to; liza changes only what is its user's own",
            ));
            continue;
        }
        // A switch that somebody touched is as good with ordinary rights: nobody else gets into the directory.
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
                format!("{} has mode {mode:04o}: others may enter, read or write it", path.display()),
                WHY,
                format!("its mode becomes {wanted:04o}"),
            )
            .mended_by(move |_| {
                fs::set_permissions(&path, fs::Permissions::from_mode(wanted))
                    .map(|()| None)
                    .map_err(|error| Failure::io("change the mode of", &path, &error))
            }),
        );
    }
    Ok(found)
}

/// Links, pipes and the like where liza expects a file or a directory. The board itself is looked at on its own.
pub fn odd_files(scene: &Scene) -> Result<Vec<Finding>> {
    let odd = scene.ctx.store.odd_files().into_iter().chain(scene.ctx.machine.odd_files());
    let found = odd.map(|(path, wanted)| {
        Finding::new(
            "file.odd",
            format!("{} is not a {wanted}", path.display()),
            "liza follows no link and waits for no pipe: every command that needs it fails",
            format!("put the {wanted} itself there; liza does not guess where it was meant to lead"),
        )
    });
    Ok(found.collect())
}
