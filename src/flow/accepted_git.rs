//! Which git settings apply: those that the board names as accepted. Read when a context is opened, before any git
//! command.

use crate::board::{Board, Needs};
use crate::git::settings::Settings;
use crate::git::{Repo, door};
use crate::store::{Machine, Snapshot, Store, StoreError};

/// The directory of the copies of these records, beside those of the board.
pub const COPIES: &str = "git-settings";

/// Makes git commands in this repository see only the settings that the board names as accepted.
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
                // If the accepted settings cannot be determined, none count as accepted.
                Err(_) => Some(Settings::default()),
            }
        }),
    )
}

/// The settings accepted last, by the record that the board names. Empty if that record is gone; none on a board of a
/// version without such records.
pub fn accepted_on(store: &Store, machine: &Machine, board: &Board) -> Option<Settings> {
    let name = &board.rest.git_settings.as_ref()?.settings;
    let kept = machine.git_settings(name).or_else(|| store.copy_of(COPIES, name));
    let kept = kept.and_then(|bytes| Settings::from_record(name, &bytes));
    Some(kept.unwrap_or_default())
}
