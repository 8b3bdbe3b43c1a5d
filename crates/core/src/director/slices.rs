//! The tasks of an accepted plan: one for each slice of its workstream, and the merge slice.

use std::collections::{BTreeMap, BTreeSet};

use super::dispatch::AgentType;
use super::reading::Problem;
use super::results::{DispatchPlan, PlannedSlice};
use crate::board::goals::GOAL_SPEC;
use crate::board::rules::NewTask;
use crate::board::slice::SliceKind;
use crate::board::task::{Kind, Scope};
use crate::board::workstream::{MERGE_MINUTES, Workstream, is_within, merge_id};
use crate::board::{Board, PathPattern, Role, TaskId};

const LONGEST_TITLE: usize = 120;

/// The tasks of this plan, in its order, the merge slice last; or all problems of the plan.
pub fn tasks_of(
    board: &Board,
    stream: &Workstream,
    plan: &DispatchPlan,
) -> Result<Vec<NewTask>, Vec<Problem>> {
    let mut problems = of_plan(stream, plan);
    let ids = ids_of(board, stream, plan);
    for (at, slice) in plan.slices.iter().enumerate() {
        problems.extend(of_slice(board, &ids, slice, &format!("dispatch_plan.slices[{at}]")));
    }
    let merge = merge_id(&stream.id).map_err(|why| {
        vec![Problem::new("dispatch_plan.workstream", format!("it can have no merge slice: {why}"))]
    })?;
    if !problems.is_empty() {
        return Err(problems);
    }
    let before = finished_first(board, stream);
    let mut tasks: Vec<NewTask> =
        plan.slices.iter().map(|slice| task_of(stream, slice, &ids, &before)).collect();
    let changes = tasks.iter().any(|task| task.kind != Kind::Report);
    if changes && !plan.nothing_to_integrate {
        tasks.push(merge_task(stream, plan, merge, &tasks));
    }
    Ok(tasks)
}

fn of_plan(stream: &Workstream, plan: &DispatchPlan) -> Vec<Problem> {
    let mut found = Vec::new();
    let mut wrong =
        |field: &str, why: String| found.push(Problem::new(format!("dispatch_plan.{field}"), why));
    if !stream.is(&plan.workstream) {
        wrong("workstream", format!("is {}, but this is the plan of {}", plan.workstream, stream.id));
    }
    if plan.slices.is_empty() {
        wrong("slices", "names no slice".to_owned());
    }
    let beyond = |paths: &[PathPattern], within: &[PathPattern]| {
        paths.iter().find(|path| !is_within(path, within)).map(ToString::to_string)
    };
    if let Some(path) = beyond(&plan.ownership_paths, &stream.ownership_paths) {
        wrong("ownership_paths", format!("`{path}` is not owned by the workstream"));
    }
    if let Some(path) = beyond(&plan.allowed_paths, &stream.allowed_paths) {
        wrong("allowed_paths", format!("`{path}` is outside of the workstream's allowed_paths"));
    }
    let mut seen = BTreeSet::new();
    if let Some(twice) = plan.slices.iter().find(|slice| !seen.insert(slice.slice_id.folded())) {
        wrong("slices", format!("has {} twice", twice.slice_id));
    }
    found
}

/// Only operators and coders work for a plan; liza adds the merge slice.
fn of_slice(
    board: &Board,
    ids: &BTreeMap<TaskId, TaskId>,
    slice: &PlannedSlice,
    place: &str,
) -> Vec<Problem> {
    let mut found = Vec::new();
    let mut wrong = |field: &str, why: String| found.push(Problem::new(format!("{place}.{field}"), why));
    if matches!(slice.agent_type, AgentType::Supervisor | AgentType::Auditor) {
        let who = slice.agent_type.as_str();
        wrong("agent_type", format!("a plan may have slices for operators and coders, not for {who}"));
    }
    if matches!(slice.slice_kind, SliceKind::Merge | SliceKind::Review) {
        let kind = slice.slice_kind.as_str();
        wrong(
            "slice_kind",
            format!("a plan may have probe and work slices, not {kind}: liza adds the merge slice"),
        );
    }
    for other in &slice.depends_on {
        if !ids.contains_key(other) && board.task(other).is_none() {
            wrong("depends_on", format!("{other} is neither a slice of this plan nor a task of the board"));
        }
    }
    found
}

/// The board id of each slice: its own, or with the workstream's name before it if that is taken.
fn ids_of(board: &Board, stream: &Workstream, plan: &DispatchPlan) -> BTreeMap<TaskId, TaskId> {
    let id_of = |slice: &PlannedSlice| {
        let own = &slice.slice_id;
        let longer = || TaskId::new(&format!("{}-{own}", stream.id)).unwrap_or_else(|_| own.clone());
        if board.task_alike(own).is_some() { longer() } else { own.clone() }
    };
    plan.slices.iter().map(|slice| (slice.slice_id.clone(), id_of(slice))).collect()
}

/// The last tasks of the workstreams that this one depends on.
fn finished_first(board: &Board, stream: &Workstream) -> Vec<TaskId> {
    let of_stream = |other: &Workstream| {
        let merge = merge_id(&other.id).ok().filter(|merge| other.slices.contains(merge));
        merge.map_or_else(|| other.slices.clone(), |merge| vec![merge])
    };
    stream.depends_on.iter().filter_map(|id| board.workstream(id)).flat_map(of_stream).collect()
}

fn task_of(
    stream: &Workstream,
    slice: &PlannedSlice,
    ids: &BTreeMap<TaskId, TaskId>,
    before: &[TaskId],
) -> NewTask {
    let contract = &slice.task_contract;
    let id = ids.get(&slice.slice_id).unwrap_or(&slice.slice_id).clone();
    let reports = slice.agent_type == AgentType::Operator;
    let mut description = contract.goal.clone();
    for constraint in &contract.constraints {
        description.push_str(&format!("\nConstraint: {constraint}"));
    }
    if let Some(validation) = &contract.validation {
        description.push_str(&format!("\nValidation: {validation}"));
    }
    let allowed = match (slice.allowed_paths.is_empty(), slice.ownership_paths.is_empty()) {
        (false, _) => slice.allowed_paths.clone(),
        (true, false) => slice.ownership_paths.clone(),
        (true, true) => stream.allowed_paths.clone(),
    };
    let waits = slice.depends_on.iter().map(|other| ids.get(other).unwrap_or(other).clone());
    NewTask {
        title: title(&contract.goal),
        description,
        spec_ref: contract.spec_ref.clone().or_else(|| Some(GOAL_SPEC.to_owned())),
        done_when: contract.acceptance.clone(),
        scope: Scope { inside: allowed, outside: Vec::new() },
        owns: if reports { Vec::new() } else { slice.ownership_paths.clone() },
        depends_on: waits.chain(before.iter().cloned()).collect(),
        kind: if reports { Kind::Report } else { Kind::Code },
        role: slice.agent_type.role(),
        slice_kind: Some(slice.slice_kind),
        workstream: Some(stream.id.clone()),
        timebox_minutes: Some(slice.timebox_minutes),
        parent: Some(stream.plan.clone()),
        ..NewTask::blank(id)
    }
}

fn merge_task(stream: &Workstream, plan: &DispatchPlan, id: TaskId, slices: &[NewTask]) -> NewTask {
    let notes = plan.ordering_notes.as_deref().map_or(String::new(), |notes| format!("\nNotes: {notes}"));
    NewTask {
        title: title(&format!("Merge the workstream {}: {}", stream.id, stream.goal)),
        description: format!(
            "Every slice of {} is merged. Resolve conflicts between the slices, and run the checks of the whole workstream. If nothing is left to change, submit the \
             result with its checks: `liza task submit {id} --result FILE`.{notes}",
            stream.id
        ),
        spec_ref: Some(GOAL_SPEC.to_owned()),
        done_when: vec![format!(
            "the slices of {} work together, shown by the checks of the whole",
            stream.id
        )],
        scope: Scope { inside: stream.allowed_paths.clone(), outside: Vec::new() },
        owns: stream.ownership_paths.clone(),
        depends_on: slices.iter().map(|task| task.id.clone()).collect(),
        kind: Kind::Code,
        role: Role::supervisor(),
        slice_kind: Some(SliceKind::Merge),
        workstream: Some(stream.id.clone()),
        timebox_minutes: Some(MERGE_MINUTES),
        parent: Some(stream.plan.clone()),
        ..NewTask::blank(id)
    }
}

fn title(text: &str) -> String {
    let line = text.lines().next().unwrap_or(text);
    line.chars().take(LONGEST_TITLE).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::WorkstreamId;
    use crate::board::testing::{Bench, id, patterns};
    use crate::director::dispatch::TaskContract;

    fn stream(name: &str, after: &[&str]) -> Workstream {
        let named = |name: &str| WorkstreamId::new(name).expect("an id");
        Workstream {
            id: named(name),
            goal: format!("The part {name}"),
            ownership_paths: patterns(&[&format!("{name}/")]),
            allowed_paths: patterns(&[&format!("{name}/"), "docs/"]),
            depends_on: after.iter().map(|other| named(other)).collect(),
            timebox_minutes: None,
            of_goal: "goal-1".to_owned(),
            plan: id(&format!("{name}-plan")),
            accepted: None,
            slices: Vec::new(),
            collapsed: None,
        }
    }

    fn slice(name: &str, agent_type: AgentType, slice_kind: SliceKind, owns: &[&str]) -> PlannedSlice {
        PlannedSlice {
            slice_id: id(name),
            agent_type,
            slice_kind,
            timebox_minutes: 6,
            ownership_paths: patterns(owns),
            allowed_paths: Vec::new(),
            depends_on: Vec::new(),
            task_contract: TaskContract {
                goal: format!("Do {name}\nand more"),
                acceptance: vec!["`true` exits 0".to_owned()],
                constraints: vec!["no new dependency".to_owned()],
                spec_ref: None,
                validation: Some("make test".to_owned()),
            },
        }
    }

    fn plan(name: &str, slices: Vec<PlannedSlice>) -> DispatchPlan {
        DispatchPlan {
            workstream: WorkstreamId::new(name).expect("an id"),
            timebox_minutes: 10,
            depends_on: Vec::new(),
            ownership_paths: Vec::new(),
            allowed_paths: Vec::new(),
            slices,
            ordering_notes: None,
            risks: Vec::new(),
            nothing_to_integrate: false,
        }
    }

    #[test]
    fn plan_becomes_slices_and_a_merge_slice() {
        let mut bench = Bench::with_tasks(&["taken"]);
        let mut first = stream("a", &[]);
        first.slices = vec![id("a1"), id("a-merge")];
        bench.board.rest.workstreams.push(first);
        let look = slice("look", AgentType::Operator, SliceKind::Probe, &[]);
        let mut work = slice("taken", AgentType::CoderCodex, SliceKind::Work, &["b/x.rs"]);
        work.depends_on = vec![id("look")];
        let asked = plan("b", vec![look.clone(), work.clone()]);
        let tasks = tasks_of(&bench.board, &stream("b", &["a"]), &asked).expect("a good plan");
        let ids: Vec<&str> = tasks.iter().map(|task| task.id.as_str()).collect();
        assert_eq!(ids, ["look", "b-taken", "b-merge"], "an id that is taken gets the stream's name");
        assert_eq!((tasks[0].kind, tasks[0].role.clone()), (Kind::Report, Role::operator()));
        assert_eq!(tasks[1].depends_on, [id("look"), id("a-merge")], "after what ends the other stream");
        assert_eq!(tasks[1].owns, patterns(&["b/x.rs"]));
        assert_eq!(tasks[1].title, "Do taken");
        assert!(
            tasks[1].description.contains("no new dependency") && tasks[1].description.contains("make test")
        );
        assert_eq!(tasks[2].depends_on, [id("look"), id("b-taken")]);
        assert_eq!((tasks[2].slice_kind, tasks[2].timebox_minutes), (Some(SliceKind::Merge), Some(20)));
        // Nothing to merge.
        let alone = DispatchPlan { nothing_to_integrate: true, ..asked };
        assert_eq!(tasks_of(&bench.board, &stream("b", &[]), &alone).expect("a plan").len(), 2);
        assert_eq!(
            tasks_of(&bench.board, &stream("b", &[]), &plan("b", vec![look])).expect("a plan").len(),
            1
        );
    }

    #[test]
    fn plan_of_anything_else_is_refused_by_field() {
        let bench = Bench::new();
        let fields = |plan: DispatchPlan| -> Vec<String> {
            let problems = tasks_of(&bench.board, &stream("b", &[]), &plan).expect_err("a bad plan");
            problems.into_iter().map(|problem| problem.field).collect()
        };
        let work = || slice("x", AgentType::CoderSpark, SliceKind::Work, &["b/x.rs"]);
        assert_eq!(fields(plan("b", Vec::new())), ["dispatch_plan.slices"]);
        assert_eq!(fields(plan("c", vec![work()])), ["dispatch_plan.workstream"]);
        assert_eq!(fields(plan("b", vec![work(), work()])), ["dispatch_plan.slices"]);
        let merge = slice("m", AgentType::Supervisor, SliceKind::Merge, &["b/x.rs"]);
        let place = "dispatch_plan.slices[0]";
        assert_eq!(
            fields(plan("b", vec![merge])),
            [format!("{place}.agent_type"), format!("{place}.slice_kind")]
        );
        let mut lost = work();
        lost.depends_on = vec![id("nothing")];
        assert_eq!(fields(plan("b", vec![lost])), [format!("{place}.depends_on")]);
        let beyond = DispatchPlan { ownership_paths: patterns(&["c/"]), ..plan("b", vec![work()]) };
        assert_eq!(fields(beyond), ["dispatch_plan.ownership_paths"]);
    }
}
