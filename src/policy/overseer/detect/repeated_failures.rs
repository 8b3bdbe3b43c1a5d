//! Failure after failure.

use crate::board::oversight::Behaviour;
use crate::policy::overseer::config::OverseerConfig;
use crate::policy::overseer::detection::Detection;
use crate::policy::overseer::snapshot::AgentSnapshot;

use super::looks::{Looks, grown, no_progress, span};

const WINDOW: usize = 3;

/// More failures in a window than the threshold are worth a word even if files change: changing something blindly and
/// failing again is what it looks like. A step on the board is progress. If it goes on for a whole further window, and
/// not even a file changed in both, more words do not help.
pub fn detect(looks: &Looks<'_>, config: &OverseerConfig) -> Option<Detection> {
    let more_than = config.failure_increase_threshold;
    let failing = |window: &[&AgentSnapshot]| {
        let grew = grown(window, |look| look.errors);
        let never_fewer = window.windows(2).all(|pair| pair[1].errors >= pair[0].errors);
        let same_step = window.windows(2).all(|pair| pair[1].board_mark == pair[0].board_mark);
        (never_fewer && same_step && grew > more_than).then_some(grew)
    };
    let window = looks.last(WINDOW)?;
    let grew = failing(window)?;
    let latest = looks.latest();
    let from = latest.errors.saturating_sub(grew);
    let mut evidence = vec![format!(
        "{grew} failures in {}: from {from} to {}, more than {more_than} are too many",
        span(window),
        latest.errors
    )];
    let both = looks.last(2 * WINDOW).filter(|both| no_progress(both));
    if let Some(before) = both.and_then(|both| failing(&both[..WINDOW])) {
        evidence.push(format!("{before} failures in the {WINDOW} looks before"));
        evidence.push("no change of the tree and no step on the board in that time".to_owned());
        return Some(Detection::critical(Behaviour::RepeatedFailures, latest, 0.9, evidence));
    }
    Some(Detection::warning(Behaviour::RepeatedFailures, latest, 0.8, evidence))
}
