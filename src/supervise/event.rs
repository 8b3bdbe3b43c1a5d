//! What happens while agents work, one event at a time: printed for people, or one JSON object a line for programs.

use std::rc::Rc;

use serde::{Deserialize, Serialize};

use crate::board::breaker::CrashClass;
use crate::board::{TaskId, Wall};
use crate::policy::overseer::Question;

/// What a liza that was started with `--json` answers in the end.
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
    /// A runner is there and waits for work.
    Ready,
    /// A runner has done what its run gave it, and can do more.
    Free,
    Claimed,
    /// A session of an agent begins.
    Started,
    /// A session ended; what it left stands in `text`.
    Ended,
    Submitted,
    Approved,
    Rejected,
    Blocked,
    HandedOff,
    Released,
    Merged,
    MergeFailed,
    /// A limit is reached; the agent was asked to hand off.
    Limit,
    /// The overseer, or a person, ends the session.
    Halted,
    Crashed,
    Paused,
    Resumed,
    /// A cap is nearly or wholly used.
    Spend,
    /// Nothing can be begun now, but it goes on by itself.
    Waiting,
    /// A person is asked about an agent, and the run waits for the answer.
    Question,
    /// Something waits for a person who plays a role of the team.
    ReviewWanted,
    Aborted,
    /// A runner ends, and why.
    Stopped,
    /// A change of the board by another process.
    Board,
    Notice,
}

impl Kind {
    /// Its name for people: that of JSON, in words.
    pub fn word(self) -> String {
        let name = serde_json::to_value(self).unwrap_or_default();
        name.as_str().unwrap_or_default().replace('_', " ")
    }
}

/// How an event is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mood {
    Good,
    Bad,
    /// A person is waited for, or time.
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

/// What kind of failure it was, of which agent command, and when that is worth trying again.
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
    /// What a session used, as far as is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<crate::provider::Usage>,
    /// Why an agent's command failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureNote>,
    /// What a person is asked.
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

    /// A person is asked this.
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
