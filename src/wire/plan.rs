//! A plan file: a whole graph of tasks, as YAML or JSON.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::board::rules::NewTask;

use super::{ForeignError, Limits, read_foreign, read_foreign_value};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    pub tasks: Vec<NewTask>,
}

const LARGEST_PLAN: usize = 8 * 1024 * 1024;

/// Reads `{tasks: […]}`, a bare list of tasks, or one task.
pub fn read_plan(bytes: &[u8]) -> Result<Vec<NewTask>, ForeignError> {
    let limits = Limits::of_bytes(LARGEST_PLAN);
    let value = read_foreign_value(bytes, limits)?;
    if value.is_array() {
        return read_foreign::<Vec<NewTask>>(bytes, limits);
    }
    if value.get("tasks").is_some() {
        return read_foreign::<Plan>(bytes, limits).map(|plan| plan.tasks);
    }
    read_foreign::<NewTask>(bytes, limits).map(|task| vec![task])
}
