//! What the alerts about a board are judged by, and the queries that several alerts use.

use super::{limits::NAMED, outside::Outside};
use crate::board::time::{Deadline, NANOS_PER_SECOND};
use crate::policy::prelude::*;

pub struct Situation<'a> {
    /// With all bodies loaded.
    pub board: &'a Board,
    pub world: &'a World,
    pub now: &'a Stamp,
    pub outside: &'a Outside,
    /// Standing still counts from here on: before, no agent could move, because all were halted or the machine was off.
    pub awake_since: Wall,
}

impl Situation<'_> {
    /// A switch keeps this task or this agent from going on, and `resume` gives the time back.
    pub fn is_halted(&self, task: &Task, agent: Option<&AgentId>) -> bool {
        let names = [Some(task.id.as_str()), agent.map(AgentId::as_str)];
        let meant = |subject: &String| names.iter().flatten().any(|name| subject.eq_ignore_ascii_case(name));
        self.world.switches.set.iter().any(|switch| switch.subject.as_ref().is_none_or(meant))
    }

    /// An agent or liza works on it: a lease that holds, or git work under way.
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

pub fn last_moved(task: &Task) -> Wall {
    let body = task.body();
    body.history.last().map_or(body.created_at, |entry| entry.time)
}

/// How often a task has come into the state it is in: history only grows, so the place of the entry is a name for it.
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
