//! What every change of the board has in common.

use std::any::Any;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::call::{Actor, Call};
use super::grants::Operation;
use super::ids::{AgentId, TaskId};
use super::intent::RequestKey;
use super::records::Draft;
use super::refusal::Refusal;
use super::state::Board;
use super::task::Status;

/// Which task bodies a transition reads or changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Needs {
    Nothing,
    Tasks(Vec<TaskId>),
    Everything,
}

impl Needs {
    pub fn task(id: &TaskId) -> Self {
        Self::Tasks(vec![id.clone()])
    }

    /// The task an intent is about.
    pub fn intent(board: &Board, id: u64) -> Self {
        match board.intent(id).and_then(|intent| intent.task.as_ref()) {
            Some(task) => Self::task(task),
            None => Self::Nothing,
        }
    }
}

/// The row of a verb in the table of all verbs (`rules/mod.rs`).
pub trait Listed {
    /// The body of the task it is about, if it is about one.
    fn about(&self, board: &Board) -> Needs;
}

/// One verb: `check` may refuse and changes nothing, `change` cannot fail once `check` has passed.
pub trait Verb: Listed {
    /// The permission it needs. None for verbs of people only, and for what liza and the runners record while agents work:
    /// heartbeats, outcomes of intents, events.
    const OPERATION: Option<Operation>;
    /// What came of it, as the command answers.
    type Outcome: Serialize + DeserializeOwned + 'static;

    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal>;

    fn change(&self, board: &mut Board, call: &Call) -> Self::Outcome;

    /// The permission it needs on this board, if that depends on the board.
    fn operation(&self, _: &Board, _: &Actor) -> Option<Operation> {
        Self::OPERATION
    }

    /// Which bodies `check` and `change` will ask for; the board passed in may hold heads only.
    fn needs(&self, board: &Board) -> Needs {
        self.about(board)
    }

    /// Tasks that, if they are not on the board, are looked for in the archive, and after them whatever replaced them.
    fn asks_archive(&self, _: &Board) -> Vec<TaskId> {
        Vec::new()
    }

    /// The messages it puts on the board, in their order: readers of the log find every message by them.
    fn drafts(&self) -> &[Draft] {
        &[]
    }

    /// In whose name they are sent.
    fn speaker(&self, by: &Actor) -> AgentId {
        by.id()
    }

    /// The request this verb begins (answered only when its git work has ended).
    fn begins_request(&self) -> Option<&RequestKey> {
        None
    }
}

/// A verb whose outcome has any type: journal and commit are written once, not once per verb.
pub trait AnyVerb {
    fn operation(&self, board: &Board, by: &Actor) -> Option<Operation>;
    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal>;
    fn change(&self, board: &mut Board, call: &Call) -> Box<dyn AnyOutcome>;
    fn needs(&self, board: &Board) -> Needs;
    fn asks_archive(&self, board: &Board) -> Vec<TaskId>;
    fn drafts(&self) -> &[Draft];
    fn speaker(&self, by: &Actor) -> AgentId;
    fn begins_request(&self) -> Option<&RequestKey>;
}

impl<V: Verb> AnyVerb for V {
    fn operation(&self, board: &Board, by: &Actor) -> Option<Operation> {
        Verb::operation(self, board, by)
    }
    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        Verb::check(self, board, call)
    }
    fn change(&self, board: &mut Board, call: &Call) -> Box<dyn AnyOutcome> {
        Box::new(Verb::change(self, board, call))
    }
    fn needs(&self, board: &Board) -> Needs {
        Verb::needs(self, board)
    }
    fn asks_archive(&self, board: &Board) -> Vec<TaskId> {
        Verb::asks_archive(self, board)
    }
    fn drafts(&self) -> &[Draft] {
        Verb::drafts(self)
    }
    fn speaker(&self, by: &Actor) -> AgentId {
        Verb::speaker(self, by)
    }
    fn begins_request(&self) -> Option<&RequestKey> {
        Verb::begins_request(self)
    }
}

/// An outcome of any type. The request memo keeps it as JSON; the caller gets it back with its own type.
pub trait AnyOutcome: Any {
    fn to_json(&self) -> Value;
}

impl<O: Serialize + 'static> AnyOutcome for O {
    fn to_json(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

/// The type of an outcome: what a command answers with, and what is kept for a repeated request.
macro_rules! outcome {
    ($name:ident { $($(#[$attribute:meta])* $field:ident: $type:ty),* $(,)? }) => {
        #[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
        pub struct $name { $($(#[$attribute])* pub $field: $type),* }
    };
}
pub(crate) use outcome;

// Work that takes more than one step has begun, or was given up: the number of its intent.
outcome!(Begun { intent: u64 });
outcome!(Cancelled { cancelled: u64, reason: String });
// Something has a number now: a note, a trip of the breaker.
outcome!(Recorded { id: String });
outcome!(TaskStatus { task: TaskId, status: Status });
