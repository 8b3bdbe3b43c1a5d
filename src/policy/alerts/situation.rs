//! What the alerts about a board are judged by, and the questions several of them ask.

use crate::board::rules::lease_over;
use crate::board::time::{Deadline, NANOS_PER_SECOND};
use crate::board::{AgentId, Board, Stamp, Status, Task, Wall, World};
use crate::text::clipped;

use super::limits::{NAMED, TEXT_CHARS};
use super::outside::Outside;

pub struct Situation<'a> {
    /// With all bodies loaded.
    pub board: &'a Board,
    pub world: &'a World,
    pub now: &'a Stamp,
    pub outside: &'a Outside,
    /// Standing still counts from here on: nobody could move before, be it that everybody was halted or that the machine
    /// was off.
    pub awake_since: Wall,
}

impl Situation<'_> {
    /// A switch keeps this task or this agent from going on, and `resume` gives the time back.
    pub fn is_halted(&self, task: &Task, agent: Option<&AgentId>) -> bool {
        self.world.switches.set.iter().any(|switch| match &switch.subject {
            None => true,
            Some(subject) => {
                subject.eq_ignore_ascii_case(task.id.as_str())
                    || agent.is_some_and(|agent| subject.eq_ignore_ascii_case(agent.as_str()))
            }
        })
    }

    /// Somebody is at it: a lease that holds, or git work under way.
    pub fn is_in_flight(&self, task: &Task) -> bool {
        let lease = match task.status {
            Status::Working => task.lease.as_ref(),
            _ if task.judged_by().is_some() => task.review_lease.as_ref(),
            _ => None,
        };
        lease.is_some_and(|lease| !lease_over(self.board, lease, self.now))
            || self.board.intent_of(&task.id).is_some()
    }

    /// Seconds since a moment; none if the clock went back.
    pub fn age(&self, since: Wall) -> u64 {
        u64::try_from(self.now.wall.since(since)).unwrap_or(0)
    }

    /// Seconds by which a deadline is over (`Ok`), or until it is (`Err`).
    pub fn over_by(&self, deadline: &Deadline) -> Result<u64, u64> {
        if deadline.boot != self.now.boot {
            // Set before this boot: it has been over since the machine came up, which is where its clock began.
            return Ok(self.now.monotonic / NANOS_PER_SECOND);
        }
        match self.now.monotonic.checked_sub(deadline.monotonic) {
            Some(over) => Ok(over / NANOS_PER_SECOND),
            None => Err((deadline.monotonic - self.now.monotonic).div_ceil(NANOS_PER_SECOND)),
        }
    }
}

/// When anything last happened to a task.
pub fn last_moved(task: &Task) -> Wall {
    let body = task.body();
    body.history.last().map_or(body.created_at, |entry| entry.time)
}

/// How often a task has come into the state it is in: history only grows, so the place of the entry is a name for it.
pub fn entered(task: &Task) -> usize {
    task.body().history.iter().rposition(|entry| entry.to == Some(task.status)).unwrap_or(0)
}

/// Somebody's words, short enough for one line of many.
pub fn said(text: &str) -> String {
    let line: Vec<&str> = text.split_whitespace().collect();
    clipped(&line.join(" "), TEXT_CHARS).to_string()
}

/// Some of many names.
pub fn named<S: AsRef<str>>(names: &[S]) -> String {
    let shown: Vec<&str> = names.iter().take(NAMED).map(AsRef::as_ref).collect();
    match names.len().saturating_sub(NAMED) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
