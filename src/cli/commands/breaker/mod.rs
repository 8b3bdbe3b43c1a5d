mod check;
mod history;
mod resolve;
mod status;

use crate::board::breaker::Trip;
use crate::cli::prelude::*;
use crate::policy::breaker::decisions;

commands! {
    pub enum BreakerCommand {
        Status(status::StatusArgs),
        Resolve(resolve::ResolveArgs),
        History(history::HistoryArgs),
        Check(check::CheckArgs),
    }
}

/// Show and resolve trips of the circuit breaker
///
/// `liza watch` and `liza run` look for patterns that no single task shows: the same error, outage or rejection on
/// many tasks, crashes of several agents, plans that repeat without progress. A pattern trips the breaker once; liza
/// reports it to a person, and for most patterns it sets the CHECKPOINT switch: no new work starts until `liza
/// resume`. Debt, workarounds and rejections are only reported. `breaker.responses` in liza.yaml changes the
/// response: warning, checkpoint (sets CHECKPOINT), halt (sets ABORT) or off. The breaker changes no task.
///
/// Example: liza breaker
#[derive(Args)]
pub struct BreakerArgs {
    #[command(subcommand)]
    pub command: Option<BreakerCommand>,
}

impl Execute for BreakerArgs {
    fn execute(&self, call: &Invocation) -> Result<Answer, Failure> {
        match &self.command {
            Some(command) => command.execute(call),
            None => status::StatusArgs {}.execute(call),
        }
    }
}

fn as_json(session: &Session, board: &Board, trip: &Trip) -> Value {
    let mut data = serde_json::to_value(trip).unwrap_or_default();
    let report = breaker::report_path(&session.ctx, &trip.id);
    data["report"] = json!(report.is_file().then(|| report.to_string_lossy()));
    data["decisions"] = json!(decisions(trip, board));
    data
}
