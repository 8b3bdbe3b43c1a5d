//! What is true of every board. The rules must never break these; `validate` and every write check them.
//!
//! I1  ids are unique ignoring case.
//! I2  dependencies of finalized tasks exist (on the board or in the archive) and form no cycle.
//! I3  WORKING has exactly what it needs: a lease of its holder, with the task's epoch.
//! I4  no other state has a lease; only what is to be judged has a review lease: READY_FOR_REVIEW, and APPROVED while
//!     the red team's turn is pending.
//! I5  READY_FOR_REVIEW and APPROVED name the commit under review.
//! I6  an approval was given by a reviewer that never implemented the task, for exactly the commit under review; where
//!     several are asked for, each is by a different reviewer, and only with all of them is the task APPROVED or MERGED.
//! I7  MERGED tasks have an approval and name their merge commit.
//! I8  no two live tasks own overlapping paths.
//! I9  BLOCKED says why, and asks one to three questions.
//! I10 no incarnation of an agent holds two tasks in WORKING.
//! I11 finalized tasks have done_when, spec_ref and scope.
//! I12 SUPERSEDED names its replacements.
//! I13 an intent belongs to a task that is there, and a task has at most one.
//! I14 the limits make sense.
//! I15 an expectation of a task belongs to one that is there and not finished, and there is one for each gate.
//! I16 the red team's turn is about the approved commit; the agent that cleared it neither implemented nor approved it, and
//!     nothing is MERGED before.
//! I17 a report owns no path and stands on a result instead of a commit, an approval and scope.in; MERGED, it merged nothing,
//!     and a plan or merge slice was accepted by an agent or a person that did not work on it.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;

use super::graph::waits_for;
use super::ids::{AgentId, TaskId};
use super::paths::{PathIndex, any_overlap};
use super::quorum::Approvals;
use super::state::Board;
use super::task::{Kind, MergeRecord, RedTeamTurn, Status, Task, TurnStatus};

/// A broken invariant: its number, the field, and the problem.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Violation {
    pub invariant: &'static str,
    /// The offending field, such as `tasks.t1.lease`.
    pub place: String,
    pub message: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.invariant, self.place, self.message)
    }
}

/// Every violation on a board; bodies that are not loaded are not checked.
pub fn violations(board: &Board) -> Vec<Violation> {
    let mut found = Found(Vec::new());
    for (field, why) in board.config().problems() {
        found.add("I14", field, why);
    }
    check_ids(board, &mut found);
    for task in &board.tasks {
        check_head(task, &mut found);
        if !task.is_light() {
            check_body(task, &mut found);
        }
    }
    check_dependencies(board, &mut found);
    check_ownership(board, &mut found);
    check_holders(board, &mut found);
    check_intents(board, &mut found);
    check_expectations(board, &mut found);
    found.0
}

struct Found(Vec<Violation>);

impl Found {
    fn add(&mut self, invariant: &'static str, place: impl Into<String>, message: impl Into<String>) {
        self.0.push(Violation { invariant, place: place.into(), message: message.into() });
    }

    fn task(&mut self, invariant: &'static str, task: &Task, field: &str, message: impl Into<String>) {
        self.add(invariant, format!("tasks.{}.{field}", task.id), message);
    }
}

fn check_ids(board: &Board, found: &mut Found) {
    let mut seen = HashSet::with_capacity(board.tasks.len());
    for task in &board.tasks {
        let id = task.id.as_str();
        // Few of thousands of ids have capitals.
        let capitals = id.bytes().any(|byte| byte.is_ascii_uppercase());
        if !seen.insert(if capitals { Cow::Owned(task.id.folded()) } else { Cow::Borrowed(id) }) {
            found.task("I1", task, "id", "another task has the same id");
        }
    }
}

fn check_head(task: &Task, found: &mut Found) {
    let status = task.status;
    match (&task.lease, status) {
        (None, Status::Working) => found.task("I3", task, "lease", "a WORKING task needs a lease"),
        (Some(lease), Status::Working) => {
            if lease.epoch != task.epoch {
                found.task(
                    "I3",
                    task,
                    "lease.epoch",
                    format!("is {}, the task's is {}", lease.epoch, task.epoch),
                );
            }
            if task.assigned_to.as_ref() != Some(&lease.agent) {
                found.task("I3", task, "assigned_to", format!("the lease is held by {}", lease.agent));
            }
            if !task.implementers.contains(&lease.agent) {
                found.task("I3", task, "implementers", format!("{} is missing", lease.agent));
            }
        }
        (Some(_), _) => found.task("I4", task, "lease", format!("a {status} task has no lease")),
        (None, _) => {}
    }
    if task.review_lease.is_some() && task.judged_by().is_none() {
        found.task("I4", task, "review_lease", format!("a {status} task has no review lease"));
    }
    if let Some(lease) = &task.review_lease
        && task.was_implemented_by(&lease.agent)
    {
        found.task("I6", task, "review_lease", format!("{} implemented the task", lease.agent));
    }
    // A claim has just begun: until its worktree is ready, the former approvals stay, so that the claim can be undone.
    if let Some(approvals) = task.approvals.as_ref().filter(|_| status != Status::Working) {
        check_approvals(task, approvals, found);
    }
    if task.stands_on_result() && status == Status::ReadyForReview {
        if !task.delivers_result() {
            found.task(
                "I5",
                task,
                "result",
                format!("a task of kind {} delivers a commit", task.kind.as_str()),
            );
        }
    } else if task.kind == Kind::Report && status == Status::Approved {
        found.task("I5", task, "status", "a report is accepted, not approved");
    } else if matches!(status, Status::ReadyForReview | Status::Approved) && task.review_commit.is_none() {
        found.task("I5", task, "review_commit", format!("a {status} task names the commit under review"));
    }
    if task.kind == Kind::Report && !task.owns.is_empty() {
        found.task("I17", task, "owns", "a report changes no file, so it owns none");
    }
    if task.kind == Kind::Report && task.review_commit.is_some() {
        found.task("I17", task, "review_commit", "a report stands on its result, not on a commit");
    }
    if task.kind == Kind::Report && status == Status::Merged && task.result.is_none() {
        found.task("I17", task, "result", "a MERGED report names its result");
    }
    if status == Status::Superseded && task.superseded_by.is_empty() {
        found.task("I12", task, "superseded_by", "a SUPERSEDED task names its replacements");
    }
    if status.is_terminal() && task.holds_paths {
        found.task("I8", task, "holds_paths", format!("a {status} task owns nothing"));
    }
}

fn check_approvals(task: &Task, approvals: &Approvals, found: &mut Found) {
    let status = task.status;
    let mut wrong = |message: String| found.task("I6", task, "approvals", message);
    for approval in &approvals.by {
        if task.was_implemented_by(&approval.reviewer) {
            wrong(format!("{} implemented the task", approval.reviewer));
        }
        if task.review_commit.as_ref() != Some(&approval.commit) {
            wrong(format!("the approval by {} is not for the commit under review", approval.reviewer));
        }
    }
    if !approvals.are_by_different() {
        wrong("one reviewer is counted twice".to_owned());
    }
    match status {
        Status::Draft | Status::Idle | Status::Rejected => wrong(format!("a {status} task has no approvals")),
        Status::ReadyForReview if approvals.is_enough() => {
            wrong(format!("{} are enough, but the task is {status}", approvals.words()));
        }
        Status::Approved | Status::Merged if !approvals.is_enough() => {
            wrong(format!("{} are not enough for {status}", approvals.words()));
        }
        _ => {}
    }
}

fn check_body(task: &Task, found: &mut Found) {
    let body = task.body();
    let status = task.status;
    if status == Status::Working {
        // A claim has just begun: until its worktree is ready, the former approval stays, so that the claim can be
        // undone.
    } else if let Some(approval) = &body.approval {
        if task.was_implemented_by(&approval.reviewer) {
            found.task(
                "I6",
                task,
                "approval.reviewer",
                format!("{} implemented the task", approval.reviewer),
            );
        }
        if task.review_commit.as_ref() != Some(&approval.commit) {
            found.task("I6", task, "approval.commit", "is not the commit under review");
        }
    } else if matches!(status, Status::Approved | Status::Merged) && !task.stands_on_result() {
        let invariant = if status == Status::Merged { "I7" } else { "I6" };
        found.task(invariant, task, "approval", format!("a {status} task needs an approval"));
    }
    if let Some(turn) = task.red_team.as_ref().filter(|_| status != Status::Working) {
        check_turn(task, turn, found);
    }
    if status == Status::Merged {
        check_merge(task, body.merge.as_ref(), found);
    }
    if status == Status::Blocked {
        if body.blocked_reason.as_ref().is_none_or(|reason| reason.trim().is_empty()) {
            found.task("I9", task, "blocked_reason", "a BLOCKED task says why");
        }
        if body.blocked_questions.is_empty() || body.blocked_questions.len() > 3 {
            found.task("I9", task, "blocked_questions", "a BLOCKED task asks one to three questions");
        }
    }
    let draft = status == Status::Draft || body.blocked_from == Some(Status::Draft);
    if !draft && !matches!(status, Status::Superseded | Status::Abandoned) {
        for (field, missing) in [
            ("done_when", body.done_when.is_empty()),
            ("spec_ref", body.spec_ref.is_none()),
            ("scope.in", body.scope.inside.is_empty() && task.kind != Kind::Report),
        ] {
            if missing {
                found.task("I11", task, field, format!("a {status} task needs it"));
            }
        }
    }
}

/// A merged task names its merge commit; only a task with an accepted result merged nothing.
fn check_merge(task: &Task, merge: Option<&MergeRecord>, found: &mut Found) {
    let nothing = task.stands_on_result() && task.delivers_result();
    match merge {
        Some(merge) if nothing && merge.nothing && merge.commit.is_none() => {
            let by_author = task.was_implemented_by(&merge.by);
            if by_author && (task.is_stream_plan() || task.is_merge_slice()) {
                found.task("I17", task, "merge.by", format!("{} made the result and accepted it", merge.by));
            }
        }
        Some(merge) if !nothing && !merge.nothing && merge.commit.is_some() => {}
        Some(_) if nothing => found.task("I17", task, "merge", "a result merges nothing"),
        _ => found.task("I7", task, "merge", "a MERGED task names its merge commit"),
    }
}

fn check_turn(task: &Task, turn: &RedTeamTurn, found: &mut Found) {
    let approval = task.body().approval.as_ref();
    if approval.is_none_or(|approval| approval.commit != turn.commit) {
        found.task("I16", task, "red_team.commit", "is not the approved commit");
    }
    match (&turn.by, turn.status) {
        (None, TurnStatus::Cleared) => {
            found.task("I16", task, "red_team.by", "a cleared turn needs its reviewer");
        }
        (Some(by), _) if task.was_implemented_by(by) => {
            found.task("I16", task, "red_team.by", format!("{by} implemented the task"));
        }
        (Some(by), _) if task.approvers().iter().any(|approver| approver.is_same(by)) => {
            found.task("I16", task, "red_team.by", format!("{by} approved the task"));
        }
        _ => {}
    }
    if task.status == Status::Merged && turn.status == TurnStatus::Pending {
        found.task("I16", task, "red_team.status", "a MERGED task has been through the red team");
    }
}

fn check_dependencies(board: &Board, found: &mut Found) {
    if board.tasks.iter().all(|task| waits_for(task).is_empty()) {
        return;
    }
    // Kahn's algorithm over indexes: tasks that never become free are on a cycle or wait for one.
    let index: HashMap<&TaskId, usize> =
        board.tasks.iter().enumerate().map(|(at, task)| (&task.id, at)).collect();
    let mut waiting = vec![0usize; board.tasks.len()];
    let mut dependents: Vec<Vec<usize>> = vec![Vec::new(); board.tasks.len()];
    for (at, task) in board.tasks.iter().enumerate() {
        for dependency in waits_for(task) {
            // A dependency that is not on the board may be archived; a rule checked that when the dependency was named.
            if let Some(on) = index.get(dependency) {
                waiting[at] += 1;
                dependents[*on].push(at);
            }
        }
    }
    let mut free: Vec<usize> = (0..waiting.len()).filter(|at| waiting[*at] == 0).collect();
    let mut done = 0;
    while let Some(at) = free.pop() {
        done += 1;
        for dependent in &dependents[at] {
            waiting[*dependent] -= 1;
            if waiting[*dependent] == 0 {
                free.push(*dependent);
            }
        }
    }
    if done < board.tasks.len() {
        for (at, task) in board.tasks.iter().enumerate() {
            // The dependencies of drafts may still change.
            let unbegun = task.status == Status::Blocked && task.implementers.is_empty();
            let ordered = !task.status.is_terminal() && task.status != Status::Draft && !unbegun;
            if waiting[at] > 0 && ordered {
                found.task("I2", task, "depends_on", "lies on a cycle, or waits for one");
            }
        }
    }
}

fn check_ownership(board: &Board, found: &mut Found) {
    // There is no clock here: a blocked task may have released its paths, so only paths that are certainly held count.
    let live: Vec<&Task> = board
        .tasks
        .iter()
        .filter(|task| task.holds_paths && !task.status.is_terminal() && task.holds_paths_until.is_none())
        .collect();
    let owned = PathIndex::of(live.iter().map(|task| task.owns.as_slice()));
    for (at, task) in live.iter().enumerate() {
        let later = owned.candidates(&task.owns).into_iter().filter(|other| *other > at);
        for other in later.map(|other| live[other]) {
            if let Some((mine, theirs)) = any_overlap(&task.owns, &other.owns) {
                found.task("I8", task, "owns", format!("`{mine}` overlaps `{theirs}` of task {}", other.id));
            }
        }
    }
}

fn check_holders(board: &Board, found: &mut Found) {
    let mut held: BTreeMap<(&AgentId, u64), &Task> = BTreeMap::new();
    for task in &board.tasks {
        let Some(lease) = task.lease.as_ref().filter(|_| task.status == Status::Working) else { continue };
        if let Some(other) = held.insert((&lease.agent, lease.incarnation), task) {
            found.task("I10", task, "lease", format!("{} also holds {}", lease.agent, other.id));
        }
    }
}

fn check_intents(board: &Board, found: &mut Found) {
    let mut seen: HashSet<&TaskId> = HashSet::new();
    for intent in &board.rest.intents {
        let place = format!("intents.{}", intent.id);
        if let Some(task) = &intent.task {
            if board.task(task).is_none() {
                found.add("I13", place.clone(), format!("there is no task {task}"));
            }
            if !seen.insert(task) {
                found.add("I13", place, format!("task {task} has two intents"));
            }
        }
    }
}

fn check_expectations(board: &Board, found: &mut Found) {
    let mut seen = HashSet::new();
    for known in &board.rest.expectations {
        let place = format!("expectations.{}", known.gate);
        if let Some(task) = &known.task
            && board.task(task).is_none_or(|task| task.status.is_terminal())
        {
            found.add("I15", place.clone(), format!("task {task} is missing or finished"));
        }
        if !seen.insert((&known.gate, &known.task)) {
            found.add("I15", place, "the gate is listed twice".to_owned());
        }
    }
}
