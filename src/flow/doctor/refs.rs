//! Refs in liza's name that nobody accounts for. Never deleted: they may be the only name of somebody's work.

use super::{Finding, Scene};
use crate::flow::accounts::{Accounts, TASK_BRANCHES};
use crate::flow::prelude::*;
use crate::flow::verify::strange_refs;

pub fn unaccounted(scene: &Scene) -> Result<Vec<Finding>> {
    let Some(board) = scene.board() else { return Ok(Vec::new()) };
    let archive = scene.archive().as_ref().map_err(Clone::clone)?;
    let known = Accounts::of(board, archive);
    let found = strange_refs(scene.ctx, &known)?.into_iter().map(|name| {
        let short = name.strip_prefix("refs/heads/").unwrap_or(&name);
        let (code, why, yours) = if name.starts_with(TASK_BRANCHES) {
            let yours = "give it a name outside task/ with `git branch -m`";
            ("ref.orphan_branch", "`liza verify` cannot tell whose work it is", yours)
        } else {
            let why = "liza keeps work under such names, and nothing tells whose this is";
            ("ref.orphan", why, "keep it as a branch of your own")
        };
        let remedy = format!("look at it (`git log {short}`); if it is yours, {yours}");
        Finding::new(code, format!("no task accounts for {short}"), why, remedy)
    });
    Ok(found.collect())
}
