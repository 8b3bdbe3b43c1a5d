//! Seven detectors for sessions without progress. Each depends only on the snapshots and the settings, so the same
//! snapshots always give the same result. Each has a measure, and runs exactly if its measure has reached the alarm.

mod exhaustion;
mod infinite_loop;
mod measure;
mod oscillation;
mod repeated_failures;
mod scope_creep;
mod session_snapshots;
mod stagnation;

pub use measure::Measure;

use session_snapshots::SessionSnapshots;

use super::{config::OverseerConfig, detection::Detection, episode::keep_grades, snapshot::AgentSnapshot};

/// All detections for one session; `history` is of one agent, oldest first. Earlier sessions are ignored, and a paused
/// agent has no detection. A critical behaviour stays critical until the work progresses.
pub fn detect(history: &[AgentSnapshot], config: &OverseerConfig) -> Vec<Detection> {
    let mut found = at_this_look(history, config);
    if let Some(latest) = history.last() {
        keep_grades(&mut found, latest);
    }
    found
}

/// A measure, and the detection once the measure has reached its alarm.
type Detector = (
    fn(&SessionSnapshots<'_>, &OverseerConfig) -> Measure,
    fn(&SessionSnapshots<'_>, &OverseerConfig) -> Option<Detection>,
);

const DETECTORS: [Detector; 7] = [
    (infinite_loop::measure, infinite_loop::detect),
    (repeated_failures::measure, repeated_failures::detect),
    (stagnation::measure, stagnation::detect),
    (exhaustion::measure_tokens, exhaustion::detect_tokens),
    (exhaustion::measure_time, exhaustion::detect_time),
    (oscillation::measure, oscillation::detect),
    (scope_creep::measure, scope_creep::detect),
];

/// The same by the kept snapshots alone.
pub(super) fn at_this_look(history: &[AgentSnapshot], config: &OverseerConfig) -> Vec<Detection> {
    let Some(looks) = SessionSnapshots::at(history) else { return Vec::new() };
    let reached = DETECTORS.iter().filter(|(measure, _)| measure(&looks, config).reached());
    reached.filter_map(|(_, detect)| detect(&looks, config)).collect()
}

/// How near each of the seven alarms is; empty while there is nothing to judge.
pub fn measures(history: &[AgentSnapshot], config: &OverseerConfig) -> Vec<Measure> {
    let Some(looks) = SessionSnapshots::at(history) else { return Vec::new() };
    DETECTORS.iter().map(|(measure, _)| measure(&looks, config)).collect()
}
