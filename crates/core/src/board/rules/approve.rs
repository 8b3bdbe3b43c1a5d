//! Approving a commit: needs no open blocking issue, tests, and a pass of every required gate.

use super::prelude::*;
use super::quorum::turn_of;
use super::quorum::{count_in, quorum_holds};
use super::verdict::{Judged, assumptions_of_checkpoint, check_verdict, checklist_items, record};

logged! {
    pub struct Approve {
        pub task: TaskId,
        pub commit: CommitId,
        /// The current head of the branch.
        pub branch_head: Option<CommitId>,
        pub feedback: Feedback,
        pub allow_protected: bool,
        /// The gate results for the tree of that commit.
        pub gates: Option<GateReport>,
        /// The checklist that the project has for every task of this risk.
        pub of_risk: Vec<String>,
        /// From this risk on, the red team reviews before the merge.
        pub red_team_from: Option<Risk>,
        /// How many different reviewers must approve, by the project's setting for the task's risk.
        #[serde(default = "one", skip_serializing_if = "is_one")]
        pub quorum: u32,
        /// The changes since the earlier reviews.
        pub drift: Vec<Drift>,
        #[serde(default, skip_serializing_if = "Edition::is_first")]
        pub edition: Edition,
    }
}

pub fn one() -> u32 {
    1
}

pub fn is_one(quorum: &u32) -> bool {
    *quorum == 1
}

impl Approve {
    /// The checks that need no gate.
    pub fn check_without_gates(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        check_verdict(board, call, &self.task, &self.commit, self.branch_head.as_ref(), &self.feedback)?;
        let task = find(board, &self.task)?;
        not_twice(task, call)?;
        let body = task.body();
        let kept_open = self
            .feedback
            .prior
            .iter()
            .filter(|prior| prior.status != IssueStatus::Resolved)
            .filter_map(|prior| body.issues.iter().find(|issue| issue.id == prior.id))
            .filter(|issue| issue.severity.blocks())
            .map(|issue| issue.id.clone());
        let new = self
            .feedback
            .issues
            .iter()
            .filter(|finding| finding.severity.blocks())
            .map(|finding| format!("{}:{}", finding.file, finding.line));
        let blocking: Vec<String> = kept_open.chain(new).collect();
        if !blocking.is_empty() {
            return Err(Refusal::new(
                Code::IssuesOpen,
                format!("critical or major issues are open: {}", blocking.join(", ")),
            )
            .hint(format!("`liza review reject {} --commit … --reason … --issue …` sends it back", self.task))
            .detail("issues", blocking));
        }
        let red = [("tests", self.feedback.tests_passed), ("lint", self.feedback.lint_passed)];
        if let Some((what, _)) = red.iter().find(|(_, passed)| *passed == Some(false)) {
            return Err(refusal!(
                Code::IssuesOpen,
                "the feedback says `{what}_passed: false`, so it is no approval"
            )
            .hint(format!(
                "`liza review reject {} --commit … --reason … --issue …` sends it back",
                self.task
            )));
        }
        let answers =
            checklist::check_whole(&checklist_items(body, &self.of_risk), &self.feedback.checklist)?;
        let unmet: Vec<&str> = answers
            .iter()
            .filter(|found| found.answer == Answer::No)
            .map(|found| found.item.as_str())
            .collect();
        if !unmet.is_empty() {
            return Err(Refusal::new(
                Code::IssuesOpen,
                format!("items of the checklist are answered with no: {}", unmet.join("; ")),
            )
            .hint(format!("`liza review reject {} --commit … --reason … --issue …` sends it back", self.task))
            .detail("items", unmet));
        }
        if self.edition.has(Edition::CONTRACT) {
            let answers =
                assumptions::check_whole(assumptions_of_checkpoint(body), &self.feedback.assumptions)?;
            let violated = assumptions::violated_critical(&answers);
            if !violated.is_empty() {
                return Err(Refusal::new(
                    Code::IssuesOpen,
                    format!("a critical assumption was violated: {}", violated.join("; ")),
                )
                .hint(format!(
                    "`liza review reject {} --commit … --reason … --issue …` sends it back",
                    self.task
                ))
                .detail("assumptions", violated));
            }
        }
        let Some(submission) = &body.submission else {
            return Err(refusal!(Code::Tier0SkippedState, "task `{}` was never submitted", self.task));
        };
        if task.kind == Kind::Code && submission.tests.is_empty() {
            return Err(Refusal::new(
                Code::TestsMissing,
                format!("task `{}` is a code task and its change has no tests", self.task),
            )
            .hint("reject it and ask for tests; `tests:` in liza.yaml lists the patterns of test files"));
        }
        if !submission.protected.is_empty() && !self.allow_protected {
            return Err(refusal!(
                Code::ProtectedPaths,
                "the change touches configuration that agents and tools act on: {}",
                submission.protected.join(", ")
            )
            .hint("if you have read those changes and want them, approve with --allow-protected")
            .detail("paths", submission.protected.clone()));
        }
        Ok(())
    }
}

outcome!(Approved { task: TaskId, status: Status, commit: CommitId, red_team: Option<RedTeamTurn>, approvals: Option<Approvals>, gates: Vec<GateOutcome> });

impl Verb for Approve {
    const OPERATION: Option<Operation> = Some(Operation::Review);
    type Outcome = Approved;

    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        self.check_without_gates(board, call)?;
        board.no_gate_is_gone(self.gates.as_ref(), "approve")?;
        let Some(gates) = &self.gates else { return Ok(()) };
        gates.check(&self.commit, "approve").map_err(|refusal| match refusal.code {
            // The hint is for the reviewer, who cannot fix the work.
            Code::GateRed => refusal.hint(format!(
                "send it back: `liza review reject {} --commit … --reason … --issue …`; nothing was changed",
                self.task
            )),
            _ => refusal,
        })
    }

    fn change(&self, board: &mut Board, call: &Call) -> Self::Outcome {
        board.note_gates(self.gates.as_ref());
        let lease_seconds = board.config().lease_seconds;
        let (head, body) = parts(board, &self.task);
        let approval = Approval {
            reviewer: call.by.id(),
            commit: self.commit.clone(),
            time: call.now.wall,
            protected_paths_allowed: self.allow_protected,
            notes: Vec::new(),
        };
        let enough = count_in(head, &approval, self.quorum, call);
        let said = (&self.commit, Verdict::Approve, &self.feedback);
        let mut judged = Judged::new(said, &self.of_risk, &self.drift);
        // The last needed approval resolves the issues that it does not name; an earlier approval does not.
        judged.resolves_the_rest = enough;
        record(head, body, call, &judged);
        if self.gates.is_some() {
            body.gates.clone_from(&self.gates);
        }
        let line = entry(call, Event::Approved).commit(&self.commit);
        if enough {
            head.status = Status::Approved;
            head.red_team = turn_of(self.red_team_from, head.risk, &self.commit);
            body.consecutive_rejections = 0;
            body.rejection_reason = None;
            body.rejection_feedback = None;
            body.approval = Some(approval);
            conclude(body, call, lease_seconds, Ending::Approved);
            let line = line.step(Status::ReadyForReview, Status::Approved);
            body.history.push(line.detail(self.feedback.summary.clone()));
        } else {
            let so_far = head.approvals.as_ref().map(Approvals::words).unwrap_or_default();
            let summary = self.feedback.summary.trim();
            let said = if summary.is_empty() { so_far } else { format!("{so_far}: {summary}") };
            body.history.push(line.detail(said));
        }
        Approved {
            task: self.task.clone(),
            status: head.status,
            commit: self.commit.clone(),
            red_team: head.red_team.clone(),
            approvals: head.approvals.clone(),
            gates: results(self.gates.as_ref()),
        }
    }
}

logged! {
    /// The gate results for the commit under review, for its reviewer.
    pub struct RecordGates {
        pub task: TaskId,
        pub gates: GateReport,
    }
}

outcome!(GatesRecorded { task: TaskId, gates: Vec<GateOutcome> });

impl Verb for RecordGates {
    const OPERATION: Option<Operation> = None;
    type Outcome = GatesRecorded;

    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        let task = find(board, &self.task)?;
        reviews(board, call, &format!("record what the gates say about task `{}`", self.task))?;
        if task.status != Status::ReadyForReview {
            return Err(wrong_state(task, "judged by its gates", next_step(task)));
        }
        if task.review_commit.as_ref() != Some(&self.gates.commit) {
            return Err(refusal!(
                Code::Commit,
                "the gates ran on {}, but another commit is under review",
                self.gates.commit.short()
            )
            .hint(format!("look again: `liza review show {}`", self.task)));
        }
        Ok(())
    }

    fn change(&self, board: &mut Board, _: &Call) -> Self::Outcome {
        board.note_gates(Some(&self.gates));
        let (_, body) = parts(board, &self.task);
        body.gates = Some(self.gates.clone());
        GatesRecorded { task: self.task.clone(), gates: self.gates.results.clone() }
    }
}

/// Refuses if the approval of the task does not hold: given by an implementer, missing, or for another commit.
pub fn approval_holds(task: &Task, call: &Call) -> Result<(), Refusal> {
    let Some(approval) = &task.body().approval else {
        return Err(Refusal::new(
            Code::Tier0UnapprovedMerge,
            format!("task `{}` is {} and no reviewer has approved it", task.id, task.status),
        )
        .hint(next_step(task))
        .detail("task", task.id.as_str()));
    };
    if call.guards.on(Guard::SelfApproval) {
        not_an_implementer(task, call, &approval.reviewer, "approve")?;
    }
    quorum_holds(task, call)?;
    let other = |approvals: &Approvals| !approvals.are_about(&approval.commit);
    if Some(&approval.commit) != task.review_commit.as_ref() || task.approvals.as_ref().is_some_and(other) {
        return Err(refusal!(Code::ApprovalVoid, "the approval of `{}` is for another commit", task.id));
    }
    Ok(())
}
