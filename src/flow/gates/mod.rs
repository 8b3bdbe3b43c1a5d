//! Asking the gates about a tree: in a private worktree of exactly that commit, never in anybody's checkout.

use crate::board::gates::{GateReport, Moment};
use crate::board::{CommitId, TaskId};
use crate::policy::gate::Gate;

use super::context::Context;
use super::failure::Failure;

/// What is asked.
pub struct Question<'a> {
    pub moment: Moment,
    pub commit: &'a CommitId,
    /// The task it is asked for; its results are kept under that name.
    pub task: Option<&'a TaskId>,
    /// Only these gates; all that belong to the moment without it.
    pub only: Option<&'a [String]>,
    /// Runs them even if the same was said before.
    pub fresh: bool,
}

impl<'a> Question<'a> {
    pub fn new(moment: Moment, commit: &'a CommitId) -> Self {
        Self { moment, commit, task: None, only: None, fresh: false }
    }
}

/// Asks every gate of the moment in turn, and stops after a required one that did not pass.
pub fn judge(ctx: &Context, question: &Question<'_>) -> Result<GateReport, Failure> {
    let config = ctx.project_config()?;
    let tree = ctx.query()?.tree_of(question.commit)?;
    let mut report = GateReport::empty(question.moment, question.commit.clone(), tree);
    let asked: Vec<&Gate> = config
        .gates
        .iter()
        .filter(|gate| question.only.map_or(gate.is_asked(question.moment), |only| only.contains(&gate.name)))
        .collect();
    if asked.is_empty() {
        return Ok(report);
    }
    report.required = asked.iter().filter(|gate| gate.is_required()).map(|gate| gate.name.clone()).collect();
    Ok(report)
}
