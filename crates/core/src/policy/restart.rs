//! When a crashed agent is restarted, when its runner gives up, and when its task is the cause.

use std::time::Duration;

use super::prelude::*;
use crate::board::breaker::Crash;

/// This many crashes within the window end a runner.
pub const CRASHES: usize = 3;
pub const WINDOW: Duration = Duration::from_secs(300);
/// The first pause; each further crash in the window doubles it.
pub const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// This many crashes on one task within an hour are blamed on the task. One more than end a runner: a broken agent must
/// not block a task that other agents can do.
const CRASHES_OF_TASK: usize = CRASHES + 1;
const TASK_WINDOW_SECONDS: i64 = 3600;
/// How much of the last crash's text is quoted.
const LAST_WORDS_CHARS: usize = 300;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterCrash {
    /// Restart it after this time.
    Restart(Duration),
    GiveUp,
}

/// The crashes of one agent, by time (any clock that only goes forward).
#[derive(Debug, Clone)]
pub struct Crashes {
    at: Vec<Duration>,
    first_pause: Duration,
}

impl Crashes {
    /// With this pause after the first crash.
    pub fn pausing(first_pause: Duration) -> Self {
        Self { at: Vec::new(), first_pause }
    }

    /// Whether there was a crash.
    pub fn any(&self) -> bool {
        !self.at.is_empty()
    }

    /// One more crash at this moment.
    pub fn note(&mut self, now: Duration) -> AfterCrash {
        self.at.retain(|at| now.saturating_sub(*at) < WINDOW);
        self.at.push(now);
        if self.at.len() >= CRASHES {
            return AfterCrash::GiveUp;
        }
        let doublings = u32::try_from(self.at.len() - 1).unwrap_or(u32::MAX).min(8);
        AfterCrash::Restart(self.first_pause * 2u32.pow(doublings))
    }
}

/// Why a task is blocked on which agents crashed too often, one agent or several. Crashes before the last unblock or
/// submission do not count. The body of the task must be loaded.
pub fn task_is_to_blame(board: &Board, task: &TaskId, now: Wall) -> Option<String> {
    let history = &board.task(task)?.body().history;
    let moved = history.iter().rfind(|entry| matches!(entry.event, Event::Unblocked | Event::Submitted));
    let counts = |crash: &&Crash| {
        crash.task_id.as_ref() == Some(task)
            && crash.may_be_the_works_fault()
            && now.since(crash.time) < TASK_WINDOW_SECONDS
            && moved.is_none_or(|moved| crash.time > moved.time)
    };
    let crashes: Vec<&Crash> = board.rest.circuit_breaker.crashes.iter().filter(counts).collect();
    let last = crashes.last()?;
    let agents: BTreeSet<&str> = crashes.iter().map(|crash| crash.agent.as_str()).collect();
    (crashes.len() >= CRASHES_OF_TASK).then(|| {
        let text = clipped(&last.text, LAST_WORDS_CHARS);
        format!("{} on it by {}, last: {text}", plural(crashes.len(), "crash"), list_words(agents))
    })
}

/// The last crash of each agent whose runner gave up, or whose provider is paused.
pub fn failing(board: &Board, now: Wall) -> Vec<&Crash> {
    let mut last: BTreeMap<&AgentId, &Crash> = BTreeMap::new();
    for crash in &board.rest.circuit_breaker.crashes {
        last.insert(&crash.agent, crash);
    }
    let counts = |crash: &&Crash| {
        let agent = board.agent(&crash.agent);
        crash.until.is_some_and(|until| until > now)
            || agent.is_some_and(|agent| !agent.is_active() && crash.time >= agent.registered_at)
    };
    last.into_values().filter(counts).collect()
}

/// The questions to answer before an agent tries the task again.
pub fn questions_after_crashes(task: &TaskId) -> Vec<String> {
    vec![
        format!("What makes agents crash on this task? `liza agent log {task}` shows their last session."),
        "Is something missing that the task needs, or should it be split?".to_owned(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn the_third_crash_in_five_minutes_is_the_last() {
        let mut crashes = Crashes::pausing(FIRST_PAUSE);
        assert_eq!(crashes.note(at(0)), AfterCrash::Restart(at(1)));
        assert_eq!(crashes.note(at(100)), AfterCrash::Restart(at(2)));
        assert_eq!(crashes.note(at(299)), AfterCrash::GiveUp);
    }

    #[test]
    fn old_crashes_are_forgotten() {
        let mut crashes = Crashes::pausing(FIRST_PAUSE);
        for start in [0, 300, 600, 900] {
            assert_eq!(crashes.note(at(start)), AfterCrash::Restart(at(1)));
        }
        assert_eq!(crashes.note(at(901)), AfterCrash::Restart(at(2)));
        assert_eq!(crashes.note(at(1199)), AfterCrash::GiveUp);
    }
    #[test]
    fn fourth_crash_on_a_task_blames_the_task() {
        use crate::board::rules::RecordCrash;
        use crate::board::testing::{Bench, id};
        let mut bench = Bench::with_tasks(&["a", "b"]);
        let crash = |bench: &mut Bench, by: &str, task: &str| {
            bench.ok(by, RecordCrash::plain(Some(id(task)), "exit 9"));
            bench.tick(10);
        };
        let blamed = |bench: &Bench, task: &str| task_is_to_blame(&bench.board, &id(task), bench.now.wall);
        for by in ["coder-1", "coder-1", "coder-1"] {
            crash(&mut bench, by, "a");
        }
        assert_eq!(blamed(&bench, "a"), None, "the agent may be the cause");
        crash(&mut bench, "coder-2", "b");
        assert_eq!(blamed(&bench, "a"), None, "another task's crash");
        crash(&mut bench, "coder-2", "a");
        let why = blamed(&bench, "a").expect("the task is the cause");
        assert_eq!(why, "4 crashes on it by coder-1 and coder-2, last: exit 9");
        assert_eq!(blamed(&bench, "b"), None);
        assert!((1..=3).contains(&questions_after_crashes(&id("a")).len()));
        // A person unblocks it: earlier crashes no longer count.
        let mut unblocked = bench.clone();
        unblocked.ok("human", bench.block("a"));
        unblocked.ok("human", bench.unblock("a"));
        unblocked.tick(1);
        crash(&mut unblocked, "coder-2", "a");
        assert_eq!(blamed(&unblocked, "a"), None);
        // Crashes of an hour ago do not count either.
        bench.tick(3600);
        crash(&mut bench, "coder-2", "a");
        assert_eq!(blamed(&bench, "a"), None);
    }
}
