//! PATTERNS THAT NO SINGLE TASK SHOWS: pure answers from a board's records and histories.
//!
//! Agents are believed in what they admit, and liza counts what it saw itself: rejections, red gates, crashes, tasks that are
//! replanned. A pattern trips once for one story; after a person resolved it, only what happens later counts.

mod case;
mod chain;
mod churn;
mod config;
mod crash;
mod debt;
mod evidence;
mod failure;
mod spec_gap;
mod story;
#[cfg(test)]
mod tests;
mod texts;
mod words;

use super::prelude::*;
use crate::board::rules::TripBreaker;

use case::Case;
pub use config::{BreakerConfig, Choice};
pub use story::Story;
pub use words::{decisions, meaning, reason, threshold};

type Detector = fn(&Case) -> Vec<Story>;

fn detector(pattern: Pattern) -> Detector {
    match pattern {
        Pattern::RetryCluster => texts::retry_cluster,
        Pattern::DebtAccumulation => debt::debt_accumulation,
        Pattern::AssumptionCascade => texts::assumption_cascade,
        Pattern::WorkaroundPattern => texts::workaround_pattern,
        Pattern::SpecGapCluster => spec_gap::spec_gap_cluster,
        Pattern::ExternalOutage => texts::external_outage,
        Pattern::PlanningChurn => churn::planning_churn,
        Pattern::BlockedReplacementChain => chain::blocked_replacement_chain,
        Pattern::CrashLoop => crash::crash_loop,
        Pattern::SameFailure => failure::same_failure,
    }
}

/// How far one pattern is from tripping.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Gauge {
    pub pattern: Pattern,
    /// The response to a trip; none if the pattern is not checked.
    pub response: Option<Response>,
    /// The story nearest to tripping, if there is one.
    pub nearest: Option<Story>,
    /// The open trip for the nearest story.
    pub open: Option<String>,
}

/// Every pattern, tripped or not. `board` holds all bodies, and so do the tasks that were archived.
pub fn gauges(board: &Board, archived: &[Task], config: &BreakerConfig, now: Wall) -> Vec<Gauge> {
    let case = Case::new(board, archived, config, now);
    let gauge = |pattern: Pattern| {
        let nearest = nearest_first(detector(pattern)(&case)).into_iter().next();
        let open =
            nearest.as_ref().and_then(|story| case.open_trip(pattern, story)).map(|trip| trip.id.clone());
        let mild = nearest.as_ref().is_some_and(|story| story.mild);
        Gauge { pattern, response: config.response(pattern, mild), nearest, open }
    };
    Pattern::ALL.into_iter().map(gauge).collect()
}

/// The stories for which the breaker must trip now, without those of open trips.
pub fn trips(board: &Board, archived: &[Task], config: &BreakerConfig, now: Wall) -> Vec<TripBreaker> {
    if !config.enabled {
        return Vec::new();
    }
    let case = Case::new(board, archived, config, now);
    let mut all: Vec<TripBreaker> = Vec::new();
    for pattern in Pattern::ALL {
        for story in nearest_first(detector(pattern)(&case)) {
            let Some(response) = config.response(pattern, story.mild) else { continue };
            let tripped = all.iter().any(|trip| trip.key == story.key);
            if tripped || !story.trips() || case.open_trip(pattern, &story).is_some() {
                continue;
            }
            all.push(TripBreaker {
                pattern,
                response,
                key: story.key,
                summary: story.summary,
                evidence: story.evidence,
                affected: story.affected,
            });
        }
    }
    all
}

/// Whether the number of merged and archived tasks matters for the pattern.
pub fn weighs_merges(pattern: Pattern) -> bool {
    matches!(pattern, Pattern::DebtAccumulation | Pattern::PlanningChurn)
}

fn nearest_first(mut stories: Vec<Story>) -> Vec<Story> {
    stories.sort_by(|a, b| {
        // Compares fractions without dividing.
        let (left, right) = (a.count.saturating_mul(b.needed), b.count.saturating_mul(a.needed));
        right.cmp(&left).then_with(|| a.key.cmp(&b.key))
    });
    stories
}
