//! Gate results on a task's submission so far, for its reviewer: also gates that run later.

use super::record;
use crate::flow::prelude::*;
use crate::policy::gate::On;

/// One gate of the project, and its result on exactly the submission.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GateShown {
    pub name: String,
    pub required: bool,
    pub on: Vec<On>,
    /// Absent while it has not run on this tree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<GateOutcome>,
}

impl GateShown {
    /// One line: its result, or when it will run.
    pub fn line(&self, task: &TaskId) -> String {
        let Self { name, required, outcome, .. } = self;
        let optional = if *required { "" } else { " (optional)" };
        let Some(outcome) = outcome else {
            let when = match (required, self.on.contains(&On::Merge)) {
                (true, _) => "; liza runs it before an approval and at the merge",
                (false, true) => "; liza runs it at the merge",
                (false, false) => "",
            };
            return format!(
                "{name}{optional}: not run on this tree yet{when}. `liza gate run {task}` runs it now"
            );
        };
        let counts = outcome.counts().map_or(String::new(), |counts| format!(" ({counts})"));
        let why = outcome.reason.as_ref().map_or(String::new(), |why| format!(": {}", shown_line(why)));
        let log = outcome.log.as_ref().map_or(String::new(), |log| format!("; log {}", shown_line(log)));
        let untested = match outcome.untested.is_empty() {
            true => String::new(),
            false => format!("; no test reaches {}", shown_line(&outcome.untested.join(", "))),
        };
        format!("{name}{optional}: {}{counts}{why}{log}{untested}", outcome.status.as_str())
    }
}

/// Every gate of the project, with its recorded result on the submitted tree.
pub fn shown(ctx: &Context, task: &Task) -> Result<Vec<GateShown>> {
    let body = task.body();
    let Some(submission) = &body.submission else { return Ok(Vec::new()) };
    let config = ctx.project_config()?;
    if config.gates.is_empty() {
        return Ok(Vec::new());
    }
    let tree = match &submission.tree {
        Some(tree) => tree.clone(),
        None => ctx.query()?.tree_of(&submission.commit)?,
    };
    let on_board = body.gates.as_ref().filter(|report| report.tree == tree);
    let on_file = record::read(ctx, Some(&task.id), &tree).filter(|record| record.tree == tree);
    let outcome_of = |gate: &Gate| {
        let from_file = || Some(on_file.as_ref()?.gates.get(&gate.name)?.outcome.clone());
        on_board.and_then(|report| report.result(&gate.name).cloned()).or_else(from_file)
    };
    let each = config.gates.iter();
    Ok(each
        .map(|gate| GateShown {
            name: gate.name.clone(),
            required: gate.is_required(),
            on: gate.on.clone(),
            outcome: outcome_of(gate),
        })
        .collect())
}
