//! How a use case changes the board: it commits a verb and gets the verb's outcome.
//!
//! Work that a dead process left unfinished is finished first where it blocks the change, and otherwise afterwards.

use serde::de::DeserializeOwned;

use super::prelude::*;
use super::{archive, recover, views};
use crate::board::Applied;
use crate::board::verb::Begun;
use crate::store::{Committed, Proposal};

/// The first step of longer work.
pub enum Begin<O> {
    Now {
        board: Board,
        intent: u64,
    },
    /// The whole work was done for this request before, with this outcome.
    Before {
        board: Board,
        outcome: O,
    },
}

impl Context {
    pub fn commit<V: Verb + Into<Transition>>(&self, verb: V) -> Result<Committed<V::Outcome>> {
        Ok(self.commit_for(verb.into(), self.request.clone())?.typed()?)
    }

    /// Commits a change whose kind only the caller knows, without its outcome.
    pub fn commit_any(&self, what: Transition) -> Result<()> {
        self.commit_for(what, self.request.clone()).map(|_| ())
    }

    /// A step of longer work: the request belongs to the whole work.
    pub fn commit_step<V: Verb + Into<Transition>>(&self, verb: V) -> Result<Committed<V::Outcome>> {
        let what = verb.into();
        let committed = self.propose(&what, None)?;
        self.report_commit(&what, &committed);
        Ok(committed.typed()?)
    }

    /// The first step of longer work with an outcome of type `O`: the verb itself carries the request, which is
    /// answered when the work has ended.
    pub fn begin<V: Verb<Outcome = Begun> + Into<Transition>, O: DeserializeOwned + 'static>(
        &self,
        verb: V,
    ) -> Result<Begin<O>> {
        let committed = self.commit_for(verb.into(), None)?;
        if committed.repeated {
            let Committed { board, outcome, .. } = committed.typed()?;
            return Ok(Begin::Before { board, outcome });
        }
        let Committed { board, outcome: Begun { intent }, .. } = committed.typed()?;
        Ok(Begin::Now { board, intent })
    }

    /// A change of liza's own, such as finishing what a dead process started.
    pub fn commit_as_liza<V: Verb + Into<Transition>>(
        &self,
        verb: V,
    ) -> Result<Committed<V::Outcome>, StoreError> {
        self.refuse_gate_process()?;
        let what = verb.into();
        self.hold_if_begun(&what)?;
        self.commit_any_as_liza(what)?.typed()
    }

    pub fn commit_any_as_liza(&self, what: Transition) -> Result<Committed<Applied>, StoreError> {
        self.refuse_gate_process()?;
        let leaves = matches!(what, Transition::ArchiveTasks(_));
        let proposal = Proposal { credentials: &Credentials::Liza, what, request: None };
        let now = host::now();
        let committed = self.report_edits(self.store.commit_any(proposal, &now))?;
        self.keep_views(leaves, &committed, &now);
        Ok(committed)
    }

    /// Updates the views after the commit, without the lock: a failure here does not fail the change.
    fn keep_views(&self, tasks_leave: bool, committed: &Committed<Applied>, now: &Stamp) {
        if !committed.repeated {
            // After an adopted edit, task bodies may not be loaded.
            views::follow(self, &committed.board, now, tasks_leave || !committed.warnings.is_empty());
        }
    }

    /// Records a rule breach (Tier 0) that no commit of the caller's would have met. Returns the failure for the
    /// caller.
    pub fn breach(&self, refusal: Refusal) -> Failure {
        let record =
            RecordViolation { code: refusal.code.as_str().to_owned(), message: refusal.message.clone() };
        // The refusal stands even if the record could not be written.
        let _ = self.commit_any(record.into());
        refusal.into()
    }

    /// The first answer to this request, if there was one, and the revision of the board that has it.
    pub fn answered<O: DeserializeOwned + 'static>(&self) -> Result<Option<(O, u64)>> {
        let Some(key) = &self.request else { return Ok(None) };
        let snapshot = self.store.read(&Needs::Nothing)?;
        let actor = snapshot.board.identify(&self.credentials)?;
        match crate::board::apply::answered(&snapshot.board, &actor.id(), key)? {
            Some(kept) => Ok(Some((Applied::Repeated(kept).typed()?, snapshot.board.revision))),
            None => Ok(None),
        }
    }

    fn commit_for(&self, what: Transition, request: Option<RequestKey>) -> Result<Committed<Applied>> {
        let committed = self.recovering(|| self.propose(&what, request.clone()))?;
        self.report_commit(&what, &committed);
        if committed.board.rest.intents.iter().any(|intent| !self.machine.works_on_intents(&intent.owner)) {
            // The caller's change is made; the next command retries work left over from other processes.
            if let Err(failure) = recover::recover(self) {
                self.narrate(format!(
                    "the unfinished work of a dead process could not be completed: {failure}"
                ));
            }
        }
        Ok(committed)
    }

    /// Retries a refused change once, if a dead process had left unfinished work.
    fn recovering<T>(&self, act: impl Fn() -> Result<T, StoreError>) -> Result<T> {
        match act() {
            Err(StoreError::Refused(refusal)) => {
                if self.credentials.is_of_gate() || recover::recover(self)? == 0 {
                    return Err(self.explain_archived(*refusal));
                }
                Ok(act()?)
            }
            other => Ok(other?),
        }
    }

    /// Checks whether a change would be made to this board, so that no work is done for a refused one. Writes only
    /// the record of a rule breach; may finish the work of a dead process.
    pub fn ask(&self, board: &Board, verb: impl Verb + Into<Transition>) -> Result<()> {
        let what = verb.into();
        if self.with_call(board, |call| permitted(board, what.verb(), call).is_ok())? {
            return Ok(());
        }
        // A refusal counts only under the lock: the board or a switch may have changed since the read.
        self.recovering(|| self.ask_locked(&what))?;
        // The change would be made now, but the caller has read another board and works with that one.
        Err(Failure::new(
            ErrorCode::StaleBoard,
            "the board changed while this command ran; nothing was changed",
        )
        .hint("run the command again"))
    }

    /// Checks a part of a verb early. A refusal that must be recorded is checked again inside a commit of the whole
    /// verb.
    pub fn ask_early<V: Verb + Into<Transition> + Clone>(
        &self,
        board: &Board,
        verb: &V,
        part: impl FnOnce(&Call) -> Result<(), Refusal>,
    ) -> Result<()> {
        match self.with_call(board, part)? {
            Err(refusal) if refusal.code.is_tier0() => self.commit(verb.clone()).map(|_| ()),
            answer => Ok(answer?),
        }
    }

    fn ask_locked(&self, what: &Transition) -> Result<(), StoreError> {
        self.refuse_gate_process()?;
        let proposal = Proposal { credentials: &self.credentials, what: what.clone(), request: None };
        self.report_edits(self.store.ask(&proposal, &host::now()))
    }

    fn propose(
        &self,
        what: &Transition,
        request: Option<RequestKey>,
    ) -> Result<Committed<Applied>, StoreError> {
        self.refuse_gate_process()?;
        self.hold_if_begun(what)?;
        let proposal = Proposal { credentials: &self.credentials, what: what.clone(), request };
        let now = host::now();
        let committed = self.report_edits(self.store.commit_any(proposal, &now))?;
        self.keep_views(matches!(what, Transition::ArchiveTasks(_)), &committed, &now);
        Ok(committed)
    }

    /// A process that starts or takes over git work acquires the lock for it before the board records it.
    fn hold_if_begun(&self, what: &Transition) -> Result<(), StoreError> {
        match what {
            Transition::BeginClaim(BeginClaim { owner, .. })
            | Transition::BeginMerge(BeginMerge { owner, .. })
            | Transition::BeginApply(BeginApply { owner, .. })
            | Transition::BeginMove(BeginMove { owner, .. })
            | Transition::TakeOver(TakeOver { owner, .. }) => self.machine.hold_intents(owner),
            _ => Ok(()),
        }
    }

    /// A task that is not on the board may have been archived.
    fn explain_archived(&self, refusal: Refusal) -> Failure {
        let id = match (refusal.code, refusal.details.get("task").and_then(|id| id.as_str())) {
            (Code::UnknownTask, Some(id)) => TaskId::new(id).ok(),
            _ => None,
        };
        let archived = id.and_then(|id| self.store.archived_task(&id).ok().flatten());
        let mut failure = Failure::from(refusal);
        if let Some(task) = archived {
            failure.message = format!("task `{}` is {} and archived", task.id, task.status);
            failure.details.insert("archived".to_owned(), true.into());
            failure.hint = Some(format!("`liza task show {}` shows it; it needs no more work", task.id));
        }
        failure
    }

    fn report_commit<O>(&self, what: &Transition, committed: &Committed<O>) {
        let ends =
            matches!(what, Transition::Abandon(_) | Transition::Rescope(_) | Transition::FinishMerge(_));
        if ends && archive::is_crowded(&committed.board) {
            self.crowded.set(true);
        }
        for warning in &committed.warnings {
            self.narrate(warning.clone());
        }
    }
}
