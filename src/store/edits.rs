//! Files that somebody else wrote where the board should be: kept, then adopted, or refused and replaced by the last
//! good board. Nothing a person wrote is lost, and nothing is overwritten in silence.

use std::path::PathBuf;

use crate::board::edit::edit_between;
use crate::board::{Actor, Credentials, Needs, Stamp, SwitchKind, Switches, Transition};
use crate::wire::flat::read_edited;
use crate::wire::state::{Decoded, StateError};

use super::commit::{Locked, Proposal, Written};
use super::error::{IoContext, StoreError};
use super::files::{FileIdentity, make_private_dir, replace, write_new};
use super::handle::Store;
use super::lock::BoardLock;
use super::log_file::LogFile;
use super::read::invalid;

/// How the names of kept files begin: whatever stood in place of the board, edits that were refused, and those of them
/// that a person has seen.
const KEPT: &str = "state-";
const REFUSED: &str = "refused-";
const SEEN: &str = "seen-";

fn rename_start(path: &std::path::Path, from: &str, to: &str) -> Result<PathBuf, StoreError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let renamed = path.with_file_name(format!("{to}{}", name.strip_prefix(from).unwrap_or(&name)));
    std::fs::rename(path, &renamed).doing("rename", path)?;
    Ok(renamed)
}

impl Store {
    /// Keeps a copy of bytes that were found in place of the board.
    pub(super) fn keep_edit(&self, bytes: &[u8], now: &Stamp) -> Result<PathBuf, StoreError> {
        let edits = self.layout().edits();
        make_private_dir(&edits)?;
        let stamp = now.wall.to_string().replace(':', "");
        for number in 0..10_000 {
            let path = edits.join(format!("{KEPT}{stamp}-{number}.yaml"));
            let refused = edits.join(format!("{REFUSED}{stamp}-{number}.yaml"));
            if !path.exists() && !refused.exists() {
                write_new(&path, bytes)?;
                return Ok(path);
            }
        }
        Err(StoreError::Io {
            doing: "keep a copy in",
            path: edits,
            source: std::io::Error::other("too many copies of this second"),
        })
    }

    /// Puts the last good board back in place. Returns why the command cannot go on.
    pub(super) fn undo_rollback(&self, found: &Decoded, mark: u64, now: &Stamp) -> StoreError {
        let kept = match self.keep_edit(found.text().as_bytes(), now) {
            Ok(kept) => kept,
            Err(error) => return error,
        };
        let restored = self.rebuild(None).and_then(|rebuilt| {
            if rebuilt.board.revision < mark {
                return Err(StoreError::Invalid {
                    message: format!(
                        "the log ends at revision {}, but {mark} was published",
                        rebuilt.board.revision
                    ),
                    hint: "restore log.yaml from a backup".to_owned(),
                });
            }
            replace(&self.layout().state(), rebuilt.text.as_bytes()).map(|()| rebuilt.board.revision)
        });
        match restored {
            Err(error) => error,
            Ok(revision) => StoreError::Invalid {
                message: format!(
                    "state.yaml had been rolled back to revision {} (revision {mark} was published); the board of revision {revision} is restored",
                    found.board.revision
                ),
                hint: format!("what stood there is kept as {}; run your command again", kept.display()),
            },
        }
    }

    /// Deals with a file liza did not write: adopts what a person may change, refuses the rest.
    pub(super) fn take_edit(
        &self,
        lock: BoardLock,
        log: LogFile,
        bytes: &[u8],
        why: &StateError,
        identity: FileIdentity,
        now: &Stamp,
    ) -> Result<Locked, StoreError> {
        if *why != StateError::Edited {
            return Err(invalid(why));
        }
        let kept = self.keep_edit(bytes, now)?;
        // The mark may be behind after a power cut; then the newest board the log knows is the good one.
        let good = self.rebuild(Some(lock.mark())).or_else(|_| self.rebuild(None))?;
        let text = good.text.clone();
        let mut decoded = Decoded::new(good.text.into_bytes()).map_err(|why| invalid(&why))?;
        decoded.load(&Needs::Everything).map_err(|why| invalid(&why))?;
        let edit = read_edited(bytes, now)
            .map_err(|error| vec![error.to_string()])
            .and_then(|edited| edit_between(&decoded.board, &edited));
        let edit = match edit {
            Ok(edit) => edit,
            Err(places) => return Err(self.refuse_edit(&text, &kept, &places)),
        };
        let mut locked =
            Locked { lock, log, decoded, identity, image_text: Some(text.clone()), warnings: Vec::new() };
        locked.log.settle(self, &locked.decoded.board, locked.lock.mark())?;
        let published = if edit.is_empty() {
            // Only comments or layout differ.
            replace(&self.layout().state(), text.as_bytes())?;
            locked.warnings.push("state.yaml was reformatted by hand; its layout is restored".to_owned());
            text
        } else {
            let summary = edit.summary().join(", ");
            let proposal =
                Proposal { credentials: &Credentials::Human, what: Transition::from(edit), request: None };
            let adopted = self.change(&mut locked, &Actor::Human, &proposal, Switches::default(), now);
            locked.warnings.push(format!(
                "an edit of state.yaml by hand was adopted: {summary} (a copy is kept as {})",
                kept.display()
            ));
            match adopted {
                Ok((_, Written::Published(published))) => published,
                Ok(_) => text,
                Err(StoreError::Refused(refusal)) => {
                    return Err(self.refuse_edit(&text, &kept, &[refusal.message]));
                }
                Err(other) => return Err(other),
            }
        };
        locked.decoded = Decoded::new(published.into_bytes()).map_err(|why| invalid(&why))?;
        locked.identity =
            FileIdentity::at(&self.layout().state()).doing("look at", &self.layout().state())?;
        locked.image_text = None;
        Ok(locked)
    }

    /// Edits that were refused and that no person has been seen to look at, oldest first.
    pub fn refused_edits(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.layout().edits()).into_iter().flatten().flatten();
        let mut found: Vec<PathBuf> = entries
            .filter(|entry| entry.file_name().to_string_lossy().starts_with(REFUSED))
            .map(|entry| entry.path())
            .collect();
        found.sort();
        found
    }

    /// A person goes on, and has thereby seen them. They stay, under another name.
    pub fn refused_edits_seen(&self) -> Result<(), StoreError> {
        for path in self.refused_edits() {
            rename_start(&path, REFUSED, SEEN)?;
        }
        Ok(())
    }

    fn refuse_edit(&self, good: &str, kept: &std::path::Path, places: &[String]) -> StoreError {
        let kept = match rename_start(kept, KEPT, REFUSED) {
            Ok(kept) => kept,
            Err(error) => return error,
        };
        if let Err(error) = replace(&self.layout().state(), good.as_bytes()) {
            return error;
        }
        let reason = format!("an edit of state.yaml was refused; see {}", kept.display());
        if let Err(error) = self.set_switch(SwitchKind::Pause, None, &reason) {
            return error;
        }
        StoreError::Invalid {
            message: format!(
                "state.yaml was edited in places that only liza may change ({}); the last good board is restored and PAUSE is set",
                places.join("; ")
            ),
            hint: format!(
                "the edit is kept as {}; `liza doctor` shows the difference, `liza resume` goes on",
                kept.display()
            ),
        }
    }
}
