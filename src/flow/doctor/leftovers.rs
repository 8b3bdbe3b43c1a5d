//! Leftovers of killed commands: temporary files and scratch directories.

use super::{Finding, Scene};
use crate::flow::oversight;
use crate::flow::ownership::GATES;
use crate::flow::prelude::*;

/// Gate worktrees and trash entries that were only partly deleted.
pub fn not_emptied(scene: &Scene) -> Result<Vec<Finding>> {
    let ctx = scene.ctx;
    let gates = ctx.machine.worktrees().join(GATES);
    let spoilt = crate::store::files::paths_in(&gates).into_iter().filter(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        !ctx.machine.gates_run_at(&name) && checkouts::check_sound(&ctx.repo, path).is_err()
    });
    let mut found: Vec<Finding> = spoilt
        .map(|path| {
            Finding::new(
                "place.not_emptied",
                format!("{} is the rest of a gate worktree that could not be deleted", path.display()),
                "gates run in another worktree, and this one takes disk space",
                "deletes it: it holds only files of gates and tests",
            )
            .fixed_by(move |ctx| {
                let deleted =
                    host::anchored_path::AnchoredPath::at(ctx.root(), &path).and_then(|path| path.delete());
                deleted.map(|()| None).map_err(|error| Failure::io("delete", &path, &error))
            })
        })
        .collect();
    let going = ctx.machine.unfinished_deletions()?;
    found.extend(going.into_iter().map(|path| {
        Finding::new(
            "place.not_emptied",
            format!("{} could not be deleted completely", path.display()),
            "it takes disk space",
            "finishes the deletion that a person or liza started",
        )
        .fixed_by(|ctx| Ok(ctx.machine.finish_deletions().map(|()| None)?))
    }));
    Ok(found)
}

/// Temporary files of dead commands, in every directory liza writes to.
pub fn temporary_files(scene: &Scene) -> Result<Vec<Finding>> {
    let ctx = scene.ctx;
    let files = ctx.machine.files().into_iter().filter(|(_, meta)| meta.is_file()).map(|(path, _)| path);
    let mut dead: Vec<PathBuf> = files.filter(|path| is_dead_temporary(path)).collect();
    for dir in ["info", "hooks", "."] {
        let dir = ctx.repo.common_dir.join(dir);
        let files = fs::read_dir(&dir).into_iter().flatten().flatten().map(|entry| entry.path());
        dead.extend(files.filter(|path| path.is_file() && is_dead_temporary(path)));
    }
    // An intent that is still on the board has its own finding.
    if scene.board().is_some_and(|board| board.rest.intents.is_empty()) {
        dead.extend(ctx.machine.dead_intent_locks().into_iter().filter(|path| is_old(path)));
    }
    dead.extend(dead_scratch(&ctx.repo.common_dir));
    if let Some(board) = scene.board() {
        dead.extend(oversight::without_runner(ctx, board).into_iter().filter(|path| is_old(path)));
    }
    dead.sort();
    let found = dead.into_iter().map(|path| {
        Finding::new(
            "leftover.temporary",
            format!("{} was left by a command that was killed", path.display()),
            "no process uses it; it only takes disk space",
            "removes it: no command reads it",
        )
        .fixed_by(move |_| {
            let above = path.parent().unwrap_or(&path);
            let removed = host::anchored_path::AnchoredPath::at(above, &path).and_then(|path| path.delete());
            removed.map(|()| None).map_err(|error| Failure::io("remove", &path, &error))
        })
    });
    Ok(found.collect())
}

/// Younger ones may belong to a process that this process table does not show, in a container.
const UNUSED: Duration = Duration::from_secs(60);

fn is_old(path: &Path) -> bool {
    let age = fs::symlink_metadata(path).and_then(|meta| meta.modified()).map(|at| at.elapsed());
    matches!(age, Ok(Ok(age)) if age >= UNUSED)
}

/// `.NAME.PID.tmp`, as [`crate::store::files::beside`] names them, of a process that is no longer a liza.
fn is_dead_temporary(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let inner = name.strip_prefix('.').and_then(|rest| rest.strip_suffix(".tmp"));
    let pid = inner.and_then(|inner| inner.rsplit_once('.')).and_then(|(_, pid)| pid.parse().ok());
    pid.is_some_and(|pid| !crate::host::is_running_liza(pid)) && is_old(path)
}

/// Scratch directories for indexes and throw-away objects, in the machine's temporary directory and below the git
/// directory.
fn dead_scratch(common_dir: &Path) -> Vec<PathBuf> {
    use std::os::unix::fs::MetadataExt;
    let me = rustix::process::geteuid().as_raw();
    let dirs = [std::env::temp_dir(), common_dir.to_owned()];
    dirs.iter()
        .flat_map(|dir| fs::read_dir(dir).into_iter().flatten().flatten())
        .filter(|entry| {
            let name = entry.file_name();
            let pid = name
                .to_str()
                .and_then(|name| name.strip_prefix(crate::git::scratch::SCRATCH))
                .and_then(|rest| rest.split_once('-'))
                .and_then(|(pid, _)| pid.parse().ok());
            let ours = entry.metadata().is_ok_and(|meta| meta.is_dir() && meta.uid() == me);
            let is_left = |pid| pid != crate::host::this_pid() && !crate::host::is_running_liza(pid);
            ours && pid.is_some_and(is_left) && is_old(&entry.path())
        })
        .map(|entry| entry.path())
        .collect()
}

/// Switches for a task or an agent that does not exist have no effect.
pub fn switches(scene: &Scene) -> Result<Vec<Finding>> {
    let Some(board) = scene.board() else { return Ok(Vec::new()) };
    let known = |subject: &str| {
        board.tasks.iter().any(|task| task.id.as_str().eq_ignore_ascii_case(subject))
            || board.rest.agents.keys().any(|agent| agent.as_str().eq_ignore_ascii_case(subject))
            || subject.eq_ignore_ascii_case("human")
    };
    let switches = scene.ctx.store.switches()?;
    let strange = switches.set.iter().filter_map(|switch| {
        let subject = switch.subject.as_deref().filter(|subject| !known(subject))?;
        Some(Finding::new(
            "switch.unknown",
            format!("{}-{subject} is set, but there is no task or agent `{subject}`", switch.kind.as_str()),
            "it has no effect, though it was set to stop an agent or a task",
            format!(
                "set the switch for the right task or agent, then remove this file from {}",
                scene.ctx.store.display()
            ),
        ))
    });
    Ok(strange.collect())
}
