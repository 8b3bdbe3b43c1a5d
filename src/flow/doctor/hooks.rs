//! Hooks that a person asked for, and that git does not run.

use super::{Finding, Scene};
use crate::flow::hooks::status::status;
use crate::flow::prelude::*;

pub fn firing(scene: &Scene) -> Result<Vec<Finding>> {
    // Hooks are optional: submit and merge check everything without them.
    if !scene.ctx.machine.wants_hooks() {
        return Ok(Vec::new());
    }
    let found = status(scene.ctx)?;
    if found.active {
        return Ok(Vec::new());
    }
    let silent = found.hooks.iter().filter(|hook| !hook.active);
    let silent: Vec<String> = silent.map(|hook| format!("{} ({})", hook.hook.name(), hook.detail)).collect();
    let remedy = match &found.manager {
        Some(manager) => format!("add liza's lines to {manager}: `liza hooks status` prints them"),
        None => "`liza hooks install` installs them again".to_owned(),
    };
    Ok(vec![Finding::new(
        "hooks.inactive",
        format!("git does not run these installed hooks: {}", silent.join(", ")),
        "liza notices commits outside the scope and moves of the integration branch only at submit, merge and verify",
        remedy,
    )])
}
