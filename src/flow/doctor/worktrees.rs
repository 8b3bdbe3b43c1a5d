//! Worktrees that are half-made, gone, or not what they should be.

use crate::git::{Worktrees, checkouts};

use super::{Finding, Scene};
use crate::flow::failure::Failure;

/// Records that a kill inside `git worktree add` left behind.
pub fn half_made(scene: &Scene) -> Result<Vec<Finding>, Failure> {
    let half_made = || -> Result<Vec<String>, Failure> {
        let all = checkouts::list(&scene.ctx.repo)?;
        Ok(all.into_iter().filter(checkouts::Checkout::is_half_made).map(|record| record.name).collect())
    };
    let names = half_made()?;
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let count = names.len();
    let finding = Finding::new(
        "worktree.half_made",
        format!("half-made worktree records: {}", names.join(", ")),
        "git may fail in the whole repository while they are there",
        "those that are liza's go to .liza/trash",
    );
    Ok(vec![finding.mended_by(move |ctx| {
        let (home, trash) = (ctx.worktrees_dir(), ctx.store.layout().trash());
        let healed = Worktrees::new(&ctx.repo, &home, &trash).heal()?;
        if healed.len() < count {
            return Err(Failure::new("git.worktree", "some are not liza's; look at them with git"));
        }
        Ok(None)
    })])
}

/// Tasks whose worktree is gone or unusable.
pub fn of_tasks(scene: &Scene) -> Result<Vec<Finding>, Failure> {
    let Some(board) = scene.board() else { return Ok(Vec::new()) };
    let ctx = scene.ctx;
    let mut found = Vec::new();
    for task in board.tasks.iter().filter(|task| !task.status.is_terminal()) {
        let Some(attempt) = task.body().attempt() else { continue };
        let path = ctx.root().join(&attempt.worktree);
        if let Err(fault) = checkouts::check_sound(&ctx.repo, &path) {
            found.push(Finding::new(
                "worktree.lost",
                format!("the worktree of {}: {fault}", task.id),
                "its agent cannot go on there; what was committed is on its branch",
                format!(
                    "`liza task release {0}`, then claim it again: a new worktree starts at the branch `{1}`",
                    task.id, attempt.branch
                ),
            ));
        }
    }
    Ok(found)
}
