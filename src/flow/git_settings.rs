//! The git settings that a person accepted: recorded by `init` and by `liza doctor --accept-git`, compared by
//! `doctor` and `verify`, and the only ones that liza's own git commands see.

use crate::git::settings::Settings;

use super::accepted_git::{COPIES, accepted_on};
use super::hooks::{ALIASES, Hook, KEPT};
use super::prelude::*;

fn keep(ctx: &Context, name: &str, bytes: &[u8]) -> Result<()> {
    ctx.store.keep_copy(COPIES, name, bytes);
    Ok(ctx.machine.keep_git_settings(name, bytes)?)
}

/// The name of the record of the present settings.
pub fn present_name(ctx: &Context) -> Result<String> {
    Ok(Settings::of(&ctx.repo)?.record().0)
}

/// Keeps the record of the present settings and returns its name.
pub fn keep_present(ctx: &Context) -> Result<String> {
    let (name, bytes) = Settings::of(&ctx.repo)?.record();
    keep(ctx, &name, &bytes)?;
    Ok(name)
}

/// The settings that differ from the accepted ones; empty if none do.
pub fn changed(ctx: &Context, board: &Board) -> Result<Vec<String>> {
    let now = Settings::of(&ctx.repo)?;
    Ok(accepted_on(&ctx.store, &ctx.machine, board)
        .map_or(Vec::new(), |accepted| now.changed_since(&accepted)))
}

/// Accepts the hooks that liza has just installed or removed for a person; everything else stays as accepted.
pub fn accept_hooks(ctx: &Context) -> Result<()> {
    let board = ctx.read(&Needs::Nothing)?.board;
    let Some(former) = accepted_on(&ctx.store, &ctx.machine, &board) else { return Ok(()) };
    let now = Settings::of(&ctx.repo)?;
    let names = Hook::ALL.iter().flat_map(|hook| [hook.name().to_owned(), format!("{}{KEPT}", hook.name())]);
    let names = names.chain([ALIASES.to_owned()]);
    let wanted = former.clone().with_hooks_of(&now, names);
    let changed = wanted.changed_since(&former);
    if changed.is_empty() {
        return Ok(());
    }
    let (settings, bytes) = wanted.record();
    keep(ctx, &settings, &bytes)?;
    ctx.commit(AcceptGit { settings, changed })?;
    Ok(())
}

/// The differences from the accepted settings, in words.
pub fn differences(ctx: &Context) -> Result<Vec<String>> {
    let board = ctx.read(&Needs::Nothing)?.board;
    let former = accepted_on(&ctx.store, &ctx.machine, &board).unwrap_or_default();
    Ok(Settings::of(&ctx.repo)?.difference(&former))
}

/// The differences in words, and their acceptance.
pub fn accept(ctx: &Context) -> Result<(Vec<String>, GitAccepted, u64)> {
    let board = ctx.read(&Needs::Nothing)?.board;
    let now = Settings::of(&ctx.repo)?;
    let former = accepted_on(&ctx.store, &ctx.machine, &board).unwrap_or_default();
    let words = now.difference(&former);
    let verb = AcceptGit { settings: keep_present(ctx)?, changed: now.changed_since(&former) };
    let (outcome, revision) = ctx.commit(verb)?.done();
    Ok((words, outcome, revision))
}
