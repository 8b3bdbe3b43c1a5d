//! A task: the head every rule may look at, and the body that is loaded when a rule or a reader asks for it.

use std::sync::Arc;

use super::gates::GateReport;
use super::goals::PinnedSpec;
use super::history::HistoryEntry;
use super::lease::Lease;
use super::paths::PathPattern;
use super::prelude::*;
use super::quorum::Approvals;
use super::result::{Previous, TaskResult};
use super::review::{Approval, Issue, Review};
use super::review_result::ReviewResult;
use super::slice::SliceKind;
use super::spent::{RoundSpent, Spent};

pub use super::status::Status;

words! {
    /// What a task produces; only code has to bring tests.
    #[derive(Default)]
    pub enum Kind {
        #[default]
        Code = "code",
        Docs = "docs",
        Config = "config",
        Spec = "spec",
        /// One JSON value instead of a change: a probe, a plan, an audit, a measurement.
        Report = "report",
    }
}

named_by!(Kind);

words! {
    #[derive(PartialOrd, Ord, Default)]
    pub enum Risk {
        #[default]
        Low = "low",
        Medium = "medium",
        High = "high",
    }
}

named_by!(Risk);

record! {
    /// What cross-task rules read. It stands first in a task's block on disk, so it can be read without the rest.
    pub struct Head {
        pub id: TaskId,
        pub status: Status,
        #[serde(default)]
        pub kind: Kind,
        /// Who may claim it.
        pub role: Role,
        /// Higher is more urgent.
        #[serde(default)]
        pub priority: i64,
        #[serde(default)]
        pub risk: Risk,
        /// The agent that works on it, or worked on it last.
        pub assigned_to: Option<AgentId>,
        /// Raised by every claim and every end of one, never reset: a late writer carries a lower one.
        #[serde(default)]
        pub epoch: u64,
        pub lease: Option<Lease>,
        pub review_lease: Option<Lease>,
        /// Until then only `assigned_to` may claim it.
        pub reserved_until: Option<Deadline>,
        /// Claimed at least once and not given back: its `owns` exclude others.
        pub holds_paths: bool,
        /// A blocked task gives its paths back then.
        pub holds_paths_until: Option<Deadline>,
        pub depends_on: Vec<TaskId>,
        pub owns: Vec<PathPattern>,
        pub superseded_by: Vec<TaskId>,
        /// All agents that ever claimed it or committed to it; none of them may review it.
        pub implementers: Vec<AgentId>,
        /// Agents that ended BLOCKED by a limit; two of them exhaust the hypothesis.
        pub failed_by: Vec<AgentId>,
        #[serde(default)]
        pub iteration: u32,
        #[serde(default)]
        pub review_cycles_current: u32,
        #[serde(default)]
        pub review_cycles_total: u32,
        pub review_commit: Option<CommitId>,
        pub integration_fix: bool,
        /// The turn that the red team has on what was approved; absent where the project asks for none.
        pub red_team: Option<RedTeamTurn>,
        /// Who has approved the commit under review, where the project asks for more than one reviewer; absent otherwise.
        pub approvals: Option<Approvals>,
        /// The goal it belongs to; absent for the board's first.
        pub goal: Option<String>,
        /// A job of its own, which the plan for the goal does not know.
        pub single: bool,
        /// What it is for within its workstream; absent where its role says it.
        pub slice_kind: Option<SliceKind>,
        /// The workstream it belongs to.
        pub workstream: Option<WorkstreamId>,
        /// What was delivered last, of a task that delivers a result instead of a commit.
        pub result: Option<TaskResult>,
    }

    /// The red team's turn on one approved commit.
    #[derive(Eq)]
    pub struct RedTeamTurn {
        pub status: TurnStatus,
        /// The approved commit it is about.
        pub commit: CommitId,
        /// Who had the turn and found nothing.
        pub by: Option<AgentId>,
        pub time: Option<Wall>,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TurnStatus {
    /// The task may not be merged before an agent of the red team has tried to break it.
    Pending,
    /// An agent of the red team has tried, and found nothing.
    Cleared,
}

impl Head {
    /// Approved, and not to be merged before the red team has had its turn.
    pub fn awaits_red_team(&self) -> bool {
        self.red_team.as_ref().is_some_and(|turn| turn.status == TurnStatus::Pending)
    }

    /// Whose verdict it waits for; nothing in a state in which there is nothing to judge.
    pub fn judged_by(&self) -> Option<Role> {
        match self.status {
            // A result is accepted or rejected whole, without a review of a commit.
            Status::ReadyForReview if self.kind == Kind::Report => None,
            Status::ReadyForReview => Some(Role::code_reviewer()),
            Status::Approved if self.awaits_red_team() => Some(Role::red_team()),
            _ => None,
        }
    }

    /// Whose turn it is to do something about it: to judge it, to merge it, or to work on it.
    pub fn next_role(&self) -> Role {
        match self.status {
            Status::Approved => self.judged_by().unwrap_or_else(Role::code_reviewer),
            Status::ReadyForReview => self.judged_by().unwrap_or_else(Role::planner),
            _ => self.judged_by().unwrap_or_else(|| self.role.clone()),
        }
    }

    /// Its role, kind and slice make it a workstream's plan: its result waits to be accepted.
    pub fn is_stream_plan(&self) -> bool {
        self.kind == Kind::Report
            && self.role == Role::supervisor()
            && self.slice_kind.is_none_or(|slice| slice == SliceKind::Work)
    }

    /// A merge slice: what is left of it may be nothing but a result.
    pub fn is_merge_slice(&self) -> bool {
        self.role == Role::supervisor() && self.slice_kind == Some(SliceKind::Merge)
    }

    /// Its agent may hand in a result instead of a commit.
    pub fn delivers_result(&self) -> bool {
        self.kind == Kind::Report || self.is_merge_slice()
    }

    /// A slice of the director's: it is dispatched as JSON and answers with JSON.
    pub fn is_slice(&self) -> bool {
        self.delivers_result() || self.workstream.is_some()
    }

    /// A result was handed in, and no commit: it waits for `accept_result`, or was accepted.
    pub fn stands_on_result(&self) -> bool {
        self.result.is_some() && self.review_commit.is_none()
    }

    /// A plan that its supervisor delivered, and no run, planner or person has accepted or sent back.
    pub fn awaits_acceptance(&self) -> bool {
        self.status == Status::ReadyForReview && self.is_stream_plan() && self.stands_on_result()
    }

    /// Two different agents failed at it: the task has to be split or replanned.
    pub fn hypothesis_exhausted(&self) -> bool {
        self.failed_by.len() >= 2
    }

    /// Whether this agent, however its id is written, worked on the task.
    pub fn was_implemented_by(&self, agent: &AgentId) -> bool {
        self.implementers.iter().any(|implementer| implementer.is_same(agent))
    }
}

/// The paths a task may change and may not. It may be written as a block of text (`shapes`).
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Scope {
    #[serde(rename = "in")]
    pub inside: Vec<PathPattern>,
    #[serde(rename = "out", skip_serializing_if = "Vec::is_empty")]
    pub outside: Vec<PathPattern>,
}

record! {
    /// What the worktree looked like when it was handed out: a checkpoint is accepted only while it still does.
    #[derive(Eq)]
    pub struct Handout {
        pub head: CommitId,
        /// Tree of all tracked and untracked files.
        pub tree: CommitId,
        pub merge_head: Option<CommitId>,
    }

    /// How the checkpoint's validation command ended when liza ran it.
    pub struct Validation {
        pub command: String,
        pub expect: String,
        /// Absent when the command could not be started, was killed or ran out of time.
        pub exit: Option<i32>,
        always pub output_matched: bool,
        pub duration_ms: u64,
        pub log: String,
        pub problem: Option<String>,
    }
}

impl Validation {
    pub fn passed(&self) -> bool {
        self.exit == Some(0) && self.output_matched && self.problem.is_none()
    }
}

record! {
    /// What was submitted, as liza found it.
    pub struct Submission {
        pub commit: CommitId,
        /// Its content: the same again is the same, whatever commits led to it.
        pub tree: Option<CommitId>,
        pub merge_base: CommitId,
        pub time: Wall,
        always pub files: Vec<String>,
        /// Those of `files` that match the test patterns.
        pub tests: Vec<String>,
        /// Those of `files` that configure agents, hooks or liza itself.
        pub protected: Vec<String>,
        /// Names found as author or committer of its commits.
        pub authors: Vec<String>,
        pub validation: Validation,
    }

    /// The worktree and branch of one attempt at a task.
    #[derive(Eq)]
    pub struct Attempt {
        pub agent: AgentId,
        pub epoch: u64,
        pub branch: String,
        /// Relative to the repository root.
        pub worktree: String,
        pub base_commit: CommitId,
        pub handout: Option<Handout>,
        /// The head its agent found when it claimed the task first, if it has claimed it again since.
        pub began: Option<CommitId>,
        /// Uncommitted files that liza put there before it handed the worktree out: they are no agent's work.
        pub prepared: Vec<String>,
        /// What the validation made when the work was submitted, and no commit has.
        pub byproducts: Vec<String>,
    }
}

impl Attempt {
    /// Paths in the worktree that are no work: a directory ends with a slash and means everything below it.
    pub fn not_work(&self) -> Vec<String> {
        self.prepared.iter().chain(&self.byproducts).cloned().collect()
    }

    /// What its agent found: everything after it, up to where the next attempt starts, is its own.
    pub fn start(&self) -> &CommitId {
        let handed_out = || self.handout.as_ref().map(|handout| &handout.head);
        self.began.as_ref().or_else(handed_out).unwrap_or(&self.base_commit)
    }
}

record! {
    pub struct MergeRecord {
        /// Absent if nothing was to be merged.
        pub commit: Option<CommitId>,
        pub onto: Option<CommitId>,
        /// A result was accepted, and no commit came of it.
        pub nothing: bool,
        pub by: AgentId,
        pub time: Wall,
        /// Commits integration had gained since the task's base.
        #[serde(default)]
        pub drift: u64,
    }

    /// Why the work could not be integrated.
    pub struct IntegrationFailure {
        pub reason: String,
        pub onto: CommitId,
        pub files: Vec<String>,
        pub log: Option<String>,
        /// The gate that was red on the merged tree.
        pub gate: Option<String>,
        /// The checks that failed there.
        pub failing: Vec<String>,
    }

    #[derive(Default)]
    pub struct Body {
        pub title: String,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        pub description: String,
        pub spec_ref: Option<String>,
        /// The text of that spec as it was when the task was planned.
        pub spec: Option<PinnedSpec>,
        pub done_when: Vec<String>,
        #[serde(default)]
        pub scope: Scope,
        /// What a reviewer has to answer beside what the project asks of every task of its risk.
        pub checklist: Vec<String>,
        /// The role it was planned for, while it is handed to another.
        pub planned_role: Option<Role>,
        pub parent: Option<TaskId>,
        pub tags: Vec<String>,
        pub inputs: Vec<String>,
        pub expected_outputs: Vec<String>,
        /// Files of the merged change.
        pub actual_outputs: Vec<String>,
        pub max_coder_iterations: Option<u32>,
        pub max_review_cycles: Option<u32>,
        /// How many files it will probably change; a plan is checked by it.
        pub expected_files: Option<u32>,
        /// How many lines it will probably change; a plan is checked by it.
        pub expected_lines: Option<u32>,
        /// How many minutes it is given; at most 12 for a coder's work.
        pub timebox_minutes: Option<u32>,
        /// The scenario of the route it was planned under; without one, that of its title counts.
        pub ssot_id: Option<String>,
        pub created_by: AgentId,
        pub created_at: Wall,
        /// The last one is the present one.
        pub attempts: Vec<Attempt>,
        pub submission: Option<Submission>,
        /// What the gates said when they last decided something about this work.
        pub gates: Option<GateReport>,
        #[serde(default)]
        pub consecutive_rejections: u32,
        pub rejection_reason: Option<String>,
        pub rejection_feedback: Option<String>,
        /// Every issue ever raised, with what became of it.
        pub issues: Vec<Issue>,
        pub reviews: Vec<Review>,
        pub approval: Option<Approval>,
        /// How the rounds of work and review ended; absent while they go on.
        pub review_result: Option<ReviewResult>,
        pub blocked_reason: Option<String>,
        pub blocked_questions: Vec<String>,
        /// The state it came from, and goes back to when it is unblocked.
        pub blocked_from: Option<Status>,
        pub answer: Option<String>,
        pub integration_failure: Option<IntegrationFailure>,
        /// The file of the patch bundle that was last made of it or applied to it, relative to the repository root if it is
        /// inside.
        pub patch_bundle: Option<String>,
        pub merge: Option<MergeRecord>,
        pub end_reason: Option<String>,
        /// What the sessions of agents on it have cost.
        #[serde(default, skip_serializing_if = "Spent::is_nothing")]
        pub spent: Spent,
        /// The same, by round.
        pub spent_rounds: Vec<RoundSpent>,
        /// How the last claim ended, so that the next one knows where to start.
        pub left: Option<Left>,
        /// Fields of another version's board that have no place here, as JSON; kept, and never looked at.
        #[serde(default, skip_serializing_if = "std::collections::BTreeMap::is_empty")]
        pub extra: std::collections::BTreeMap<String, String>,
        /// How the attempt before this one ended, of a slice that is dispatched again.
        pub previous: Option<Previous>,
        #[serde(default)]
        always pub history: Vec<HistoryEntry>,
    }
}

/// How an agent left a task that another agent may claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Left {
    Released,
    HandedOff,
}

/// A task of the board. The body may be absent while only heads were read; asking for it then is a bug.
#[derive(Debug, Clone)]
pub struct Task {
    /// Shared by the copies of a board.
    head: Arc<Head>,
    body: Option<Box<Body>>,
    /// Of a task whose body is absent.
    light_title: Arc<str>,
    /// The canonical lines this task was read from; dropped as soon as it may differ from them.
    source: Option<Source>,
}

/// Where the bytes of an unchanged task are, so that it need not be written again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    pub start: usize,
    pub end: usize,
    /// Its place among the tasks that were read, where its hash is known.
    pub number: usize,
}

impl Task {
    /// The reviewers that approved the current commit. The task's body must be loaded.
    pub fn approvers(&self) -> Vec<&AgentId> {
        match (&self.approvals, &self.body().approval) {
            (Some(approvals), _) => approvals.by.iter().map(|approval| &approval.reviewer).collect(),
            (None, Some(approval)) => vec![&approval.reviewer],
            (None, None) => Vec::new(),
        }
    }

    pub fn new(head: Head, body: Body) -> Self {
        Self { head: Arc::new(head), body: Some(Box::new(body)), light_title: Arc::default(), source: None }
    }

    /// A task whose body stays in the file until [`Task::fill`].
    pub fn light(head: Head, title: &str, source: Source) -> Self {
        Self { head: Arc::new(head), body: None, light_title: title.into(), source: Some(source) }
    }

    /// Known without the body.
    pub fn title(&self) -> &str {
        self.body.as_ref().map_or(&self.light_title, |body| &body.title)
    }

    pub fn fill(&mut self, body: Body) {
        self.body = Some(Box::new(body));
    }

    pub fn is_light(&self) -> bool {
        self.body.is_none()
    }

    pub fn source(&self) -> Option<&Source> {
        self.source.as_ref()
    }

    /// Records where the unchanged task is stored now.
    pub fn read_from(&mut self, source: Source) {
        self.source = Some(source);
    }

    /// Forgets where it was read from: those bytes are no longer at hand.
    pub fn forget_source(&mut self) {
        self.source = None;
    }

    pub fn body(&self) -> &Body {
        match &self.body {
            Some(body) => body,
            None => unreachable!(
                "the body of task {} was not loaded: Transition::needs() must name it",
                self.head.id
            ),
        }
    }

    /// Both halves, mutable; the next save writes the task again.
    pub fn parts_mut(&mut self) -> (&mut Head, &mut Body) {
        self.source = None;
        match &mut self.body {
            Some(body) => (Arc::make_mut(&mut self.head), body),
            None => unreachable!(
                "the body of task {} was not loaded: Transition::needs() must name it",
                self.head.id
            ),
        }
    }

    pub fn head(&self) -> &Head {
        &self.head
    }

    /// Claimed at least once, not terminal, and its paths not given back: no other task may own them.
    pub fn is_live(&self, now: &super::time::Stamp) -> bool {
        self.head.holds_paths
            && !self.head.status.is_terminal()
            && !self.head.holds_paths_until.as_ref().is_some_and(|until| until.passed(now))
    }
}

impl std::ops::Deref for Task {
    type Target = Head;
    fn deref(&self) -> &Head {
        &self.head
    }
}

impl PartialEq for Task {
    fn eq(&self, other: &Self) -> bool {
        self.head == other.head && self.body == other.body
    }
}

impl Body {
    /// The attempt in progress, or the last one.
    pub fn attempt(&self) -> Option<&Attempt> {
        self.attempts.last()
    }

    /// Which dispatch of the slice the present attempt is, from one.
    pub fn dispatch_attempt(&self) -> u32 {
        self.previous.as_ref().map_or(1, |previous| previous.attempt.saturating_add(1))
    }

    /// Unresolved issues that forbid an approval.
    pub fn blocking_issues(&self) -> impl Iterator<Item = &Issue> {
        self.issues.iter().filter(|issue| issue.is_open() && issue.severity.blocks())
    }
}

impl Head {
    /// A new draft.
    pub fn new(id: TaskId, role: Role) -> Self {
        Head {
            id,
            status: Status::Draft,
            kind: Kind::Code,
            role,
            priority: 0,
            risk: Risk::default(),
            assigned_to: None,
            epoch: 0,
            lease: None,
            review_lease: None,
            reserved_until: None,
            holds_paths: false,
            holds_paths_until: None,
            depends_on: Vec::new(),
            owns: Vec::new(),
            superseded_by: Vec::new(),
            implementers: Vec::new(),
            failed_by: Vec::new(),
            iteration: 0,
            review_cycles_current: 0,
            review_cycles_total: 0,
            review_commit: None,
            integration_fix: false,
            red_team: None,
            approvals: None,
            goal: None,
            single: false,
            slice_kind: None,
            workstream: None,
            result: None,
        }
    }
}

impl Body {
    pub fn new(title: &str, created_by: AgentId, created_at: Wall) -> Self {
        Body { title: title.to_owned(), created_by, created_at, ..Body::default() }
    }
}
