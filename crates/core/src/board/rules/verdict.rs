//! Checks for all verdicts: each names its commit, and counts only if that is still the commit under review. Also the
//! verdict that leaves the decision to a person or the planner.

use super::block::Blocked;
use super::prelude::*;
use super::submit::current_checkpoint;

/// The checks for every verdict.
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
        return Err(Refusal::new(
            Code::Tier0SkippedState,
            format!("task `{id}` is {}: nothing was submitted, so there is nothing to judge", task.status),
        )
        .hint("wait until its coder submits it; this is recorded as a Tier 0 violation"));
    }
    if task.status != Status::ReadyForReview {
        return Err(wrong_state(task, "judged", next_step(task)));
    }
    reviewed_as_commit(task)?;
    not_an_implementer(task, call, &call.by.id(), "judge")?;
    holds_review(task, call)?;
    check_current_commit(task, commit, branch_head, feedback)
}

/// Refuses unless the verdict is about the commit under review, that commit is still the head of the branch, and the
/// feedback is well-formed.
pub fn check_current_commit(
    task: &Task,
    commit: &CommitId,
    branch_head: Option<&CommitId>,
    feedback: &Feedback,
) -> Result<(), Refusal> {
    let id = &task.id;
    if task.review_commit.as_ref() != Some(commit) {
        let under_review = task.review_commit.as_ref().map_or("none", CommitId::as_str);
        return Err(refusal!(Code::Commit, "the commit under review is {under_review}, not {commit}")
            .hint(format!("look again: `liza review show {id}`"))
            .detail("review_commit", under_review));
    }
    if branch_head != Some(commit) {
        return Err(refusal!(
            Code::Commit,
            "the branch of `{id}` has moved since it was submitted: a verdict on {} would judge another commit",
            commit.short()
        )
        .hint(format!("send it back: `liza task block {id} --reason \"branch moved after submit\" --question …`"))
        .detail("branch_head", branch_head.map(|head| head.as_str().to_owned())));
    }
    check_feedback(task, feedback)
}

fn check_feedback(task: &Task, feedback: &Feedback) -> Result<(), Refusal> {
    text_fits("the summary", &feedback.summary)?;
    if feedback.issues.len() > MOST_ITEMS {
        return Err(refusal!(Code::Limit, "a review raises at most {MOST_ITEMS} issues"));
    }
    for (field, texts) in [
        ("strengths", &feedback.strengths),
        ("approval_conditions", &feedback.approval_conditions),
        ("files_reviewed", &feedback.files_reviewed),
        (
            "notes on assumptions",
            &feedback.assumptions.iter().filter_map(|given| given.note.clone()).collect(),
        ),
        (
            "notes of the checklist",
            &feedback.checklist.iter().filter_map(|given| given.note.clone()).collect(),
        ),
    ] {
        if texts.len() > MOST_ITEMS {
            return Err(refusal!(Code::Limit, "{field} has at most {MOST_ITEMS} entries"));
        }
        texts.iter().try_for_each(|text| text_fits(field, text))?;
    }
    for finding in &feedback.issues {
        text_given("the text of an issue", &finding.issue)?;
        for text in [&finding.suggestion, &finding.code_before, &finding.code_after].into_iter().flatten() {
            text_fits("the text of an issue", text)?;
        }
        if let Err(why) = RepoPath::new(&finding.file) {
            return Err(Refusal::new(
                Code::FeedbackIncomplete,
                format!("`{}` cannot be the file of an issue: {why}", finding.file),
            )
            .hint("an issue is SEVERITY:FILE:LINE:TEXT, with a path inside the repository"));
        }
        if finding.line == 0 {
            return Err(refusal!(Code::FeedbackIncomplete, "an issue in {} has no line", finding.file)
                .hint("lines count from 1"));
        }
    }
    for (at, prior) in feedback.prior.iter().enumerate() {
        if feedback.prior[..at].iter().any(|earlier| earlier.id == prior.id) {
            return Err(Refusal::new(
                Code::FeedbackIncomplete,
                format!("the review gives the status of issue `{}` twice", prior.id),
            )
            .hint("name it once: --prior ISSUE=resolved|partial|open"));
        }
        if !task.body().issues.iter().any(|issue| issue.id == prior.id) {
            return Err(refusal!(Code::UnknownRecord, "task `{}` has no issue `{}`", task.id, prior.id)
                .hint(format!("`liza review show {}` lists them", task.id)));
        }
    }
    Ok(())
}

/// A verdict to record.
pub struct Judged<'a> {
    pub commit: &'a CommitId,
    pub verdict: Verdict,
    pub feedback: &'a Feedback,
    /// The checklist that the project has for tasks of this risk.
    pub of_risk: &'a [String],
    /// The changes since the earlier reviews.
    pub drift: &'a [Drift],
    pub red_team: bool,
    /// Open issues that the verdict does not name count as resolved.
    pub resolves_the_rest: bool,
}

impl<'a> Judged<'a> {
    /// A reviewer's verdict.
    pub fn new(
        (commit, verdict, feedback): (&'a CommitId, Verdict, &'a Feedback),
        of_risk: &'a [String],
        drift: &'a [Drift],
    ) -> Self {
        Self { commit, verdict, feedback, of_risk, drift, red_team: false, resolves_the_rest: false }
    }
}

/// Records the review, and returns which of its findings are new and which repeat earlier issues.
pub fn record(head: &mut Head, body: &mut Body, call: &Call, judged: &Judged<'_>) -> Taken {
    let Judged { commit, verdict, feedback, .. } = judged;
    let round = head.review_cycles_total + 1;
    let former = body.reviews.iter().rfind(|review| review.commit != **commit);
    let former = former.map(|review| review.commit.clone());
    let taken = convergence::take(
        &mut body.issues,
        &convergence::Round {
            number: round,
            by: call.by.id(),
            commit,
            former: former.as_ref(),
            feedback,
            drift: judged.drift,
            red_team: judged.red_team,
            resolves_the_rest: judged.resolves_the_rest,
        },
    );
    let is_kept = |id: &str| {
        taken.repeated.iter().any(|again| again.issue == id)
            || feedback.prior.iter().any(|said| said.id == id && said.status != IssueStatus::Resolved)
    };
    let kept_open: Vec<String> =
        body.issues.iter().map(|issue| &issue.id).filter(|id| is_kept(id)).cloned().collect();
    body.reviews.push(Review {
        round,
        reviewer: call.by.id(),
        time: call.now.wall,
        commit: (*commit).clone(),
        verdict: *verdict,
        summary: feedback.summary.clone(),
        tree: body.submission.as_ref().and_then(|submission| submission.tree.clone()),
        accepted_with_notes: false,
        red_team: judged.red_team,
        checklist: answered(body, judged.of_risk, feedback),
        assumptions: assumptions::matched(assumptions_of_checkpoint(body), &feedback.assumptions)
            .unwrap_or_default()
            .into_iter()
            .flatten()
            .collect(),
        raised: taken.raised.clone(),
        kept_open,
        strengths: feedback.strengths.clone(),
        approval_conditions: feedback.approval_conditions.clone(),
        files_reviewed: feedback.files_reviewed.clone(),
    });
    head.review_lease = None;
    taken
}

/// The assumptions in the checkpoint of the judged submission.
pub fn assumptions_of_checkpoint(body: &Body) -> &[Assumption] {
    current_checkpoint(body).map(|checkpoint| checkpoint.assumptions.as_slice()).unwrap_or_default()
}

pub fn checklist_items(body: &Body, of_risk: &[String]) -> Vec<String> {
    checklist::items(&body.checklist, of_risk)
}

/// The given answers, in the order of the items; checked before.
fn answered(body: &Body, of_risk: &[String], feedback: &Feedback) -> Vec<Answered> {
    let found = checklist::matched(&checklist_items(body, of_risk), &feedback.checklist);
    found.unwrap_or_default().into_iter().flatten().collect()
}

logged! {
    pub struct Discuss {
        pub task: TaskId,
        pub commit: CommitId,
        pub branch_head: Option<CommitId>,
        pub feedback: Feedback,
        /// The checklist that the project has for every task of this risk; a discussion may leave it unanswered.
        pub of_risk: Vec<String>,
        /// The changes since the earlier reviews.
        pub drift: Vec<Drift>,
    }
}

impl Verb for Discuss {
    const OPERATION: Option<Operation> = Some(Operation::Review);
    type Outcome = Blocked;

    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        check_verdict(board, call, &self.task, &self.commit, self.branch_head.as_ref(), &self.feedback)?;
        text_given("--reason", &self.feedback.summary)?;
        checklist::matched(
            &checklist_items(find(board, &self.task)?.body(), &self.of_risk),
            &self.feedback.checklist,
        )?;
        questions_given(&self.feedback.questions)
    }

    fn change(&self, board: &mut Board, call: &Call) -> Self::Outcome {
        let (hold, lease_seconds) = (board.config().blocked_hold_seconds, board.config().lease_seconds);
        let (head, body) = parts(board, &self.task);
        let said = (&self.commit, Verdict::NeedsDiscussion, &self.feedback);
        let judged = Judged::new(said, &self.of_risk, &self.drift);
        record(head, body, call, &judged);
        conclude(body, call, lease_seconds, Ending::NeedsDiscussion);
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
                .detail(self.feedback.summary.clone())
                .questions(&self.feedback.questions),
        );
        Blocked { task: self.task.clone(), status: head.status, questions: self.feedback.questions.clone() }
    }
}
