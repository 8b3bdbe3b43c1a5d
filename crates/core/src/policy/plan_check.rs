//! What is wrong with a plan, what looks unwise, and what order results: everything `plan --check` says.
//!
//! Nothing here decides whether a plan is taken: the transition does. What it would refuse is an error here too, but all
//! of it at once, where a refusal names the first.

pub mod ground;
mod order;
mod size;

use super::prelude::*;
use crate::board::task::Kind;
use crate::text::vagueness::Weighed;

pub use order::{CriticalPath, Order, Wait};
pub use size::Split;

words! {
    /// The severity of a finding.
    pub enum Severity {
        /// `plan` refuses it.
        Error = "error",
        /// The plan will probably fail here.
        Warning = "warning",
        /// Worth a thought.
        Advice = "advice",
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    pub severity: Severity,
    pub code: &'static str,
    /// The task; none if it is about several.
    pub task: Option<TaskId>,
    pub message: String,
    pub hint: String,
}

impl Finding {
    fn of(severity: Severity, code: &'static str, task: &TaskId, message: String, hint: &str) -> Self {
        Self { severity, code, task: Some(task.clone()), message, hint: hint.to_owned() }
    }

    fn of_all(severity: Severity, code: &'static str, message: String, hint: &str) -> Self {
        Self { severity, code, task: None, message, hint: hint.to_owned() }
    }

    /// A refusal by the transition that the check did not find.
    pub fn refusal(message: &str, hint: Option<&str>) -> Self {
        let hint = hint.unwrap_or("fix that, then check again");
        Self::of_all(Severity::Error, "refused", message.to_owned(), hint)
    }
}

/// The input of the check besides the plan.
#[derive(Debug, Clone, Copy)]
pub struct Around<'a> {
    /// Ids of the board and of its archive.
    pub known: &'a BTreeSet<TaskId>,
    /// The dependencies of the board.
    pub board: &'a Graph,
    /// The tasks whose spec exists.
    pub specs_found: &'a [TaskId],
    /// The tasks become claimable at once, so missing fields are errors.
    pub finalize: bool,
    /// Dependencies of drafts must exist too.
    pub as_graph: bool,
    /// The goal was routed: advice about sizes and splits becomes an error.
    pub strict: bool,
    /// Facts about the repository for each task.
    pub ground: &'a BTreeMap<TaskId, ground::Ground>,
}

#[derive(Debug)]
pub struct Checked {
    /// The worst first.
    pub findings: Vec<Finding>,
    pub order: Order,
    pub split: Split,
}

pub fn check(tasks: &[NewTask], around: &Around) -> Checked {
    let order = Order::of(tasks);
    let split = Split::of(tasks, &order);
    let planned: HashSet<&TaskId> = tasks.iter().map(|task| &task.id).collect();
    let specs_found: HashSet<&TaskId> = around.specs_found.iter().collect();
    let mut findings = Vec::new();
    findings.extend(circle(tasks, around));
    for task in tasks {
        findings.extend(dangling(&planned, task, around));
        findings.extend(lacking(task, specs_found.contains(&task.id), around));
        findings.extend(vague(task));
        findings.extend(tests_alone(task));
        findings.extend(size::of_task(task, around.strict));
        findings
            .extend(around.ground.get(&task.id).into_iter().flat_map(|found| ground::of_task(task, found)));
    }
    findings.extend(size::of_plan(tasks, &split, around.strict));
    findings.extend(order.waits.iter().map(Wait::finding));
    findings.sort_by_key(|finding| finding.severity);
    Checked { findings, order, split }
}

fn circle(tasks: &[NewTask], around: &Around) -> Option<Finding> {
    let edges = tasks.iter().map(|task| (&task.id, task.depends_on.as_slice()));
    let graph = around.board.clone().with(edges).below(tasks.iter().map(|task| &task.id));
    let cycle = graph.cycle()?;
    let round: Vec<&str> = cycle.iter().chain(cycle.first()).map(TaskId::as_str).collect();
    let message = format!("{}: each waits for the next, so none of them can ever start", round.join(" → "));
    let hint = "remove one of these dependencies, or move the common part into a separate task";
    Some(Finding::of_all(refused_if(around.finalize || around.as_graph), "cycle", message, hint))
}

/// A problem that `plan` refuses is an error; one that it allows in a draft is a warning.
fn refused_if(refused: bool) -> Severity {
    if refused { Severity::Error } else { Severity::Warning }
}

fn dangling(planned: &HashSet<&TaskId>, task: &NewTask, around: &Around) -> Vec<Finding> {
    let is_known = |id: &TaskId| around.known.contains(id) || planned.contains(id);
    let named = task.depends_on.iter().chain(&task.parent);
    named
        .filter(|id| !is_known(id))
        .map(|id| {
            let is_parent = !task.depends_on.contains(id);
            let (severity, what) = if is_parent {
                (Severity::Error, "names as its parent")
            } else {
                (refused_if(around.finalize || around.as_graph), "waits for")
            };
            let message = format!("{} {what} {id}, which is neither in this plan nor on the board", task.id);
            let hint = "write the id as it is, add that task to the plan, or remove the reference";
            Finding::of(severity, "dangling_reference", &task.id, message, hint)
        })
        .collect()
}

fn lacking(task: &NewTask, spec_found: bool, around: &Around) -> Vec<Finding> {
    let severity = refused_if(around.finalize);
    let mut found = Vec::new();
    if task.done_when.is_empty() {
        let message = format!("{} has no done_when: no reviewer could check whether it is finished", task.id);
        let hint = "say what a reviewer can check: a command and what it prints, a number, a refusal";
        found.push(Finding::of(severity, "criteria_missing", &task.id, message, hint));
    }
    if !spec_found {
        let what = match &task.spec_ref {
            None => format!("{} names no spec_ref: its agent would not know the requirements", task.id),
            Some(spec) => format!("{} names the spec {}, and there is no such file", task.id, quoted(spec)),
        };
        let hint = "name a file of the repository, or give --spec FILE for all that name none";
        found.push(Finding::of(severity, "spec_missing", &task.id, what, hint));
    }
    if task.scope.inside.is_empty() && task.kind != Kind::Report {
        let message = format!("{} has no scope: no change could be submitted", task.id);
        let hint = "name under `scope: {in: […]}` the files or directories it may change";
        found.push(Finding::of(severity, "scope_missing", &task.id, message, hint));
    }
    found
}

fn vague(task: &NewTask) -> Vec<Finding> {
    let each = task.done_when.iter().map(|criterion| (criterion, Weighed::of(criterion)));
    each.filter(|(_, weighed)| weighed.is_vague())
        .map(|(criterion, weighed)| {
            let why = match weighed.empty.first() {
                Some(word) => format!("`{word}` means something else to each reader"),
                None => "it names nothing that can be run, read or counted".to_owned(),
            };
            let message = format!("{}: the criterion {} cannot be checked: {why}", task.id, quoted(criterion));
            let hint = "name a command and its result: a command, an exit code, a number, a file, a quoted output, the name of a test";
            Finding::of(Severity::Warning, "vague_criterion", &task.id, message, hint)
        })
        .collect()
}

/// Tests belong to the task whose code they test. A test engineer may work on merged code.
fn tests_alone(task: &NewTask) -> Option<Finding> {
    const WORDS: &str = "\
        add tests, write tests, add unit tests, add integration tests, unit tests for, test coverage, \
        write the tests, tests for the";
    let title = task.title.to_lowercase();
    let is_one = task.kind == Kind::Code
        && task.role.as_str() != "test_engineer"
        && WORDS.split(", ").any(|words| title.contains(words));
    is_one.then(|| {
        let message = format!("{} looks like a task for tests alone; tests belong to the task they prove", task.id);
        let hint = "put the tests into the scope and the criteria of the task that writes the code; code without tests is not approved anyway";
        Finding::of(Severity::Warning, "tests_alone", &task.id, message, hint)
    })
}

#[cfg(test)]
mod tests;
