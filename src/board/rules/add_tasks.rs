//! New tasks: one, or a whole plan, all or nothing.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::board::call::Call;
use crate::board::grants::check_spawn;
use crate::board::graph::Graph;
use crate::board::history::Event;
use crate::board::ids::{GraphId, Role, TaskId};
use crate::board::paths::PathPattern;
use crate::board::refusal::{Code, Refusal};
use crate::board::slice::{HARD_CAP_MINUTES, exceeds_hard_cap};
use crate::board::state::{Board, GoalStatus};
use crate::board::task::{Body, Head, Kind, Risk, Scope, Status, Task};
use crate::board::transition::{Needs, Rule};

use super::common::{LONGEST_TITLE, MOST_ITEMS, entry, plans, text_fits, text_given};
use super::finalize::{check_complete, no_cycle};

/// Most tasks one board may hold; past that, archive.
const MOST_TASKS: usize = 20_000;

/// A task as somebody proposes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewTask {
    pub id: TaskId,
    pub title: String,
    #[serde(default, alias = "desc", skip_serializing_if = "String::is_empty")]
    pub description: String,
    #[serde(default, alias = "spec", skip_serializing_if = "Option::is_none")]
    pub spec_ref: Option<String>,
    #[serde(default, alias = "acceptance_criteria", skip_serializing_if = "Vec::is_empty")]
    pub done_when: Vec<String>,
    #[serde(default)]
    pub scope: Scope,
    /// What its reviewer has to answer, beside what the project asks of every task of its risk.
    #[serde(default, alias = "reviewer_checklist", skip_serializing_if = "Vec::is_empty")]
    pub checklist: Vec<String>,
    /// Paths nobody else may own; the scope if absent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub owns: Vec<PathPattern>,
    #[serde(default, alias = "dependencies", skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<TaskId>,
    #[serde(default)]
    pub priority: i64,
    #[serde(default)]
    pub kind: Kind,
    #[serde(default)]
    pub risk: Risk,
    #[serde(default = "Role::coder", alias = "owner_role")]
    pub role: Role,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<TaskId>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<String>,
    #[serde(default, alias = "outputs", skip_serializing_if = "Vec::is_empty")]
    pub expected_outputs: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_coder_iterations: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_review_cycles: Option<u32>,
    /// How many files it will probably change; a plan is checked by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_files: Option<u32>,
    /// How many lines it will probably change; a plan is checked by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_lines: Option<u32>,
    /// How many minutes it is given; at most 12 for a coder's work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timebox_minutes: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AddTasks {
    pub tasks: Vec<NewTask>,
    pub finalize: bool,
    /// Those whose `spec_ref` names a file that is there.
    #[serde(default)]
    pub specs_found: Vec<TaskId>,
    /// They are a work graph: what they wait for is there and goes round in no circle, drafts or not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub as_graph: bool,
    /// What that graph is called, if anybody has named it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graph_id: Option<GraphId>,
}

impl AddTasks {
    /// A single task, of no graph of its own.
    pub fn one(task: NewTask, finalize: bool, specs_found: Vec<TaskId>) -> Self {
        Self { tasks: vec![task], finalize, specs_found, as_graph: false, graph_id: None }
    }
}

impl Rule for AddTasks {
    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        plans(board, call, "add tasks")?;
        check_spawn(board, call, self.tasks.iter().map(|task| &task.role))?;
        if self.finalize {
            call.check_switches(None)?;
        }
        check_new(board, call, &self.tasks)?;
        if let Some(graph) = &self.graph_id {
            check_graph_id(board, graph)?;
        }
        if self.as_graph {
            check_dependencies(board, call, &self.tasks)?;
        }
        if self.finalize { check_finalizable(board, call, &self.tasks, &self.specs_found) } else { Ok(()) }
    }

    fn change(&self, board: &mut Board, call: &Call) -> Value {
        add(board, call, &self.tasks, self.finalize);
        if let Some(graph) = &self.graph_id {
            board.rest.graph_id = Some(graph.clone());
        }
        let status = if self.finalize { Status::Idle } else { Status::Draft };
        let ids: Vec<&str> = self.tasks.iter().map(|task| task.id.as_str()).collect();
        json!({ "tasks": ids, "status": status })
    }

    fn asks_archive(&self, _: &Board) -> Vec<TaskId> {
        named(&self.tasks)
    }

    fn needs(&self, _: &Board) -> Needs {
        Needs::Nothing
    }
}

/// Every id these tasks take or wait for.
pub fn named(tasks: &[NewTask]) -> Vec<TaskId> {
    tasks.iter().flat_map(|task| std::iter::once(&task.id).chain(&task.depends_on)).cloned().collect()
}

/// Whether these could be added as drafts.
pub fn check_new(board: &Board, call: &Call, tasks: &[NewTask]) -> Result<(), Refusal> {
    if tasks.is_empty() {
        return Refusal::new(Code::Incomplete, "there is no task to add").err();
    }
    if board.tasks.len() + tasks.len() > MOST_TASKS {
        return Refusal::new(Code::Limit, format!("a board holds at most {MOST_TASKS} tasks"))
            .hint("`liza archive` moves finished tasks away")
            .err();
    }
    let mut seen: BTreeSet<String> = board.tasks.iter().map(|task| task.id.folded()).collect();
    seen.extend(call.world.archived.keys().map(TaskId::folded));
    for task in tasks {
        if !seen.insert(task.id.folded()) {
            return Refusal::new(
                Code::IdTaken,
                format!("the id `{}` is taken (ids are compared ignoring case)", task.id),
            )
            .hint("choose another id; ids are never reused, not even those of archived tasks")
            .detail("task", task.id.as_str())
            .err();
        }
        check_fields(task)?;
    }
    Ok(())
}

fn check_fields(task: &NewTask) -> Result<(), Refusal> {
    text_given("title", &task.title)?;
    if task.title.chars().count() > LONGEST_TITLE {
        return Refusal::new(
            Code::Limit,
            format!("the title of `{}` is longer than {LONGEST_TITLE} characters", task.id),
        )
        .hint("keep the title short and say the rest in the description")
        .detail("field", "title")
        .err();
    }
    text_fits("description", &task.description)?;
    text_fits("spec_ref", task.spec_ref.as_deref().unwrap_or_default())?;
    for (field, limit) in [
        ("max_coder_iterations", task.max_coder_iterations),
        ("max_review_cycles", task.max_review_cycles),
        ("timebox_minutes", task.timebox_minutes),
    ] {
        if limit == Some(0) {
            return Refusal::new(Code::Value, format!("{field} must be at least 1"))
                .detail("field", field)
                .err();
        }
    }
    if exceeds_hard_cap(&task.role, &task.tags, task.timebox_minutes) {
        return Refusal::new(
            Code::Limit,
            format!(
                "task `{}` is given {} minutes; a coder's work is given at most {HARD_CAP_MINUTES}",
                task.id,
                task.timebox_minutes.unwrap_or_default()
            ),
        )
        .hint("cut it into smaller tasks, or tag what brings the parts together with `merge`")
        .detail("task", task.id.as_str())
        .detail("field", "timebox_minutes")
        .err();
    }
    for (field, texts) in [
        ("done_when", &task.done_when),
        ("checklist", &task.checklist),
        ("tags", &task.tags),
        ("inputs", &task.inputs),
        ("expected_outputs", &task.expected_outputs),
    ] {
        too_many(field, texts.len())?;
        texts.iter().try_for_each(|text| text_given(field, text))?;
    }
    for (field, count) in [
        ("depends_on", task.depends_on.len()),
        ("scope.in", task.scope.inside.len()),
        ("scope.out", task.scope.outside.len()),
        ("owns", task.owns.len()),
    ] {
        too_many(field, count)?;
    }
    if task.depends_on.contains(&task.id) {
        return Refusal::new(Code::Cycle, format!("task `{}` depends on itself", task.id)).err();
    }
    Ok(())
}

fn too_many(field: &str, count: usize) -> Result<(), Refusal> {
    if count <= MOST_ITEMS {
        return Ok(());
    }
    Refusal::new(Code::Limit, format!("{field} has {count} entries; the limit is {MOST_ITEMS}"))
        .detail("field", field)
        .err()
}

/// Whether these new tasks could be claimable at once.
pub fn check_finalizable(
    board: &Board,
    call: &Call,
    tasks: &[NewTask],
    specs_found: &[TaskId],
) -> Result<(), Refusal> {
    for task in tasks {
        check_complete(
            &task.id,
            &task.done_when,
            task.spec_ref.as_deref(),
            specs_found.contains(&task.id),
            &task.scope,
        )?;
    }
    check_dependencies(board, call, tasks)
}

/// A board has one work graph: its reports and files go by one name.
fn check_graph_id(board: &Board, graph: &GraphId) -> Result<(), Refusal> {
    match &board.rest.graph_id {
        Some(known) if known != graph => {
            Refusal::new(Code::Value, format!("the work graph of this board is `{known}`, not `{graph}`"))
                .hint(format!(
                    "give the plan the id `{known}`, or none: its tasks join the graph that is there"
                ))
                .detail("graph_id", known.as_str())
                .err()
        }
        _ => Ok(()),
    }
}

/// What these tasks wait for exists, and they do not wait for each other in a circle.
fn check_dependencies(board: &Board, call: &Call, tasks: &[NewTask]) -> Result<(), Refusal> {
    let known: BTreeSet<&TaskId> =
        board.tasks.iter().map(|task| &task.id).chain(tasks.iter().map(|task| &task.id)).collect();
    for task in tasks {
        for dependency in &task.depends_on {
            if !known.contains(dependency) && !call.world.archived.contains_key(dependency) {
                return Err(dependency_missing(&task.id, dependency));
            }
        }
    }
    let graph = Graph::of(&board.tasks).with(tasks.iter().map(|task| (&task.id, task.depends_on.as_slice())));
    no_cycle(&graph.below(tasks.iter().map(|task| &task.id)))
}

pub fn dependency_missing(task: &TaskId, dependency: &TaskId) -> Refusal {
    Refusal::new(
        Code::DependencyMissing,
        format!("task `{task}` depends on `{dependency}`, which does not exist"),
    )
    .hint("add that task first, or put both into one `liza plan` file")
    .detail("task", task.as_str())
    .detail("dependency", dependency.as_str())
}

/// Adds what was checked.
pub fn add(board: &mut Board, call: &Call, tasks: &[NewTask], finalize: bool) {
    if board.rest.goal.status == GoalStatus::Complete {
        board.rest.goal.status = GoalStatus::InProgress;
    }
    for new in tasks {
        let status = if finalize { Status::Idle } else { Status::Draft };
        let mut history = vec![entry(call, Event::Created)];
        if finalize {
            history.push(entry(call, Event::Finalized).step(Status::Draft, Status::Idle));
        }
        let owns = if new.owns.is_empty() { new.scope.inside.clone() } else { new.owns.clone() };
        let head = Head {
            status,
            kind: new.kind,
            priority: new.priority,
            risk: new.risk,
            depends_on: new.depends_on.clone(),
            owns,
            ..Head::new(new.id.clone(), new.role.clone())
        };
        let body = Body {
            description: new.description.clone(),
            spec_ref: new.spec_ref.clone(),
            done_when: new.done_when.clone(),
            scope: new.scope.clone(),
            checklist: new.checklist.clone(),
            parent: new.parent.clone(),
            tags: new.tags.clone(),
            inputs: new.inputs.clone(),
            expected_outputs: new.expected_outputs.clone(),
            max_coder_iterations: new.max_coder_iterations,
            max_review_cycles: new.max_review_cycles,
            expected_files: new.expected_files,
            expected_lines: new.expected_lines,
            timebox_minutes: new.timebox_minutes,
            history,
            ..Body::new(&new.title, call.by.id(), call.now.wall)
        };
        board.tasks.push(Task::new(head, body));
    }
}
