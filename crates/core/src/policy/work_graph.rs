//! The tasks as a work graph: nodes, what they take and make, and how many of them passed.
//!
//! A replaced task is no node: its replacements are, and tasks that waited for it wait for them. Tasks in the archive
//! are nodes like the others, for the graph does not shrink when the board is tidied up.

use serde_json::{Map, Value};

use super::prelude::*;
use super::{locks::Lock, view::NodeState, view::Scene};
use crate::board::{CommitId, gates::OutcomesByGate};

/// A task as a node of the work graph.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct WorkNode {
    pub id: TaskId,
    pub description: String,
    /// Paths or artifacts that it needs.
    pub inputs: Vec<String>,
    /// Paths or artifacts that it produces; by default the paths it owns.
    pub outputs: Vec<String>,
    /// Nodes that must have passed before it can start.
    pub dependencies: Vec<TaskId>,
    /// `Planner`, `Implementer`, `Reviewer`, `Red-team`, or a role of the project by its own name.
    pub owner_role: String,
    pub tags: Vec<String>,
    pub status: NodeState,
    pub assigned_to: Option<AgentId>,
    /// The last patch bundle made from the task or applied to it; relative to the root of the repository, if it is
    /// inside.
    pub patch_bundle: Option<String>,
    /// The last verdict on the task.
    pub review_result: Option<ReviewResult>,
    /// Its status on the board, which is more detailed than `status`.
    pub task_status: Status,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ReviewResult {
    pub verdict: Said,
    pub reviewer: AgentId,
    pub commit: CommitId,
    pub summary: String,
    pub time: Wall,
}

/// A verdict in the terms of the commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Said {
    Approve,
    Reject,
    Discuss,
}

impl From<&Review> for ReviewResult {
    fn from(review: &Review) -> Self {
        Self {
            verdict: match review.verdict {
                Verdict::Approve => Said::Approve,
                Verdict::RequestChanges => Said::Reject,
                Verdict::NeedsDiscussion => Said::Discuss,
            },
            reviewer: review.reviewer.clone(),
            commit: review.commit.clone(),
            summary: review.summary.clone(),
            time: review.time,
        }
    }
}

/// The graph as stored in `.liza/graphs`: a copy, as old as its revision.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct WorkGraph {
    /// The board's revision that it was made from.
    pub revision: u64,
    pub graph_id: String,
    pub nodes: Vec<WorkNode>,
}

/// The content of `report --json`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct GraphReport {
    pub graph_id: String,
    pub total_nodes: usize,
    pub passed: usize,
    pub failed: usize,
    /// All others: pending, ready, running and blocked nodes. Each node has its own state.
    pub pending: usize,
    pub nodes: Vec<WorkNode>,
    pub locks: Vec<Lock>,
    /// By node, then by gate: status, duration_ms, total, passed, hash.
    #[schemars(with = "BTreeMap<TaskId, Map<String, Value>>")]
    pub last_gate_results: BTreeMap<TaskId, OutcomesByGate>,
}

impl GraphReport {
    pub fn new(
        graph: WorkGraph,
        locks: Vec<Lock>,
        last_gate_results: BTreeMap<TaskId, OutcomesByGate>,
    ) -> Self {
        let count = |state: NodeState| graph.nodes.iter().filter(|node| node.status == state).count();
        let (passed, failed) = (count(NodeState::Passed), count(NodeState::Failed));
        let WorkGraph { graph_id, nodes, .. } = graph;
        let total_nodes = nodes.len();
        let pending = total_nodes - passed - failed;
        Self { graph_id, total_nodes, passed, failed, pending, nodes, locks, last_gate_results }
    }
}

/// Makes the graph. All bodies must be loaded.
pub fn work_graph(board: &Board, archived: &[Task], world: &World, now: &Stamp) -> WorkGraph {
    let scene = Scene::new(board, world, now);
    let all: HashMap<&TaskId, &Task> =
        archived.iter().chain(&board.tasks).map(|task| (&task.id, task)).collect();
    let nodes = archived
        .iter()
        .chain(&board.tasks)
        .filter(|task| task.status != Status::Superseded && board.is_of_current_goal(task))
        .map(|task| node_of(task, scene.node_state(task), &all))
        .collect();
    WorkGraph { revision: board.revision, graph_id: board.graph_id().to_owned(), nodes }
}

/// One task as a node; `all` are its possible replacements. Its body must be loaded.
pub fn node_of(task: &Task, status: NodeState, all: &HashMap<&TaskId, &Task>) -> WorkNode {
    let body = task.body();
    let outputs = if body.expected_outputs.is_empty() {
        task.owns.iter().map(ToString::to_string).collect()
    } else {
        body.expected_outputs.clone()
    };
    WorkNode {
        id: task.id.clone(),
        description: description(&body.title, &body.description),
        inputs: body.inputs.clone(),
        outputs,
        dependencies: standing(&task.depends_on, all),
        owner_role: task.role.in_work_graph().to_owned(),
        tags: body.tags.clone(),
        status,
        assigned_to: task.assigned_to.clone(),
        patch_bundle: body.patch_bundle.clone(),
        review_result: body.reviews.last().map(ReviewResult::from),
        task_status: task.status,
    }
}

/// The graph has one text, a task two; a description that begins with the title is used alone.
fn description(title: &str, description: &str) -> String {
    let start = title.trim_end_matches('…').trim_end();
    match description.trim() {
        "" => title.to_owned(),
        text if text.starts_with(start) => text.to_owned(),
        text => format!("{title}\n\n{text}"),
    }
}

/// These ids, with replaced tasks followed to their replacements.
fn standing(ids: &[TaskId], all: &HashMap<&TaskId, &Task>) -> Vec<TaskId> {
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    let mut open: Vec<&TaskId> = ids.iter().rev().collect();
    while let Some(id) = open.pop() {
        if !seen.insert(id) {
            continue;
        }
        match all.get(id) {
            Some(task) if task.status == Status::Superseded => open.extend(task.superseded_by.iter().rev()),
            _ => found.push(id.clone()),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::rules::Rescope;
    use crate::board::testing::{Bench, id, new_task, plan_of};

    fn graph_of(bench: &Bench) -> WorkGraph {
        work_graph(&bench.board, &[], &bench.world, &bench.now)
    }

    #[test]
    fn the_counts_add_up_and_a_replaced_task_is_no_node() {
        let mut bench = Bench::with_tasks(&["done", "gone", "open", "old"]);
        bench.approved("coder-1", "done");
        bench.merge("done");
        bench.ok("planner-1", bench.abandon("gone"));
        let mut late = new_task("late", "late/");
        late.depends_on = vec![id("old"), id("done")];
        bench.ok("planner-1", plan_of(vec![late]));
        let parts = vec![new_task("left", "left/"), new_task("right", "right/")];
        let rescope = Rescope {
            task: id("old"),
            specs_found: parts.iter().map(|new| new.id.clone()).collect(),
            into: parts,
            existing: Vec::new(),
            reason: "it was two things".to_owned(),
            pins: Vec::new(),
            strict: true,
            slices: true,
        };
        bench.ok("planner-1", rescope);
        let report = GraphReport::new(graph_of(&bench), Vec::new(), BTreeMap::new());
        assert_eq!((report.total_nodes, report.passed, report.failed, report.pending), (6, 1, 1, 4));
        assert!(report.nodes.iter().all(|node| node.id != id("old")));
        let late = report.nodes.iter().find(|node| node.id == id("late")).expect("a node");
        assert_eq!(late.dependencies, [id("left"), id("right"), id("done")]);
        assert_eq!(late.owner_role, "Implementer");
        let done = report.nodes.iter().find(|node| node.id == id("done")).expect("a node");
        assert_eq!(done.review_result.as_ref().map(|result| result.verdict), Some(Said::Approve));
    }

    #[test]
    fn description_joins_title_and_text() {
        assert_eq!(description("Add it", ""), "Add it");
        assert_eq!(description("Add…", "Add all of it\nand more"), "Add all of it\nand more");
        assert_eq!(description("Add it", "Because."), "Add it\n\nBecause.");
    }
}
