//! What calls for the planner.

use serde::Serialize;

use crate::board::records::Urgency;
use crate::board::{Board, Status};

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
    Unprocessed,
}

/// Every reason, the most pressing first.
pub fn wakes(board: &Board) -> Vec<Wake> {
    let mut found = Vec::new();
    let mut add = |trigger: Trigger, about: Vec<String>, hint: &str| {
        if !about.is_empty() {
            let hint = hint.replace("ID", &about[0]);
            found.push(Wake { trigger, about, hint });
        }
    };
    let tasks = |status: Status, exhausted: bool| -> Vec<String> {
        board
            .tasks
            .iter()
            .filter(|task| task.status == status && task.hypothesis_exhausted() == exhausted)
            .map(|task| task.id.to_string())
            .collect()
    };
    if board.tasks.is_empty() && board.rest.archived == 0 {
        add(
            Trigger::InitialPlanning,
            vec![board.rest.goal.id.clone()],
            "cut the goal into tasks: `liza plan FILE`",
        );
    }
    add(
        Trigger::HypothesisExhausted,
        board
            .tasks
            .iter()
            .filter(|task| task.hypothesis_exhausted() && !task.status.is_terminal())
            .map(|task| task.id.to_string())
            .collect(),
        "cut it anew: `liza task rescope ID --into FILE --reason …`",
    );
    let notes =
        board.rest.human_notes.iter().filter(|note| note.processed_by.is_none() && note.by.is_human());
    add(
        Trigger::AnsweredNote,
        notes.map(|note| note.id.clone()).collect(),
        "act on it, then `liza inbox --done ID`",
    );
    add(
        Trigger::Blocked,
        tasks(Status::Blocked, false),
        "answer it: `liza task unblock ID --answer …`, or cut it anew",
    );
    add(
        Trigger::IntegrationFailed,
        tasks(Status::IntegrationFailed, false),
        "a coder repairs it; see that somebody does, or cut it anew",
    );
    let immediate = board
        .rest
        .discovered
        .iter()
        .filter(|found| found.processed_by.is_none() && found.urgency == Urgency::Immediate);
    add(
        Trigger::ImmediateDiscovery,
        immediate.map(|found| found.id.clone()).collect(),
        "plan it in, then `liza inbox --done ID`",
    );
    let rest = board
        .rest
        .anomalies
        .iter()
        .filter(|anomaly| anomaly.processed_by.is_none())
        .map(|anomaly| anomaly.id.clone())
        .chain(
            board
                .rest
                .discovered
                .iter()
                .filter(|found| found.processed_by.is_none() && found.urgency == Urgency::Deferred)
                .map(|found| found.id.clone()),
        )
        .chain(
            board
                .rest
                .spec_changes
                .iter()
                .filter(|change| change.processed_by.is_none())
                .map(|change| change.id.clone()),
        );
    add(Trigger::Unprocessed, rest.collect(), "weigh them, then `liza inbox --done ID`");
    found
}
