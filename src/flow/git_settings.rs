//! The settings of git that a person accepted: recorded by `init` and by `liza doctor --accept-git`, compared by `doctor`
//! and `verify`, and all that liza's own git commands see.

use crate::git::settings::Settings;
use crate::git::{Repo, door};
use crate::store::{Machine, Store};

use super::hooks::{ALIASES, Hook, KEPT};
use super::prelude::*;
use crate::store::Snapshot;

/// Lets git commands in this repository see only what the board says was accepted.
pub fn guard(repo: &Repo, store: &Store, machine: &Machine) -> door::Keeper {
    let (store, machine) = (store.clone(), machine.clone());
    let home = machine.home().to_owned();
    door::guard(
        repo,
        &home,
        Box::new(move || {
            match store.read(&Needs::Nothing) {
                Ok(Snapshot { board, .. }) => accepted_on(&store, &machine, &board),
                Err(StoreError::Missing(_)) => None,
                // Nothing counts as accepted where that cannot be determined.
                Err(_) => Some(Settings::default()),
            }
        }),
    )
}

/// What was accepted last, as the board names it and its record says it. Nothing is, if that record is gone; none, on a
/// board of a version that knew no such records.
fn accepted_on(store: &Store, machine: &Machine, board: &Board) -> Option<Settings> {
    let name = &board.rest.git_settings.as_ref()?.settings;
    let kept = machine.git_settings(name).or_else(|| store.copy_of(COPIES, name));
    let kept = kept.and_then(|bytes| Settings::from_record(name, &bytes));
    Some(kept.unwrap_or_default())
}

/// Where copies of these records are, beside those of the board.
const COPIES: &str = "git-settings";

fn keep(ctx: &Context, name: &str, bytes: &[u8]) -> Result<()> {
    ctx.store.keep_copy(COPIES, name, bytes);
    Ok(ctx.machine.keep_git_settings(name, bytes)?)
}

/// The name that the record of what is set now has.
pub fn present_name(ctx: &Context) -> Result<String> {
    Ok(Settings::of(&ctx.repo)?.record().0)
}

/// Keeps the record of what is set now, and gives its name.
pub fn keep_present(ctx: &Context) -> Result<String> {
    let (name, bytes) = Settings::of(&ctx.repo)?.record();
    keep(ctx, &name, &bytes)?;
    Ok(name)
}

/// What differs from what was accepted; nothing, where all is as it was.
pub fn changed(ctx: &Context, board: &Board) -> Result<Vec<String>> {
    let now = Settings::of(&ctx.repo)?;
    Ok(accepted_on(&ctx.store, &ctx.machine, board)
        .map_or(Vec::new(), |accepted| now.changed_since(&accepted)))
}

/// Accepts the hooks that liza has just installed or removed for a person; the rest stays as it was accepted.
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

/// What differs from what was accepted, in words.
pub fn differences(ctx: &Context) -> Result<Vec<String>> {
    let board = ctx.read(&Needs::Nothing)?.board;
    let former = accepted_on(&ctx.store, &ctx.machine, &board).unwrap_or_default();
    Ok(Settings::of(&ctx.repo)?.difference(&former))
}

/// What differs, in words, and the acceptance of it.
pub fn accept(ctx: &Context) -> Result<(Vec<String>, GitAccepted, u64)> {
    let board = ctx.read(&Needs::Nothing)?.board;
    let now = Settings::of(&ctx.repo)?;
    let former = accepted_on(&ctx.store, &ctx.machine, &board).unwrap_or_default();
    let words = now.difference(&former);
    let verb = AcceptGit { settings: keep_present(ctx)?, changed: now.changed_since(&former) };
    let (outcome, revision) = ctx.commit(verb)?.done();
    Ok((words, outcome, revision))
}
