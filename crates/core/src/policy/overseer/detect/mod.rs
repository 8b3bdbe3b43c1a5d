//! The seven ways of getting nowhere, one small detector each. All of them are functions of what was seen and of the
//! settings alone, so what they said can be said again from the same snapshots. Each has a measure, and is asked
//! exactly if that has reached its alarm.

mod exhaustion;
mod infinite_loop;
mod looks;
mod measure;
mod oscillation;
mod repeated_failures;
mod scope_creep;
mod stagnation;

pub use measure::Measure;

use looks::Looks;

use super::{config::OverseerConfig, detection::Detection, episode::keep_grades, snapshot::AgentSnapshot};

/// Everything that is the matter with one session; `history` is of one agent, the oldest first. What is of an earlier
/// session is passed over, and nothing is the matter with an agent that is paused. A behaviour that was critical stays so
/// until the work moves.
pub fn detect(history: &[AgentSnapshot], config: &OverseerConfig) -> Vec<Detection> {
    let mut found = at_this_look(history, config);
    if let Some(latest) = history.last() {
        keep_grades(&mut found, latest);
    }
    found
}

/// A measure, and what is said once it has reached its alarm.
type Detector =
    (fn(&Looks<'_>, &OverseerConfig) -> Measure, fn(&Looks<'_>, &OverseerConfig) -> Option<Detection>);

const DETECTORS: [Detector; 7] = [
    (infinite_loop::measure, infinite_loop::detect),
    (repeated_failures::measure, repeated_failures::detect),
    (stagnation::measure, stagnation::detect),
    (exhaustion::measure_tokens, exhaustion::detect_tokens),
    (exhaustion::measure_time, exhaustion::detect_time),
    (oscillation::measure, oscillation::detect),
    (scope_creep::measure, scope_creep::detect),
];

/// The same from the looks that are remembered alone.
pub(super) fn at_this_look(history: &[AgentSnapshot], config: &OverseerConfig) -> Vec<Detection> {
    let Some(looks) = Looks::at(history) else { return Vec::new() };
    let reached = DETECTORS.iter().filter(|(measure, _)| measure(&looks, config).reached());
    reached.filter_map(|(_, detect)| detect(&looks, config)).collect()
}

/// How near each of the seven alarms is, by the numbers that raise them; nothing while nothing is judged.
pub fn measures(history: &[AgentSnapshot], config: &OverseerConfig) -> Vec<Measure> {
    let Some(looks) = Looks::at(history) else { return Vec::new() };
    DETECTORS.iter().map(|(measure, _)| measure(&looks, config)).collect()
}
