//! Edits of `state.yaml` by hand that were set aside: a command that is not a person's moves such an edit to `edits/pending` and
//! continues from the last good board, and a person's next command applies or refuses the edit.
//!
//! 1  the bytes are written to `edits/pending/edit-BASE.yaml` and synced, the board they were made from to `edits/bases`: nothing
//!    that a person typed is lost;
//! 2  one commit by liza (`set_aside_edit`) replaces the edited file by the next board, which names the edit and its hash, and
//!    has the typed notes, marked as such;
//! 3  a person's command commits `adopt_edit` or `refuse_edit`, which remove the edit from the board;
//! 4  the file leaves `edits/pending`.
//!
//! A crash after 1 leaves the edited file in place: the next command does the same again, under the same name. A crash after 3
//! leaves a file that the board does not name: `liza doctor --fix` moves it away. A file there that liza did not set aside, or that was
//! changed since, is never applied.

use std::path::PathBuf;

use crate::board::edit::edit_between;
use crate::board::rules::{AdoptEdit, MOST_PENDING, RefuseEdit, SetAsideEdit};
use crate::board::state::PendingEdit;
use crate::board::{Actor, Board, Credentials, Needs, Stamp};
use crate::host::crash;
use crate::wire::flat::read_edited;
use crate::wire::state::{Decoded, hash};

use super::commit::Locked;
use super::edits::{Found, Judged, REFUSED, SEEN, applied_words, held_words, judge};
use super::error::{IoContext, StoreError};
use super::files::{make_private_dir, names_in, read_whole, replace, sync_parent};
use super::handle::Store;
use super::read::{LARGEST_STATE, invalid};

/// Name prefix of an applied edit.
const APPLIED: &str = "applied-";
/// Name prefix of a file found among the pending edits that is not one of them.
const STRAY: &str = "stray-";

/// What a person decided about an edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Word {
    /// No decision: the person's command was about something else.
    None,
    Apply,
    Refuse,
}

/// The outcome of a pending edit.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Settled {
    pub file: String,
    pub applied: bool,
    /// One line per change.
    pub changes: Vec<String>,
    /// Why the edit was not applied.
    pub why: Option<String>,
    pub kept: PathBuf,
}

impl Store {
    fn pending_file(&self, name: &str) -> PathBuf {
        self.layout().pending_edits().join(name)
    }

    /// Files below `edits/pending` that the board does not name.
    pub fn stray_edits(&self, board: &Board) -> Vec<PathBuf> {
        let dir = self.layout().pending_edits();
        let is_known = |name: &String| board.rest.pending_edits.iter().any(|edit| edit.file == *name);
        let names = names_in(&dir).unwrap_or_default();
        names.into_iter().filter(|name| !is_known(name)).map(|name| dir.join(name)).collect()
    }

    /// Moves what the board does not name out of `edits/pending`.
    pub fn move_stray_edits(&self, board: &Board) -> Result<usize, StoreError> {
        let strays = self.stray_edits(board);
        for stray in &strays {
            let name = stray.file_name().unwrap_or_default().to_string_lossy();
            self.leave_pending(&name, STRAY);
        }
        Ok(strays.len())
    }

    /// The name of an edit: from the revision it was made from; the same bytes get the same name again.
    fn pending_name(&self, found: &Found<'_>, whole: &str) -> String {
        let edits = self.layout().edits();
        let names = (1..100).map(|number| match number {
            1 => format!("edit-{}.yaml", found.base),
            _ => format!("edit-{}-{number}.yaml", found.base),
        });
        let is_free = |name: &String| {
            let is_other = read_whole(&self.pending_file(name), LARGEST_STATE).map_or_else(
                |error| error.kind() != std::io::ErrorKind::NotFound,
                |(bytes, _)| bytes != found.bytes,
            );
            let settled = [REFUSED, SEEN, APPLIED, STRAY].iter();
            !is_other && !settled.into_iter().any(|start| edits.join(format!("{start}{name}")).exists())
        };
        names.into_iter().find(is_free).unwrap_or_else(|| format!("edit-{whole}.yaml"))
    }

    /// Steps 1 and 2.
    pub(super) fn set_edit_aside(
        &self,
        locked: &mut Locked,
        found: Found<'_>,
        who: &Credentials,
        now: &Stamp,
    ) -> Result<(), StoreError> {
        let whole = hash(found.bytes);
        make_private_dir(&self.layout().edits())?;
        let dir = self.layout().pending_edits();
        make_private_dir(&dir)?;
        super::files::check_private(&dir)?;
        let pending = &locked.decoded.board.rest.pending_edits;
        // At most this many edits wait, however often the file is edited: the last one is replaced.
        let file = match pending.last() {
            Some(last) if pending.len() >= MOST_PENDING => last.file.clone(),
            _ => self.pending_name(&found, &whole),
        };
        // Before the image it is compared with may be removed: agents make many revisions while a person types.
        make_private_dir(&self.layout().edit_bases())?;
        replace(&self.layout().edit_base(found.base), found.base_text.as_bytes())?;
        replace(&self.pending_file(&file), found.bytes)?;
        crash::point("edit.kept");
        let found_by = locked
            .decoded
            .board
            .identify(who)
            .map_or_else(|_| "unknown".to_owned(), |by| by.id().to_string());
        let verb = SetAsideEdit {
            file: file.clone(),
            hash: whole,
            base: found.base,
            found_by,
            at_work: found.at_work,
            notes: found.notes,
        };
        // A full board has room for the record of the edit, if not for the typed notes.
        match self.change_locked(locked, &Actor::Liza, verb.clone().into(), now) {
            Err(StoreError::Refused(_)) if !verb.notes.is_empty() => {
                let bare = SetAsideEdit { notes: Vec::new(), ..verb };
                self.change_locked(locked, &Actor::Liza, bare.into(), now)?;
            }
            other => other?,
        }
        crash::point("edit.set-aside");
        let next = match found.judged {
            Judged::Adoptable(_) => "applies or refuses it",
            Judged::Refused(_) => {
                "refuses it, because it changes what only liza may change or cannot be read"
            }
        };
        self.queue_message(format!(
            "state.yaml was edited by hand; the edit is set aside as {} and is not on the board: a person's next command {next} (`liza edits list` shows it)",
            self.pending_file(&file).display()
        ));
        Ok(())
    }

    /// Whether this caller's commands apply and refuse edits: a person's do; those of a
    /// supervising process that a person started do not.
    pub(super) fn settles_edits(&self, board: &Board, who: &Credentials) -> bool {
        !self.is_supervising() && board.identify(who).is_ok_and(|actor| actor.is_human())
    }

    /// Steps 3 and 4, for every pending edit.
    pub(super) fn settle_pending(&self, locked: &mut Locked, now: &Stamp) -> Result<(), StoreError> {
        for edit in locked.decoded.board.rest.pending_edits.clone() {
            let settled = self.settle_one(locked, &edit, Word::None, now)?;
            self.queue_message(settled.words());
        }
        Ok(())
    }

    /// Applies or refuses one pending edit, as the person decided.
    pub fn settle_edit(
        &self,
        file: &str,
        word: Word,
        who: &Credentials,
        now: &Stamp,
    ) -> Result<Settled, StoreError> {
        let mut locked = self.lock_without_settling(who, now)?;
        if !self.settles_edits(&locked.decoded.board, who) {
            return Err(crate::board::Refusal::new(
                crate::board::Code::HumanOnly,
                "only a person may apply or refuse an edit".to_owned(),
            )
            .into());
        }
        let edit = locked.decoded.board.rest.pending_edits.iter().find(|edit| edit.file == file).cloned();
        match edit {
            Some(edit) => self.settle_one(&mut locked, &edit, word, now),
            None => self.apply_refused(&mut locked, file, word, now),
        }
    }

    fn settle_one(
        &self,
        locked: &mut Locked,
        edit: &PendingEdit,
        word: Word,
        now: &Stamp,
    ) -> Result<Settled, StoreError> {
        let file = edit.file.clone();
        let judged = self.judge_pending(locked, edit, now)?;
        let (wanted, why) = match judged {
            Judged::Refused(why) => (None, Some(why)),
            Judged::Adoptable(wanted) => {
                let changes = wanted.changes(&locked.decoded.board);
                let held = word == Word::None && wanted.is_more_than_notes() && !edit.at_work.is_empty();
                let why = match word {
                    Word::Refuse => Some("a person refused it".to_owned()),
                    _ if held => Some(held_words(&changes, &edit.at_work)),
                    _ => None,
                };
                (Some((wanted, changes)), why)
            }
        };
        if why.is_none()
            && let Some((wanted, changes)) = wanted.clone()
        {
            match self.change_locked(locked, &Actor::Human, wanted.into(), now) {
                Ok(()) => {
                    crash::point("edit.applied");
                    let kept = self.leave_pending(&file, APPLIED);
                    self.drop_bases(&locked.decoded.board);
                    return Ok(Settled { file, applied: true, changes, why: None, kept });
                }
                Err(StoreError::Refused(refusal)) => {
                    return self.refuse_pending(locked, &file, changes, refusal.message.clone(), now);
                }
                Err(error) => return Err(error),
            }
        }
        let changes = wanted.map(|(_, changes)| changes).unwrap_or_default();
        self.refuse_pending(locked, &file, changes, why.unwrap_or_default(), now)
    }

    fn refuse_pending(
        &self,
        locked: &mut Locked,
        file: &str,
        changes: Vec<String>,
        why: String,
        now: &Stamp,
    ) -> Result<Settled, StoreError> {
        let verb = RefuseEdit { file: file.to_owned(), why: why.clone() };
        self.change_locked(locked, &Actor::Human, verb.into(), now)?;
        crash::point("edit.refused");
        let kept = self.leave_pending(file, REFUSED);
        Ok(Settled { file: file.to_owned(), applied: false, changes, why: Some(why), kept })
    }

    /// What would be decided about a pending edit.
    fn judge_pending(
        &self,
        locked: &mut Locked,
        edit: &PendingEdit,
        now: &Stamp,
    ) -> Result<Judged, StoreError> {
        let path = self.pending_file(&edit.file);
        if edit.file.contains('/') {
            return Ok(Judged::Refused("its name is not one that liza gave it".to_owned()));
        }
        let bytes = match read_whole(&path, LARGEST_STATE) {
            Ok((bytes, _)) => bytes,
            Err(error) => return Ok(Judged::Refused(format!("{} cannot be read: {error}", path.display()))),
        };
        if hash(&bytes) != edit.hash {
            return Ok(Judged::Refused(format!("{} was changed after liza set it aside", path.display())));
        }
        locked.decoded.load(&Needs::Everything).map_err(|why| invalid(&why))?;
        self.judge_bytes(&bytes, &locked.decoded, Some(edit), now)
    }

    /// The same for a kept, refused file: what it changes on the board it was made from.
    fn judge_bytes(
        &self,
        bytes: &[u8],
        good: &Decoded,
        edit: Option<&PendingEdit>,
        now: &Stamp,
    ) -> Result<Judged, StoreError> {
        let edited = match read_edited(bytes, now) {
            Ok(edited) => edited,
            Err(error) => return Ok(Judged::Refused(format!("it cannot be read ({error})"))),
        };
        let base = match edit {
            Some(edit) if edit.base != good.board.revision => {
                let Some(base) = self.former_board(edit.base) else {
                    let why = format!("revision {}, from which it was made, is no longer kept", edit.base);
                    return Ok(Judged::Refused(why));
                };
                base.into_board()
            }
            Some(_) => good.board.clone(),
            None => self.base_of(&edited, good).into_board(),
        };
        let compared = edit_between(&base, &edited);
        let file = edit.map(|edit| edit.file.as_str());
        Ok(judge(compared.edit, &compared.beyond, &base, &good.board, file, now))
    }

    /// Applies an edit, on a person's request, that an earlier command refused.
    fn apply_refused(
        &self,
        locked: &mut Locked,
        file: &str,
        word: Word,
        now: &Stamp,
    ) -> Result<Settled, StoreError> {
        let kept = self.layout().edits().join(format!("{REFUSED}{file}"));
        let unknown = || {
            let text = format!("no edit `{file}` waits for a person or was refused");
            StoreError::from(
                crate::board::Refusal::new(crate::board::Code::EditRefused, text)
                    .hint("`liza edits list` shows them"),
            )
        };
        if file.contains('/') || word != Word::Apply {
            return Err(unknown());
        }
        let (bytes, _) = read_whole(&kept, LARGEST_STATE).map_err(|_| unknown())?;
        locked.decoded.load(&Needs::Everything).map_err(|why| invalid(&why))?;
        let wanted: AdoptEdit = match self.judge_bytes(&bytes, &locked.decoded, None, now)? {
            Judged::Adoptable(wanted) => wanted,
            Judged::Refused(why) => {
                return Ok(Settled {
                    file: file.to_owned(),
                    applied: false,
                    changes: Vec::new(),
                    why: Some(why),
                    kept,
                });
            }
        };
        let changes = wanted.changes(&locked.decoded.board);
        self.change_locked(locked, &Actor::Human, wanted.into(), now)?;
        let to = self.layout().edits().join(format!("{APPLIED}{file}"));
        std::fs::rename(&kept, &to).doing("rename", &kept)?;
        Ok(Settled { file: file.to_owned(), applied: true, changes, why: None, kept: to })
    }

    /// The complete board of a former revision: kept for a pending edit, or made again. The journal proves it.
    pub(super) fn former_board(&self, revision: u64) -> Option<Decoded> {
        let kept = read_whole(&self.layout().edit_base(revision), LARGEST_STATE).ok();
        let kept = kept.and_then(|(bytes, _)| Decoded::new(bytes).ok()).filter(|kept| {
            kept.board.revision == revision && kept.check_tasks().is_ok() && self.is_on_record(kept)
        });
        let rebuilt = || self.rebuild(Some(revision)).ok();
        let mut found = kept.or_else(rebuilt)?;
        found.load(&Needs::Everything).ok()?;
        Some(found)
    }

    /// Removes boards that no edit is compared with any more.
    fn drop_bases(&self, board: &Board) {
        let refused = self.refused_names();
        let is_of = |name: &String, base: &str| {
            let about = name.strip_prefix("edit-").unwrap_or_default();
            about.strip_prefix(base).is_some_and(|rest| rest.starts_with(['.', '-']))
        };
        for name in names_in(&self.layout().edit_bases()).unwrap_or_default() {
            let base = name.trim_end_matches(".yaml");
            let waits = board.rest.pending_edits.iter().any(|edit| edit.base.to_string() == base);
            if !waits && !refused.iter().any(|refused| is_of(refused, base)) {
                let _ = std::fs::remove_file(self.layout().edit_bases().join(&name));
            }
        }
    }

    /// Step 4. The board already has the outcome; `doctor` finds a file that cannot be moved.
    fn leave_pending(&self, file: &str, start: &str) -> PathBuf {
        let from = self.pending_file(file);
        let to = self.layout().edits().join(format!("{start}{file}"));
        match std::fs::rename(&from, &to) {
            Ok(()) => {
                let _ = sync_parent(&to);
                to
            }
            Err(_) => from,
        }
    }

    /// A pending or refused edit: its bytes, and what applying it would do.
    pub fn look_at_edit(
        &self,
        board: &Board,
        file: &str,
        now: &Stamp,
    ) -> Result<(Vec<u8>, Judged), StoreError> {
        let edit = board.rest.pending_edits.iter().find(|edit| edit.file == file);
        let path = match edit {
            Some(edit) => self.pending_file(&edit.file),
            None => self.layout().edits().join(format!("{REFUSED}{file}")),
        };
        let (bytes, _) = read_whole(&path, LARGEST_STATE).doing("read", &path)?;
        let mut good = self.last_good(self.published_revision())?;
        good.load(&Needs::Everything).map_err(|why| invalid(&why))?;
        let judged = match edit {
            Some(edit) if hash(&bytes) != edit.hash => {
                Judged::Refused(format!("{} was changed after liza set it aside", path.display()))
            }
            edit => self.judge_bytes(&bytes, &good, edit, now)?,
        };
        Ok((bytes, judged))
    }
}

impl Settled {
    /// The message for the person whose command applied or refused the edit.
    pub fn words(&self) -> String {
        match &self.why {
            None => applied_words(&self.kept, &self.changes),
            Some(why) => {
                let mut text = format!(
                    "an edit of state.yaml by hand was not applied: {why} (kept as {})",
                    self.kept.display()
                );
                if !self.changes.is_empty() {
                    text.push_str(&format!("\nto apply it after all: liza edits apply {}", self.file));
                }
                text
            }
        }
    }
}
