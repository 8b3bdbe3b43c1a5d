//! Something that goes wrong in the same way in several places, and how near it is to tripping the breaker.

use serde::Serialize;

use crate::board::breaker::{Pattern, TripEvidence};
use crate::text::{Topic, clipped};

use super::case::{order, tasks_of};

/// How much evidence a trip carries; the board and the log have the rest.
const EVIDENCE_KEPT: usize = 20;
/// Of several records, so many of the latest are compared with each other.
const COMPARED: usize = 100;
const KEY_CHARS: usize = 120;

/// What makes two stories of one pattern the same one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sameness {
    /// There is one at a time.
    Whole,
    /// They have the same key: a specification, or the first task of a chain.
    Named,
    /// They are about the same matter, however it is put.
    Topic,
}

impl Sameness {
    pub fn of(pattern: Pattern) -> Self {
        match pattern {
            Pattern::DebtAccumulation | Pattern::PlanningChurn | Pattern::CrashLoop => Self::Whole,
            Pattern::SpecGapCluster | Pattern::BlockedReplacementChain => Self::Named,
            Pattern::RetryCluster
            | Pattern::AssumptionCascade
            | Pattern::WorkaroundPattern
            | Pattern::ExternalOutage
            | Pattern::SameFailure => Self::Topic,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Story {
    pub key: String,
    /// How far it has come, and how far it must come.
    pub count: u64,
    pub needed: u64,
    /// What is counted.
    pub unit: &'static str,
    pub summary: String,
    pub evidence: Vec<TripEvidence>,
    pub affected: Vec<String>,
}

impl Story {
    /// `name` tells it from other stories of the pattern.
    pub fn new(pattern: Pattern, name: &str, count: usize, needed: u32, unit: &'static str) -> Self {
        let key = if name.is_empty() {
            pattern.as_str().to_owned()
        } else {
            format!("{}:{}", pattern.as_str(), clipped(name, KEY_CHARS))
        };
        Self {
            key,
            count: u64::try_from(count).unwrap_or(u64::MAX),
            needed: u64::from(needed.max(1)),
            unit,
            summary: String::new(),
            evidence: Vec::new(),
            affected: Vec::new(),
        }
    }

    pub fn summary(mut self, summary: impl Into<String>) -> Self {
        self.summary = summary.into();
        self
    }

    /// Its tasks are what it affects.
    pub fn evidence(mut self, mut records: Vec<TripEvidence>) -> Self {
        self.affected.extend(tasks_of(&records).into_iter().map(|task| format!("task {task}")));
        records.sort_by(|a, b| order(a).cmp(&order(b)));
        let too_many = records.len().saturating_sub(EVIDENCE_KEPT);
        records.drain(..too_many);
        self.evidence = records;
        self
    }

    pub fn affects(mut self, what: impl IntoIterator<Item = String>) -> Self {
        for name in what {
            if !self.affected.contains(&name) {
                self.affected.push(name);
            }
        }
        self
    }

    pub fn trips(&self) -> bool {
        self.count >= self.needed && !self.evidence.is_empty()
    }
}

/// Records about one matter; the first is the one the others are like.
pub struct Cluster {
    pub name: String,
    pub records: Vec<TripEvidence>,
}

/// Groups records by what they are about: the one that most different tasks or agents (`by`) agree with, with all that agree,
/// then the same with the rest. Being like something that is like it is not enough: chains of likeness lead anywhere.
pub fn clusters(mut records: Vec<TripEvidence>, by: impl Fn(&TripEvidence) -> String) -> Vec<Cluster> {
    records.sort_by(|a, b| order(a).cmp(&order(b)));
    let too_many = records.len().saturating_sub(COMPARED);
    records.drain(..too_many);
    let mut left: Vec<(Topic, TripEvidence)> =
        records.into_iter().map(|record| (Topic::of(&record.text), record)).collect();
    let mut found = Vec::new();
    while !left.is_empty() {
        let agreement = |centre: &Topic| {
            let mut who: Vec<String> = left
                .iter()
                .filter(|(topic, _)| topic.is_same(centre))
                .map(|(_, record)| by(record))
                .collect();
            who.sort();
            who.dedup();
            who.len()
        };
        let mut best = (0, 0);
        for (at, (topic, _)) in left.iter().enumerate() {
            let agree = agreement(topic);
            if agree > best.0 {
                best = (agree, at);
            }
        }
        let (centre, first) = left.remove(best.1);
        let (alike, rest): (Vec<_>, Vec<_>) = left.into_iter().partition(|(topic, _)| topic.is_same(&centre));
        left = rest;
        let mut records = vec![first];
        records.extend(alike.into_iter().map(|(_, record)| record));
        found.push(Cluster { name: centre.name(), records });
    }
    found
}
