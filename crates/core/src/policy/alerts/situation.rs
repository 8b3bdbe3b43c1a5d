//! The input of alerts about a board, and queries that several alerts use.

use super::{limits::NAMED, outside::Outside};
use crate::board::time::{Deadline, NANOS_PER_SECOND};
use crate::policy::prelude::*;

pub struct Situation<'a> {
    /// With all bodies loaded.
    pub board: &'a Board,
    pub world: &'a World,
    pub now: &'a Stamp,
    pub outside: &'a Outside,
    /// Waiting counts from this time on: before it, all agents were halted or the machine was off.
    pub awake_since: Wall,
}

impl Situation<'_> {
    /// Whether a switch stops this task or this agent; `resume` gives the time back.
    pub fn is_halted(&self, task: &Task, agent: Option<&AgentId>) -> bool {
        let names = [Some(task.id.as_str()), agent.map(AgentId::as_str)];
        let meant = |subject: &String| names.iter().flatten().any(|name| subject.eq_ignore_ascii_case(name));
        self.world.switches.set.iter().any(|switch| switch.subject.as_ref().is_none_or(meant))
    }

    /// Whether an agent or liza works on the task: an unexpired lease, or git work in progress.
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
            // The deadline was set before this boot: it has been over since the boot, where the clock began.
            return Ok(self.now.monotonic / NANOS_PER_SECOND);
        }
        match self.now.monotonic.checked_sub(deadline.monotonic) {
            Some(over) => Ok(over / NANOS_PER_SECOND),
            None => Err((deadline.monotonic - self.now.monotonic).div_ceil(NANOS_PER_SECOND)),
        }
    }
}

pub fn last_moved(task: &Task) -> Wall {
    let body = task.body();
    body.history.last().map_or(body.created_at, |entry| entry.time)
}

/// Identifies the current status period of a task: the history only grows, so the index of its entry is unique.
pub fn entered(task: &Task) -> usize {
    task.body().history.iter().rposition(|entry| entry.to == Some(task.status)).unwrap_or(0)
}

pub fn named<S: AsRef<str>>(names: &[S]) -> String {
    let shown: Vec<&str> = names.iter().take(NAMED).map(AsRef::as_ref).collect();
    match names.len().saturating_sub(NAMED) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
