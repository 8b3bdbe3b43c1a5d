//! The red team's turn: after the approval and before the merge a red team agent tries to break the approved commit.

use crate::text::same_reason;

use super::prelude::*;
use super::reject::send_back;
use super::verdict::{Judged, check_current_commit, record};

/// Refuses to merge before the red team has had its turn.
pub fn red_team_is_through(task: &Task) -> Result<(), Refusal> {
    let Some(turn) = &task.red_team else { return Ok(()) };
    if turn.status == TurnStatus::Cleared && Some(&turn.commit) == task.review_commit.as_ref() {
        return Ok(());
    }
    let holder = task.review_lease.as_ref().map(|lease| lease.agent.clone());
    let who = match &holder {
        Some(agent) => format!("`{agent}` reviews it now"),
        None => "no agent has claimed it yet".to_owned(),
    };
    Err(refusal!(Code::RedTeam, "task `{}` is approved and waits for the red team's turn; {who}", task.id)
    .hint(format!(
        "an agent of the role red_team, or a person who neither wrote nor approved it: `liza review claim {}`",
        task.id
    ))
    .detail("task", task.id.as_str())
    .detail("waiting_on", "red_team")
    .detail("holder", holder.map(|agent| agent.to_string())))
}

/// What every verdict of the red team must satisfy.
fn check(
    board: &Board,
    call: &Call,
    id: &TaskId,
    commit: &CommitId,
    branch_head: Option<&CommitId>,
    feedback: &Feedback,
) -> Result<(), Refusal> {
    let task = find(board, id)?;
    call.check_switches(Some(id))?;
    may_attack(board, call, task, "judge")?;
    if task.judged_by() != Some(Role::red_team()) {
        return Err(wrong_state(task, "judged by the red team", next_step(task)));
    }
    holds_review(task, call)?;
    check_current_commit(task, commit, branch_head, feedback)
}

/// The red team judges the approved commit, so nothing has changed since; and it answers no checklist.
fn judged<'a>(commit: &'a CommitId, verdict: Verdict, feedback: &'a Feedback) -> Judged<'a> {
    Judged { commit, verdict, feedback, of_risk: &[], drift: &[], red_team: true, resolves_the_rest: false }
}

logged! {
    /// The red team found nothing: the approved commit may be merged.
    pub struct ClearByRedTeam {
        pub task: TaskId,
        pub commit: CommitId,
        /// The current head of the branch.
        pub branch_head: Option<CommitId>,
        pub feedback: Feedback,
    }
}

outcome!(Cleared { task: TaskId, status: Status, commit: CommitId, red_team: Option<RedTeamTurn> });

impl Verb for ClearByRedTeam {
    const OPERATION: Option<Operation> = Some(Operation::Attack);
    type Outcome = Cleared;

    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        check(board, call, &self.task, &self.commit, self.branch_head.as_ref(), &self.feedback)?;
        if !self.feedback.issues.is_empty() {
            return Err(refusal!(Code::IssuesOpen, "a red-team verdict with findings must be a rejection")
                .hint(format!(
                    "`liza review reject {} --commit … --reason … --issue …` says what was found",
                    self.task
                )));
        }
        // The summary must say what the red team tried.
        text_given("--summary", &self.feedback.summary)
    }

    fn change(&self, board: &mut Board, call: &Call) -> Self::Outcome {
        let (head, body) = parts(board, &self.task);
        record(head, body, call, &judged(&self.commit, Verdict::Approve, &self.feedback));
        head.red_team = Some(RedTeamTurn {
            status: TurnStatus::Cleared,
            commit: self.commit.clone(),
            by: Some(call.by.id()),
            time: Some(call.now.wall),
        });
        body.history.push(
            entry(call, Event::RedTeamCleared).commit(&self.commit).detail(self.feedback.summary.clone()),
        );
        Cleared {
            task: self.task.clone(),
            status: head.status,
            commit: self.commit.clone(),
            red_team: head.red_team.clone(),
        }
    }
}

logged! {
    /// The red team found a problem: the approval is void and the task goes back as from any review.
    pub struct RejectByRedTeam {
        pub task: TaskId,
        pub commit: CommitId,
        pub branch_head: Option<CommitId>,
        pub feedback: Feedback,
        /// The time limit for all rounds together.
        pub max_seconds: Option<u64>,
        /// As in [`super::Reject`].
        pub line_ranges: bool,
        #[serde(default, skip_serializing_if = "Edition::is_first")]
        pub edition: Edition,
    }
}

impl Verb for RejectByRedTeam {
    const OPERATION: Option<Operation> = Some(Operation::Attack);
    type Outcome = SentBack;

    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        check(board, call, &self.task, &self.commit, self.branch_head.as_ref(), &self.feedback)?;
        text_given("--reason", &self.feedback.summary)?;
        if self.feedback.issues.is_empty() {
            return Err(refusal!(Code::FeedbackIncomplete, "a finding names at least one issue")
                .hint("--issue SEVERITY:FILE:LINE:TEXT, with the input or the steps that break it"));
        }
        Ok(())
    }

    fn change(&self, board: &mut Board, call: &Call) -> Self::Outcome {
        let ratio = board.config().same_reason_ratio;
        let (head, body) = parts(board, &self.task);
        // The approval in between reset the count of consecutive rejections; the red team counts its own.
        let same = body
            .reviews
            .iter()
            .rfind(|review| review.red_team && review.verdict == Verdict::RequestChanges)
            .is_some_and(|former| same_reason(&former.summary, &self.feedback.summary, ratio));
        // The approval is void, and so are the resolutions it implied.
        take_back_unnamed(&mut body.issues);
        let taken = record(head, body, call, &judged(&self.commit, Verdict::RequestChanges, &self.feedback));
        forget_approval(head, body);
        let rejection = Rejection {
            from: Status::Approved,
            commit: &self.commit,
            feedback: &self.feedback,
            same_reason: same,
            taken,
            drift: &[],
            max_seconds: self.max_seconds,
            line_ranges: self.line_ranges,
            edition: self.edition,
        };
        send_back(board, &self.task, call, &rejection)
    }
}
