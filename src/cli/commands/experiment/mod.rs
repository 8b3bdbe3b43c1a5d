mod adopt;
mod list;
mod prune;
mod report;
mod run;
mod show;

use crate::cli::prelude::*;
use crate::flow::experiment::Lab;

crate::cli::session::commands! {
    /// Try ideas in worktrees, score them against a baseline
    ///
    /// Agents and commands under `experiment:` in liza.yaml plan, implement, review, test, sweep and score each idea. This
    /// needs no board.
    ///
    /// Example: liza experiment list
    pub enum ExperimentCommand {
        Run(run::RunArgs),
        List(list::ListArgs),
        Show(show::ShowArgs),
        Report(report::ReportArgs),
        Prune(prune::PruneArgs),
        Adopt(adopt::AdoptArgs),
    }
}

/// The repository and its settings, with or without a board. Agents and processes of gates may only read.
fn open(call: &Invocation, changes: bool) -> Result<(Context, Lab), Failure> {
    let ctx = call.context()?;
    if changes {
        ctx.refuse_gate_process()?;
        if !ctx.is_human() {
            return Err(Failure::new(Code::HumanOnly, "only a person may run or prune experiments")
                .hint("report your need with `liza note`"));
        }
    }
    let lab = Lab::open(&ctx)?;
    Ok((ctx, lab))
}
