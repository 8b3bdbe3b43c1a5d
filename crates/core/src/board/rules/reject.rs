//! Rejecting work: what a rejection needs, when it reaches a limit, and when it counts as an approval with notes.

use crate::text::same_reason;

use super::approve::{Approve, Approved, is_one, one};
use super::contradiction::contradicted;
use super::prelude::*;
use super::report::room_for;
use super::verdict::{Judged, assumptions_of_checkpoint, check_verdict, checklist_items, record};

logged! {
    pub struct Reject {
        pub task: TaskId,
        pub commit: CommitId,
        pub branch_head: Option<CommitId>,
        pub feedback: Feedback,
        /// The checklist that the project has for every task of this risk.
        pub of_risk: Vec<String>,
        /// The changes since the earlier reviews.
        pub drift: Vec<Drift>,
        /// The time limit for all rounds together.
        pub max_seconds: Option<u64>,
        /// The facts for an approval, if the project accepts work in which only minor issues are left.
        pub acceptance: Option<Acceptance>,
        /// The feedback shows the coder all lines of an issue; in older records only the first.
        pub line_ranges: bool,
        #[serde(default, skip_serializing_if = "Edition::is_first")]
        pub edition: Edition,
    }

    /// The facts that `review approve` would have.
    pub struct Acceptance {
        /// The gate results for the tree of that commit.
        pub gates: GateReport,
        /// From this risk on, the red team reviews before the merge.
        pub red_team_from: Option<Risk>,
        /// How many different reviewers must approve the task.
        #[serde(default = "one", skip_serializing_if = "is_one")]
        pub quorum: u32,
    }
}

impl Reject {
    fn judged(&self) -> Judged<'_> {
        let said = (&self.commit, Verdict::RequestChanges, &self.feedback);
        Judged::new(said, &self.of_risk, &self.drift)
    }

    /// Whether only minor issues are left, for the second time, and all gates pass: a matter of taste.
    pub fn is_taste(&self, board: &Board, call: &Call) -> bool {
        let Some(task) = board.task(&self.task) else { return false };
        let (mut head, mut body) = (task.head().clone(), task.body().clone());
        record(&mut head, &mut body, call, &self.judged());
        only_minor_twice(&body)
    }

    /// The approval that this rejection counts as, if it meets every condition of `review approve`.
    fn as_approval(&self, board: &Board, call: &Call) -> Option<Approve> {
        let acceptance = self.acceptance.as_ref()?;
        let approve = Approve {
            task: self.task.clone(),
            commit: self.commit.clone(),
            branch_head: self.branch_head.clone(),
            feedback: self.feedback.clone(),
            allow_protected: false,
            gates: Some(acceptance.gates.clone()),
            of_risk: self.of_risk.clone(),
            red_team_from: acceptance.red_team_from,
            quorum: acceptance.quorum,
            drift: self.drift.clone(),
            edition: self.edition,
        };
        (self.is_taste(board, call) && approve.check(board, call).is_ok()).then_some(approve)
    }
}

/// The outcome of a rejection.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Rejected {
    Accepted(Accepted),
    SentBack(SentBack),
}

outcome!(Accepted {
    #[serde(flatten)]
    approved: Approved,
    accepted_with_notes: Vec<String>,
    why: String,
});

impl Verb for Reject {
    const OPERATION: Option<Operation> = Some(Operation::Review);
    type Outcome = Rejected;

    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        check_verdict(board, call, &self.task, &self.commit, self.branch_head.as_ref(), &self.feedback)?;
        text_given("--reason", &self.feedback.summary)?;
        let task = find(board, &self.task)?;
        let body = task.body();
        let kept_open = self.feedback.prior.iter().any(|prior| prior.status != IssueStatus::Resolved);
        if self.feedback.issues.is_empty() && !kept_open {
            return Err(refusal!(Code::FeedbackIncomplete, "a rejection names at least one issue")
                .hint("--issue SEVERITY:FILE:LINE:TEXT, or --prior ISSUE=open for one that is still there"));
        }
        // A reviewer that raises an issue again has thereby called it open.
        let again = convergence::repeated(&body.issues, &self.feedback, &self.drift);
        let answered = |at: usize, id: &str| {
            again.contains(&Some(at)) || self.feedback.prior.iter().any(|prior| prior.id == id)
        };
        let unanswered: Vec<&str> = body
            .issues
            .iter()
            .enumerate()
            .filter(|(at, issue)| issue.is_open() && !answered(*at, &issue.id))
            .map(|(_, issue)| issue.id.as_str())
            .collect();
        if !unanswered.is_empty() {
            return Err(Refusal::new(
                Code::FeedbackIncomplete,
                format!("say what became of the earlier issues {}", unanswered.join(", ")),
            )
            .hint("--prior ISSUE=resolved|partial|open for each of them")
            .detail("issues", unanswered));
        }
        if self.edition.has(Edition::CONTRACT) {
            assumptions::check_whole(assumptions_of_checkpoint(body), &self.feedback.assumptions)?;
        }
        checklist::check_whole(&checklist_items(body, &self.of_risk), &self.feedback.checklist).map(|_| ())
    }

    fn change(&self, board: &mut Board, call: &Call) -> Self::Outcome {
        if let Some(approve) = self.as_approval(board, call) {
            return Rejected::Accepted(accept(board, call, &approve));
        }
        let ratio = board.config().same_reason_ratio;
        let (head, body) = parts(board, &self.task);
        let same = body
            .rejection_reason
            .as_deref()
            .is_some_and(|former| same_reason(former, &self.feedback.summary, ratio));
        let taken = record(head, body, call, &self.judged());
        let rejection = Rejection {
            from: Status::ReadyForReview,
            commit: &self.commit,
            feedback: &self.feedback,
            same_reason: same,
            taken,
            drift: &self.drift,
            max_seconds: self.max_seconds,
            line_ranges: self.line_ranges,
            edition: self.edition,
        };
        let config = board.config().clone();
        let (head, body) = parts(board, &self.task);
        match contradicted(head, body, call, &config, &rejection) {
            Some(blocked) => {
                let reason = blocked.blocked_reason.as_deref().unwrap_or_default();
                note_deadlock(board, &self.task, call, reason, "reviewers_disagree");
                Rejected::SentBack(blocked)
            }
            None => Rejected::SentBack(send_back(board, &self.task, call, &rejection)),
        }
    }
}

/// Approves the work by this reviewer, with the open minor issues as notes.
fn accept(board: &mut Board, call: &Call, approve: &Approve) -> Accepted {
    let approved = approve.change(board, call);
    let (head, body) = parts(board, &approve.task);
    let notes: Vec<String> =
        body.issues.iter().filter(|issue| issue.is_open()).map(|issue| issue.id.clone()).collect();
    let why = "everything is green, and for the second time only small issues are left";
    if let Some(review) = body.reviews.last_mut() {
        review.accepted_with_notes = true;
    }
    let counted = head.approvals.as_mut().and_then(|approvals| approvals.by.last_mut());
    for approval in body.approval.iter_mut().chain(counted) {
        approval.notes.clone_from(&notes);
    }
    if let Some(result) = &mut body.review_result {
        result.disagreement = Some(Disagreement::Subjective);
        result.why = Some(why.to_owned());
        result.accepted_with_notes.clone_from(&notes);
    }
    if let Some(line) = body.history.last_mut().filter(|line| line.event == Event::Approved) {
        let said = line.detail.take().unwrap_or_default();
        line.detail = Some(format!("accepted with notes ({}), {why}: {said}", notes.join(", ")));
    }
    let approved = Approved { status: head.status, ..approved };
    Accepted { approved, accepted_with_notes: notes, why: why.to_owned() }
}

/// Sends the task back to its coder, or blocks it if it reached its limit of rounds or another round would not help.
pub fn send_back(board: &mut Board, id: &TaskId, call: &Call, rejection: &Rejection<'_>) -> SentBack {
    let config = board.config().clone();
    let gaps = board.task(id).map(|task| open_gaps(board, id, task.body())).unwrap_or_default();
    let Rejection { from, commit, feedback, .. } = rejection;
    let (head, body) = parts(board, id);
    head.review_cycles_current += 1;
    head.review_cycles_total += 1;
    body.consecutive_rejections += 1;
    body.rejection_reason = Some(feedback.summary.clone());
    body.rejection_feedback = Some(feedback_text(body, feedback, rejection.line_ranges));
    body.review_result = None;
    head.status = Status::Rejected;
    head.reserved_until = Some(Deadline::after(call.now, config.lease_seconds));
    body.history.push(
        entry(call, Event::Rejected)
            .step(*from, Status::Rejected)
            .commit(commit)
            .detail(feedback.summary.clone()),
    );
    let positions = positions(body, rejection.drift);
    let took = Took::of(&body.history, call.now.wall, config.lease_seconds);
    let found = disagreement::assess(body, feedback, &gaps, config.same_reason_ratio).or_else(|| {
        let limit = limit_reached(head, body, &config, rejection, took)?;
        Some(disagreement::unknown(limit, &positions))
    });
    let worked_too_long = rejection.max_seconds.is_some_and(|max| took.work >= max);
    let mut outcome = SentBack {
        task: head.id.clone(),
        status: head.status,
        issues: rejection.taken.raised.clone(),
        cycles: head.review_cycles_total,
        same_as: Some(same_issues(&rejection.taken.repeated)),
        blocked_reason: None,
        disagreement: None,
        positions: None,
        questions: None,
    };
    if let Some(found) = found {
        let reason = found.reason(rejection.edition);
        let only_time = limit_reached(head, body, &config, rejection, Took::default()).is_none();
        match found.class {
            Disagreement::Oscillating => note_failure(head),
            // The time that reviewers took does not count against the coder.
            Disagreement::Unknown if !only_time || worked_too_long => note_failure(head),
            // A gap in the specification, or a request beyond the task, does not count against the coder either.
            _ => {}
        }
        block(head, body, call, &config, &reason, &found.questions);
        if let Some(result) = &mut body.review_result {
            result.disagreement = Some(found.class);
            result.why = Some(found.why.clone());
            result.positions = Some(positions.clone());
        }
        outcome.status = head.status;
        outcome.blocked_reason = Some(reason.clone());
        outcome.disagreement = Some(found.class);
        outcome.positions = Some(SaidOf::Sides(positions));
        outcome.questions = Some(found.questions.clone());
        note_deadlock(board, id, call, &reason, found.class.as_str());
    }
    outcome
}

pub(super) fn block(
    head: &mut Head,
    body: &mut Body,
    call: &Call,
    config: &Config,
    reason: &str,
    questions: &[String],
) {
    end_claim(head);
    head.status = Status::Blocked;
    head.reserved_until = None;
    head.holds_paths_until = Some(Deadline::after(call.now, config.blocked_hold_seconds));
    body.blocked_from = Some(Status::Rejected);
    body.blocked_reason = Some(reason.to_owned());
    body.blocked_questions = questions.to_vec();
    conclude(body, call, config.lease_seconds, Ending::Limit);
    body.history.push(entry(call, Event::Blocked).step(Status::Rejected, Status::Blocked).detail(reason));
}

/// Records an anomaly, so that problems shared by several tasks can be found.
fn note_deadlock(board: &mut Board, id: &TaskId, call: &Call, reason: &str, class: &str) {
    if room_for("anomalies", board.rest.anomalies.len()).is_err() {
        return;
    }
    let details =
        [("assessment", reason), ("class", class)].map(|(key, text)| (key.to_owned(), text.to_owned()));
    note_anomaly(board, call, AnomalyKind::ReviewDeadlock, id, BTreeMap::from(details));
}

/// The report to the reviewer about findings that an earlier round made already.
fn same_issues(repeated: &[Repeated]) -> Vec<SameIssue> {
    repeated
        .iter()
        .map(|one| {
            let text = match (one.said_resolved, one.reopened) {
                (true, _) => "you call it resolved and raise it again: it counts as still present",
                (false, true) => "it was resolved before and is there again",
                (false, false) => "it is the same issue, so it keeps its name",
            };
            SameIssue {
                finding: one.finding,
                issue: one.issue.clone(),
                said_resolved: one.said_resolved,
                reopened: one.reopened,
                told: text.to_owned(),
            }
        })
        .collect()
}

/// Whether this rejection reached a limit.
fn limit_reached(
    head: &Head,
    body: &Body,
    config: &Config,
    rejection: &Rejection<'_>,
    took: Took,
) -> Option<String> {
    let took = took.seconds();
    rounds_used_up(head, body, config, rejection.same_reason).or_else(|| {
        let max = rejection.max_seconds.filter(|max| took >= *max)?;
        Some(format!("Max time for work and review ({max} s) reached without approval: {took} s"))
    })
}

/// Whether the limit of rejections or iterations is reached.
pub(super) fn rounds_used_up(head: &Head, body: &Body, config: &Config, same_reason: bool) -> Option<String> {
    let max_iterations = body.max_coder_iterations.unwrap_or(config.max_coder_iterations);
    let max_cycles = body.max_review_cycles.unwrap_or(config.max_review_cycles);
    Some(if same_reason {
        "Same rejection reason twice in a row".to_owned()
    } else if body.consecutive_rejections >= config.breaker_rejections {
        format!("Rejected {} times in a row", body.consecutive_rejections)
    } else if head.review_cycles_total >= max_cycles {
        format!("Max review cycles ({max_cycles}) reached without approval")
    } else if head.iteration >= max_iterations {
        format!("Max iterations ({max_iterations}) reached without approval")
    } else {
        return None;
    })
}

/// The rejection as instructions for the coder.
fn feedback_text(body: &Body, feedback: &Feedback, line_ranges: bool) -> String {
    let mut lines = vec![feedback.summary.trim().to_owned()];
    for issue in body.issues.iter().filter(|issue| issue.is_open()) {
        let must = if issue.severity.blocks() { "must fix" } else { "optional" };
        let last = issue.rounds.last();
        let since = match last.filter(|_| issue.is_from_before()) {
            Some(said) if said.reopened => format!(" (there again; first in round {})", issue.round),
            Some(said) if said.standing == Standing::Partial => {
                format!(" (mended in part; there since round {})", issue.round)
            }
            Some(_) => format!(" (still there since round {})", issue.round),
            None => String::new(),
        };
        let mut line = format!(
            "[{}] {} {} {}:{}{since}: {}",
            issue.id,
            must,
            issue.severity.as_str(),
            issue.file,
            if line_ranges { issue.lines() } else { issue.line.to_string() },
            issue.issue.trim()
        );
        if issue.last_words() != issue.issue {
            line.push_str(&format!(" Now said as: {}", issue.last_words().trim()));
        }
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
    let answers = body.reviews.last().map(|review| &review.assumptions[..]).unwrap_or_default();
    for answer in answers.iter().filter(|found| found.answer == Held::Violated) {
        let note = answer.note.as_deref().map_or(String::new(), |note| format!(" ({})", note.trim()));
        lines.push(format!("assumption violated: {}{note}", answer.assumption.trim()));
    }
    for condition in &feedback.approval_conditions {
        lines.push(format!("condition for approval: {}", condition.trim()));
    }
    lines.join("\n")
}
