//! Whether an agent is alive, by several signs that may contradict each other. One sign of life outweighs any number of
//! missing ones, and no agent counts as dead because of silence alone.

use super::{config::OverseerConfig, snapshot::AgentSnapshot, snapshot::present_session};
use crate::policy::prelude::*;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Grade {
    Live,
    /// The agent is silent, but its processes work.
    Quiet,
    /// The agent is silent and its processes do not work; it may wait for an answer.
    Suspect,
    /// The runner has ended, and the agent holds no work: it has finished.
    Finished,
    /// The runner has ended, and the agent's lease has expired.
    Dead,
}

/// Facts besides the snapshots.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Signals {
    /// Whether the runner's process is alive; unknown without a runner.
    pub runner_lives: Option<bool>,
    pub lease_expired: bool,
    /// The time since the last heartbeat.
    pub seconds_since_heartbeat: u64,
    /// The time since the last snapshot.
    pub seconds_since_snapshot: Option<u64>,
    pub holds_work: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Liveness {
    pub grade: Grade,
    /// The signs that decided, in words.
    pub because: Vec<String>,
}

impl Liveness {
    fn new(grade: Grade, because: Vec<String>) -> Self {
        Self { grade, because }
    }
}

/// A sign within this time makes an agent live.
const LATELY_SECONDS: u64 = 60;

pub fn liveness(history: &[AgentSnapshot], signals: &Signals, config: &OverseerConfig) -> Liveness {
    let heartbeat = format!("last heartbeat {} s ago", signals.seconds_since_heartbeat);
    if signals.runner_lives == Some(false) {
        let (grade, work) = match (signals.lease_expired, signals.holds_work) {
            (true, _) => (Grade::Dead, "its lease has expired"),
            (false, true) => (Grade::Suspect, "its lease has not expired"),
            (false, false) => (Grade::Finished, "it holds no work"),
        };
        let gone =
            if grade == Grade::Finished { "its runner has ended" } else { "its runner's process is gone" };
        return Liveness::new(grade, vec![gone.to_owned(), work.to_owned(), heartbeat]);
    }
    let stale_after = stale_after(config);
    match signals.seconds_since_snapshot {
        Some(age) if age <= stale_after && !history.is_empty() => {
            of_session(present_session(history), config)
        }
        // A planner works without holding a task; so this is checked only if there is no session.
        _ if !signals.holds_work => idle(signals, heartbeat),
        _ => unseen(signals, heartbeat, config),
    }
}

/// An older snapshot says nothing about the present: two snapshots were missed.
fn stale_after(config: &OverseerConfig) -> u64 {
    ((config.interval() * 3.0).ceil() as u64).max(LATELY_SECONDS)
}

/// An agent without work has nothing to report, so its silence is no sign.
fn idle(signals: &Signals, heartbeat: String) -> Liveness {
    let waits = "it holds no work".to_owned();
    match signals.runner_lives {
        Some(_) => Liveness::new(Grade::Live, vec!["its runner lives".to_owned(), waits]),
        None if signals.seconds_since_heartbeat <= LATELY_SECONDS => {
            Liveness::new(Grade::Live, vec![heartbeat, waits])
        }
        None => Liveness::new(Grade::Quiet, vec![waits, heartbeat]),
    }
}

/// The agent works and no runner observes it: only the board shows anything about it.
fn unseen(signals: &Signals, heartbeat: String, config: &OverseerConfig) -> Liveness {
    let looks = match signals.seconds_since_snapshot {
        Some(age) => format!("last snapshot {age} s ago"),
        None => "there is no snapshot of it".to_owned(),
    };
    let mut because = vec![heartbeat, looks];
    if signals.runner_lives == Some(true) {
        because.insert(0, "its runner lives".to_owned());
    }
    let silent = signals.seconds_since_heartbeat;
    let grade = if silent <= LATELY_SECONDS {
        Grade::Live
    } else if silent < config.suspect_after_seconds && !signals.lease_expired {
        Grade::Quiet
    } else {
        if signals.lease_expired {
            because.push("its lease has expired".to_owned());
        }
        Grade::Suspect
    };
    Liveness::new(grade, because)
}

fn of_session(looks: &[AgentSnapshot], config: &OverseerConfig) -> Liveness {
    let Some(latest) = looks.last() else { return Liveness::new(Grade::Quiet, Vec::new()) };
    // The oldest snapshot within that time, or the one before the latest.
    let since = |look: &AgentSnapshot| latest.elapsed_seconds.saturating_sub(look.elapsed_seconds);
    let lately = looks.iter().position(|look| since(look) <= LATELY_SECONDS);
    let from = lately.unwrap_or(0).min(looks.len().saturating_sub(2));
    let recent = &looks[from..];
    let span = recent.first().map_or(0, since);
    if recent.len() < 2 {
        let began = format!("its session began {} s ago", latest.elapsed_seconds);
        return Liveness::new(Grade::Live, vec![began]);
    }
    let signs = signs_of_life(recent, span);
    if !signs.is_empty() {
        return Liveness::new(Grade::Live, signs);
    }
    let silence = format!("no output, no change of the tree and no step on the board for {span} s");
    let mut works = Vec::new();
    if recent.windows(2).any(|pair| pair[1].worked_since(&pair[0])) {
        let used = latest.cpu_ms.saturating_sub(recent[0].cpu_ms);
        works.push(format!("its processes used {used} ms of processor time in the last {span} s"));
    }
    if latest.has_children() {
        works.push(format!("{} more than the provider's own", counted(latest.children())));
    }
    if !works.is_empty() {
        works.push(silence);
        return Liveness::new(Grade::Quiet, works);
    }
    let still = format!("no sign of the agent for {} s", latest.still_seconds);
    if latest.still_seconds >= config.suspect_after_seconds {
        let alone = format!("{} of it, and no work of the processor", counted(latest.processes));
        return Liveness::new(Grade::Suspect, vec![still, alone]);
    }
    let limit = format!("{still}; suspect after {} s", config.suspect_after_seconds);
    Liveness::new(Grade::Quiet, vec![limit])
}

fn counted(processes: u64) -> String {
    plural(usize::try_from(processes).unwrap_or(usize::MAX), "process")
}

fn signs_of_life(recent: &[AgentSnapshot], span: u64) -> Vec<String> {
    let (first, latest) = (&recent[0], &recent[recent.len() - 1]);
    let mut signs = Vec::new();
    let bytes = latest.output_bytes.saturating_sub(first.output_bytes);
    if bytes > 0 {
        signs.push(format!("{bytes} bytes of output in the last {span} s"));
    }
    if recent.windows(2).any(|pair| pair[1].tree != pair[0].tree) {
        signs.push(format!("its tree changed in the last {span} s"));
    }
    if recent.windows(2).any(|pair| pair[1].board_mark != pair[0].board_mark) {
        signs.push(format!("it did something on the board in the last {span} s"));
    }
    if signs.is_empty() && recent.windows(2).any(|pair| pair[1].active_since(&pair[0])) {
        signs.push(format!("its counters grew in the last {span} s"));
    }
    signs
}
