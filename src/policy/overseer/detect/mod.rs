//! The seven ways of getting nowhere, one small detector each. All of them are functions of what was seen and of the
//! settings alone, so what they said can be said again from the same snapshots.

mod exhaustion;
mod infinite_loop;
mod looks;
mod oscillation;
mod repeated_failures;
mod scope_creep;
mod stagnation;

use looks::Looks;

use super::config::OverseerConfig;
use super::detection::Detection;
use super::snapshot::AgentSnapshot;

/// Everything that is the matter with one session; `history` is of one agent, the oldest first. What is of an earlier
/// session is passed over, and nothing is the matter with somebody who is paused.
pub fn detect(history: &[AgentSnapshot], config: &OverseerConfig) -> Vec<Detection> {
    let Some(looks) = Looks::at(history) else { return Vec::new() };
    [
        infinite_loop::detect(&looks, config),
        repeated_failures::detect(&looks, config),
        stagnation::detect(&looks, config),
        exhaustion::tokens(&looks, config),
        exhaustion::time(&looks, config),
        oscillation::detect(&looks),
        scope_creep::detect(&looks),
    ]
    .into_iter()
    .flatten()
    .collect()
}
