//! The commit: how a change becomes true.
//!
//! Definitions. *Published*: it is in `state.yaml`. *Mark*: the highest revision ever published, kept in the lock file.
//!
//! Steps, in this order, and why:
//!  1  lock `state.yaml.lock` (bounded wait), and check that it is the file other processes would lock;
//!  2  read the state under the lock, because nothing read before it may decide a write; settle the log: a record that
//!     was appended but never published is set aside, visibly;
//!  3  authenticate the caller, look for an earlier answer to this request, check the rule (a refusal ends here, nothing written);
//!  4  change, and check that no invariant is newly broken;
//!  5  append the record to the log and sync it: no board without its record;
//!  6  write the new state beside the old one and sync it; keep the old one as an image;
//!  7  check that the state is still what step 2 read, and rename: **the commit point**;
//!  8  sync the directory, raise the mark;
//!  9  unlock.
//!
//! An error before 7 changes nothing; after 7 the change is made and at worst its durability is unknown.

use std::fs;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

use crate::board::intent::RequestKey;
use crate::board::rules::RecordViolation;
use crate::board::state::JournalMark;
use crate::board::verb::Verb;
use crate::board::{
    Actor, Applied, Board, Call, Code, Credentials, Refusal, Stamp, Switches, Transition, World, apply,
    bodies_needed, permitted, violations,
};
use crate::host::crash;
use crate::wire::content::NewState;
use crate::wire::log::Record;
use crate::wire::state::{Decoded, StateError};

use super::error::{IoContext, StoreError};
use super::files::{FileIdentity, beside, check_private, write_new, write_new_pieces};
use super::handle::Store;
use super::images::Room;
use super::lock::BoardLock;
use super::log_file::LogFile;
use super::read::{Found, invalid, largest_state};

/// A change that adds no more than this is bookkeeping; a full board has a reserve for it.
const BOOKKEEPING: u64 = 4 * 1024;

/// A requested change.
pub struct Proposal<'a> {
    pub credentials: &'a Credentials,
    pub what: Transition,
    pub request: Option<RequestKey>,
}

/// The result of a change.
pub struct Committed<O> {
    pub board: Board,
    pub outcome: O,
    /// The same request was answered before; this call changed nothing.
    pub repeated: bool,
    /// Warnings for the caller, beside the outcome.
    pub warnings: Vec<String>,
}

/// What a change wrote to disk.
pub(super) enum Written {
    Published(Box<NewState>),
    /// The board is unchanged.
    Nothing,
    /// The request was answered before.
    Before,
}

/// A locked board: between steps 2 and 9.
pub(super) struct Locked {
    pub lock: BoardLock,
    pub log: LogFile,
    pub decoded: Decoded,
    pub identity: FileIdentity,
    /// The text of the superseded board, if its file cannot serve as the image.
    pub image_text: Option<String>,
    pub warnings: Vec<String>,
}

impl<O> Committed<O> {
    /// The outcome, and the revision that has it.
    pub fn done(self) -> (O, u64) {
        (self.outcome, self.board.revision)
    }
}

impl Committed<Applied> {
    /// The same, with the outcome type of its verb.
    pub fn typed<O: DeserializeOwned + 'static>(self) -> Result<Committed<O>, StoreError> {
        let Self { board, outcome, repeated, warnings } = self;
        Ok(Committed { board, outcome: outcome.typed()?, repeated, warnings })
    }
}

impl Store {
    /// Commits one change, or returns why it is refused.
    pub fn commit<V: Verb + Into<Transition>>(
        &self,
        credentials: &Credentials,
        verb: V,
        request: Option<RequestKey>,
        now: &Stamp,
    ) -> Result<Committed<V::Outcome>, StoreError> {
        self.commit_any(Proposal { credentials, what: verb.into(), request }, now)?.typed()
    }

    /// Commits one change of any kind. Compiled once, not once per verb.
    pub fn commit_any(&self, proposal: Proposal<'_>, now: &Stamp) -> Result<Committed<Applied>, StoreError> {
        let mut tries = 0;
        loop {
            match self.commit_once(&proposal, now) {
                // A person saved the file in between; that must not stop an agent.
                Err(StoreError::Changed { again: true }) if tries < 3 => tries += 1,
                other => return other,
            }
        }
    }

    fn commit_once(&self, proposal: &Proposal<'_>, now: &Stamp) -> Result<Committed<Applied>, StoreError> {
        let mut locked = self.lock_and_read(proposal.credentials, now)?;
        let actor = locked.decoded.board.identify(proposal.credentials)?;
        let switches = self.switches_to_write()?;
        match self.change(&mut locked, &actor, proposal, switches.clone(), now) {
            Ok((outcome, written)) => {
                let board = locked.decoded.into_board();
                let repeated = matches!(written, Written::Before);
                // An agent with work in progress retries.
                if let Written::Published(state) = written
                    && !board.rest.intents.is_empty()
                {
                    self.last_read().written(state, &board);
                }
                Ok(Committed { board, outcome, repeated, warnings: locked.warnings })
            }
            Err(StoreError::Refused(refusal)) => {
                self.record_breach(&mut locked, &actor, proposal, &refusal, switches, now);
                Err(StoreError::Refused(refusal))
            }
            // A person called, and can look at the problem.
            Err(StoreError::Changed { .. }) if actor.is_human() => Err(StoreError::Changed { again: false }),
            Err(error) => Err(error),
        }
    }

    /// Checks under the lock, as `commit` does, whether the change would be made now. Writes nothing, except
    /// the record of a rule breach.
    pub fn ask(&self, proposal: &Proposal<'_>, now: &Stamp) -> Result<(), StoreError> {
        let mut locked = self.lock_and_read(proposal.credentials, now)?;
        let actor = locked.decoded.board.identify(proposal.credentials)?;
        let switches = self.switches_to_write()?;
        let world = self.load_for(&mut locked, &actor, &proposal.what, switches.clone())?;
        match permitted(&locked.decoded.board, proposal.what.verb(), &Call::new(actor.clone(), now, &world)) {
            Ok(()) => Ok(()),
            Err(refusal) => {
                self.record_breach(&mut locked, &actor, proposal, &refusal, switches, now);
                Err(refusal.into())
            }
        }
    }

    /// Records a rule breach (Tier 0). The refusal stands even if the record cannot be written.
    fn record_breach(
        &self,
        locked: &mut Locked,
        actor: &Actor,
        proposal: &Proposal<'_>,
        refusal: &Refusal,
        switches: Switches,
        now: &Stamp,
    ) {
        if !refusal.code.is_tier0() {
            return;
        }
        let note =
            RecordViolation { code: refusal.code.as_str().to_owned(), message: refusal.message.clone() };
        let record = Proposal { credentials: proposal.credentials, what: note.into(), request: None };
        let _ = self.change(locked, actor, &record, switches, now);
    }

    /// Loads what checking and applying `what` reads.
    fn load_for(
        &self,
        locked: &mut Locked,
        actor: &Actor,
        what: &Transition,
        switches: Switches,
    ) -> Result<World, StoreError> {
        let needs = bodies_needed(&locked.decoded.board, what, actor);
        locked.decoded.load(&needs).map_err(|why| invalid(&why))?;
        let asked = what.verb().asks_archive(&locked.decoded.board);
        let archived = self.archived_among(&locked.decoded.board, asked)?;
        Ok(World { switches, archived })
    }

    /// Steps 1 and 2. A person's command applies or refuses the pending edits.
    pub(super) fn lock_and_read(&self, who: &Credentials, now: &Stamp) -> Result<Locked, StoreError> {
        let mut locked = self.lock_without_settling(who, now)?;
        if !locked.decoded.board.rest.pending_edits.is_empty()
            && self.settles_edits(&locked.decoded.board, who)
        {
            self.settle_pending(&mut locked, now)?;
        }
        Ok(locked)
    }

    /// Applies or refuses edits by hand if a person calls; otherwise sets them aside.
    pub fn settle_edits(&self, who: &Credentials, now: &Stamp) -> Result<(), StoreError> {
        self.lock_and_read(who, now).map(|_| ())
    }

    /// The same, but pending edits stay pending.
    pub(super) fn lock_without_settling(&self, who: &Credentials, now: &Stamp) -> Result<Locked, StoreError> {
        if !self.dir().is_dir() {
            return Err(self.missing());
        }
        check_private(self.dir())?;
        let lock = self.lock(now)?;
        crash::point("commit.1");
        let witnessed = self.witnessed_length();
        let (found, identity) = self.load_when_saved()?;
        // A board of another version is not changed, and neither are the files beside it.
        if let Found::Bad { why: why @ (StateError::Older(_) | StateError::Newer(_)), .. } = &found {
            lock.withdraw();
            return Err(invalid(why));
        }
        let log = LogFile::open(self)?;
        let mut locked = match found {
            Found::Good(decoded) if decoded.board.revision < lock.mark() => {
                return Err(self.undo_rollback(&decoded, lock.mark(), now));
            }
            Found::Good(decoded) => {
                if let Some(above) = self.witnessed_above(&decoded.board, witnessed) {
                    return Err(StoreError::put_back(decoded.board.revision, above));
                }
                Locked { lock, log, decoded: *decoded, identity, image_text: None, warnings: Vec::new() }
            }
            Found::Bad { bytes, why: StateError::Edited } => {
                self.take_edit(lock, log, &bytes, identity, who, now)?
            }
            Found::Bad { why, .. } => return Err(invalid(&why)),
        };
        if let Some(aside) = locked.log.settle(self, &locked.decoded.board, locked.lock.mark())? {
            locked.warnings.push(format!(
                "the log held a record that was never published (a command died before it finished); it was set aside as {}",
                aside.display()
            ));
        }
        crash::point("commit.2");
        Ok(locked)
    }

    /// Steps 3 to 8. Afterwards `locked` has the published board, without the text it was read from.
    pub(super) fn change(
        &self,
        locked: &mut Locked,
        actor: &Actor,
        proposal: &Proposal<'_>,
        switches: Switches,
        now: &Stamp,
    ) -> Result<(Applied, Written), StoreError> {
        let needs = bodies_needed(&locked.decoded.board, &proposal.what, actor);
        let world = self.load_for(locked, actor, &proposal.what, switches)?;
        let call = Call::new(actor.clone(), now, &world);
        // 3 and the first half of 4. A refusal leaves the board as it was.
        let outcome =
            match apply(&mut locked.decoded.board, &proposal.what, &call, proposal.request.as_ref())? {
                before @ Applied::Repeated(_) => return Ok((before, Written::Before)),
                changed @ Applied::Changed(_) => changed,
            };
        // 4
        let broken = violations(&locked.decoded.board);
        if !broken.is_empty() {
            // Rare: reading the former board again is cheaper than keeping it for every change.
            let mut former =
                Decoded::new(locked.decoded.text().as_bytes().to_vec()).map_err(|why| invalid(&why))?;
            former.load(&needs).map_err(|why| invalid(&why))?;
            let before = violations(&former.board);
            let added: Vec<_> = broken.into_iter().filter(|violation| !before.contains(violation)).collect();
            if !added.is_empty() {
                return Err(StoreError::Bug(added));
            }
        }
        crash::point("commit.4");
        // The switches stopped nothing, or this line would not be reached: a replay needs only the archive.
        let world = World { switches: Switches::default(), archived: world.archived };
        let written = self.publish(locked, actor, proposal, world, now)?;
        Ok((outcome, written))
    }

    /// Steps 5 to 8. A change that changes nothing is not written.
    fn publish(
        &self,
        locked: &mut Locked,
        actor: &Actor,
        proposal: &Proposal<'_>,
        world: World,
        now: &Stamp,
    ) -> Result<Written, StoreError> {
        let content = self.last_read().content_after(&locked.decoded).map_err(cannot_write)?;
        let board = &mut locked.decoded.board;
        if content.is_as_read() {
            board.revision -= 1;
            return Ok(Written::Nothing);
        }
        let record = Record {
            revision: board.revision,
            prev: board.journal.hash.clone(),
            by: actor.clone(),
            at: now.clone(),
            world,
            request: proposal.request.clone(),
            what: proposal.what.clone(),
            board: content.hash.clone(),
        };
        let (line, hash) = record.line();
        let revision = board.revision;
        board.journal = JournalMark { length: board.journal.length + line.len() as u64, hash };
        let state = content.under(revision, &board.journal).map_err(cannot_write)?;
        let size = state.pieces().map(|piece| piece.len() as u64).sum();
        check_size(locked.decoded.text().len() as u64, size)?;
        // 5. If the lock file was removed, other processes got in: their records must not be overwritten.
        self.check_unchanged(locked, &self.layout().state())?;
        // Before the log is synced: on most file systems that sync makes the rename durable too.
        let is_durable = locked.lock.mark() >= revision - 1;
        let room = self.make_room(revision - 1, locked.decoded.text().len() as u64, is_durable);
        if let Err(error) = locked.log.append(&line) {
            room.give_up();
            return Err(error);
        }
        crash::point("commit.5");
        if let Err(error) = self.replace_state(locked, &state, revision - 1, room) {
            locked.log.undo(&line);
            return Err(error);
        }
        crash::point("commit.7");
        // 8
        let synced = super::files::sync_dir(self.dir());
        // The next commit takes the mark as a sign that this board is on disk.
        if synced.is_ok() {
            locked.lock.raise_mark(revision);
        }
        crash::point("commit.8");
        self.follow(&locked.decoded.board.journal, &line);
        match synced {
            Ok(()) => Ok(Written::Published(Box::new(state))),
            Err(source) => {
                Err(StoreError::DurabilityUnknown { revision, path: self.dir().to_owned(), source })
            }
        }
    }

    /// Steps 6 and 7.
    fn replace_state(
        &self,
        locked: &mut Locked,
        new: &NewState,
        former: u64,
        room: Room,
    ) -> Result<(), StoreError> {
        let state = self.layout().state();
        let temp = beside(&state);
        if !self.write_over(&room, new)? {
            let _ = fs::remove_file(&temp);
            write_new_pieces(&temp, new.pieces())?;
        }
        crash::point("commit.6-written");
        let text = locked.image_text.as_deref().unwrap_or(locked.decoded.text());
        let result = self
            .keep_image(former, text, locked.image_text.is_none(), &locked.identity)
            .and_then(|()| self.check_unchanged(locked, &state))
            .and_then(|()| {
                crash::point("commit.6");
                fs::rename(&temp, &state).doing("replace", &state)
            });
        if result.is_err() {
            let _ = fs::remove_file(&temp);
        }
        result
    }

    fn check_unchanged(&self, locked: &Locked, state: &Path) -> Result<(), StoreError> {
        if !locked.lock.still_counts() {
            return Err(StoreError::Changed { again: false });
        }
        match FileIdentity::at(state).doing("look at", state)? == locked.identity {
            true => Ok(()),
            false => Err(StoreError::Changed { again: true }),
        }
    }

    /// Writes the first board. The caller has made the directories and holds no lock.
    pub fn create(&self, init: Transition, now: &Stamp) -> Result<Board, StoreError> {
        let mut lock = self.lock(now)?;
        if fs::symlink_metadata(self.layout().state()).is_ok()
            || (fs::symlink_metadata(self.layout().log()).is_ok() && !self.is_unfinished())
        {
            return Err(
                Refusal::new(crate::board::Code::BoardExists, "this repository already has a board").into()
            );
        }
        // The lock file tells an unfinished `init` from the rest of a board, so it is on disk before the other files.
        super::files::sync_dir(self.dir()).doing("sync", self.dir())?;
        let board = self.write_first(init, now, ["init.image", "init.log", "init.state"], || Ok(()))?;
        lock.raise_mark(board.revision);
        Ok(board)
    }

    /// Writes the first record, its image and its board. Calls `ready` before it replaces any existing file.
    pub(super) fn write_first(
        &self,
        init: Transition,
        now: &Stamp,
        [image_kept, logged, published]: [&str; 3],
        ready: impl Fn() -> Result<(), StoreError>,
    ) -> Result<Board, StoreError> {
        let mut board = Board::nothing();
        let world = World::default();
        let call = Call::new(Actor::Human, now, &world);
        apply(&mut board, &init, &call, None)?;
        let mut decoded = Decoded::unwritten(board);
        let content = decoded.content().map_err(cannot_write)?;
        let board = &mut decoded.board;
        let record = Record {
            revision: board.revision,
            prev: String::new(),
            by: Actor::Human,
            at: now.clone(),
            world: World::default(),
            request: None,
            what: init,
            board: content.hash.clone(),
        };
        let (line, hash) = record.line();
        board.journal = JournalMark { length: line.len() as u64, hash };
        let text = content.under(board.revision, &board.journal).map_err(cannot_write)?.text();
        // The state comes last: as long as it is missing there is no board, and `init` may be repeated.
        let image: PathBuf = self.layout().image(board.revision);
        let _ = fs::remove_file(&image);
        write_new(&image, text.as_bytes())?;
        super::files::sync_parent(&image)?;
        crash::point(image_kept);
        ready()?;
        let log = self.layout().log();
        super::files::replace(&log, line.as_bytes())?;
        // The directory's own entry, in its parent.
        super::files::sync_parent(self.dir())?;
        crash::point(logged);
        ready()?;
        super::files::replace(&self.layout().state(), text.as_bytes())?;
        crash::point(published);
        self.follow(&decoded.board.journal, &line);
        Ok(decoded.into_board())
    }

    /// Whether an `init` died here before it made a board: no state, nothing ever published, and in log and
    /// images nothing after the first record.
    pub fn is_unfinished(&self) -> bool {
        let layout = self.layout();
        let gone = |path: PathBuf| matches!(fs::symlink_metadata(path), Err(error) if error.kind() == std::io::ErrorKind::NotFound);
        let first_record_only = match super::files::read_whole(&layout.log(), 16 * 1024 * 1024) {
            Ok((bytes, _)) => bytes.iter().filter(|byte| **byte == b'\n').count() <= 1,
            Err(error) => error.kind() == std::io::ErrorKind::NotFound,
        };
        // That `init` acquired the lock first; without a lock file these files come from something else.
        gone(layout.state())
            && !gone(layout.lock())
            && super::lock::LockNote::read(&layout.lock()).revision == 0
            && first_record_only
            && self.image_revisions().iter().all(|revision| *revision <= 1)
    }
}

/// Refuses to write a board that readers would refuse as too large. Bookkeeping has a reserve: started work can
/// be finished, and a board that does not grow can always be written.
fn check_size(former: u64, new: u64) -> Result<(), StoreError> {
    let limit = largest_state();
    let most = if new.saturating_sub(former) > BOOKKEEPING { limit - limit / 8 } else { limit };
    if new <= most || new <= former {
        return Ok(());
    }
    let refusal = Refusal::new(
        Code::Limit,
        format!(
            "this change would make the board {new} bytes large; the limit is {most} (it is {former} now)"
        ),
    );
    Err(refusal.hint("make it smaller, or move finished tasks away with `liza archive`").into())
}

pub(super) fn cannot_write(error: crate::wire::EmitError) -> StoreError {
    StoreError::Invalid {
        message: format!("the board cannot be written: {error}"),
        hint: "nothing was changed; please report this".to_owned(),
    }
}
