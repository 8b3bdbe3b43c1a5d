//! Events of runs and runners: one line each for people, or one JSON object each for programs.

use std::rc::Rc;

use serde::{Deserialize, Serialize};

use crate::board::breaker::CrashClass;
use crate::board::{TaskId, Wall};
use crate::policy::overseer::Question;

/// The final answer of a liza process that was started with `--json`.
#[derive(Debug, Default, Deserialize)]
pub struct ChildAnswer<T = serde::de::IgnoredAny> {
    pub ok: bool,
    pub data: Option<T>,
    pub error: Option<ChildError>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ChildError {
    pub code: String,
    pub message: String,
    pub hint: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A runner is registered and waits for work.
    Ready,
    /// A runner has finished its piece of work and can take another.
    Free,
    Claimed,
    /// A session of an agent starts.
    Started,
    /// A session ended; `text` says what it left.
    Ended,
    Submitted,
    Approved,
    Rejected,
    Blocked,
    HandedOff,
    Released,
    Merged,
    MergeFailed,
    /// A limit is reached; the runner asked the agent to hand off.
    Limit,
    /// The overseer or a person ends the session.
    Halted,
    Crashed,
    Paused,
    Resumed,
    /// A spend cap is nearly or fully used.
    Spend,
    /// No work can start now; the run or runner continues later without a person.
    Waiting,
    /// A person is asked about an agent, and the run waits for the answer.
    Question,
    /// A task waits for a person who has a role in the team.
    ReviewWanted,
    Aborted,
    /// A runner ends; `text` has the reason.
    Stopped,
    /// A change of the board by another process.
    Board,
    Notice,
}

impl Kind {
    /// The name for people: the JSON name with spaces.
    pub fn word(self) -> String {
        let name = serde_json::to_value(self).unwrap_or_default();
        name.as_str().unwrap_or_default().replace('_', " ")
    }
}

/// How an event is coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mood {
    Good,
    Bad,
    /// The run waits for a person or for time to pass.
    Waits,
    Works,
}

impl Kind {
    pub fn tone(self) -> Option<Mood> {
        match self {
            Self::Merged | Self::Approved => Some(Mood::Good),
            Self::Rejected
            | Self::Blocked
            | Self::MergeFailed
            | Self::Limit
            | Self::Halted
            | Self::Crashed
            | Self::Aborted => Some(Mood::Bad),
            Self::Paused | Self::Spend | Self::Waiting | Self::Question | Self::ReviewWanted => {
                Some(Mood::Waits)
            }
            Self::Claimed | Self::Started | Self::Submitted | Self::Resumed => Some(Mood::Works),
            Self::Ready
            | Self::Free
            | Self::Ended
            | Self::HandedOff
            | Self::Released
            | Self::Stopped
            | Self::Board
            | Self::Notice => None,
        }
    }
}

/// The class of a failure, its provider, and when to try again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FailureNote {
    pub class: CrashClass,
    pub provider: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Wall>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    pub time: Wall,
    pub event: Kind,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub agent: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    pub text: String,
    /// Tokens and cost of a session, as far as known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<crate::provider::Usage>,
    /// Why an agent's command failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureNote>,
    /// The question to a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<Question>,
}

impl Event {
    pub fn new(event: Kind, text: impl Into<String>) -> Self {
        Self {
            time: crate::host::now().wall,
            event,
            agent: String::new(),
            task: None,
            text: text.into(),
            usage: None,
            failure: None,
            question: None,
        }
    }

    pub fn notice(text: impl Into<String>) -> Self {
        Self::new(Kind::Notice, text)
    }

    /// The event for a question to a person.
    pub fn asking(question: &Question) -> Self {
        let event = Self::new(Kind::Question, format!("waits for an answer: {}", question.text()));
        let event = event.agent(&question.agent).about(question.task.as_ref());
        Self { question: Some(question.clone()), ..event }
    }

    pub fn task(mut self, task: impl ToString) -> Self {
        self.task = Some(task.to_string());
        self
    }

    pub fn about(mut self, task: Option<&TaskId>) -> Self {
        self.task = task.map(TaskId::to_string);
        self
    }

    pub fn agent(mut self, agent: impl ToString) -> Self {
        self.agent = agent.to_string();
        self
    }

    /// One line for people.
    pub fn line(&self) -> String {
        let agent = if self.agent.is_empty() { String::new() } else { format!("{:<18} ", self.agent) };
        let task = self.task.as_ref().map_or(String::new(), |task| format!(" {task}"));
        let text = if self.text.is_empty() { String::new() } else { format!(": {}", self.text) };
        format!("{} {agent}{}{task}{text}", self.time, self.event.word())
    }
}

/// Where events go.
pub type Sink = Rc<dyn Fn(&Event)>;
