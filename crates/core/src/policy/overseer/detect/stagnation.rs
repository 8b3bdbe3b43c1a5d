//! The agent uses many tokens and makes no progress.

use super::{measure::Measure, session_snapshots::*};
use crate::policy::{overseer::*, prelude::*};

const WINDOW: usize = 4;

/// A reviewer uses many tokens before it has a finding, and changes no tree. The same applies to an agent that reads
/// before its first change, and to one that waits for a computing process.
const READERS_MAY_USE: u64 = 5;

/// If a provider reports no tokens during the work, the size of its output is used: about this many bytes per token.
const BYTES_PER_TOKEN: u64 = 4;

/// How much an agent may use without progress, and what the overseer does beyond that.
struct Case {
    threshold: u64,
    /// The overseer nudges, then asks a person; it does not halt the agent.
    asks: bool,
    /// Output is no evidence while a process computes: a test may print.
    excused: bool,
    bytes: bool,
}

impl Case {
    fn of(window: &[&AgentSnapshot], latest: &AgentSnapshot, config: &OverseerConfig) -> Self {
        let reader = !writes(&latest.role);
        let reading_up = !latest.has_checkpoint && latest.files_modified == 0;
        let (computes, bytes) = (busy(window, config), used(window).bytes.is_some());
        let patient = reader || reading_up || computes;
        let factor = if patient { READERS_MAY_USE } else { 1 };
        Self {
            threshold: config.stagnation_token_threshold.saturating_mul(factor),
            asks: patient || bytes,
            excused: computes && bytes,
            bytes,
        }
    }
}

pub fn measure(looks: &SessionSnapshots<'_>, config: &OverseerConfig) -> Measure {
    let behaviour = Behaviour::Stagnation;
    let plain = "tokens in the last 4 snapshots without progress";
    let Some(window) = looks.last(WINDOW) else {
        return Measure::new(behaviour, plain, 0, config.stagnation_token_threshold.saturating_add(1));
    };
    let case = Case::of(window, looks.latest(), config);
    let what = match (case.bytes, case.excused) {
        (true, true) => "tokens; output does not count as tokens while its processes work",
        (true, false) => "tokens in the last 4 snapshots without progress; 4 bytes of output stand for one",
        (false, _) => plain,
    };
    let now = if case.excused || !no_progress(window) { 0 } else { used(window).amount };
    Measure::new(behaviour, what, now, case.threshold.saturating_add(1))
}

/// A warning after one window. For an agent that writes it is critical after two, with twice the tokens; after four, if
/// the agent has announced its work and not changed a file yet. Never halted for it are reviewers, agents that still read
/// before their first change, agents that wait for a process that computes, and agents measured only by their output:
/// the overseer nudges them once, then asks a person.
pub fn detect(looks: &SessionSnapshots<'_>, config: &OverseerConfig) -> Option<Detection> {
    let (window, latest) = (looks.last(WINDOW)?, looks.latest());
    let case = Case::of(window, latest, config);
    let evidence = |window: &[&AgentSnapshot], times: u64| {
        let (used, span, most) = (used(window).words(), span(window), case.threshold.saturating_mul(times));
        vec![
            format!("{used} in {span}, more than {most} are too many without progress"),
            "no change of the tree, no step or finding on the board and no message in that time".to_owned(),
        ]
    };
    let times = if latest.files_modified == 0 && !case.asks { 4 } else { 2 };
    let too_much = |window: &&[&AgentSnapshot]| {
        used(window).amount > case.threshold.saturating_mul(times as u64) && no_progress(window)
    };
    let long = looks.last(WINDOW * times).filter(too_much);
    if case.asks {
        let evidence = long.map_or_else(|| evidence(window, 1), |long| evidence(long, times as u64));
        let warning = Detection::warning(Behaviour::Stagnation, latest, 0.75, evidence);
        return Some(Detection { suggested: Action::Escalate, ..warning });
    }
    Some(match long {
        Some(long) => Detection::critical(Behaviour::Stagnation, latest, 0.85, evidence(long, times as u64)),
        None => Detection::warning(Behaviour::Stagnation, latest, 0.75, evidence(window, 1)),
    })
}

struct Used {
    amount: u64,
    /// The bytes of output, if they replaced the tokens.
    bytes: Option<u64>,
}

impl Used {
    fn words(&self) -> String {
        match self.bytes {
            Some(bytes) => {
                format!("about {} tokens were used ({bytes} bytes of output; none are reported)", self.amount)
            }
            None => format!("{} tokens were used", self.amount),
        }
    }
}

fn used(window: &[&AgentSnapshot]) -> Used {
    if window.iter().any(|look| look.tokens > 0) {
        return Used { amount: grown(window, |look| look.tokens), bytes: None };
    }
    let bytes = grown(window, |look| look.output_bytes);
    Used { amount: bytes / BYTES_PER_TOKEN, bytes: Some(bytes) }
}
