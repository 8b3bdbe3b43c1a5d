//! Files that another program wrote in place of the board: liza keeps them, and then adopts them, or refuses them and
//! restores the last good board. Nothing that a person wrote is lost or silently overwritten.

use std::path::{Path, PathBuf};

use crate::board::edit::{Compared, edit_between};
use crate::board::rebase::rebase;
use crate::board::records::Note;
use crate::board::rules::{AdoptEdit, TypedNote};
use crate::board::verb::Verb;
use crate::board::{
    Actor, Agent, AgentId, Board, Call, Credentials, Needs, Stamp, SwitchKind, Switches, Transition, World,
};
use crate::wire::flat::read_edited;
use crate::wire::state::Decoded;

use super::commit::{Locked, Proposal, Written};
use super::error::{IoContext, StoreError};
use super::files::{FileIdentity, make_private_dir, replace, write_new};
use super::handle::Store;
use super::lock::BoardLock;
use super::log_file::LogFile;
use super::read::{LARGEST_STATE, invalid};

/// Name prefixes of kept files: files found in place of the board, refused edits, and refused edits that a
/// person has seen.
const KEPT: &str = "state-";
pub(super) const REFUSED: &str = "refused-";
pub(super) const SEEN: &str = "seen-";

fn rename_start(path: &Path, from: &str, to: &str) -> Result<PathBuf, StoreError> {
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

    /// Restores the last good board. Returns the error that ends this command.
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
                hint: format!("the replaced file is kept as {}; run your command again", kept.display()),
            },
        }
    }

    /// Handles a file that liza did not write. A person's command applies or refuses it; every other command
    /// sets it aside and continues from the last good board.
    pub(super) fn take_edit(
        &self,
        lock: BoardLock,
        log: LogFile,
        bytes: &[u8],
        identity: FileIdentity,
        who: &Credentials,
        now: &Stamp,
    ) -> Result<Locked, StoreError> {
        // First of all: without a good board liza can do nothing about the edit.
        let good = self.last_good(lock.mark())?;
        let edited = self.read_edit(bytes, &good, now)?;
        let decoded = edited.good.clone();
        let text = decoded.text().to_owned();
        // The file may be an agent's work; only a person may decide about it.
        let settles = self.settles_edits(&decoded.board, who);
        let at_work = agents_at_work(&decoded.board, now);
        let mut locked =
            Locked { lock, log, decoded, identity, image_text: Some(text.clone()), warnings: Vec::new() };
        match edited.judged {
            Judged::Adoptable(edit) if edit.is_empty() => {
                let kept = self.keep_edit(bytes, now)?;
                locked.log.settle(self, &locked.decoded.board, locked.lock.mark())?;
                replace(&self.layout().state(), text.as_bytes())?;
                self.queue_message(format!(
                    "state.yaml was reformatted by hand; its layout is restored (a copy is kept as {})",
                    kept.display()
                ));
                self.read_again(&mut locked, text)?;
            }
            Judged::Refused(why) if settles => {
                let kept = self.keep_edit(bytes, now)?;
                return Err(self.refuse_edit(&text, &kept, &why));
            }
            Judged::Adoptable(edit) if settles && (at_work.is_empty() || !edit.is_more_than_notes()) => {
                let kept = self.keep_edit(bytes, now)?;
                locked.log.settle(self, &locked.decoded.board, locked.lock.mark())?;
                let changes = edit.changes(&locked.decoded.board);
                match self.change_locked(&mut locked, &Actor::Human, edit.into(), now) {
                    Err(StoreError::Refused(refusal)) => {
                        return Err(self.refuse_edit(&text, &kept, &refusal.message));
                    }
                    other => other?,
                }
                self.queue_message(applied_words(&kept, &changes));
            }
            judged => {
                locked.log.settle(self, &locked.decoded.board, locked.lock.mark())?;
                let notes = edited.notes;
                let (base, base_text) = (edited.base, edited.base_text);
                let found = Found { bytes, base, base_text, notes, judged: &judged, at_work };
                self.set_edit_aside(&mut locked, found, who, now)?;
            }
        }
        Ok(locked)
    }

    /// Commits a change of liza's own inside a locked command, which then continues with the resulting board.
    pub(super) fn change_locked(
        &self,
        locked: &mut Locked,
        actor: &Actor,
        what: Transition,
        now: &Stamp,
    ) -> Result<(), StoreError> {
        let before = locked.decoded.text().to_owned();
        let credentials = if actor.is_human() { Credentials::Human } else { Credentials::Liza };
        let proposal = Proposal { credentials: &credentials, what, request: None };
        let text = match self.change(locked, actor, &proposal, Switches::default(), now) {
            Ok((_, Written::Published(published))) => published.text(),
            Ok(_) => before,
            Err(error) => {
                // The board in memory may be half changed.
                locked.decoded = Decoded::new(before.into_bytes()).map_err(|why| invalid(&why))?;
                return Err(error);
            }
        };
        self.read_again(locked, text)?;
        // From here on the log has to lead to this board.
        locked.log.settle(self, &locked.decoded.board, locked.lock.mark()).map(|_| ())
    }

    /// Makes `locked` hold this text, which liza has just written in place of the board.
    fn read_again(&self, locked: &mut Locked, text: String) -> Result<(), StoreError> {
        let state = self.layout().state();
        locked.decoded = Decoded::new(text.into_bytes()).map_err(|why| invalid(&why))?;
        locked.identity = FileIdentity::at(&state).doing("look at", &state)?;
        locked.image_text = None;
        Ok(())
    }

    /// The board that an edited file is compared with, as the journal has it. After a power cut the mark may
    /// lag; then it is the newest board of the log.
    pub(super) fn last_good(&self, mark: u64) -> Result<Decoded, StoreError> {
        self.rebuild(Some(mark)).or_else(|_| self.rebuild_published())
    }

    /// Reads an edited file and compares it with the board it was made from: agents continue while a person
    /// types.
    pub(super) fn read_edit(&self, bytes: &[u8], good: &Decoded, now: &Stamp) -> Result<Edit, StoreError> {
        let mut good = good.clone();
        good.load(&Needs::Everything).map_err(|why| invalid(&why))?;
        let revision = good.board.revision;
        let edited = match read_edited(bytes, now) {
            Ok(edited) => edited,
            Err(error) => {
                let judged = Judged::Refused(format!("it cannot be read ({error})"));
                return Ok(Edit {
                    base: revision,
                    base_text: good.text().to_owned(),
                    good,
                    notes: Vec::new(),
                    judged,
                });
            }
        };
        let found = self.base_of(&edited, &good);
        let base_text = found.text().to_owned();
        let base = found.into_board();
        let Compared { edit, beyond } = edit_between(&base, &edited);
        let notes = new_notes(&base, &edited);
        let judged = judge(edit, &beyond, &base, &good.board, None, now);
        Ok(Edit { base: base.revision, base_text, good, notes, judged })
    }

    /// The board that this edit was made from: the published board of the revision it names, if that can be
    /// made again; otherwise the present one.
    pub(super) fn base_of(&self, edited: &Board, good: &Decoded) -> Decoded {
        if edited.revision < good.board.revision
            && let Some(base) = self.former_board(edited.revision)
            && base.board.journal == edited.journal
        {
            return base;
        }
        good.clone()
    }

    /// What a person's next command would do with an edit that is still in place. Changes nothing.
    pub fn judge_edit(&self, now: &Stamp) -> Result<Judged, StoreError> {
        let state = self.layout().state();
        let (bytes, _) = super::files::read_whole(&state, LARGEST_STATE).doing("read", &state)?;
        let good = self.last_good(self.published_revision())?;
        let edit = self.read_edit(&bytes, &good, now)?;
        Ok(match edit.judged {
            Judged::Adoptable(wanted)
                if wanted.is_more_than_notes() && !agents_at_work(&edit.good.board, now).is_empty() =>
            {
                Judged::Refused(held_words(
                    &wanted.changes(&edit.good.board),
                    &agents_at_work(&edit.good.board, now),
                ))
            }
            judged => judged,
        })
    }

    /// The text of the board that a kept edit was made from, if it is still kept.
    pub fn origin_of_edit(&self, edit: &str) -> Option<String> {
        let revision = edit.lines().find_map(|line| line.strip_prefix("revision:"))?.trim().parse().ok()?;
        self.former_board(revision).map(|board| board.text().to_owned())
    }

    /// Refused edits that no person has seen yet, oldest first.
    pub fn refused_edits(&self) -> Vec<PathBuf> {
        let name = |path: &PathBuf| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let kept = super::files::paths_in(&self.layout().edits());
        kept.into_iter().filter(|path| name(path).starts_with(REFUSED)).collect()
    }

    /// The same edits by the names they had while they were pending.
    pub fn refused_names(&self) -> Vec<String> {
        let name = |path: PathBuf| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let names = self.refused_edits().into_iter().map(name);
        names.filter_map(|name| name.strip_prefix(REFUSED).map(ToOwned::to_owned)).collect()
    }

    /// Marks refused edits as seen, because a person has resumed work. The files stay, under another name.
    pub fn refused_edits_seen(&self) -> Result<(), StoreError> {
        for path in self.refused_edits() {
            rename_start(&path, REFUSED, SEEN)?;
        }
        Ok(())
    }

    fn refuse_edit(&self, good: &str, kept: &Path, why: &str) -> StoreError {
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
                "the edit is kept as {}; `liza doctor` shows the difference and what may be edited, `liza resume` continues",
                kept.display()
            ),
        }
    }
}

/// An edited file, compared with the board that it was made from.
pub(super) struct Edit {
    /// The revision of the board it was made from.
    pub base: u64,
    /// That board's text, kept with a pending edit.
    pub base_text: String,
    /// The last good board, whole.
    pub good: Decoded,
    /// The notes a person typed into `human_notes`.
    pub notes: Vec<TypedNote>,
    pub judged: Judged,
}

/// An edit found in place of the board.
pub(super) struct Found<'e> {
    pub bytes: &'e [u8],
    pub base: u64,
    pub base_text: String,
    pub notes: Vec<TypedNote>,
    pub judged: &'e Judged,
    pub at_work: Vec<AgentId>,
}

/// The decision about an edit.
pub enum Judged {
    /// Can be applied; empty if only comments or layout differ.
    Adoptable(AdoptEdit),
    /// Everything that is wrong with the edit, and the correct changes dropped with it.
    Refused(String),
}

fn new_notes(base: &Board, edited: &Board) -> Vec<TypedNote> {
    let known = |note: &&Note| !base.rest.human_notes.iter().any(|known| known.id == note.id);
    let new = edited.rest.human_notes.iter().filter(known).filter(|note| note.is_answer());
    new.map(|note| TypedNote { text: note.text.clone(), task: note.task_id.clone() }).collect()
}

/// Judges an edit of `base` on the board `good`.
pub(super) fn judge(
    edit: AdoptEdit,
    beyond: &[String],
    base: &Board,
    good: &Board,
    file: Option<&str>,
    now: &Stamp,
) -> Judged {
    let mut wrong = Vec::new();
    if !beyond.is_empty() {
        wrong.push(format!("only liza changes {}", beyond.join("; ")));
    }
    let summary = edit.summary();
    let rebased = rebase(edit.clone(), base, good, file).unwrap_or_else(|conflicts| {
        wrong.extend(conflicts);
        edit
    });
    let world = World::default();
    if let Err(refusal) = rebased.check(good, &Call::new(Actor::Human, now, &world))
        && !wrong.contains(&refusal.message)
    {
        wrong.push(refusal.message);
    }
    if wrong.is_empty() {
        return Judged::Adoptable(rebased);
    }
    if !summary.is_empty() {
        wrong.push(format!("dropped with it: {}", summary.join(", ")));
    }
    Judged::Refused(wrong.join("; "))
}

/// Agents that may have written the file: their runners run now, or ran within the last lease time.
pub(super) fn agents_at_work(board: &Board, now: &Stamp) -> Vec<AgentId> {
    let lease = i64::try_from(board.config().lease_seconds).unwrap_or(i64::MAX);
    let at_work = |agent: &&Agent| {
        agent.runner.as_ref().is_some_and(|runner| {
            crate::host::lives(runner) || now.wall.0.saturating_sub(agent.heartbeat.0) < lease
        })
    };
    board.rest.agents.iter().filter(|(_, agent)| at_work(agent)).map(|(id, _)| id.clone()).collect()
}

/// The message to the person whose edit a command has applied.
pub(super) fn applied_words(kept: &Path, changes: &[String]) -> String {
    let mut lines = vec![format!("an edit of state.yaml by hand was adopted (kept as {}):", kept.display())];
    lines.extend(changes.iter().map(|change| format!("  {change}")));
    lines.join("\n")
}

/// Why an applicable edit waits until a person decides.
pub(super) fn held_words(changes: &[String], at_work: &[AgentId]) -> String {
    let agents: Vec<&str> = at_work.iter().map(AgentId::as_str).collect();
    format!(
        "agents were at work when the file was changed ({}), and any of them can write it; it would change {}",
        agents.join(", "),
        changes.join("; ")
    )
}
