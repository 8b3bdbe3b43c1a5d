//! The interface of every change of the board.

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

    /// The task of an intent.
    pub fn intent(board: &Board, id: u64) -> Self {
        match board.intent(id).and_then(|intent| intent.task.as_ref()) {
            Some(task) => Self::task(task),
            None => Self::Nothing,
        }
    }
}

/// The row of a verb in the table of all verbs (`rules/mod.rs`).
pub trait Listed {
    /// The body of the verb's task, if it has one.
    fn about(&self, board: &Board) -> Needs;
}

/// One verb: `check` may refuse and changes nothing, `change` cannot fail once `check` has passed.
pub trait Verb: Listed {
    /// The permission that the verb needs. None for verbs that only people use, and for records of liza and the runners
    /// while agents work: heartbeats, outcomes of intents, events.
    const OPERATION: Option<Operation>;
    /// The outcome, which the command answers.
    type Outcome: Serialize + DeserializeOwned + 'static;

    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal>;

    fn change(&self, board: &mut Board, call: &Call) -> Self::Outcome;

    /// The permission that the verb needs, if that depends on the board.
    fn operation(&self, _: &Board, _: &Actor) -> Option<Operation> {
        Self::OPERATION
    }

    /// The bodies that `check` and `change` will read; the board passed in may hold only heads.
    fn needs(&self, board: &Board) -> Needs {
        self.about(board)
    }

    /// Tasks that, if they are not on the board, are looked up in the archive, and then their replacements.
    fn asks_archive(&self, _: &Board) -> Vec<TaskId> {
        Vec::new()
    }

    /// The messages that the verb puts on the board, in order: readers of the journal find every message by them.
    fn drafts(&self) -> &[Draft] {
        &[]
    }

    /// The sender of these messages.
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

/// An outcome of any type. The request memo stores it as JSON; the caller gets it back with its own type.
pub trait AnyOutcome: Any {
    fn to_json(&self) -> Value;
}

impl<O: Serialize + 'static> AnyOutcome for O {
    fn to_json(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

/// The type of an outcome: the answer of a command, also stored for a repeated request.
macro_rules! outcome {
    ($name:ident { $($(#[$attribute:meta])* $field:ident: $type:ty),* $(,)? }) => {
        #[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
        pub struct $name { $($(#[$attribute])* pub $field: $type),* }
    };
}
pub(crate) use outcome;

// Work of more than one step has begun or was cancelled: the number of its intent.
outcome!(Begun { intent: u64 });
outcome!(Cancelled { cancelled: u64, reason: String });
// A record got its id: a note, a trip of the breaker.
outcome!(Recorded { id: String });
outcome!(TaskStatus { task: TaskId, status: Status });
