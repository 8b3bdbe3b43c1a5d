//! The red team's turn: after the approval and before the merge somebody else tries to break what was approved.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::board::call::{Call, Guard};
use crate::board::convergence::take_back_unnamed;
use crate::board::history::Event;
use crate::board::ids::{CommitId, Role, TaskId};
use crate::board::quorum::approvers;
use crate::board::refusal::{Code, Refusal};
use crate::board::review::{Feedback, Verdict};
use crate::board::state::Board;
use crate::board::task::{RedTeamTurn, Risk, Status, Task, TurnStatus};
use crate::board::transition::{Needs, Rule};
use crate::text::same_reason;

use super::common::{entry, find, next_step, parts, text_given, tier0_role, wrong_state};
use super::reject::{Rejection, send_back};
use super::review_lease::{holds_review, not_an_implementer};
use super::verdict::{Judged, about_what_stands, record};

/// The turn that an approval of this commit begins, if tasks of its risk have one.
pub fn turn_of(from: Option<Risk>, risk: Risk, commit: &CommitId) -> Option<RedTeamTurn> {
    from.filter(|from| risk >= *from).map(|_| RedTeamTurn {
        status: TurnStatus::Pending,
        commit: commit.clone(),
        by: None,
        time: None,
    })
}

/// Nothing is merged that the red team is still to look at.
pub fn red_team_is_through(task: &Task) -> Result<(), Refusal> {
    let Some(turn) = &task.red_team else { return Ok(()) };
    if turn.status == TurnStatus::Cleared && Some(&turn.commit) == task.review_commit.as_ref() {
        return Ok(());
    }
    let holder = task.review_lease.as_ref().map(|lease| lease.agent.clone());
    let who = match &holder {
        Some(agent) => format!("`{agent}` is at it"),
        None => "nobody has taken it yet".to_owned(),
    };
    Refusal::new(
        Code::RedTeam,
        format!("task `{}` is approved and waits for the red team's turn; {who}", task.id),
    )
    .hint(format!(
        "an agent of the role red_team, or a person who neither wrote nor approved it: `liza review claim {}`",
        task.id
    ))
    .detail("task", task.id.as_str())
    .detail("waiting_on", "red_team")
    .detail("holder", holder.map(|agent| agent.to_string()))
    .err()
}

/// Only the red team, and of it nobody who had a hand in the work or in its approval.
pub fn may_attack(board: &Board, call: &Call, task: &Task, verb: &str) -> Result<(), Refusal> {
    let role = Role::red_team();
    if !call.by.has_role(board, &role) {
        // A reviewer who comes late, or repeats a verdict, breaks no rule by it.
        return Err(if call.by.has_role(board, &Role::code_reviewer()) {
            wrong_state(task, "reviewed", next_step(task))
        } else {
            tier0_role(call, &format!("{verb} task `{}` as the red team", task.id), &role)
        });
    }
    let by = call.by.id();
    not_an_implementer(task, call, &by, verb)?;
    let approved = approvers(task).iter().any(|approver| approver.is_same(&by));
    if approved && call.guards.on(Guard::SelfApproval) {
        return Refusal::new(
            Code::Tier0SelfApproval,
            format!("`{by}` approved task `{}`, so `{by}` may not {verb} it as the red team", task.id),
        )
        .hint("another agent or another person has to do it; this is recorded as a Tier 0 violation")
        .detail("task", task.id.as_str())
        .err();
    }
    Ok(())
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
    about_what_stands(task, commit, branch_head, feedback)
}

/// The red team judges the commit that was approved, so nothing has moved since; and it answers no checklist.
fn judged<'a>(commit: &'a CommitId, verdict: Verdict, feedback: &'a Feedback) -> Judged<'a> {
    Judged { commit, verdict, feedback, of_risk: &[], drift: &[], red_team: true, resolves_the_rest: false }
}

/// Nothing was found: what was approved may be merged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClearByRedTeam {
    pub task: TaskId,
    pub commit: CommitId,
    /// Where the branch is now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch_head: Option<CommitId>,
    pub feedback: Feedback,
}

impl Rule for ClearByRedTeam {
    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        check(board, call, &self.task, &self.commit, self.branch_head.as_ref(), &self.feedback)?;
        if !self.feedback.issues.is_empty() {
            return Refusal::new(Code::IssuesOpen, "what the red team found sends the task back")
                .hint(format!(
                    "`liza review reject {} --commit … --reason … --issue …` says what was found",
                    self.task
                ))
                .err();
        }
        // A turn of which nobody knows what was tried is worth nothing.
        text_given("--summary", &self.feedback.summary)
    }

    fn change(&self, board: &mut Board, call: &Call) -> Value {
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
        json!({
            "task": self.task, "status": head.status, "commit": self.commit, "red_team": head.red_team,
        })
    }

    fn needs(&self, _: &Board) -> Needs {
        Needs::task(&self.task)
    }
}

/// Something was found: the approval is void and the task goes back as from any review.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RejectByRedTeam {
    pub task: TaskId,
    pub commit: CommitId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch_head: Option<CommitId>,
    pub feedback: Feedback,
    /// What all rounds together may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_seconds: Option<u64>,
}

impl Rule for RejectByRedTeam {
    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        check(board, call, &self.task, &self.commit, self.branch_head.as_ref(), &self.feedback)?;
        text_given("--reason", &self.feedback.summary)?;
        if self.feedback.issues.is_empty() {
            return Refusal::new(Code::FeedbackIncomplete, "a finding names at least one issue")
                .hint("--issue SEVERITY:FILE:LINE:TEXT, with the input or the steps that break it")
                .err();
        }
        Ok(())
    }

    fn change(&self, board: &mut Board, call: &Call) -> Value {
        let ratio = board.config().same_reason_ratio;
        let (head, body) = parts(board, &self.task);
        // The approval in between made an end of the row of rejections; the red team remembers its own.
        let same = body
            .reviews
            .iter()
            .rfind(|review| review.red_team && review.verdict == Verdict::RequestChanges)
            .is_some_and(|former| same_reason(&former.summary, &self.feedback.summary, ratio));
        // The approval ends with this, and with it what it closed without a word.
        take_back_unnamed(&mut body.issues);
        let taken = record(head, body, call, &judged(&self.commit, Verdict::RequestChanges, &self.feedback));
        body.approval = None;
        head.red_team = None;
        head.approvals = None;
        let rejection = Rejection {
            from: Status::Approved,
            commit: &self.commit,
            feedback: &self.feedback,
            same_reason: same,
            taken,
            drift: &[],
            max_seconds: self.max_seconds,
        };
        send_back(board, &self.task, call, &rejection)
    }

    fn needs(&self, _: &Board) -> Needs {
        Needs::task(&self.task)
    }
}
