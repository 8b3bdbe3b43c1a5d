//! Reasons to start the planner.

use super::prelude::*;
use crate::board::route::AuditVerdict;

/// One reason for the planner to act, with its subject.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Wake {
    pub trigger: Trigger,
    /// Task or record ids.
    pub about: Vec<String>,
    /// The next thing to do.
    pub hint: String,
}

words! {
    pub enum Trigger {
        InitialPlanning = "initial_planning",
        HypothesisExhausted = "hypothesis_exhausted",
        AnsweredNote = "answered_note",
        /// A note was typed into the file, and no person's command has adopted it.
        TypedNote = "typed_note",
        /// The single job of a routed goal failed.
        SingleFailed = "single_failed",
        /// The auditor did not approve the goal.
        AuditBlock = "audit_block",
        Blocked = "blocked",
        IntegrationFailed = "integration_failed",
        ImmediateDiscovery = "immediate_discovery",
        /// A planner got a message.
        Message = "message",
        /// A planner was asked, and its answer is late.
        AnswerOverdue = "answer_overdue",
        Unprocessed = "unprocessed",
    }
}

impl Trigger {
    /// The next thing to do about `id`.
    fn hint(self, id: &str) -> String {
        let text = match self {
            Self::InitialPlanning => "split the goal into tasks: `liza plan FILE`",
            Self::HypothesisExhausted => "split or replan it: `liza task rescope ID --into FILE --reason …`",
            Self::AnsweredNote => "act on it, then `liza inbox --done ID`",
            Self::TypedNote => {
                "no person has confirmed it, so it is no answer: prepare, ask with `liza message`, then `liza inbox --done ID`"
            }
            Self::SingleFailed => {
                "it is not a small job: plan workstreams with `liza plan FILE` and `liza task abandon ID --reason …`, or answer it: `liza task unblock ID --answer …`"
            }
            Self::AuditBlock => {
                "read the findings: `liza result show ID`; plan tasks that fix them: `liza plan FILE`"
            }
            Self::Blocked => "answer it: `liza task unblock ID --answer …`, or split or replan it",
            Self::IntegrationFailed => "make sure that a coder fixes it, or split or replan it",
            Self::ImmediateDiscovery => "plan it, then `liza inbox --done ID`",
            Self::Message => "read it: `liza message inbox`; answer with `liza message reply ID --body …`",
            Self::AnswerOverdue => "answer it: `liza message reply ID --body …`",
            Self::Unprocessed => "decide about them, then `liza inbox --done ID`",
        };
        text.replace("ID", id)
    }
}

impl Wake {
    fn new(trigger: Trigger, about: Vec<String>) -> Option<Self> {
        let hint = trigger.hint(about.first()?);
        Some(Self { trigger, about, hint })
    }

    /// Identifies this event: the same task blocked a second time is another one.
    fn key(&self, board: &Board, id: &str) -> String {
        let epoch = TaskId::new(id).ok().and_then(|id| board.task(&id)).map_or(0, |task| task.epoch);
        format!("{}:{id}@{epoch}", self.trigger)
    }

    pub fn keys(&self, board: &Board) -> Vec<String> {
        self.about.iter().map(|id| self.key(board, id)).collect()
    }

    /// The part of it about the wanted events.
    pub fn only(self, board: &Board, wanted: impl Fn(&str) -> bool) -> Option<Self> {
        let about = self.about.iter().filter(|id| wanted(&self.key(board, id))).cloned().collect();
        Self::new(self.trigger, about)
    }
}

/// Every reason at this moment, most urgent first.
pub fn wakes(board: &Board, now: Wall) -> Vec<Wake> {
    let tasks = |status: Status| -> Vec<String> {
        let single = board.single_job();
        let open = |task: &&Task| {
            task.status == status
                && !task.hypothesis_exhausted()
                && single.is_none_or(|single| single != &task.id)
        };
        board.tasks.iter().filter(open).map(|task| task.id.to_string()).collect()
    };
    let single = board.single_job().and_then(|id| board.task(id));
    let failed = single.filter(|task| task.status == Status::Blocked && !task.hypothesis_exhausted());
    let audited = board.route().and_then(|route| route.audits.last());
    let blocked = audited.filter(|audit| audit.verdict == AuditVerdict::Block && board.rest.goal.is_open());
    let is_unplanned = board.rest.goal.is_open() && !board.is_planned();
    let unplanned = is_unplanned.then(|| board.rest.goal.id.clone()).into_iter();
    let exhausted =
        board.tasks.iter().filter(|task| task.hypothesis_exhausted() && !task.status.is_terminal());
    let open_notes = || board.rest.human_notes.iter().filter(|note| note.processed_by.is_none());
    let notes = open_notes().filter(|note| note.is_answer());
    let typed = open_notes().filter(|note| note.typed.is_some());
    let discovered = |urgency: Urgency| {
        let open = board.rest.discovered.iter().filter(|found| found.processed_by.is_none());
        open.filter(move |found| found.urgency == urgency).map(|found| found.id.clone())
    };
    let anomalies = board.rest.anomalies.iter().filter(|anomaly| anomaly.processed_by.is_none());
    let changes = board.rest.spec_changes.iter().filter(|change| change.processed_by.is_none());
    let rest = anomalies
        .map(|anomaly| anomaly.id.clone())
        .chain(discovered(Urgency::Deferred))
        .chain(changes.map(|change| change.id.clone()));
    let asked = || board.rest.messages.iter().filter(|message| board.asks_planner(message));
    // One planner that has read it is enough.
    let unread = asked().filter(|message| message.seen_by.is_empty()).map(|message| message.id.clone());
    let overdue = asked().filter(|message| message.is_overdue(now)).map(|message| message.id.clone());
    [
        Wake::new(Trigger::InitialPlanning, unplanned.collect()),
        Wake::new(Trigger::HypothesisExhausted, exhausted.map(|task| task.id.to_string()).collect()),
        Wake::new(Trigger::AnsweredNote, notes.map(|note| note.id.clone()).collect()),
        Wake::new(Trigger::TypedNote, typed.map(|note| note.id.clone()).collect()),
        Wake::new(Trigger::SingleFailed, failed.iter().map(|task| task.id.to_string()).collect()),
        Wake::new(Trigger::AuditBlock, blocked.iter().map(|audit| audit.task.to_string()).collect()),
        Wake::new(Trigger::Blocked, tasks(Status::Blocked)),
        Wake::new(Trigger::IntegrationFailed, tasks(Status::IntegrationFailed)),
        Wake::new(Trigger::ImmediateDiscovery, discovered(Urgency::Immediate).collect()),
        Wake::new(Trigger::Message, unread.collect()),
        Wake::new(Trigger::AnswerOverdue, overdue.collect()),
        Wake::new(Trigger::Unprocessed, rest.collect()),
    ]
    .into_iter()
    .flatten()
    .collect()
}
