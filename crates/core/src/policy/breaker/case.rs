//! The records of a board that count for the breaker: recent ones that no person has settled.

use std::{cell::LazyCell, ops::Deref};

use super::{config::BreakerConfig, evidence::*, story::*};
use crate::policy::prelude::*;

/// A board with all bodies, a moment, and a person's decisions about the breaker.
pub struct Case<'a> {
    pub board: &'a Board,
    /// Archived tasks with bodies: only merged ones count, so that archiving does not lower a threshold.
    pub archived: &'a [Task],
    pub config: &'a BreakerConfig,
    pub now: Wall,
    /// Records before this time do not count.
    pub since: Wall,
}

impl<'a> Case<'a> {
    pub fn new(board: &'a Board, archived: &'a [Task], config: &'a BreakerConfig, now: Wall) -> Self {
        let hours = i64::from(config.window_hours.max(1));
        let since = Wall(now.0.saturating_sub(hours * 3600)).max(board.rest.sprint.timeline.started);
        Self { board, archived, config, now, since }
    }

    /// The same case with a shorter period.
    pub fn within(&self, seconds: i64) -> Case<'a> {
        let since = self.since.max(Wall(self.now.0.saturating_sub(seconds)));
        Case { since, ..*self }
    }

    /// Recent anomalies of these kinds. An anomaly that a person processed is settled; one that an agent processed is
    /// not, because agents do not see the pattern.
    pub fn anomalies(&self, kinds: &'a [AnomalyKind]) -> impl Iterator<Item = &'a Anomaly> {
        let since = self.since;
        self.board.rest.anomalies.iter().filter(move |anomaly| {
            anomaly.timestamp >= since
                && kinds.contains(&anomaly.kind)
                && !anomaly.processed_by.as_ref().is_some_and(|by| by.is_human())
        })
    }

    /// Recent anomalies of these kinds, each with the text of this detail.
    pub fn anomaly_texts(&self, kinds: &'a [AnomalyKind], detail: &str) -> Vec<TripEvidence> {
        let words = |anomaly: &Anomaly| anomaly.details.get(detail).cloned();
        self.anomalies(kinds).filter_map(|anomaly| Some(of_anomaly(anomaly, &words(anomaly)?))).collect()
    }

    /// The same, only for tasks that an agent has claimed at least once: an agent that reports trouble with unclaimed
    /// work only guesses. A person may know.
    pub fn anomaly_texts_of_started_tasks(
        &self,
        kinds: &'a [AnomalyKind],
        detail: &str,
    ) -> Vec<TripEvidence> {
        let mut said = self.anomaly_texts(kinds, detail);
        said.retain(|record| {
            let task = record.task_id.as_ref().and_then(|id| self.board.task(id));
            record.agent.is_human() || task.is_none_or(was_claimed)
        });
        said
    }

    pub fn history(&self, event: Event) -> impl Iterator<Item = (&'a Task, &'a HistoryEntry)> {
        let since = self.since;
        self.board
            .tasks
            .iter()
            .flat_map(|task| task.body().history.iter().map(move |entry| (task, entry)))
            .filter(move |(_, entry)| entry.event == event && entry.time >= since)
    }

    /// The number of merges that count, archived tasks included.
    pub fn merged(&self) -> usize {
        let archived = self.archived.iter().flat_map(|task| &task.body().history);
        let archived =
            archived.filter(|entry| entry.event == Event::Merged && entry.time >= self.since).count();
        self.history(Event::Merged).count() + archived
    }

    fn trips(&self, pattern: Pattern) -> impl Iterator<Item = &'a Trip> {
        self.board.rest.circuit_breaker.trips.iter().filter(move |trip| trip.pattern == pattern)
    }

    /// The records that no resolution has settled: a resolution settles the evidence of its trip, and earlier records
    /// of the same story.
    pub fn unsettled(&self, pattern: Pattern, key: &str, records: Vec<TripEvidence>) -> Vec<TripEvidence> {
        let settled: Vec<Settled> = self.trips(pattern).filter_map(Settled::of).collect();
        let mut open: Vec<TripEvidence> = records
            .into_iter()
            .filter(|record| {
                let topic = LazyCell::new(|| Topic::of(&record.text));
                !settled.iter().any(|settled| settled.covers(pattern, key, record, &topic))
            })
            .collect();
        open.sort_by(|a, b| order(a).cmp(&order(b)));
        open.dedup();
        open
    }

    /// The open trip for this story.
    pub fn open_trip(&self, pattern: Pattern, story: &Story) -> Option<&'a Trip> {
        let (key, evidence) = (story.key.as_str(), &story.evidence[..]);
        // A warning about rejections does not hide that gates are red for the same reason.
        let hides = |trip: &&Trip| story.mild || !is_mild(&trip.key);
        self.trips(pattern).filter(|trip| trip.resolved.is_none()).filter(hides).find(|trip| {
            match Sameness::of(pattern) {
                Sameness::Whole => true,
                Sameness::Named => trip.key == key,
                Sameness::Topic => {
                    trip.key == key
                        || evidence.iter().any(|record| trip.evidence.contains(record))
                        || is_about(trip, evidence)
                }
            }
        })
    }
}

struct Settled<'a> {
    trip: &'a Trip,
    at: Wall,
    topics: Vec<Topic>,
}

impl<'a> Settled<'a> {
    fn of(trip: &'a Trip) -> Option<Self> {
        let at = trip.resolved.as_ref()?.time;
        let topics = trip.evidence.iter().map(|shown| Topic::of(&shown.text)).collect();
        Some(Self { trip, at, topics })
    }

    /// `topic`: the topic of the record, computed only if needed.
    fn covers(
        &self,
        pattern: Pattern,
        key: &str,
        record: &TripEvidence,
        topic: &impl Deref<Target = Topic>,
    ) -> bool {
        // Within the second of the decision, only the evidence of the trip is known to be older.
        self.trip.evidence.contains(record)
            || record.time < self.at
                && match Sameness::of(pattern) {
                    Sameness::Whole => true,
                    Sameness::Named => self.trip.key == key,
                    Sameness::Topic => self.topics.iter().any(|shown| shown.is_same(topic)),
                }
    }
}

fn was_claimed(task: &Task) -> bool {
    task.iteration > 0 || task.body().history.iter().any(|entry| entry.event == Event::Claimed)
}

/// Whether at least half of the records are about the evidence of the trip.
fn is_about(trip: &Trip, records: &[TripEvidence]) -> bool {
    let topics: Vec<Topic> = trip.evidence.iter().map(|shown| Topic::of(&shown.text)).collect();
    let alike = |record: &&TripEvidence| {
        let topic = Topic::of(&record.text);
        topics.iter().any(|shown| shown.is_same(&topic))
    };
    !records.is_empty() && records.iter().filter(alike).count() * 2 >= records.len()
}

pub fn of_entry(task: &Task, entry: &HistoryEntry) -> TripEvidence {
    TripEvidence {
        source: entry.event.as_str().to_owned(),
        task_id: Some(task.id.clone()),
        agent: entry.agent.clone(),
        time: entry.time,
        text: clipped_line(entry.detail.as_deref().unwrap_or_default()),
    }
}
