//! How the rounds of work and review on a task ended, and how long they took.

use super::call::Call;
use super::history::{Event, HistoryEntry};
use super::review_result::{Ending, ReviewResult};
use super::task::{Body, Status};
use super::time::Wall;

/// Records the end of the rounds. A task that was never submitted had no rounds.
pub fn conclude(body: &mut Body, call: &Call, lease_seconds: u64, ending: Ending) {
    body.review_result = None;
    if body.history.iter().any(|line| line.event == Event::Submitted) {
        let took = Took::of(&body.history, call.now.wall, lease_seconds);
        put_on_record(body, call, took, ending);
    }
}

fn put_on_record(body: &mut Body, call: &Call, took: Took, ending: Ending) {
    body.review_result = Some(ReviewResult {
        ending,
        time: call.now.wall,
        rounds: u32::try_from(body.reviews.len()).unwrap_or(u32::MAX),
        verdict: body.reviews.last().map(|review| review.verdict),
        disagreement: None,
        why: None,
        positions: None,
        work_seconds: took.work,
        review_seconds: took.review,
        accepted_with_notes: Vec::new(),
    });
}

/// As [`conclude`], for a task that was blocked in this state: a submitted task waits for a decision, any other task
/// for the obstacle of its coder. With `from_first_claim`, a coder that was blocked before its first submission leaves
/// a record too, of the time since its claim.
pub fn conclude_blocked(
    body: &mut Body,
    call: &Call,
    lease_seconds: u64,
    from: Status,
    from_first_claim: bool,
) {
    let ending = match from {
        Status::ReadyForReview => Ending::NeedsDiscussion,
        // The rounds had ended before.
        Status::Approved | Status::IntegrationFailed => return,
        _ => Ending::ProducerBlocked,
    };
    conclude(body, call, lease_seconds, ending);
    if from_first_claim && body.review_result.is_none() && !body.attempts.is_empty() {
        let took = Took::counted(&body.history, call.now.wall, lease_seconds, true);
        put_on_record(body, call, took, ending);
    }
}

/// How long the rounds took, without the time in which no agent worked on the task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Took {
    pub work: u64,
    pub review: u64,
}

impl Took {
    /// Counted from the history: from the first submission, or from the last answer to a block after that, because an
    /// answer allows another try. A clock that goes back adds no time. A review that another reviewer took over adds no
    /// time either: it is unknown when the first reviewer stopped. An expired review counts as long as a lease, and so
    /// does work that was taken over.
    pub fn of(history: &[HistoryEntry], now: Wall, lease_seconds: u64) -> Self {
        Self::counted(history, now, lease_seconds, false)
    }

    /// As [`Took::of`]; if `begun`, counted from the start of the history.
    fn counted(history: &[HistoryEntry], now: Wall, lease_seconds: u64, mut begun: bool) -> Self {
        let mut took = Self::default();
        let (mut working, mut reviewing) = (false, false);
        for (at, line) in history.iter().enumerate() {
            begun |= line.event == Event::Submitted;
            if line.event == Event::Unblocked {
                took = Self::default();
            }
            if let Some(to) = line.to {
                working = to == Status::Working;
            }
            reviewing = match line.event {
                Event::ReviewStarted => true,
                Event::GateBlessed | Event::BundleMade | Event::Edited => reviewing,
                _ => false,
            };
            let next = history.get(at + 1);
            let ends_as = |event: Event| next.is_some_and(|next| next.event == event);
            let until = next.map_or(now, |next| next.time);
            let seconds = u64::try_from(until.since(line.time)).unwrap_or(0);
            match (begun, reviewing, working) {
                (true, true, _) if ends_as(Event::ReviewStarted) => {}
                (true, true, _) => took.review += seconds.min(lease_seconds),
                (true, false, true) if ends_as(Event::TakenOver) || ends_as(Event::Claimed) => {
                    took.work += seconds.min(lease_seconds);
                }
                (true, false, true) => took.work += seconds,
                _ => {}
            }
        }
        took
    }

    pub fn seconds(self) -> u64 {
        self.work.saturating_add(self.review)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::AgentId;

    fn story(lines: &[(i64, Event, Option<Status>)]) -> Vec<HistoryEntry> {
        let agent = AgentId::new("coder-1").expect("an id");
        lines
            .iter()
            .map(|(time, event, to)| HistoryEntry {
                to: *to,
                ..HistoryEntry::new(Wall(*time), *event, agent.clone())
            })
            .collect()
    }

    #[test]
    fn only_work_and_review_after_submit_take_time() {
        let history = story(&[
            (0, Event::Claimed, Some(Status::Working)),
            (1000, Event::Submitted, Some(Status::ReadyForReview)),
            (5000, Event::ReviewStarted, None),
            (5030, Event::Rejected, Some(Status::Rejected)),
            (9000, Event::Claimed, Some(Status::Working)),
            (9100, Event::PreExecutionCheckpoint, None),
            (9200, Event::Submitted, Some(Status::ReadyForReview)),
            (9900, Event::ReviewStarted, None),
            (9910, Event::ReviewReleased, None),
            (20_000, Event::ReviewStarted, None),
        ]);
        assert_eq!(Took::of(&history, Wall(20_005), 1800), Took { work: 200, review: 30 + 10 + 5 });
        // A clock that is set back subtracts nothing.
        assert_eq!(Took::of(&history, Wall(0), 1800), Took { work: 200, review: 40 });
    }

    #[test]
    fn review_time_is_limited_by_the_lease() {
        let history = story(&[
            (0, Event::Submitted, Some(Status::ReadyForReview)),
            (10, Event::ReviewStarted, None),
            (7210, Event::ReviewStarted, None),
            (7220, Event::Rejected, Some(Status::Rejected)),
            (8000, Event::Claimed, Some(Status::Working)),
            (18_000, Event::TakenOver, Some(Status::Working)),
            (18_100, Event::Submitted, Some(Status::ReadyForReview)),
            (18_200, Event::ReviewStarted, None),
        ]);
        let took = Took::of(&history, Wall(30_000), 1800);
        assert_eq!(took, Took { work: 1800 + 100, review: 10 + 1800 });
    }

    #[test]
    fn answer_restarts_the_time_count() {
        let history = story(&[
            (0, Event::Submitted, Some(Status::ReadyForReview)),
            (10, Event::ReviewStarted, None),
            (5000, Event::Rejected, Some(Status::Rejected)),
            (5000, Event::Blocked, Some(Status::Blocked)),
            (6000, Event::Unblocked, Some(Status::Idle)),
            (6100, Event::Claimed, Some(Status::Working)),
        ]);
        assert_eq!(Took::of(&history, Wall(6150), 1800), Took { work: 50, review: 0 });
    }
}
