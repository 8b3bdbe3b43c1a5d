//! A plan file: a whole graph of tasks, as YAML or JSON, in liza's own form, as a work graph, or as subcontracts.

mod subcontract;
mod work_graph;

use super::prelude::*;
use super::{ForeignError, Limits, read_foreign, read_foreign_value};
use crate::board::workstream::NewStream;

pub use subcontract::PlannedSubcontracts;
pub use work_graph::{PlannedGraph, PlannedNode, Standing};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The name of the board's work graph.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graph_id: Option<GraphId>,
    /// May be left out if there are `workstreams`.
    #[serde(default)]
    pub tasks: Vec<NewTask>,
    /// Parts of the goal that own different paths; a supervisor plans each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workstreams: Vec<NewStream>,
}

/// The content of a plan file.
#[derive(Debug, Default)]
pub struct Planned {
    pub tasks: Vec<NewTask>,
    pub workstreams: Vec<NewStream>,
    /// The plan is a work graph: incomplete nodes become drafts.
    pub as_graph: bool,
    pub graph_id: Option<GraphId>,
    /// How many tasks may run at the same time; a plan may not decide that.
    pub max_parallel: Option<u32>,
    /// Values that liza ignores.
    pub remarks: Vec<String>,
}

const LARGEST_PLAN: usize = 8 * 1024 * 1024;

/// Reads `{tasks: […]}`, a bare list of tasks, or one task.
pub fn read_plan(bytes: &[u8]) -> Result<Vec<NewTask>, ForeignError> {
    read_tasks(bytes).map(|plan| plan.tasks)
}

fn read_tasks(bytes: &[u8]) -> Result<Plan, ForeignError> {
    let limits = Limits::of_bytes(LARGEST_PLAN);
    let value = read_foreign_value(bytes, limits)?;
    if value.is_array() {
        return read_foreign::<Vec<NewTask>>(bytes, limits).map(Plan::of_tasks);
    }
    if value.get("tasks").is_some() || value.get("workstreams").is_some() {
        return read_foreign::<Plan>(bytes, limits);
    }
    read_foreign::<NewTask>(bytes, limits).map(|task| Plan::of_tasks(vec![task]))
}

impl Plan {
    fn of_tasks(tasks: Vec<NewTask>) -> Self {
        Self { graph_id: None, tasks, workstreams: Vec::new() }
    }
}

/// Reads any of these, a work graph `{id, nodes: […], edges: […]}`, or subcontracts. `standing` says what exists in the
/// repository at a path.
pub fn read_planned(
    bytes: &[u8],
    standing: &dyn Fn(&str) -> Option<Standing>,
) -> Result<Planned, ForeignError> {
    let limits = Limits::of_bytes(LARGEST_PLAN);
    let value = read_foreign_value(bytes, limits)?;
    if value.get("nodes").is_some() {
        return read_foreign::<PlannedGraph>(bytes, limits)?.planned(standing);
    }
    // Only nodes: a task has a title, a node only a description.
    let is_node = |value: &Value| value.get("title").is_none() && value.get("description").is_some();
    if value.as_array().is_some_and(|all| !all.is_empty() && all.iter().all(is_node))
        && subcontract::as_list(&value).is_none()
    {
        let graph = json!({ "nodes": value }).to_string();
        return read_foreign::<PlannedGraph>(graph.as_bytes(), limits)?.planned(standing);
    }
    if let Some(listed) = subcontract::as_list(&value) {
        let listed = listed.to_string();
        return read_foreign::<PlannedSubcontracts>(listed.as_bytes(), limits)?.planned(standing);
    }
    let plan = read_tasks(bytes)?;
    let Plan { graph_id, tasks, workstreams } = plan;
    Ok(Planned { tasks, workstreams, graph_id, ..Planned::default() })
}
