//! The last gate results for a task or a tree, as a file for people and scripts.

use crate::board::gates::{KeptOutcome, OutcomesByGate};
use crate::flow::prelude::*;
use crate::store::files;

const LARGEST: usize = 4 * 1024 * 1024;

pub fn path_of(ctx: &Context, task: Option<&TaskId>, tree: &CommitId) -> PathBuf {
    let name = match task {
        Some(task) => task.to_string(),
        None => format!("tree-{}", short(tree)),
    };
    ctx.machine.gate_results(&name)
}

/// The first twelve digits name a tree well enough for people.
pub fn short(tree: &CommitId) -> &str {
    let text = tree.as_str();
    text.get(..12).unwrap_or(text)
}

#[derive(Serialize, Deserialize)]
pub struct GateRecord {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_id: Option<TaskId>,
    pub tree: CommitId,
    pub commit: CommitId,
    pub moment: Moment,
    pub time: Wall,
    pub gates: OutcomesByGate,
}

impl GateRecord {
    pub fn of(task: Option<&TaskId>, report: &GateReport) -> Self {
        let kept = |outcome: &GateOutcome| KeptOutcome {
            outcome: outcome.clone(),
            required: Some(report.required.contains(&outcome.name)),
        };
        Self {
            node_id: task.cloned(),
            tree: report.tree.clone(),
            commit: report.commit.clone(),
            moment: report.moment,
            time: host::now().wall,
            gates: OutcomesByGate(report.results.iter().map(kept).collect()),
        }
    }
}

/// Reads it; none if there is no such file or it cannot be read.
pub fn read(ctx: &Context, task: Option<&TaskId>, tree: &CommitId) -> Option<GateRecord> {
    let (bytes, _) = files::read_whole(&path_of(ctx, task, tree), LARGEST as u64).ok()?;
    read_foreign(&bytes, Limits::of_bytes(LARGEST)).ok()
}

/// Writes it. Results of other gates on the same tree stay, in configured order.
pub fn write(ctx: &Context, task: Option<&TaskId>, report: &GateReport, configured: &[Gate]) -> Result<()> {
    let mut record = GateRecord::of(task, report);
    let former = read(ctx, task, &report.tree).filter(|former| former.tree == report.tree);
    let outcome_of = |gate: &Gate| {
        let before = || former.as_ref()?.gates.get(&gate.name);
        record.gates.get(&gate.name).or_else(before).cloned()
    };
    record.gates = OutcomesByGate(configured.iter().filter_map(outcome_of).collect());
    files::make_private_dirs(ctx.machine.home(), &ctx.machine.gates())?;
    let text = serde_json::to_string_pretty(&record).unwrap_or_default() + "\n";
    Ok(files::replace(&path_of(ctx, task, &report.tree), text.as_bytes())?)
}
