//! What was seen while the team was at work.

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
    /// What `version` waited for while `usage` had the file of both.
    pub waited_for: Option<String>,
    /// Who was killed with its runner.
    pub killed: Option<String>,
    pub pause: Option<Pause>,
}

/// How `liza run` says that it ended.
#[derive(Debug, Default, Deserialize)]
pub struct RunEnd {
    pub outcome: String,
    pub causes: Vec<Cause>,
    /// The file of its report.
    pub report: Option<String>,
}

/// A stop and what became of it.
#[derive(Debug, Default)]
pub struct Pause {
    /// The revision of the board when the run had noticed it.
    pub from: u64,
    /// The revision when an agent had been turned away.
    pub until: u64,
    pub resumed: bool,
    /// What the log has in between that should not be there.
    pub begun_meanwhile: Vec<String>,
}

impl Story {
    pub fn report(&self) -> Option<&str> {
        self.answer.data.as_ref()?.report.as_deref()
    }

    /// The most coders that were at work at the same moment, in the order of the events.
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
    fn at_once_means_between_start_and_end() {
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
