//! Submitting work: liza checks that it is committed, inside its scope, announced and validated.

use super::checkpoint::KeepWork;
use super::prelude::*;

/// The paths that one agent changed, between its claim and the next agent's claim.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Touched {
    pub agent: AgentId,
    pub files: Vec<String>,
}

logged! {
    /// What liza found in the worktree.
    pub struct Evidence {
        pub head: CommitId,
        /// The tree of the head.
        pub tree: Option<CommitId>,
        /// The merge base of branch and integration.
        pub merge_base: CommitId,
        always pub contains_base: bool,
        /// Changed or untracked files that are not committed.
        pub dirty: Vec<String>,
        /// Every path that differs from the merge base, whatever git attributes say.
        always pub files: Vec<String>,
        /// Which agent changed which of these files, for agents that the role registry limits to some paths.
        pub touched: Vec<Touched>,
        pub tests: Vec<String>,
        pub protected: Vec<String>,
        pub authors: Vec<String>,
        /// Absent while the checks that need no command run first.
        pub validation: Option<Validation>,
        /// The results of the gates that run at submit, for the head's tree.
        pub gates: Option<GateReport>,
        /// Untracked files and directories that the validation made: the worktree had none of them before.
        pub byproducts: Vec<String>,
        /// The code files among `files`, by the patterns of liza.yaml; empty for code tasks.
        pub code: Vec<String>,
    }

    pub struct Submit {
        pub task: TaskId,
        pub epoch: Option<u64>,
        pub evidence: Evidence,
        #[serde(default, skip_serializing_if = "Edition::is_first")]
        pub edition: Edition,
    }
}

impl Submit {
    /// Every check except the validation: these checks are cheap, so they come before the validation command.
    pub fn check_without_validation(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        let task = find(board, &self.task)?;
        call.check_switches(Some(&self.task))?;
        no_intent(board, &self.task)?;
        // A former holder gets the refusal that its claim has ended, not a rule breach.
        super::common::check_epoch(task, self.epoch)?;
        if matches!(task.status, Status::Draft | Status::Idle) {
            return Err(refusal!(
                Code::Tier0SkippedState,
                "task `{}` is {}: no agent has worked on it, so it cannot be submitted",
                task.id,
                task.status
            )
            .hint(format!("`liza task claim {}` first; this is recorded as a Tier 0 violation", task.id)));
        }
        if task.status != Status::Working {
            return Err(wrong_state(task, "submitted", super::common::next_step(task)));
        }
        holds_lease(task, call, self.epoch)?;
        if task.kind == Kind::Report {
            return Err(refusal!(
                Code::KindMismatch,
                "task `{}` is a report: it delivers a result, no commit",
                task.id
            )
            .hint(format!("`liza task submit {} --result FILE`, with one JSON value in FILE", task.id))
            .detail("task", task.id.as_str()));
        }
        let checkpoints = checkpoints_of_attempt(task.body());
        if call.guards.on(Guard::Checkpoint) && !has_checkpoint(task.body()) {
            return Err(Refusal::new(
                Code::CheckpointMissing,
                format!("task `{}` has no checkpoint for this iteration", task.id),
            )
            .hint(self.hint_for_checkpoint(task)));
        }
        self.check_content(task)?;
        check_paths(board, call, task, &checkpoints, &self.evidence.files, &self.evidence.touched)?;
        if self.edition.has(Edition::CONTRACT) { self.check_kind(task) } else { Ok(()) }
    }

    /// Explains to a coder that worked before its checkpoint how to keep that work.
    fn hint_for_checkpoint(&self, task: &Task) -> String {
        let found = &self.evidence;
        let handed_out = task.body().attempt().and_then(|attempt| attempt.handout.as_ref());
        let uncommitted = !found.dirty.is_empty();
        match handed_out.filter(|before| before.head != found.head || uncommitted) {
            Some(before) => KeepWork { base: &before.head, head: &found.head, uncommitted }.hint(task),
            None => format!(
                "`liza task checkpoint {} --intent … --risks … --validate … --expect … --file …`, before implementing",
                task.id
            ),
        }
    }

    fn check_content(&self, task: &Task) -> Result<(), Refusal> {
        let found = &self.evidence;
        if !found.dirty.is_empty() {
            return Err(Refusal::new(
                Code::WorktreeDirty,
                format!("the worktree of `{}` has uncommitted files: {}", task.id, listed(&found.dirty)),
            )
            .hint("commit them, and delete what does not belong to the work")
            .detail("paths", found.dirty.clone()));
        }
        if !found.contains_base {
            return Err(Refusal::new(
                Code::BaseMissing,
                format!("the branch of `{}` no longer contains the commit it started from", task.id),
            )
            .hint("rebase the branch onto that commit (`git rebase`); do not rewrite older commits"));
        }
        if found.files.is_empty() {
            return Err(refusal!(Code::NothingSubmitted, "task `{}` changes nothing", task.id)
                .hint("commit the work first; if nothing is to be done, say so with `liza task block`"));
        }
        Ok(())
    }
}

impl Submit {
    /// A code task must contain tests; a task of another kind must not change code.
    fn check_kind(&self, task: &Task) -> Result<(), Refusal> {
        let Evidence { tests, code, .. } = &self.evidence;
        let id = &task.id;
        if task.kind == Kind::Code && tests.is_empty() {
            let what = format!("task `{id}` is a code task and its change has no tests");
            return Err(tests_missing(id, what).hint(format!(
                "write tests and commit them; if the checkpoint names no file for them, announce it once more: \
                 `liza task checkpoint {id} --file tests/test_NAME`"
            )));
        }
        if task.kind != Kind::Code && !code.is_empty() {
            return Err(Refusal::new(
                Code::KindMismatch,
                format!(
                    "task `{id}` is planned as {}, and its change holds code: {}",
                    task.kind.as_str(),
                    listed(code)
                ),
            )
            .hint(format!(
                "remove the code from the branch, or let a planner make it a code task: \
                 `liza task block {id} --reason \"it needs code\" --question \"Is it a code task?\"`; \
                 what counts as code stands under `code` in liza.yaml"
            ))
            .detail("paths", code.clone()));
        }
        Ok(())
    }
}

pub(super) fn tests_missing(id: &TaskId, what: String) -> Refusal {
    Refusal::new(Code::TestsMissing, what).detail("task", id.as_str())
}

/// Every path is inside the scope, announced, owned by no other task, and changed only by agents that may change it.
pub(super) fn check_paths(
    board: &Board,
    call: &Call,
    task: &Task,
    checkpoints: &[&Checkpoint],
    files: &[String],
    touched: &[Touched],
) -> Result<(), Refusal> {
    let scope = &task.body().scope;
    let announced: Vec<PathPattern> = checkpoints
        .iter()
        .flat_map(|checkpoint| &checkpoint.files_to_modify)
        .filter_map(|file| PathPattern::new(file).ok())
        .collect();
    let mut offending = Vec::new();
    for file in files {
        let why = match RepoPath::new(file) {
            Err(why) => Some(why.to_string()),
            Ok(path) if !inside(&path, &scope.inside) => Some("not inside scope IN".to_owned()),
            Ok(path) if inside(&path, &scope.outside) => Some("inside scope OUT".to_owned()),
            Ok(path) => out_of_bounds(board, call, touched, file, &path).or_else(|| {
                match board.tasks.iter().find(|other| {
                    other.id != task.id && other.is_live(call.now) && inside(&path, &other.owns)
                }) {
                    Some(other) => Some(format!("owned by task {}", other.id)),
                    None if call.guards.on(Guard::Checkpoint) && !inside(&path, &announced) => {
                        Some("not in files_to_modify of the checkpoint".to_owned())
                    }
                    None => None,
                }
            }),
        };
        if let Some(why) = why {
            offending.push(format!("{file} ({why})"));
        }
    }
    if offending.is_empty() {
        return Ok(());
    }
    Err(refusal!(
        Code::Scope,
        "task `{}` changes files that it may not change: {}",
        task.id,
        listed(&offending)
    )
    .hint("remove these changes from the branch; if they are needed, block the task and ask the planner")
    .detail("paths", offending))
}

/// Why the role of the agent that changed this file may not change it: each agent is responsible for its own commits.
fn out_of_bounds(
    board: &Board,
    call: &Call,
    touched: &[Touched],
    file: &String,
    path: &RepoPath,
) -> Option<String> {
    let by = call.by.id();
    let kept_out = |id: &AgentId| board.agent(id).is_some_and(|agent| agent.grants.keeps_out_of(path));
    // A submitter that `touched` does not list counts as the author of every file.
    let own = touched.iter().find(|one| one.agent == by).is_none_or(|one| one.files.contains(file));
    if own && kept_out(&by) {
        return Some(format!("not for this role: {}", rights::place(board, &by, "paths")));
    }
    let other =
        touched.iter().find(|one| one.agent != by && one.files.contains(file) && kept_out(&one.agent))?;
    let place = rights::place(board, &other.agent, "paths");
    Some(format!("changed by `{}`, whose role may not change it: {place}", other.agent))
}

fn listed(items: &[String]) -> String {
    const SHOWN: usize = 20;
    let mut text = items.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    if items.len() > SHOWN {
        text.push_str(&format!(" and {} more", items.len() - SHOWN));
    }
    text
}

/// The index of the claim that began the current iteration.
fn last_claim(body: &Body) -> Option<usize> {
    body.history.iter().rposition(|line| matches!(line.event, Event::Claimed | Event::TakenOver))
}

pub(super) fn has_checkpoint(body: &Body) -> bool {
    current_checkpoint(body).is_some()
}

/// The history since the current iteration began.
pub fn this_iteration(body: &Body) -> &[HistoryEntry] {
    last_claim(body).map_or(&[], |start| &body.history[start..])
}

/// The checkpoint of this iteration, if it was written.
pub fn current_checkpoint(body: &Body) -> Option<&Checkpoint> {
    let start = last_claim(body)?;
    body.history[start..].iter().rev().find_map(|line| line.checkpoint.as_ref())
}

/// All checkpoints since the worktree of the current attempt was made: a later one need not repeat the files of an
/// earlier one.
pub fn checkpoints_of_attempt(body: &Body) -> Vec<&Checkpoint> {
    let agent = body.attempt().map(|attempt| &attempt.agent);
    let start = body
        .history
        .iter()
        .rposition(|line| {
            matches!(line.event, Event::Claimed | Event::TakenOver) && Some(&line.agent) != agent
        })
        .map_or(0, |at| at + 1);
    // The history also has announcements of the former agent after its own claim; they do not count.
    body.history[start..]
        .iter()
        .filter(|line| Some(&line.agent) == agent)
        .filter_map(|line| line.checkpoint.as_ref())
        .collect()
}

outcome!(Submitted { task: TaskId, status: Status, review_commit: CommitId, files: Vec<String>, validation: Validation, gates: Vec<GateOutcome> });

impl Verb for Submit {
    const OPERATION: Option<Operation> = Some(Operation::Work);
    type Outcome = Submitted;

    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        self.check_without_validation(board, call)?;
        let task = find(board, &self.task)?;
        let planned = current_checkpoint(task.body()).map(|checkpoint| &checkpoint.validation);
        let Some(validation) = &self.evidence.validation else {
            return Err(refusal!(Code::ValidationRed, "the validation command was not run"));
        };
        if call.guards.on(Guard::Checkpoint)
            && planned
                .is_some_and(|plan| plan.command != validation.command || plan.expect != validation.expect)
        {
            return Err(refusal!(
                Code::Epoch,
                "the checkpoint changed while its validation ran; submit again"
            ));
        }
        if validation.passed() {
            let gates = self.evidence.gates.as_ref();
            return gates.map_or(Ok(()), |gates| gates.check(&self.evidence.head, "submit"));
        }
        let why = match (&validation.problem, validation.exit) {
            (Some(problem), _) => problem.clone(),
            (None, Some(0)) => format!("its output does not contain `{}`", validation.expect.trim()),
            (None, Some(code)) => format!("it exited with {code}"),
            (None, None) => "it could not be run".to_owned(),
        };
        Err(refusal!(Code::ValidationRed, "validation `{}` failed: {why}", validation.command)
            .hint(format!("read {}, fix the work and submit again; nothing was changed", validation.log))
            .detail("log", validation.log.clone())
            .detail("exit", validation.exit))
    }

    fn change(&self, board: &mut Board, call: &Call) -> Self::Outcome {
        let found = &self.evidence;
        // Every committer counts as an implementer, even without a claim, also after this submission.
        let committers: Vec<AgentId> = board
            .rest
            .agents
            .keys()
            .filter(|id| found.authors.iter().any(|author| author.eq_ignore_ascii_case(id.as_str())))
            .cloned()
            .collect();
        board.note_gates(found.gates.as_ref());
        let (head, body) = parts(board, &self.task);
        for id in committers {
            if !head.implementers.contains(&id) {
                head.implementers.push(id);
            }
        }
        let Some(validation) = found.validation.clone() else { unreachable!("checked before") };
        body.submission = Some(Submission {
            commit: found.head.clone(),
            tree: found.tree.clone(),
            merge_base: found.merge_base.clone(),
            time: call.now.wall,
            files: found.files.clone(),
            tests: found.tests.clone(),
            protected: found.protected.clone(),
            authors: found.authors.clone(),
            validation: validation.clone(),
        });
        if let Some(attempt) = body.attempts.last_mut() {
            let new = found.byproducts.iter().filter(|path| !attempt.byproducts.contains(path));
            let new: Vec<String> = new.cloned().collect();
            attempt.byproducts.extend(new);
        }
        body.gates.clone_from(&found.gates);
        head.status = Status::ReadyForReview;
        head.lease = None;
        head.review_lease = None;
        head.approvals = None;
        head.review_commit = Some(found.head.clone());
        body.history.push(
            entry(call, Event::Submitted)
                .step(Status::Working, Status::ReadyForReview)
                .epoch(head.epoch)
                .iteration(head.iteration)
                .commit(&found.head),
        );
        Submitted {
            task: self.task.clone(),
            status: head.status,
            review_commit: found.head.clone(),
            files: found.files.clone(),
            validation,
            gates: results(found.gates.as_ref()),
        }
    }
}
