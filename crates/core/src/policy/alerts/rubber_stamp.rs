//! A reviewer who lets everything through without looking.
//!
//! Each sign alone has an innocent explanation: the work is good, there was nothing to find, the changes were small. Two
//! together have not, and are reported with their numbers.

use super::{alert::*, limits::*, situation::Situation};
use crate::board::task::Kind as TaskKind;
use crate::policy::prelude::*;

/// One reviewer's verdicts on the board, without those on archived tasks.
#[derive(Debug, Default)]
struct Tally {
    verdicts: u64,
    approvals: u64,
    /// Approvals of larger changes.
    weighty: u64,
    issues: u64,
    /// The time from the claim of a review to its verdict.
    seconds: Vec<u64>,
}

pub fn rubber_stamp(s: &Situation, report: &mut Report) {
    let mut tallies: BTreeMap<&AgentId, Tally> = BTreeMap::new();
    for task in &s.board.tasks {
        // The red team reviews in another way, and seldom finds anything.
        for review in task.body().reviews.iter().filter(|review| !review.red_team) {
            tallies.entry(&review.reviewer).or_default().add(task, review);
        }
    }
    for (reviewer, mut tally) in tallies {
        let signs = tally.signs();
        if signs.len() < 2 {
            continue;
        }
        let text = format!("{reviewer} seems to approve without reading: {}", signs.join("; "));
        let hint = format!(
            "read what it approved last (`liza log -n 20`, `liza review show TASK`); `review.quorum` in liza.yaml asks for a second reviewer, `liza agent retire {reviewer}` ends this one"
        );
        report.tell(Alert::new(Kind::RubberStamp, reviewer, "", text, hint));
    }
}

impl Tally {
    fn add(&mut self, task: &Task, review: &Review) {
        self.verdicts += 1;
        self.issues += review.raised.len() as u64;
        if review.verdict == Verdict::Approve {
            self.approvals += 1;
            self.weighty += u64::from(is_weighty(task));
        }
        self.seconds.extend(duration(task, review));
    }

    fn signs(&mut self) -> Vec<String> {
        let mut signs = Vec::new();
        let Self { verdicts, approvals, weighty, .. } = *self;
        if verdicts >= STAMP_VERDICTS && approvals * 100 >= verdicts * APPROVAL_PERCENT {
            signs.push(format!("{approvals} of {verdicts} verdicts are approvals"));
        }
        if weighty >= STAMP_APPROVALS && self.issues == 0 {
            signs.push(format!("no issue raised in {weighty} approvals of larger changes"));
        }
        self.seconds.sort_unstable();
        let median = self.seconds.get(self.seconds.len() / 2).copied().unwrap_or(u64::MAX);
        let timed = self.seconds.len();
        if timed as u64 >= STAMP_APPROVALS && median < STAMP_SECONDS {
            signs.push(format!("{median} s from taking a review to the verdict (median of {timed})"));
        }
        signs
    }
}

/// A code change includes tests, so it is never trivial; other changes count from a few files on.
fn is_weighty(task: &Task) -> bool {
    let files = task.body().submission.as_ref().map_or(0, |submission| submission.files.len());
    task.kind == TaskKind::Code || files >= STAMP_FILES
}

/// A reviewer that claims a review again before its verdict has read since the first claim.
fn duration(task: &Task, review: &Review) -> Option<u64> {
    let history = &task.body().history;
    let until = history.iter().rposition(|line| {
        line.agent == review.reviewer && line.time == review.time && line.event != Event::ReviewStarted
    })?;
    let begun = history[..until]
        .iter()
        .rfind(|line| line.event == Event::ReviewStarted && line.agent == review.reviewer)?;
    u64::try_from(review.time.since(begun.time)).ok()
}
