//! A workbench for tests of the rules: a board, a clock, a team, and one short call for every verb.

use std::collections::BTreeMap;

use serde_json::Value;

use super::agent::Process;
use super::assumptions::{GivenAssumption, Held};
use super::call::{Actor, Call, Guards, Switch, SwitchKind, World};
use super::checklist::ItemName;
use super::edition::Edition;
use super::history::{Assumption, Checkpoint, Plan};
use super::ids::{AgentId, CommitId, Role, TaskId};
use super::intent::{RefMove, RequestKey};
use super::refusal::{Code, Refusal};
use super::review::{Feedback, Finding, IssueStatus, PriorStatus, Severity};
use super::rules::*;
use super::task::{Handout, Kind, Risk, Scope, Status, Task, Validation};
use super::time::{NANOS_PER_SECOND, Stamp, Wall};
use super::{Applied, Board, Config, PathPattern, Transition, apply, violations};

/// The lease of a [`Bench`], short so that clocks are easy to read.
pub const LEASE: u64 = 100;
pub const HOLD: u64 = 200;

pub const TEAM: [(&str, &[&str]); 9] = [
    ("planner-1", &["planner"]),
    ("coder-1", &["coder"]),
    ("coder-2", &["coder"]),
    ("reviewer-1", &["code_reviewer"]),
    ("reviewer-2", &["code_reviewer"]),
    ("both-1", &["coder", "code_reviewer", "red_team"]),
    ("red-1", &["red_team"]),
    ("overseer-1", &["overseer"]),
    ("auditor-1", &["auditor"]),
];

pub fn id(text: &str) -> TaskId {
    TaskId::new(text).expect("a task id")
}

pub fn agent(text: &str) -> AgentId {
    AgentId::new(text).expect("an agent id")
}

pub fn role(text: &str) -> Role {
    Role::new(text).expect("a role")
}

pub fn commit(number: u64) -> CommitId {
    CommitId::new(&format!("{number:040x}")).expect("a commit id")
}

pub fn patterns(texts: &[&str]) -> Vec<PathPattern> {
    texts.iter().map(|text| PathPattern::new(text).expect("a pattern")).collect()
}

pub fn process(pid: u32) -> Process {
    Process { pid, started: 1, boot: "boot".to_owned(), namespace: "pid".to_owned() }
}

pub fn request(id: &str, digest: &str) -> RequestKey {
    RequestKey { id: id.to_owned(), digest: digest.to_owned() }
}

/// The worktree after every claim, before any work.
pub fn untouched() -> Handout {
    Handout { head: commit(1), tree: commit(2), merge_head: None }
}

pub fn new_task(name: &str, owns: &str) -> NewTask {
    NewTask {
        id: id(name),
        title: format!("Task {name}"),
        description: String::new(),
        spec_ref: Some("specs/vision.md".to_owned()),
        done_when: vec!["it works".to_owned()],
        scope: Scope { inside: patterns(&[owns]), outside: Vec::new() },
        checklist: Vec::new(),
        owns: Vec::new(),
        depends_on: Vec::new(),
        priority: 0,
        kind: Kind::Code,
        risk: Risk::Low,
        role: Role::coder(),
        parent: None,
        tags: Vec::new(),
        inputs: Vec::new(),
        expected_outputs: Vec::new(),
        max_coder_iterations: None,
        max_review_cycles: None,
        expected_files: None,
        expected_lines: None,
        timebox_minutes: None,
        slice_kind: None,
        workstream: None,
    }
}

pub fn plan_of(tasks: Vec<NewTask>) -> AddTasks {
    AddTasks {
        specs_found: tasks.iter().map(|task| task.id.clone()).collect(),
        tasks,
        finalize: true,
        as_graph: false,
        graph_id: None,
        pins: Vec::new(),
        single: false,
        strict: true,
        slices: true,
        workstreams: Vec::new(),
    }
}

/// A complete checkpoint for these files, which the rules accept.
pub fn good_checkpoint(files: &[&str]) -> Checkpoint {
    Checkpoint {
        intent: "The parser accepts empty input".to_owned(),
        assumptions: vec![Assumption { text: "input is UTF-8".to_owned(), critical: false }],
        risks: "callers may rely on the error".to_owned(),
        validation: Plan { command: "cargo test".to_owned(), expect: "ok".to_owned() },
        files_to_modify: files.iter().map(|file| (*file).to_owned()).collect(),
    }
}

pub fn green() -> Validation {
    Validation {
        command: "cargo test".to_owned(),
        expect: "ok".to_owned(),
        exit: Some(0),
        output_matched: true,
        duration_ms: 5,
        log: "runs/t/1/validation.log".to_owned(),
        problem: None,
    }
}

pub fn evidence(head: CommitId, file: &str) -> Evidence {
    Evidence {
        head,
        tree: None,
        merge_base: commit(1),
        contains_base: true,
        dirty: Vec::new(),
        files: vec![file.to_owned()],
        touched: Vec::new(),
        tests: vec![file.to_owned()],
        protected: Vec::new(),
        authors: Vec::new(),
        validation: Some(green()),
        gates: None,
        code: Vec::new(),
        byproducts: Vec::new(),
    }
}

pub fn finding(severity: Severity) -> Finding {
    Finding {
        severity,
        file: "src/a.rs".to_owned(),
        line: 7,
        line_end: None,
        issue: "the empty list is not handled".to_owned(),
        suggestion: None,
        code_before: None,
        code_after: None,
    }
}

/// A rejection with one major issue.
pub fn complaint(reason: &str) -> Feedback {
    Feedback { summary: reason.to_owned(), issues: vec![finding(Severity::Major)], ..Feedback::default() }
}

pub fn pause(subject: Option<&str>) -> Switch {
    Switch { kind: SwitchKind::Pause, subject: subject.map(str::to_owned), reason: String::new() }
}

/// Reasons without a common word, so that none counts as a repetition.
pub const REASONS: [&str; 6] = [
    "tests are missing for the parser",
    "documentation of public names lacks examples",
    "error handling swallows failures silently",
    "unrelated formatting noise hides what changed",
    "performance regressed on large inputs badly",
    "naming contradicts our glossary throughout",
];

#[derive(Debug, Clone)]
pub struct Bench {
    pub board: Board,
    pub now: Stamp,
    pub world: World,
    pub guards: Guards,
}

impl Default for Bench {
    fn default() -> Self {
        Self::new()
    }
}

impl Bench {
    /// A board with the whole [`TEAM`] registered and no task.
    pub fn new() -> Self {
        Self::with_config(|_| {})
    }

    pub fn with_config(set: impl FnOnce(&mut Config)) -> Self {
        let mut config = Config::new("integration");
        config.lease_seconds = LEASE;
        config.blocked_hold_seconds = HOLD;
        set(&mut config);
        let mut bench = Self::empty();
        bench.ok(
            "human",
            Init {
                goal: "a calculator".to_owned(),
                spec_ref: "specs/vision.md".to_owned(),
                config,
                integration_head: commit(1),
                git_settings: None,
                made_below: None,
            },
        );
        for (name, roles) in TEAM {
            bench.register(name, roles);
        }
        bench
    }

    /// The board before `init`.
    pub fn empty() -> Self {
        Self {
            board: Board::nothing(),
            now: Stamp {
                wall: Wall(1_800_000_000),
                monotonic: 1_000 * NANOS_PER_SECOND,
                boot: "boot".to_owned(),
            },
            world: World::default(),
            guards: Guards::ALL,
        }
    }

    /// A board with these claimable tasks, each of which owns a directory named after it.
    pub fn with_tasks(names: &[&str]) -> Self {
        let mut bench = Self::new();
        bench.add(names);
        bench
    }

    pub fn add(&mut self, names: &[&str]) {
        let tasks = names.iter().map(|name| new_task(name, &format!("{name}/"))).collect();
        self.ok("planner-1", plan_of(tasks));
    }

    pub fn register(&mut self, name: &str, roles: &[&str]) -> Value {
        self.ok(
            "human",
            RegisterAgent {
                id: agent(name),
                roles: roles.iter().map(|text| role(text)).collect(),
                token_hash: format!("hash of {name}"),
                configured_roles: Vec::new(),
                runner: None,
                fresh: false,
                grants: Default::default(),
                former_runner_lives: false,
            },
        )
    }

    /// The actor with this name, in its current incarnation.
    pub fn actor(&self, name: &str) -> Actor {
        if name == "human" {
            return Actor::Human;
        }
        if name == "liza" {
            return Actor::Liza;
        }
        let incarnation = self.board.agent(&agent(name)).map_or(1, |known| known.incarnation);
        Actor::Agent { id: agent(name), incarnation }
    }

    pub fn call(&self, by: Actor) -> Call<'_> {
        Call { guards: self.guards, ..Call::new(by, &self.now, &self.world) }
    }

    /// Applies a transition; a refusal must change nothing, and a change must leave a valid board.
    pub fn attempt(
        &mut self,
        by: Actor,
        what: impl Into<Transition>,
        key: Option<&RequestKey>,
    ) -> Result<Applied, Refusal> {
        let what = what.into();
        let before = self.board.clone();
        let mut after = before.clone();
        let result = apply(&mut after, &what, &self.call(by), key);
        match &result {
            Ok(Applied::Changed(_)) => {
                assert_eq!(after.revision, before.revision + 1, "{}", what.name());
                assert_eq!(violations(&after), [], "{}", what.name());
            }
            Ok(Applied::Repeated(_)) | Err(_) => {
                assert_eq!(after, before, "{} changed what it refused", what.name())
            }
        }
        self.board = after;
        result
    }

    #[track_caller]
    pub fn ok(&mut self, by: &str, what: impl Into<Transition>) -> Value {
        let actor = self.actor(by);
        match self.attempt(actor, what, None) {
            Ok(Applied::Changed(outcome)) => outcome.to_json(),
            other => panic!("{by} was not allowed: {other:?}"),
        }
    }

    #[track_caller]
    pub fn refusal(&mut self, by: &str, what: impl Into<Transition>) -> Refusal {
        let actor = self.actor(by);
        match self.attempt(actor, what, None) {
            Err(refusal) => refusal,
            Ok(outcome) => panic!("{by} was allowed: {outcome:?}"),
        }
    }

    #[track_caller]
    pub fn refused(&mut self, by: &str, what: impl Into<Transition>) -> Code {
        self.refusal(by, what).code
    }

    pub fn tick(&mut self, seconds: u64) {
        self.tick_nanos(seconds * NANOS_PER_SECOND);
    }

    pub fn tick_nanos(&mut self, nanos: u64) {
        self.now.monotonic += nanos;
        self.now.wall = self.now.wall.plus_seconds(nanos / NANOS_PER_SECOND);
    }

    #[track_caller]
    pub fn task(&self, name: &str) -> &Task {
        self.board.task(&id(name)).expect("the task is on the board")
    }

    pub fn status(&self, name: &str) -> Status {
        self.task(name).status
    }

    /// The open intent of a task.
    #[track_caller]
    pub fn intent(&self, name: &str) -> u64 {
        self.board.intent_of(&id(name)).expect("an intent is open").id
    }

    // Each verb with usual values. The owner of every intent is process 1.

    pub fn begin(&self, name: &str) -> BeginClaim {
        BeginClaim {
            task: id(name),
            worktree_lost: false,
            names_taken: Vec::new(),
            base: commit(1),
            former_head: Some(commit(99)),
            owner: process(1),
            caps: Default::default(),
            request: None,
            edition: Edition::NOW,
        }
    }

    pub fn finish(&self, name: &str) -> FinishClaim {
        FinishClaim {
            intent: self.intent(name),
            owner: process(1),
            base: commit(1),
            handout: untouched(),
            conflicts: Vec::new(),
            prepared: Vec::new(),
        }
    }

    pub fn cancel(&self, name: &str) -> CancelClaim {
        CancelClaim { intent: self.intent(name), owner: process(1), reason: "no room".to_owned() }
    }

    #[track_caller]
    pub fn claim(&mut self, by: &str, name: &str) -> Value {
        let begin = self.begin(name);
        self.ok(by, begin);
        let finish = self.finish(name);
        self.ok(by, finish)
    }

    pub fn checkpoint(&self, name: &str) -> WriteCheckpoint {
        WriteCheckpoint {
            task: id(name),
            epoch: None,
            checkpoint: good_checkpoint(&[&file_of(name)]),
            found: untouched(),
            tests: TestFiles { announced: vec![file_of(name)], ..TestFiles::default() },
            edition: Edition::NOW,
        }
    }

    pub fn submit(&self, name: &str) -> Submit {
        let head = commit(1000 + self.task(name).epoch);
        Submit {
            task: id(name),
            epoch: None,
            evidence: evidence(head, &file_of(name)),
            edition: Edition::NOW,
        }
    }

    /// A claimed, announced and submitted task.
    #[track_caller]
    pub fn hand_in(&mut self, by: &str, name: &str) {
        self.claim(by, name);
        let checkpoint = self.checkpoint(name);
        self.ok(by, checkpoint);
        let submit = self.submit(name);
        self.ok(by, submit);
    }

    pub fn start_review(&self, name: &str) -> StartReview {
        StartReview { task: id(name), caps: Default::default() }
    }

    fn under_review(&self, name: &str) -> CommitId {
        self.task(name).review_commit.clone().unwrap_or_else(|| commit(0))
    }

    /// Answers every assumption of the checkpoint with "held".
    pub fn all_held(&self, name: &str) -> Vec<GivenAssumption> {
        let made =
            self.board.task(&id(name)).map(|task| assumptions_of_checkpoint(task.body())).unwrap_or_default();
        let held =
            |number| GivenAssumption { assumption: ItemName::Number(number), answer: Held::Held, note: None };
        (1..=made.len()).map(held).collect()
    }

    pub fn approve(&self, name: &str) -> Approve {
        let under_review = self.under_review(name);
        Approve {
            task: id(name),
            commit: under_review.clone(),
            branch_head: Some(under_review),
            feedback: Feedback { assumptions: self.all_held(name), ..Feedback::default() },
            allow_protected: false,
            gates: None,
            of_risk: Vec::new(),
            red_team_from: None,
            quorum: 1,
            drift: Vec::new(),
            edition: Edition::NOW,
        }
    }

    /// Rejects for `reason`, calling every earlier issue resolved.
    pub fn reject(&self, name: &str, reason: &str) -> Reject {
        let under_review = self.under_review(name);
        let mut feedback = complaint(reason);
        feedback.assumptions = self.all_held(name);
        feedback.prior = self
            .task(name)
            .body()
            .issues
            .iter()
            .map(|issue| PriorStatus { id: issue.id.clone(), status: IssueStatus::Resolved })
            .collect();
        Reject {
            task: id(name),
            commit: under_review.clone(),
            branch_head: Some(under_review),
            feedback,
            of_risk: Vec::new(),
            drift: Vec::new(),
            max_seconds: None,
            acceptance: None,
            line_ranges: true,
            edition: Edition::NOW,
        }
    }

    pub fn discuss(&self, name: &str) -> Discuss {
        let under_review = self.under_review(name);
        let feedback = Feedback {
            summary: "the spec says two things".to_owned(),
            questions: vec!["which holds?".to_owned()],
            ..Feedback::default()
        };
        Discuss {
            task: id(name),
            commit: under_review.clone(),
            branch_head: Some(under_review),
            feedback,
            of_risk: Vec::new(),
            drift: Vec::new(),
        }
    }

    /// An approved task that waits for the red team's turn.
    #[track_caller]
    pub fn awaiting_red_team(&mut self, coder: &str, name: &str) {
        self.hand_in(coder, name);
        let start = self.start_review(name);
        self.ok("reviewer-1", start);
        let approve = Approve { red_team_from: Some(Risk::Low), ..self.approve(name) };
        self.ok("reviewer-1", approve);
    }

    pub fn clear(&self, name: &str) -> ClearByRedTeam {
        let under_review = self.under_review(name);
        let feedback = Feedback { summary: "tried empty and huge input".to_owned(), ..Feedback::default() };
        ClearByRedTeam {
            task: id(name),
            commit: under_review.clone(),
            branch_head: Some(under_review),
            feedback,
        }
    }

    pub fn finding_of_red_team(&self, name: &str, reason: &str) -> RejectByRedTeam {
        let under_review = self.under_review(name);
        RejectByRedTeam {
            task: id(name),
            commit: under_review.clone(),
            branch_head: Some(under_review),
            feedback: complaint(reason),
            max_seconds: None,
            line_ranges: true,
            edition: Edition::NOW,
        }
    }

    #[track_caller]
    pub fn approved(&mut self, coder: &str, name: &str) {
        self.hand_in(coder, name);
        let start = self.start_review(name);
        self.ok("reviewer-1", start);
        let approve = self.approve(name);
        self.ok("reviewer-1", approve);
    }

    #[track_caller]
    pub fn rejected(&mut self, coder: &str, name: &str, reason: &str) -> Value {
        self.hand_in(coder, name);
        let start = self.start_review(name);
        self.ok("reviewer-1", start);
        let reject = self.reject(name, reason);
        self.ok("reviewer-1", reject)
    }

    pub fn begin_merge(&self, name: &str) -> BeginMerge {
        BeginMerge {
            task: id(name),
            branch_head: self.task(name).review_commit.clone(),
            resolved: None,
            resolve_trivial: false,
            owner: process(1),
            request: None,
        }
    }

    pub fn record_move(&self, name: &str) -> RecordMove {
        let step = RefMove { branch: "integration".to_owned(), old: Some(commit(1)), new: commit(50) };
        RecordMove { intent: self.intent(name), owner: process(1), step, gates: None }
    }

    pub fn finish_merge(&self, name: &str) -> FinishMerge {
        FinishMerge {
            intent: self.intent(name),
            owner: process(1),
            merge_commit: commit(50),
            onto: commit(1),
            drift: 0,
        }
    }

    pub fn fail_merge(&self, name: &str, failure: MergeFailure) -> FailMerge {
        FailMerge {
            intent: self.intent(name),
            owner: process(1),
            failure,
            reason: "it does not fit".to_owned(),
            onto: commit(1),
            files: vec![file_of(name)],
            hunks: Vec::new(),
            log: None,
            gates: None,
        }
    }

    #[track_caller]
    pub fn merge(&mut self, name: &str) {
        let begin = self.begin_merge(name);
        self.ok("reviewer-1", begin);
        let record = self.record_move(name);
        self.ok("reviewer-1", record);
        let finish = self.finish_merge(name);
        self.ok("reviewer-1", finish);
    }

    /// An approved task whose integration failed.
    #[track_caller]
    pub fn failed_to_merge(&mut self, coder: &str, name: &str, failure: MergeFailure) {
        self.approved(coder, name);
        let begin = self.begin_merge(name);
        self.ok("reviewer-1", begin);
        let fail = self.fail_merge(name, failure);
        self.ok("reviewer-1", fail);
    }

    pub fn block(&self, name: &str) -> Block {
        Block {
            from_first_claim: true,
            task: id(name),
            epoch: None,
            reason: "the spec is silent".to_owned(),
            questions: vec!["what now?".to_owned()],
        }
    }

    pub fn unblock(&self, name: &str) -> Unblock {
        Unblock { task: id(name), answer: "do the simple thing".to_owned(), cycles: 0 }
    }

    pub fn release(&self, name: &str) -> Release {
        Release { task: id(name), epoch: None, reason: String::new() }
    }

    pub fn unlock(&self, name: &str) -> ReleaseLock {
        ReleaseLock { task: id(name), reason: "its agent is gone".to_owned() }
    }

    pub fn hand_off(&self, name: &str) -> HandOff {
        HandOff {
            task: id(name),
            epoch: None,
            summary: "half done".to_owned(),
            next_action: "write the other half".to_owned(),
            to_role: None,
            package: None,
            edition: Edition::NOW,
        }
    }

    pub fn abandon(&self, name: &str) -> Abandon {
        Abandon { task: id(name), reason: "no longer wanted".to_owned() }
    }

    /// Replaces a task by an existing one.
    pub fn replace(&self, name: &str, by: &str) -> Rescope {
        Rescope {
            task: id(name),
            into: Vec::new(),
            existing: vec![id(by)],
            reason: "cut too large".to_owned(),
            specs_found: Vec::new(),
            pins: Vec::new(),
            strict: true,
            slices: true,
        }
    }

    pub fn note(&self, text: &str) -> AddNote {
        AddNote { text: text.to_owned(), task: None }
    }
}

/// A file in the directory a task of [`Bench::with_tasks`] owns.
pub fn file_of(name: &str) -> String {
    format!("{name}/lib.rs")
}

pub fn details(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}
