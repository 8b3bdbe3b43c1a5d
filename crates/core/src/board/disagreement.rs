//! Classifies why a coder and a reviewer disagree, from what both did in each round.

use std::collections::BTreeSet;

use crate::text::{clipped, same_reason, significant_words};

use super::checklist::Answer;
use super::convergence::{Drift, open_after};
use super::edition::Edition;
use super::history::{Event, HistoryEntry};
use super::ids::{AgentId, Role, TaskId};
use super::records::{Anomaly, AnomalyKind};
use super::review::{Feedback, Issue, Review, Standing, Verdict};
use super::review_result::{Disagreement, Positions};
use super::state::Board;
use super::task::Body;

/// Fewer rounds than this show no trend.
const FEWEST_ROUNDS: usize = 3;
const ISSUES_SHOWN: usize = 10;
const CHARS_SHOWN: usize = 300;
const FILES_SHOWN: usize = 20;
const QUESTIONS: usize = 3;

/// The kind of disagreement, its explanation, and the questions for the person who decides.
#[derive(Debug)]
pub struct Assessment {
    pub class: Disagreement,
    pub why: String,
    pub questions: Vec<String>,
}

impl Assessment {
    /// The reason with which a task is blocked: `class: why`, or only the limit if the class is unknown.
    pub fn reason(&self, edition: Edition) -> String {
        match self.class {
            Disagreement::Unknown if edition.has(Edition::CONTRACT) => self.why.clone(),
            class => format!("{}: {}", class.as_str(), self.why),
        }
    }
}

/// The rejections since the task was last unblocked, oldest first: an answer settles the rejections before it.
fn rejections<'b>(history: &[HistoryEntry], reviews: &'b [Review]) -> Vec<&'b Review> {
    let since = history.iter().rposition(|line| line.event == Event::Unblocked).map_or(0, |at| at + 1);
    let count = history[since..].iter().filter(|line| line.event == Event::Rejected).count();
    let mut last: Vec<&Review> =
        reviews.iter().rev().filter(|review| review.verdict == Verdict::RequestChanges).take(count).collect();
    last.reverse();
    last
}

/// The disagreement that the rejection just recorded shows, if another round would not resolve it.
/// `gaps` are the open questions of [`open_gaps`].
pub fn assess(body: &Body, feedback: &Feedback, gaps: &[String], same_ratio: f64) -> Option<Assessment> {
    let rounds = rejections(&body.history, &body.reviews);
    oscillating(body, &rounds)
        .or_else(|| spec_gap(body, feedback, gaps, same_ratio))
        .or_else(|| scope_creep(body, &rounds))
}

/// The ids of the blocking issues that were open when a round ended.
fn wanted_in(body: &Body, round: u32) -> BTreeSet<&str> {
    open_after(&body.issues, round, |severity| severity.blocks())
        .into_iter()
        .map(|issue| issue.id.as_str())
        .collect()
}

/// The content of the work, or the set of blocking issues, is the same as in an earlier round, and was different in
/// between. An issue that stayed open all the time is no sign of oscillation, so at least one of the issues must have
/// been closed in between.
fn oscillating(body: &Body, rounds: &[&Review]) -> Option<Assessment> {
    let (last, before) = rounds.split_last()?;
    let wants = |review: &Review| wanted_in(body, review.round);
    let now = wants(last);
    for (at, earlier) in before.iter().enumerate() {
        let between = &before[at + 1..];
        let other_tree = between.iter().find(|review| review.tree.is_some() && review.tree != last.tree);
        let (other, back) = match other_tree {
            Some(other) if last.tree.is_some() && earlier.tree == last.tree => {
                (other, "the work is again what it was")
            }
            _ if !now.is_empty() && wants(earlier) == now => {
                match between.iter().find(|review| !now.is_subset(&wants(review))) {
                    Some(gone) => (gone, "the same is objected to as"),
                    None => continue,
                }
            }
            _ => continue,
        };
        let wanted = |review: &Review| describe_issues(body, &wants(review), &review.summary);
        return Some(Assessment {
            class: Disagreement::Oscillating,
            why: format!(
                "{back} in round {}, after it had been another in round {} (now round {})",
                earlier.round, other.round, last.round
            ),
            questions: vec![format!(
                "Which of the two holds? Round {}: {}. Round {}: {}",
                last.round,
                wanted(last),
                other.round,
                wanted(other)
            )],
        });
    }
    None
}

/// In each of the last two rounds the coder fixed every earlier issue at least in part, and yet the reviewer raised new
/// blocking issues, all of them about lines that the review before had accepted, and none of them about a criterion.
///
/// One word in common with a criterion clears the reviewer: a wrong accusation costs more than waiting for the limit.
fn scope_creep(body: &Body, rounds: &[&Review]) -> Option<Assessment> {
    if rounds.len() < FEWEST_ROUNDS {
        return None;
    }
    let criteria: BTreeSet<String> =
        body.done_when.iter().flat_map(|criterion| significant_words(criterion)).collect();
    let mut crept: Vec<&Issue> = Vec::new();
    for pair in rounds[rounds.len() - FEWEST_ROUNDS..].windows(2) {
        let (before, now) = (pair[0].round, pair[1].round);
        let stayed = open_after(&body.issues, before, |_| true).into_iter().any(|issue| {
            !matches!(
                issue.in_round(now).map(|said| said.standing),
                Some(Standing::Resolved | Standing::Partial)
            )
        });
        let new: Vec<&Issue> =
            body.issues.iter().filter(|issue| issue.round == now && issue.severity.blocks()).collect();
        let unfounded =
            |issue: &&Issue| issue.on_old_lines && significant_words(&issue.issue).is_disjoint(&criteria);
        if stayed || new.is_empty() || !new.iter().all(unfounded) {
            return None;
        }
        crept.extend(new);
    }
    let list =
        crept.iter().take(ISSUES_SHOWN).map(|issue| describe_issue(issue)).collect::<Vec<_>>().join("; ");
    Some(Assessment {
        class: Disagreement::ScopeCreep,
        why: format!(
            "what was asked for was done, and each round asks for more that was there before and that no criterion names: {list}"
        ),
        questions: vec![
            format!(
                "Do these belong to the task: {list}? Then name the criterion; else plan a task of their own."
            ),
            "Is the work done by the criteria it was given?".to_owned(),
        ],
    })
}

/// The unanswered questions about the specification since the first submission and since the last answer.
pub fn open_gaps(board: &Board, id: &TaskId, body: &Body) -> Vec<String> {
    let time_of = |line: Option<&HistoryEntry>| line.map(|line| line.time);
    let Some(first) = time_of(body.history.iter().find(|line| line.event == Event::Submitted)) else {
        return Vec::new();
    };
    let answered = time_of(body.history.iter().rfind(|line| line.event == Event::Unblocked));
    board
        .rest
        .anomalies
        .iter()
        .filter(|anomaly| &anomaly.task_id == id && anomaly.processed_by.is_none())
        .filter(|anomaly| is_concerned(board, id, body, &anomaly.logged_by))
        .filter(|anomaly| anomaly.timestamp >= first && answered.is_none_or(|at| anomaly.timestamp > at))
        .filter_map(asked_by)
        .collect()
}

/// Whether this agent implements, reviews or plans the task. Questions of other agents do not block it.
fn is_concerned(board: &Board, id: &TaskId, body: &Body, who: &AgentId) -> bool {
    let implements =
        board.task(id).is_some_and(|task| task.implementers.iter().any(|agent| agent.is_same(who)));
    let took_review = |line: &HistoryEntry| line.event == Event::ReviewStarted && line.agent.is_same(who);
    who.is_human()
        || implements
        || board.agent(who).is_some_and(|agent| agent.has(&Role::planner()))
        || body.history.iter().any(took_review)
}

fn asked_by(anomaly: &Anomaly) -> Option<String> {
    let detail = |name: &str| anomaly.details.get(name).map(|text| text.trim());
    match anomaly.kind {
        AnomalyKind::SpecAmbiguity | AnomalyKind::SystemAmbiguity => detail("question").map(str::to_owned),
        AnomalyKind::SpecGap => {
            let gap = detail("gap")?;
            Some(format!(
                "{} does not say: {gap}. What holds?",
                detail("spec").unwrap_or("The specification")
            ))
        }
        _ => None,
    }
}

/// A question about the specification is unanswered, or this review repeats a question of an earlier round.
fn spec_gap(body: &Body, feedback: &Feedback, gaps: &[String], same_ratio: f64) -> Option<Assessment> {
    let (why, questions) = if gaps.is_empty() {
        let asked = body.history.iter().flat_map(|line| &line.questions);
        let said: Vec<&str> = std::iter::once(feedback.summary.as_str())
            .chain(feedback.questions.iter().map(String::as_str))
            .chain(feedback.issues.iter().map(|finding| finding.issue.as_str()))
            .collect();
        let again = asked.into_iter().find(|question| {
            said.iter().any(|text| !text.trim().is_empty() && same_reason(question, text, same_ratio))
        })?;
        ("the same question as before stands between the two".to_owned(), vec![again.clone()])
    } else {
        let last: Vec<String> = gaps.iter().rev().take(QUESTIONS).rev().cloned().collect();
        (format!("the specification leaves open what the review needs: {}", last.join("; ")), last)
    };
    Some(Assessment { class: Disagreement::SpecGap, why: clipped(&why, CHARS_SHOWN).into_owned(), questions })
}

/// A limit is reached, and the cause of the disagreement is unknown.
pub fn unknown(limit: String, positions: &Positions) -> Assessment {
    Assessment {
        class: Disagreement::Unknown,
        why: limit,
        questions: vec![
            format!("Who is right? The coder: {} — The reviewer: {}", positions.coder, positions.reviewer),
            "Is the spec clear enough?".to_owned(),
            "Should the task be decomposed?".to_owned(),
        ],
    }
}

/// Only minor issues are left, for the second time in a row, and both times the checklist has no answer "no". The
/// caller has already recorded the second review as the last one.
pub fn only_minor_twice(body: &Body) -> bool {
    let Some((now, before)) = body.reviews.split_last() else { return false };
    // Other verdicts on the same commit belong to this round.
    let former = before.iter().rfind(|review| review.round < now.round && review.commit != now.commit);
    let Some(former) = former else { return false };
    let rejected = rejections(&body.history, before).last().is_some_and(|last| last.round == former.round);
    let small = |review: &Review| {
        let open = open_after(&body.issues, review.round, |_| true);
        let grave = open_after(&body.issues, review.round, |severity| severity.blocks());
        !open.is_empty()
            && grave.is_empty()
            && !review.red_team
            && review.checklist.iter().all(|answered| answered.answer != Answer::No)
    };
    rejected && small(former) && small(now)
}

/// The positions of coder and reviewer after a review.
pub fn positions(body: &Body, drift: &[Drift]) -> Positions {
    let intent = body
        .history
        .iter()
        .rev()
        .find_map(|line| line.checkpoint.as_ref())
        .map_or("no checkpoint", |checkpoint| checkpoint.intent.trim());
    let last = body.reviews.last().map(|review| &review.commit);
    let former = body.reviews.iter().rfind(|review| Some(&review.commit) != last);
    let former = former.map(|review| (&review.commit, review.round));
    let since = former.and_then(|(commit, round)| {
        drift.iter().find(|drift| &drift.since == commit).map(|drift| (&drift.changed, round))
    });
    let files = |files: &[String]| match files {
        [] => "nothing".to_owned(),
        files => files.iter().take(FILES_SHOWN).cloned().collect::<Vec<_>>().join(", "),
    };
    let changed = match (since, &body.submission) {
        (Some((changed, round)), _) => format!("changed since round {round}: {}", files(changed)),
        (None, Some(submission)) => format!("changed: {}", files(&submission.files)),
        (None, None) => String::new(),
    };
    let open: BTreeSet<&str> =
        body.issues.iter().filter(|issue| issue.is_open()).map(|issue| issue.id.as_str()).collect();
    let summary = body.reviews.last().map_or("", |review| review.summary.as_str());
    Positions {
        coder: format!("{}; {changed}", clipped(intent, CHARS_SHOWN)),
        reviewer: describe_issues(body, &open, summary),
    }
}

fn describe_issues(body: &Body, ids: &BTreeSet<&str>, otherwise: &str) -> String {
    let shown: Vec<String> = body
        .issues
        .iter()
        .filter(|issue| ids.contains(issue.id.as_str()))
        .take(ISSUES_SHOWN)
        .map(describe_issue)
        .collect();
    if shown.is_empty() { clipped(otherwise.trim(), CHARS_SHOWN).into_owned() } else { shown.join("; ") }
}

fn describe_issue(issue: &Issue) -> String {
    format!(
        "{} {} {}:{}: {}",
        issue.id,
        issue.severity.as_str(),
        issue.file,
        issue.line,
        clipped(issue.last_words().trim(), CHARS_SHOWN)
    )
}
