//! Repeated failures.

use super::{measure::Measure, session_snapshots::*};
use crate::policy::{overseer::*, prelude::*};

const WINDOW: usize = 3;

pub fn measure(looks: &SessionSnapshots<'_>, config: &OverseerConfig) -> Measure {
    let failures = looks.last(WINDOW).and_then(failing).unwrap_or(0);
    let alarm = config.failure_increase_threshold.saturating_add(1);
    let what = "failures in the last 3 snapshots without a step on the board";
    Measure::new(Behaviour::RepeatedFailures, what, failures, alarm)
}

/// How many failures were added, if the task made no step on the board meanwhile. A falling counter belongs to another
/// session.
fn failing(window: &[&AgentSnapshot]) -> Option<u64> {
    let never_fewer = window.windows(2).all(|pair| pair[1].errors >= pair[0].errors);
    let same_step = window.windows(2).all(|pair| pair[1].board_mark == pair[0].board_mark);
    (never_fewer && same_step).then(|| grown(window, |look| look.errors))
}

/// More failures in a window than the threshold cause a nudge even if files change: the agent may change files blindly.
/// A step on the board is progress. If failures continue for a whole further window, and no file changed in both,
/// nudges do not help.
pub fn detect(looks: &SessionSnapshots<'_>, config: &OverseerConfig) -> Option<Detection> {
    let (window, latest) = (looks.last(WINDOW)?, looks.latest());
    let (grew, more_than) = (failing(window)?, config.failure_increase_threshold);
    let (from, to, span) = (latest.errors.saturating_sub(grew), latest.errors, span(window));
    let mut evidence =
        vec![format!("{grew} failures in {span}: from {from} to {to}, more than {more_than} are too many")];
    let both = looks.last(2 * WINDOW).filter(|both| no_progress(both));
    let before = both.and_then(|both| failing(&both[..WINDOW])).filter(|before| *before > more_than);
    if let Some(before) = before {
        evidence.push(format!("{before} failures in the {WINDOW} snapshots before"));
        evidence.push("no change of the tree and no step on the board in that time".to_owned());
        return Some(Detection::critical(Behaviour::RepeatedFailures, latest, 0.9, evidence));
    }
    Some(Detection::warning(Behaviour::RepeatedFailures, latest, 0.8, evidence))
}
