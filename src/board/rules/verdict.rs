//! The three verdicts. Each names the commit it is about, and counts only if that is still what stands there.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::board::call::Call;
use crate::board::checklist::{self, Answer, Answered};
use crate::board::config::Config;
use crate::board::history::Event;
use crate::board::ids::{CommitId, TaskId};
use crate::board::paths::RepoPath;
use crate::board::refusal::{Code, Refusal};
use crate::board::review::{Feedback, Issue, IssueStatus, Review, Verdict};
use crate::board::state::Board;
use crate::board::task::{Body, Head, Status, Task};
use crate::board::time::Deadline;
use crate::board::transition::{Needs, Rule};
use crate::text::same_reason;

use super::common::{
    MOST_ITEMS, end_claim, entry, find, next_step, note_failure, parts, questions_given, text_fits,
    text_given, wrong_state,
};
use super::disagreement::disagree;
use super::review_lease::{holds_review, not_an_implementer, reviews};

/// What every verdict must satisfy.
pub fn check_verdict(
    board: &Board,
    call: &Call,
    id: &TaskId,
    commit: &CommitId,
    branch_head: Option<&CommitId>,
    feedback: &Feedback,
) -> Result<(), Refusal> {
    let task = find(board, id)?;
    call.check_switches(Some(id))?;
    reviews(board, call, &format!("judge task `{id}`"))?;
    if matches!(task.status, Status::Draft | Status::Idle | Status::Working) {
        return Refusal::new(
            Code::Tier0SkippedState,
            format!("task `{id}` is {}: nothing was submitted, so there is nothing to judge", task.status),
        )
        .hint("wait until its coder submits it; this is recorded as a Tier 0 violation")
        .err();
    }
    if task.status != Status::ReadyForReview {
        return Err(wrong_state(task, "judged", next_step(task)));
    }
    not_an_implementer(task, call, &call.by.id(), "judge")?;
    holds_review(task, call)?;
    about_what_stands(task, commit, branch_head, feedback)
}

/// The verdict is about the commit under review, that is still what stands there, and what is said about it makes sense.
pub fn about_what_stands(
    task: &Task,
    commit: &CommitId,
    branch_head: Option<&CommitId>,
    feedback: &Feedback,
) -> Result<(), Refusal> {
    let id = &task.id;
    if task.review_commit.as_ref() != Some(commit) {
        let under_review = task.review_commit.as_ref().map_or("none", CommitId::as_str);
        return Refusal::new(
            Code::Commit,
            format!("the commit under review is {under_review}, not {commit}"),
        )
        .hint(format!("look again: `liza review show {id}`"))
        .detail("review_commit", under_review)
        .err();
    }
    if branch_head != Some(commit) {
        return Refusal::new(
            Code::Commit,
            format!("the branch of `{id}` has moved since it was submitted: a verdict on {} would be about something else", commit.short()),
        )
        .hint(format!("send it back: `liza task block {id} --reason \"branch moved after submit\" --question …`"))
        .detail("branch_head", branch_head.map(|head| head.as_str().to_owned()))
        .err();
    }
    check_feedback(task, feedback)
}

fn check_feedback(task: &Task, feedback: &Feedback) -> Result<(), Refusal> {
    text_fits("the summary", &feedback.summary)?;
    if feedback.issues.len() > MOST_ITEMS {
        return Refusal::new(Code::Limit, format!("a review raises at most {MOST_ITEMS} issues")).err();
    }
    for (field, texts) in [
        ("strengths", &feedback.strengths),
        ("approval_conditions", &feedback.approval_conditions),
        ("files_reviewed", &feedback.files_reviewed),
        (
            "notes of the checklist",
            &feedback.checklist.iter().filter_map(|given| given.note.clone()).collect(),
        ),
    ] {
        if texts.len() > MOST_ITEMS {
            return Refusal::new(Code::Limit, format!("{field} has at most {MOST_ITEMS} entries")).err();
        }
        texts.iter().try_for_each(|text| text_fits(field, text))?;
    }
    for finding in &feedback.issues {
        text_given("the text of an issue", &finding.issue)?;
        for text in [&finding.suggestion, &finding.code_before, &finding.code_after].into_iter().flatten() {
            text_fits("the text of an issue", text)?;
        }
        if let Err(why) = RepoPath::new(&finding.file) {
            return Refusal::new(
                Code::FeedbackIncomplete,
                format!("`{}` cannot be the file of an issue: {why}", finding.file),
            )
            .hint("an issue is SEVERITY:FILE:LINE:TEXT, with a path inside the repository")
            .err();
        }
        if finding.line == 0 {
            return Refusal::new(
                Code::FeedbackIncomplete,
                format!("an issue in {} has no line", finding.file),
            )
            .hint("lines count from 1")
            .err();
        }
    }
    for prior in &feedback.prior {
        if !task.body().issues.iter().any(|issue| issue.id == prior.id) {
            return Refusal::new(
                Code::UnknownRecord,
                format!("task `{}` has no issue `{}`", task.id, prior.id),
            )
            .hint(format!("`liza review show {}` lists them", task.id))
            .err();
        }
    }
    Ok(())
}

fn take_prior(body: &mut Body, feedback: &Feedback) {
    for prior in &feedback.prior {
        if let Some(issue) = body.issues.iter_mut().find(|issue| issue.id == prior.id) {
            issue.status = prior.status;
        }
    }
}

/// Puts the review on record and returns the ids of the issues it raises. `of_risk` is what the project asks of tasks of
/// this risk.
pub fn record(
    head: &mut Head,
    body: &mut Body,
    call: &Call,
    commit: &CommitId,
    verdict: Verdict,
    feedback: &Feedback,
    of_risk: &[String],
) -> Vec<String> {
    let round = head.review_cycles_total + 1;
    take_prior(body, feedback);
    let mut raised = Vec::new();
    for finding in &feedback.issues {
        let id = format!("i{}", body.issues.len() + 1);
        body.issues.push(Issue::from_finding(finding, id.clone(), round, call.by.id()));
        raised.push(id);
    }
    body.reviews.push(Review {
        round,
        reviewer: call.by.id(),
        time: call.now.wall,
        commit: commit.clone(),
        verdict,
        summary: feedback.summary.clone(),
        red_team: false,
        checklist: answered(body, of_risk, feedback),
        raised: raised.clone(),
        strengths: feedback.strengths.clone(),
        approval_conditions: feedback.approval_conditions.clone(),
        files_reviewed: feedback.files_reviewed.clone(),
    });
    head.review_lease = None;
    raised
}

pub fn asked(body: &Body, of_risk: &[String]) -> Vec<String> {
    checklist::items(&body.checklist, of_risk)
}

/// The answers that were given, in the order of the items; checked before.
fn answered(body: &Body, of_risk: &[String], feedback: &Feedback) -> Vec<Answered> {
    let found = checklist::matched(&asked(body, of_risk), &feedback.checklist);
    found.unwrap_or_default().into_iter().flatten().collect()
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reject {
    pub task: TaskId,
    pub commit: CommitId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch_head: Option<CommitId>,
    pub feedback: Feedback,
    /// What the project asks of every task of its risk.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub of_risk: Vec<String>,
}

impl Rule for Reject {
    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        check_verdict(board, call, &self.task, &self.commit, self.branch_head.as_ref(), &self.feedback)?;
        text_given("--reason", &self.feedback.summary)?;
        let task = find(board, &self.task)?;
        let body = task.body();
        let named = |id: &str| self.feedback.prior.iter().any(|prior| prior.id == id);
        let kept_open = self.feedback.prior.iter().any(|prior| prior.status != IssueStatus::Resolved);
        if self.feedback.issues.is_empty() && !kept_open {
            return Refusal::new(Code::FeedbackIncomplete, "a rejection names at least one issue")
                .hint("--issue SEVERITY:FILE:LINE:TEXT, or --prior ISSUE=open for one that is still there")
                .err();
        }
        let unanswered: Vec<&str> = body
            .issues
            .iter()
            .filter(|issue| issue.is_open() && !named(&issue.id))
            .map(|issue| issue.id.as_str())
            .collect();
        if !unanswered.is_empty() {
            return Refusal::new(
                Code::FeedbackIncomplete,
                format!("say what became of the earlier issues {}", unanswered.join(", ")),
            )
            .hint("--prior ISSUE=resolved|partial|open for each of them")
            .detail("issues", unanswered)
            .err();
        }
        checklist::check_whole(&asked(body, &self.of_risk), &self.feedback.checklist).map(|_| ())
    }

    fn change(&self, board: &mut Board, call: &Call) -> Value {
        let config = board.config().clone();
        let (head, body) = parts(board, &self.task);
        let same = body
            .rejection_reason
            .as_deref()
            .is_some_and(|former| same_reason(former, &self.feedback.summary, config.same_reason_ratio));
        let raised =
            record(head, body, call, &self.commit, Verdict::RequestChanges, &self.feedback, &self.of_risk);
        let rejection = Rejection {
            from: Status::ReadyForReview,
            commit: &self.commit,
            feedback: &self.feedback,
            same_reason: same,
            raised,
        };
        if let Some(disagreement) = disagree(head, body, call, &config, &rejection) {
            return disagreement;
        }
        send_back(head, body, call, &config, &rejection)
    }

    fn needs(&self, _: &Board) -> Needs {
        Needs::task(&self.task)
    }
}

/// A rejection that is on record.
pub struct Rejection<'a> {
    pub from: Status,
    pub commit: &'a CommitId,
    pub feedback: &'a Feedback,
    /// It says what was said the last time.
    pub same_reason: bool,
    /// Ids of the issues it raised.
    pub raised: Vec<String>,
}

/// Back to its coder, whoever rejected it; BLOCKED if it was one time too many.
pub fn send_back(
    head: &mut Head,
    body: &mut Body,
    call: &Call,
    config: &Config,
    rejection: &Rejection<'_>,
) -> Value {
    let Rejection { from, commit, feedback, .. } = rejection;
    head.review_cycles_current += 1;
    head.review_cycles_total += 1;
    body.consecutive_rejections += 1;
    body.rejection_reason = Some(feedback.summary.clone());
    body.rejection_feedback = Some(feedback_text(body, feedback));
    head.status = Status::Rejected;
    head.reserved_until = Some(Deadline::after(call.now, config.lease_seconds));
    body.history.push(
        entry(call, Event::Rejected)
            .step(*from, Status::Rejected)
            .commit(commit)
            .detail(feedback.summary.clone()),
    );
    let limit = limit_reached(head, body, config, rejection.same_reason);
    if let Some((reason, questions)) = &limit {
        note_failure(head);
        end_claim(head);
        head.status = Status::Blocked;
        head.reserved_until = None;
        head.holds_paths_until = Some(Deadline::after(call.now, config.blocked_hold_seconds));
        body.blocked_from = Some(Status::Rejected);
        body.blocked_reason = Some(reason.clone());
        body.blocked_questions = questions.clone();
        body.history
            .push(entry(call, Event::Blocked).step(Status::Rejected, Status::Blocked).detail(reason.clone()));
    }
    json!({
        "task": head.id, "status": head.status, "issues": rejection.raised, "cycles": head.review_cycles_total,
        "blocked_reason": limit.map(|(reason, _)| reason),
    })
}

/// Whether this rejection was one too many, and what to ask.
fn limit_reached(
    head: &Head,
    body: &Body,
    config: &Config,
    same_reason: bool,
) -> Option<(String, Vec<String>)> {
    let max_iterations = body.max_coder_iterations.unwrap_or(config.max_coder_iterations);
    let max_cycles = body.max_review_cycles.unwrap_or(config.max_review_cycles);
    let reason = if same_reason {
        "Same rejection reason twice in a row".to_owned()
    } else if body.consecutive_rejections >= config.breaker_rejections {
        format!("Rejected {} times in a row", body.consecutive_rejections)
    } else if head.review_cycles_total >= max_cycles {
        format!("Max review cycles ({max_cycles}) reached without approval")
    } else if head.iteration >= max_iterations {
        format!("Max iterations ({max_iterations}) reached without approval")
    } else {
        return None;
    };
    let questions = vec![
        "Is the spec clear enough?".to_owned(),
        "Should the task be decomposed?".to_owned(),
        format!("Is the reviewer right that: {}", body.rejection_reason.as_deref().unwrap_or_default()),
    ];
    Some((reason, questions))
}

/// The rejection as instructions for the coder.
fn feedback_text(body: &Body, feedback: &Feedback) -> String {
    let mut lines = vec![feedback.summary.trim().to_owned()];
    for issue in body.issues.iter().filter(|issue| issue.is_open()) {
        let must = if issue.severity.blocks() { "must fix" } else { "optional" };
        let mut line = format!(
            "[{}] {} {} {}:{}: {}",
            issue.id,
            must,
            issue.severity.as_str(),
            issue.file,
            issue.line,
            issue.issue.trim()
        );
        if let Some(suggestion) = &issue.suggestion {
            line.push_str(&format!(" Suggestion: {}", suggestion.trim()));
        }
        if let Some(code) = &issue.code_after {
            line.push_str(&format!("\n    suggested code:\n    {}", code.trim_end().replace('\n', "\n    ")));
        }
        lines.push(line);
    }
    let answers = body.reviews.last().map(|review| &review.checklist[..]).unwrap_or_default();
    for answer in answers.iter().filter(|found| found.answer == Answer::No) {
        let note = answer.note.as_deref().map_or(String::new(), |note| format!(" ({})", note.trim()));
        lines.push(format!("checklist, answered with no: {}{note}", answer.item.trim()));
    }
    for condition in &feedback.approval_conditions {
        lines.push(format!("condition for approval: {}", condition.trim()));
    }
    lines.join("\n")
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Discuss {
    pub task: TaskId,
    pub commit: CommitId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch_head: Option<CommitId>,
    pub feedback: Feedback,
    /// What the project asks of every task of its risk; a discussion may answer it and need not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub of_risk: Vec<String>,
}

impl Rule for Discuss {
    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        check_verdict(board, call, &self.task, &self.commit, self.branch_head.as_ref(), &self.feedback)?;
        text_given("--reason", &self.feedback.summary)?;
        checklist::matched(&asked(find(board, &self.task)?.body(), &self.of_risk), &self.feedback.checklist)?;
        questions_given(&self.feedback.questions)
    }

    fn change(&self, board: &mut Board, call: &Call) -> Value {
        let hold = board.config().blocked_hold_seconds;
        let (head, body) = parts(board, &self.task);
        record(head, body, call, &self.commit, Verdict::NeedsDiscussion, &self.feedback, &self.of_risk);
        end_claim(head);
        head.status = Status::Blocked;
        head.holds_paths_until = Some(Deadline::after(call.now, hold));
        body.blocked_from = Some(Status::ReadyForReview);
        body.blocked_reason = Some(self.feedback.summary.clone());
        body.blocked_questions = self.feedback.questions.clone();
        body.history.push(
            entry(call, Event::DiscussionNeeded)
                .step(Status::ReadyForReview, Status::Blocked)
                .commit(&self.commit)
                .detail(self.feedback.summary.clone()),
        );
        json!({ "task": self.task, "status": head.status, "questions": self.feedback.questions })
    }

    fn needs(&self, _: &Board) -> Needs {
        Needs::task(&self.task)
    }
}
