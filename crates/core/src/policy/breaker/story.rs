//! A story: one problem that occurs on several tasks, and how near it is to tripping the breaker.

use super::evidence::{order, tasks_of};
use crate::policy::prelude::*;

/// How much evidence a trip holds; the board and the journal have the rest.
const EVIDENCE_KEPT: usize = 20;
/// How many of the latest records are compared with each other; the trip says how many were left out.
const COMPARED: usize = 200;
const KEY_CHARS: usize = 120;

/// What makes two stories of one pattern equal.
#[derive(Debug, Clone, Copy)]
pub enum Sameness {
    /// The pattern has only one story.
    Whole,
    /// Stories with the same key: a specification, or the first task of a chain.
    Named,
    /// Stories about the same topic, in any wording.
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
    /// The count so far, and the count at which the breaker trips.
    pub count: u64,
    pub needed: u64,
    /// What is counted.
    pub unit: &'static str,
    pub summary: String,
    pub evidence: Vec<TripEvidence>,
    pub affected: Vec<String>,
    /// A warning is enough, unless a person configured another response.
    #[serde(skip)]
    pub mild: bool,
}

impl Story {
    /// `name` distinguishes the story from others of the pattern.
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
            mild: false,
        }
    }

    pub fn summary(mut self, summary: impl Into<String>) -> Self {
        self.summary = summary.into();
        self
    }

    /// Adds to the summary how many records were not compared.
    pub fn without(mut self, left_out: usize) -> Self {
        if left_out > 0 {
            self.summary.push_str(&format!(" ({} not looked at)", plural(left_out, "older record")));
        }
        self
    }

    /// The tasks of the evidence are the affected ones.
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

/// Records about one topic; the others are like the first.
pub struct Cluster {
    pub name: String,
    pub records: Vec<TripEvidence>,
}

impl Cluster {
    /// The text of the first record.
    pub fn first_text(&self) -> &str {
        self.records.first().map_or("", |record| &record.text)
    }
}

/// Groups records by topic: the record that agrees with most different tasks or agents (`by`), with all records that
/// agree with it; then the same with the rest. A record that is only like another member is not enough: chains of
/// likeness lead anywhere. Makes one story for each group.
pub fn clusters(
    mut records: Vec<TripEvidence>,
    by: impl Fn(&TripEvidence) -> String,
    story: impl Fn(Cluster) -> Story,
) -> Vec<Story> {
    records.sort_by(|a, b| order(a).cmp(&order(b)));
    let left_out = records.len().saturating_sub(COMPARED);
    records.drain(..left_out);
    let topics: Vec<Topic> = records.iter().map(|record| Topic::of(&record.text)).collect();
    let who: Vec<String> = records.iter().map(by).collect();
    let alike = alike(&topics);
    let mut left: Vec<usize> = (0..records.len()).collect();
    let mut found = Vec::new();
    while !left.is_empty() {
        let agreement = |centre: usize| {
            let agree = left.iter().filter(|other| alike[centre][**other]);
            agree.map(|other| &who[*other]).collect::<BTreeSet<_>>().len()
        };
        // Of equal values, `max_by_key` takes the last.
        let centre = left.iter().copied().rev().max_by_key(|at| agreement(*at)).unwrap_or_default();
        let (near, rest): (Vec<usize>, Vec<usize>) =
            left.into_iter().filter(|at| *at != centre).partition(|at| alike[centre][*at]);
        left = rest;
        let its = std::iter::once(centre).chain(near).map(|at| records[at].clone()).collect();
        found.push(story(Cluster { name: topics[centre].name(), records: its }).without(left_out));
    }
    found
}

/// Which topics are alike; each pair is compared once, because comparing is expensive.
fn alike(topics: &[Topic]) -> Vec<Vec<bool>> {
    let mut alike = vec![vec![false; topics.len()]; topics.len()];
    for (at, topic) in topics.iter().enumerate() {
        alike[at][at] = topic.is_same(topic);
        for (other, its) in topics.iter().enumerate().take(at) {
            let same = topic.is_same(its);
            alike[at][other] = same;
            alike[other][at] = same;
        }
    }
    alike
}

/// The prefix of the name of a story about rejections.
pub const REJECTIONS: &str = "rejected ";

/// Whether a story with this key needs only a warning.
pub fn is_mild(key: &str) -> bool {
    key.strip_prefix(Pattern::SameFailure.as_str())
        .and_then(|rest| rest.strip_prefix(':'))
        .is_some_and(|name| name.starts_with(REJECTIONS))
}
