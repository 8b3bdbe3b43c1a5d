//! The seven ways of getting nowhere, one small detector each. All of them are functions of what was seen and of the
//! settings alone, so what they said can be said again from the same snapshots. Each has a measure, and says something
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

use super::config::OverseerConfig;
use super::detection::Detection;
use super::episode::keep_grades;
use super::snapshot::AgentSnapshot;

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

/// The same from the looks that are remembered alone.
pub(super) fn at_this_look(history: &[AgentSnapshot], config: &OverseerConfig) -> Vec<Detection> {
    let Some(looks) = Looks::at(history) else { return Vec::new() };
    [
        infinite_loop::detect(&looks, config),
        repeated_failures::detect(&looks, config),
        stagnation::detect(&looks, config),
        exhaustion::tokens(&looks, config),
        exhaustion::time(&looks, config),
        oscillation::detect(&looks, config),
        scope_creep::detect(&looks),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// How near each of the seven alarms is, by the numbers that raise them; nothing while nothing is judged.
pub fn measures(history: &[AgentSnapshot], config: &OverseerConfig) -> Vec<Measure> {
    let Some(looks) = Looks::at(history) else { return Vec::new() };
    vec![
        infinite_loop::measure(&looks, config),
        repeated_failures::measure(&looks, config),
        stagnation::measure(&looks, config),
        exhaustion::tokens_measure(looks.latest(), config),
        exhaustion::time_measure(looks.latest(), config),
        oscillation::measure(&looks),
        scope_creep::measure(&looks),
    ]
}
