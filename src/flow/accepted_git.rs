//! Which settings of git count: those that the board names as accepted. Read when a context is opened, before anything asks git.

use crate::board::{Board, Needs};
use crate::git::settings::Settings;
use crate::git::{Repo, door};
use crate::store::{Machine, Snapshot, Store, StoreError};

/// Where copies of these records are, beside those of the board.
pub const COPIES: &str = "git-settings";

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
pub fn accepted_on(store: &Store, machine: &Machine, board: &Board) -> Option<Settings> {
    let name = &board.rest.git_settings.as_ref()?.settings;
    let kept = machine.git_settings(name).or_else(|| store.copy_of(COPIES, name));
    let kept = kept.and_then(|bytes| Settings::from_record(name, &bytes));
    Some(kept.unwrap_or_default())
}
