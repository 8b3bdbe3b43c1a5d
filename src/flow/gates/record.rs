//! The last word of the gates on a task or a tree, as a file that people and scripts read.

use std::path::PathBuf;

use serde_json::{Map, Value, json};

use crate::board::gates::{GateOutcome, GateReport};
use crate::board::{CommitId, TaskId};
use crate::flow::context::Context;
use crate::flow::failure::Failure;
use crate::policy::gate::Gate;
use crate::store::files;
use crate::wire::{Limits, read_foreign_value};

const LARGEST: usize = 4 * 1024 * 1024;

/// Where it is.
pub fn path_of(ctx: &Context, task: Option<&TaskId>, tree: &CommitId) -> PathBuf {
    let name = match task {
        Some(task) => task.to_string(),
        None => format!("tree-{}", short(tree)),
    };
    ctx.store.layout().gates().join(format!("{name}.gate.json"))
}

/// The first twelve digits name a tree well enough for people.
pub fn short(tree: &CommitId) -> &str {
    let text = tree.as_str();
    text.get(..12).unwrap_or(text)
}

/// What it says; none if there is no such file or it cannot be read.
pub fn read(ctx: &Context, task: Option<&TaskId>, tree: &CommitId) -> Option<Value> {
    let (bytes, _) = files::read_whole(&path_of(ctx, task, tree), LARGEST as u64).ok()?;
    read_foreign_value(&bytes, Limits::of_bytes(LARGEST)).ok()
}

/// The documented object: keys beside the documented ones are optional.
pub fn object(ctx: &Context, task: Option<&TaskId>, report: &GateReport) -> Value {
    let mut gates = Map::new();
    for outcome in &report.results {
        gates.insert(outcome.name.clone(), entry(report, outcome));
    }
    let mut object = Map::new();
    if let Some(task) = task {
        object.insert("node_id".to_owned(), json!(task));
    }
    object.insert("tree".to_owned(), json!(report.tree));
    object.insert("commit".to_owned(), json!(report.commit));
    object.insert("moment".to_owned(), json!(report.moment));
    object.insert("time".to_owned(), json!(ctx.now.wall.to_string()));
    object.insert("gates".to_owned(), Value::Object(gates));
    Value::Object(object)
}

fn entry(report: &GateReport, outcome: &GateOutcome) -> Value {
    let mut fields = serde_json::to_value(outcome).unwrap_or_default();
    if let Some(fields) = fields.as_object_mut() {
        fields.shift_remove("name");
        fields.insert("required".to_owned(), json!(report.required.contains(&outcome.name)));
    }
    fields
}

/// Writes it down. What other gates said of the same tree stays, each in its configured place.
pub fn write(
    ctx: &Context,
    task: Option<&TaskId>,
    report: &GateReport,
    configured: &[Gate],
) -> Result<(), Failure> {
    let mut object = object(ctx, task, report);
    let former = read(ctx, task, &report.tree).filter(|former| former["tree"] == json!(report.tree));
    let said = object["gates"].as_object().cloned().unwrap_or_default();
    let mut gates = Map::new();
    for gate in configured {
        let entry = said.get(&gate.name).or_else(|| former.as_ref()?.get("gates")?.get(&gate.name));
        if let Some(entry) = entry {
            gates.insert(gate.name.clone(), entry.clone());
        }
    }
    object["gates"] = Value::Object(gates);
    let path = path_of(ctx, task, &report.tree);
    files::make_private_dirs(&ctx.store.layout().gates())?;
    let text = serde_json::to_string_pretty(&object).unwrap_or_default() + "\n";
    Ok(files::replace(&path, text.as_bytes())?)
}
