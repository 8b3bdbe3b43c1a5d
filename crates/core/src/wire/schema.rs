//! The JSON Schemas of all files that people and agents read or write.

use super::prelude::*;
use crate::board::review::Feedback;
use crate::policy::ProjectConfig;

pub const NAMES: [&str; 12] = [
    "state",
    "task",
    "new-task",
    "plan",
    "graph",
    "subcontracts",
    "report",
    "feedback",
    "checkpoint",
    "config",
    "bundle",
    "route",
];

pub fn schema(name: &str) -> Option<Value> {
    Some(match name {
        "state" => super::flat::board_schema(),
        "task" => super::flat::task_schema(),
        "new-task" => schemars::schema_for!(NewTask).to_value(),
        "plan" => schemars::schema_for!(super::plan::Plan).to_value(),
        "graph" => schemars::schema_for!(super::plan::PlannedGraph).to_value(),
        "subcontracts" => schemars::schema_for!(super::plan::PlannedSubcontracts).to_value(),
        "report" => schemars::schema_for!(crate::policy::work_graph::GraphReport).to_value(),
        "feedback" => schemars::schema_for!(Feedback).to_value(),
        "checkpoint" => schemars::schema_for!(Checkpoint).to_value(),
        "bundle" => schemars::schema_for!(super::bundle::Bundle).to_value(),
        "route" => schemars::schema_for!(super::route::RouteAnswer).to_value(),
        "config" => schemars::schema_for!(ProjectConfig).to_value(),
        _ => return None,
    })
}
