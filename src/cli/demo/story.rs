//! The events of a demo, as they happened.

use serde::Deserialize;

use crate::cli::prelude::*;
use crate::policy::run::Cause;
use crate::supervise::{ChildAnswer, Event, Kind};

#[derive(Debug, Default)]
pub struct Story {
    /// All events of `liza run`, in their order.
    pub events: Vec<Event>,
    /// The answer of `liza run`.
    pub answer: ChildAnswer<RunEnd>,
    /// The task that `version` waited for: `usage`, which owned the file that both need.
    pub waited_for: Option<String>,
    /// The agent that the demo killed, with its runner.
    pub killed: Option<String>,
    pub pause: Option<Pause>,
}

/// The end of `liza run`, from its JSON answer.
#[derive(Debug, Default, Deserialize)]
pub struct RunEnd {
    pub outcome: String,
    pub causes: Vec<Cause>,
    /// The file of its report.
    pub report: Option<String>,
}

/// The pause: its revisions, and what the journal has in between.
#[derive(Debug, Default)]
pub struct Pause {
    /// The revision of the board when the run noticed PAUSE.
    pub from: u64,
    /// The revision after liza refused an agent's submission.
    pub until: u64,
    pub resumed: bool,
    /// Verbs in between that PAUSE should have prevented.
    pub begun_meanwhile: Vec<String>,
}

impl Story {
    pub fn report(&self) -> Option<&str> {
        self.answer.data.as_ref()?.report.as_deref()
    }

    /// The largest group of coders with a session at the same time.
    pub fn coders_at_once(&self) -> Vec<String> {
        let mut at_work: BTreeSet<String> = BTreeSet::new();
        let mut most = Vec::new();
        for event in &self.events {
            if event.task.is_none() || !event.agent.starts_with("coder-") {
                continue;
            }
            match event.event {
                Kind::Started => {
                    at_work.insert(event.agent.clone());
                }
                Kind::Ended | Kind::Released => {
                    at_work.remove(&event.agent);
                }
                _ => {}
            }
            if at_work.len() > most.len() {
                most = at_work.iter().cloned().collect();
            }
        }
        most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(agent: &str, kind: Kind, task: &str) -> Event {
        Event::new(kind, "").agent(agent).task(task)
    }

    #[test]
    fn coders_at_once_counts_open_sessions() {
        let in_turn = Story {
            events: vec![
                event("coder-1", Kind::Started, "a"),
                event("coder-1", Kind::Ended, "a"),
                event("coder-2", Kind::Started, "b"),
                event("code-reviewer-1", Kind::Started, "a"),
            ],
            ..Story::default()
        };
        assert_eq!(in_turn.coders_at_once(), ["coder-1"]);
        let at_once = Story {
            events: vec![
                event("coder-1", Kind::Started, "a"),
                event("coder-2", Kind::Started, "b"),
                event("coder-1", Kind::Ended, "a"),
            ],
            ..Story::default()
        };
        assert_eq!(at_once.coders_at_once(), ["coder-1", "coder-2"]);
    }
}
