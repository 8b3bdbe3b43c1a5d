//! What calls for the planner.

use serde::Serialize;

use crate::board::records::Urgency;
use crate::board::{Board, Status, TaskId, Wall};

/// One reason for the planner to act, with what it is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Wake {
    pub trigger: Trigger,
    /// Task or record ids.
    pub about: Vec<String>,
    /// The next thing to do.
    pub hint: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Trigger {
    InitialPlanning,
    HypothesisExhausted,
    AnsweredNote,
    Blocked,
    IntegrationFailed,
    ImmediateDiscovery,
    /// A planner was written to.
    Message,
    /// A planner was asked, and its answer is late.
    AnswerOverdue,
    Unprocessed,
}

impl Trigger {
    /// The next thing to do about `id`.
    fn hint(self, id: &str) -> String {
        let text = match self {
            Self::InitialPlanning => "cut the goal into tasks: `liza plan FILE`",
            Self::HypothesisExhausted => "cut it anew: `liza task rescope ID --into FILE --reason …`",
            Self::AnsweredNote => "act on it, then `liza inbox --done ID`",
            Self::Blocked => "answer it: `liza task unblock ID --answer …`, or cut it anew",
            Self::IntegrationFailed => "a coder repairs it; see that somebody does, or cut it anew",
            Self::ImmediateDiscovery => "plan it in, then `liza inbox --done ID`",
            Self::Message => "read it: `liza message inbox`; answer with `liza message reply ID --body …`",
            Self::AnswerOverdue => "answer it: `liza message reply ID --body …`",
            Self::Unprocessed => "weigh them, then `liza inbox --done ID`",
        };
        text.replace("ID", id)
    }
}

impl Wake {
    fn new(trigger: Trigger, about: Vec<String>) -> Option<Self> {
        let hint = trigger.hint(about.first()?);
        Some(Self { trigger, about, hint })
    }

    /// Names this occasion: the same task blocked a second time is another one.
    fn key(&self, board: &Board, id: &str) -> String {
        let epoch = TaskId::new(id).ok().and_then(|id| board.task(&id)).map_or(0, |task| task.epoch);
        let trigger = serde_json::to_value(self.trigger).unwrap_or_default();
        format!("{}:{id}@{epoch}", trigger.as_str().unwrap_or_default())
    }

    pub fn keys(&self, board: &Board) -> Vec<String> {
        self.about.iter().map(|id| self.key(board, id)).collect()
    }

    /// The part of it that is about certain occasions.
    pub fn only(self, board: &Board, wanted: impl Fn(&str) -> bool) -> Option<Self> {
        let about = self.about.iter().filter(|id| wanted(&self.key(board, id))).cloned().collect();
        Self::new(self.trigger, about)
    }
}

/// Every reason at this moment, the most pressing first.
pub fn wakes(board: &Board, now: Wall) -> Vec<Wake> {
    let tasks = |status: Status, exhausted: bool| -> Vec<String> {
        board
            .tasks
            .iter()
            .filter(|task| task.status == status && task.hypothesis_exhausted() == exhausted)
            .map(|task| task.id.to_string())
            .collect()
    };
    let unplanned = board.tasks.is_empty() && board.rest.archived == 0;
    let exhausted =
        board.tasks.iter().filter(|task| task.hypothesis_exhausted() && !task.status.is_terminal());
    let notes =
        board.rest.human_notes.iter().filter(|note| note.processed_by.is_none() && note.by.is_human());
    let discovered = |urgency: Urgency| {
        let open = move |found: &&crate::board::records::Discovery| {
            found.processed_by.is_none() && found.urgency == urgency
        };
        board.rest.discovered.iter().filter(open).map(|found| found.id.clone())
    };
    let anomalies = board.rest.anomalies.iter().filter(|anomaly| anomaly.processed_by.is_none());
    let changes = board.rest.spec_changes.iter().filter(|change| change.processed_by.is_none());
    let rest = anomalies
        .map(|anomaly| anomaly.id.clone())
        .chain(discovered(Urgency::Deferred))
        .chain(changes.map(|change| change.id.clone()));
    let asked = || board.rest.messages.iter().filter(|message| board.asks_planner(message));
    // One planner that knows is enough.
    let unread = asked().filter(|message| message.seen_by.is_empty()).map(|message| message.id.clone());
    let overdue = asked().filter(|message| message.is_overdue(now)).map(|message| message.id.clone());
    [
        Wake::new(
            Trigger::InitialPlanning,
            unplanned.then(|| board.rest.goal.id.clone()).into_iter().collect(),
        ),
        Wake::new(Trigger::HypothesisExhausted, exhausted.map(|task| task.id.to_string()).collect()),
        Wake::new(Trigger::AnsweredNote, notes.map(|note| note.id.clone()).collect()),
        Wake::new(Trigger::Blocked, tasks(Status::Blocked, false)),
        Wake::new(Trigger::IntegrationFailed, tasks(Status::IntegrationFailed, false)),
        Wake::new(Trigger::ImmediateDiscovery, discovered(Urgency::Immediate).collect()),
        Wake::new(Trigger::Message, unread.collect()),
        Wake::new(Trigger::AnswerOverdue, overdue.collect()),
        Wake::new(Trigger::Unprocessed, rest.collect()),
    ]
    .into_iter()
    .flatten()
    .collect()
}
