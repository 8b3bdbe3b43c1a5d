//! Dead locks, and locks that other programs put beside liza's.

use super::{Finding, Scene};
use crate::flow::prelude::*;
use crate::git::locks::{self, Holder, LockFile};
use crate::store::inspect::LockState;

/// Younger locks are ordinary work.
const ORDINARY: Duration = Duration::from_secs(10);
/// A git in a container is not visible from here; no hook or editor holds such a lock longer than this.
const CERTAIN: Duration = Duration::from_secs(300);

const WHY: &str = "git does not wait: every git command that needs this lock fails until it is gone";

/// Git's locks on liza's worktrees and refs.
pub fn of_git(scene: &Scene) -> Result<Vec<Finding>> {
    let ctx = scene.ctx;
    let under_way = scene.board().is_some_and(|board| {
        board.rest.intents.iter().any(|intent| scene.ctx.machine.works_on_intents(&intent.owner))
    });
    let mut found = Vec::new();
    for lock in existing_locks(scene)? {
        if lock.age.is_some_and(|age| age < ORDINARY) {
            continue;
        }
        let what = format!("the lock {} exists", lock.path.display());
        found.push(match lock.holder(&ctx.repo) {
            Holder::Process { pid, name } => Finding::new(
                "lock.held",
                format!("{what}; process {pid} ({name}) may be using it"),
                WHY,
                "nothing; liza takes no lock from a living process. If that process hangs, end it yourself",
            ),
            Holder::Free if lock.age.is_some_and(|age| age >= CERTAIN) && !under_way => {
                Finding::new("lock.dead", format!("{what}, left by a dead process"), WHY, "moves it to .liza/trash")
                    .fixed_by(move |ctx| discard(ctx, &lock))
            }
            Holder::Free | Holder::Unknown => Finding::new(
                "lock.unclear",
                format!("{what}, and liza sees no process that uses it"),
                WHY,
                format!(
                    "remove it if no git command works in this repository or in a container that mounts it; `liza doctor --fix` removes it after {} minutes without other liza commands",
                    CERTAIN.as_secs() / 60
                ),
            ),
        });
    }
    Ok(found)
}

fn existing_locks(scene: &Scene) -> Result<Vec<LockFile>> {
    let ctx = scene.ctx;
    let worktrees = ctx.worktrees();
    let ours: Vec<_> =
        checkouts::list(&ctx.repo)?.into_iter().filter(|record| worktrees.is_ours(record)).collect();
    let branch = scene.board().map(|board| board.config().integration_branch.clone());
    let branches: Vec<&str> = branch.as_deref().into_iter().collect();
    Ok(locks::ours(&ctx.repo, &ours, &branches, &["refs/heads/task", "refs/liza"]))
}

/// Checks again: the dead lock may have been replaced by a live one.
fn discard(ctx: &Context, lock: &LockFile) -> Result<Option<String>> {
    if !lock.still_there() || lock.holder(&ctx.repo) != Holder::Free {
        return Err(Failure::new(ErrorCode::BusyLock, "another process uses it now"));
    }
    let kept = ctx.worktrees().discard(&lock.path)?;
    Ok(Some(format!("as {}", kept.display())))
}

/// Another way of locking the same board does not exclude liza's.
pub fn foreign(scene: &Scene) -> Result<Vec<Finding>> {
    let why = "programs with different locks do not exclude each other, and their changes may be lost";
    let mut found = Vec::new();
    for path in scene.ctx.store.foreign_locks() {
        let is_file = fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_file());
        let holder = if is_file { pid_in(&path) } else { pid_in(&path.join("pid")) };
        found.push(Finding::new(
            "lock.foreign",
            format!("{} looks like the lock of another program{}", path.display(), holder_text(holder)),
            why,
            "find out which program made it and make it use `flock` on .liza/state.yaml.lock; liza leaves its file alone",
        ));
    }
    found.extend(own_lock(scene, why));
    Ok(found)
}

fn pid_in(path: &Path) -> Option<u32> {
    let (bytes, _) = read_whole(path, 4096).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    text.split(|c: char| !c.is_ascii_digit()).find_map(|digits| digits.parse().ok())
}

fn holder_text(pid: Option<u32>) -> String {
    match pid {
        None => String::new(),
        Some(pid) if Path::new(&format!("/proc/{pid}")).exists() => format!(" (process {pid}, which lives)"),
        Some(pid) => format!(" (process {pid}, which is gone)"),
    }
}

/// Liza's own lock file: it must exist, be a regular file, and have liza's text.
fn own_lock(scene: &Scene, why: &str) -> Option<Finding> {
    let (path, found) = scene.ctx.store.lock_file();
    let revision = scene.board()?.revision;
    let renewed = move |ctx: &Context| {
        let kept = ctx.store.renew_lock_note(revision, &ctx.now)?;
        // Elsewhere a failed write of the note is ignored; here it is the whole fix.
        let (path, found) = ctx.store.lock_file();
        if !matches!(found, LockState::Sound) {
            let error = std::io::Error::other("the file does not have the written text");
            return Err(Failure::io("write", &path, &error));
        }
        Ok(kept.map(|kept| format!("the former file is kept as {}", kept.display())))
    };
    Some(match found {
        LockState::Sound | LockState::Empty => return None,
        LockState::Missing => Finding::new(
            "lock.missing",
            format!("{} is gone", path.display()),
            "commands that held it and commands that make a new one do not exclude each other, and a rolled-back board would not be noticed",
            "makes it again, with the last published revision",
        )
        .fixed_by(renewed),
        LockState::NotAFile => Finding::new(
            "lock.foreign",
            format!("{} is not a file{}: another program's lock", path.display(), holder_text(pid_in(&path.join("pid")))),
            why,
            "make that program use `flock` on a file of that name, and move this directory or link away",
        ),
        LockState::Foreign => Finding::new(
            "lock.note",
            format!("{} holds text that liza did not write{}", path.display(), holder_text(pid_in(&path))),
            why,
            "rewrites it under its own lock and keeps the former text under .liza/edits",
        )
        .fixed_by(renewed),
    })
}
