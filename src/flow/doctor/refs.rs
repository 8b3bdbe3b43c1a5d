//! Refs in liza's name that nobody accounts for. Never deleted: they may be the only name of somebody's work.

use super::{Finding, Scene};
use crate::flow::accounts::{self, Accounts, TASK_BRANCHES};
use crate::flow::failure::Failure;
use crate::flow::verify::strange_refs;

pub fn unaccounted(scene: &Scene) -> Result<Vec<Finding>, Failure> {
    let Some(board) = scene.board() else { return Ok(Vec::new()) };
    let archive = accounts::archive(scene.ctx)?;
    let known = Accounts::of(board, &archive);
    let found = strange_refs(scene.ctx, &known)?.into_iter().map(|name| {
        let branch = name.starts_with(TASK_BRANCHES);
        let short = name.strip_prefix("refs/heads/").unwrap_or(&name);
        let why = if branch {
            "`liza verify` cannot tell whose work it is"
        } else {
            "liza keeps work under such names, and nothing tells whose this is"
        };
        let remedy = if branch {
            format!(
                "look at it (`git log {short}`); if it is yours, give it a name outside task/ with `git branch -m`"
            )
        } else {
            format!("look at it (`git log {short}`); if it is yours, keep it as a branch of your own")
        };
        let code = if branch { "ref.orphan_branch" } else { "ref.orphan" };
        Finding::new(code, format!("no task accounts for {short}"), why, remedy)
    });
    Ok(found.collect())
}
