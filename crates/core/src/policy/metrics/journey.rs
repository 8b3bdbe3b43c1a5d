//! The way of one task through its states, as its history records it: how long it waited and how long agents worked on it.
//!
//! A history may have holes (a migrated task, a revision that was brought back) and clocks go back. What was not seen from
//! its beginning to its end is not measured, and a span that ends before it begins counts as nothing.

use crate::policy::prelude::*;

/// Seconds, one value for each occurrence.
#[derive(Debug, Default)]
pub struct Journey {
    /// From its creation until it was merged.
    pub lead: Option<u64>,
    /// From claimable until claimed.
    pub claim_waits: Vec<u64>,
    /// From the submit until a reviewer claimed the review.
    pub review_waits: Vec<u64>,
    /// From approved until merged.
    pub merge_waits: Vec<u64>,
    /// From the claim of a review until the verdict or the release.
    pub reviews: Vec<u64>,
    /// From the claim until the task was submitted or released.
    pub work: Vec<u64>,
    /// How often it was claimed.
    pub claims: u64,
    /// When the task ended, if it has.
    pub ended: Option<Wall>,
}

/// The part of a history to measure.
#[derive(Debug, Clone, Copy, Default)]
pub struct Stretch {
    /// How many entries the history had before.
    pub lines: usize,
    /// Only the part of a span after this time counts.
    pub from: Option<Wall>,
    pub until: Option<Wall>,
}

/// `ready_after`: when its last dependency was merged.
pub fn journey(task: &Task, ready_after: Option<Wall>) -> Journey {
    journey_within(task, ready_after, Stretch::default())
}

/// The same for a part of the history: the spans that ended in it.
pub fn journey_within(task: &Task, ready_after: Option<Wall>, stretch: Stretch) -> Journey {
    let body = task.body();
    let mut walk = Walk {
        at: Some((Status::Draft, body.created_at)),
        awaits_review: None,
        in_review: None,
        ready_after,
        from: stretch.from,
        counts: false,
        found: Journey::default(),
    };
    for (at, line) in body.history.iter().enumerate() {
        walk.counts = at >= stretch.lines && stretch.until.is_none_or(|until| line.time <= until);
        walk.step(line);
    }
    let mut found = walk.found;
    // A migrated task has the number of its rounds, but no details.
    if found.claims == 0 && stretch.lines == 0 {
        found.claims = u64::from(task.iteration);
    }
    if task.status.is_terminal() {
        found.ended = found.ended.or(body.merge.as_ref().map(|merge| merge.time));
    }
    if let Some(merged) = merged_at(task) {
        let line = body.history.iter().rposition(|line| line.event == Event::Merged);
        let in_it = line.is_none_or(|line| line >= stretch.lines)
            && stretch.from.is_none_or(|from| merged >= from)
            && stretch.until.is_none_or(|until| merged <= until);
        // The whole time counts, even if it began before: a task is merged once.
        found.lead = in_it.then(|| span(body.created_at, merged));
        found.ended = Some(merged);
    }
    found
}

pub fn merged_at(task: &Task) -> Option<Wall> {
    if task.status != Status::Merged {
        return None;
    }
    let body = task.body();
    let line = body.history.iter().rev().find(|line| line.event == Event::Merged);
    line.map(|line| line.time).or(body.merge.as_ref().map(|merge| merge.time))
}

fn span(from: Wall, to: Wall) -> u64 {
    u64::try_from(to.since(from)).unwrap_or(0)
}

struct Walk {
    /// The current status and since when, if known.
    at: Option<(Status, Wall)>,
    awaits_review: Option<Wall>,
    in_review: Option<Wall>,
    ready_after: Option<Wall>,
    from: Option<Wall>,
    /// Whether the current entry is in the measured part.
    counts: bool,
    found: Journey,
}

impl Walk {
    /// The part of a span that counts, if it ends with an entry that counts.
    fn part(&self, since: Wall, now: Wall) -> Option<u64> {
        let since = self.from.map_or(since, |from| since.max(from));
        self.counts.then(|| span(since, now))
    }

    fn step(&mut self, line: &HistoryEntry) {
        let now = line.time;
        match line.event {
            Event::ReviewStarted => {
                let waited = self.awaits_review.take().and_then(|since| self.part(since, now));
                self.found.review_waits.extend(waited);
                self.in_review = Some(now);
            }
            Event::ReviewReleased
            | Event::Approved
            | Event::Rejected
            | Event::DiscussionNeeded
            | Event::RedTeamCleared
            | Event::Blocked => self.end_review(now),
            Event::Claimed | Event::TakenOver => self.found.claims += u64::from(self.counts),
            _ => {}
        }
        let Some(to) = line.to else { return };
        let imported = matches!(line.event, Event::Restored | Event::Edited | Event::Migrated);
        let seen = self.at.filter(|(status, _)| !imported && line.from.is_none_or(|from| from == *status));
        match seen {
            Some((from, since)) => self.leave(from, since, to, line),
            None => self.in_review = None,
        }
        if self.at.is_none_or(|(status, _)| status != to) || line.event == Event::TakenOver || seen.is_none()
        {
            self.at = Some((to, now));
        }
        self.awaits_review = (to == Status::ReadyForReview).then_some(now);
        if to.is_terminal() {
            self.found.ended = Some(now);
        }
    }

    fn end_review(&mut self, now: Wall) {
        let took = self.in_review.take().and_then(|since| self.part(since, now));
        self.found.reviews.extend(took);
    }

    fn leave(&mut self, from: Status, since: Wall, to: Status, line: &HistoryEntry) {
        let took = self.part(since, line.time);
        match (from, to) {
            // The history does not say when the former holder stopped working.
            (Status::Working, Status::Working) => {}
            (Status::Working, _) => self.found.work.extend(took),
            (Status::Idle | Status::Rejected | Status::IntegrationFailed, Status::Working) => {
                let ready = self.ready_after.map_or(since, |after| since.max(after));
                self.found.claim_waits.extend(self.part(ready, line.time));
            }
            (Status::Approved, Status::Merged) => self.found.merge_waits.extend(took),
            _ => {}
        }
        if from == Status::ReadyForReview && to != from {
            self.end_review(line.time);
        }
    }
}
