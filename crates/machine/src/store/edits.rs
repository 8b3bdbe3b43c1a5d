//! Files that somebody else wrote where the board should be: kept, then adopted, or refused and replaced by the last
//! good board. Nothing a person wrote is lost, and nothing is overwritten in silence.

use std::path::PathBuf;

use crate::board::edit::{Compared, edit_between};
use crate::board::rules::AdoptEdit;
use crate::board::verb::Verb;
use crate::board::{Actor, Board, Call, Credentials, Needs, Stamp, SwitchKind, Switches, Transition, World};
use crate::wire::flat::read_edited;
use crate::wire::state::Decoded;

use super::commit::{Locked, Proposal, Written};
use super::error::{IoContext, StoreError};
use super::files::{FileIdentity, make_private_dir, replace, write_new};
use super::handle::Store;
use super::lock::BoardLock;
use super::log_file::LogFile;
use super::read::{LARGEST_STATE, invalid};

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
        let restored = self.rebuild_published().and_then(|rebuilt| {
            replace(&self.layout().state(), rebuilt.text().as_bytes()).map(|()| rebuilt.board.revision)
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
        identity: FileIdentity,
        who: &Credentials,
        now: &Stamp,
    ) -> Result<Locked, StoreError> {
        // Before anything is kept: without a good board nothing can be done about the edit.
        let mut decoded = self.last_good(lock.mark())?;
        // What stands there may be an agent's own doing; only a person can mean it.
        if !decoded.board.identify(who).is_ok_and(|actor| actor.is_human()) {
            return Err(edited_by_an_agent());
        }
        let kept = self.keep_edit(bytes, now)?;
        let text = decoded.text().to_owned();
        decoded.load(&Needs::Everything).map_err(|why| invalid(&why))?;
        let edit = match judge(&decoded.board, bytes, now) {
            Judged::Adoptable(edit) => edit,
            Judged::Refused(why) => return Err(self.refuse_edit(&text, &kept, &why)),
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
                Ok((_, Written::Published(published))) => published.text(),
                Ok(_) => text,
                Err(StoreError::Refused(refusal)) => {
                    return Err(self.refuse_edit(&text, &kept, &refusal.message));
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

    /// The board that an edited file is compared with. The mark may be behind after a power cut; then it is the newest
    /// board the log knows.
    fn last_good(&self, mark: u64) -> Result<Decoded, StoreError> {
        self.rebuild(Some(mark)).or_else(|_| self.rebuild_published())
    }

    /// What a person's next command would make of an edit that nobody has dealt with yet. Changes nothing.
    pub fn judge_edit(&self, now: &Stamp) -> Result<Judged, StoreError> {
        let state = self.layout().state();
        let (bytes, _) = super::files::read_whole(&state, LARGEST_STATE).doing("read", &state)?;
        let mut decoded = self.last_good(self.published_revision())?;
        decoded.load(&Needs::Everything).map_err(|why| invalid(&why))?;
        Ok(judge(&decoded.board, &bytes, now))
    }

    /// The board that a kept edit was made from, as far as it is still there.
    pub fn origin_of_edit(&self, edit: &str) -> Option<String> {
        let revision = edit.lines().find_map(|line| line.strip_prefix("revision:"))?.trim().parse().ok()?;
        let (bytes, _) = super::files::read_whole(&self.layout().image(revision), LARGEST_STATE).ok()?;
        Decoded::new(bytes).ok().map(|image| image.text().to_owned())
    }

    /// Edits that were refused and that no person has been seen to look at, oldest first.
    pub fn refused_edits(&self) -> Vec<PathBuf> {
        let name = |path: &PathBuf| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let kept = super::files::paths_in(&self.layout().edits());
        kept.into_iter().filter(|path| name(path).starts_with(REFUSED)).collect()
    }

    /// A person goes on, and has thereby seen them. They stay, under another name.
    pub fn refused_edits_seen(&self) -> Result<(), StoreError> {
        for path in self.refused_edits() {
            rename_start(&path, REFUSED, SEEN)?;
        }
        Ok(())
    }

    fn refuse_edit(&self, good: &str, kept: &std::path::Path, why: &str) -> StoreError {
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
                "state.yaml was edited, and the edit is refused as a whole: {why}; the last good board is restored and PAUSE is set"
            ),
            hint: format!(
                "the edit is kept as {}; `liza doctor` shows the difference and what may be edited, `liza resume` goes on",
                kept.display()
            ),
        }
    }
}

/// What becomes of an edit.
pub enum Judged {
    /// Empty, if only comments or layout differ.
    Adoptable(AdoptEdit),
    /// Everything that is wrong with it, and what is dropped along with that.
    Refused(String),
}

fn edited_by_an_agent() -> StoreError {
    StoreError::Invalid {
        message: "state.yaml was edited by hand".to_owned(),
        hint: "nothing was changed; a person's next liza command adopts the edit or refuses it".to_owned(),
    }
}

fn judge(good: &Board, bytes: &[u8], now: &Stamp) -> Judged {
    let edited = match read_edited(bytes, now) {
        Ok(edited) => edited,
        Err(error) => return Judged::Refused(format!("it cannot be read ({error})")),
    };
    let Compared { edit, beyond } = edit_between(good, &edited);
    let mut wrong = Vec::new();
    if !beyond.is_empty() {
        wrong.push(format!("only liza changes {}", beyond.join("; ")));
    }
    let world = World::default();
    if let Err(refusal) = edit.check(good, &Call::new(Actor::Human, now, &world)) {
        wrong.push(refusal.message);
    }
    if wrong.is_empty() {
        return Judged::Adoptable(edit);
    }
    if !edit.is_empty() {
        wrong.push(format!("dropped with it: {}", edit.summary().join(", ")));
    }
    Judged::Refused(wrong.join("; "))
}
