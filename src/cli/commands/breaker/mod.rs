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

/// Show what the circuit breaker tripped for, and settle it
///
/// `liza watch` and `liza run` look for patterns that no single task shows: the same error, outage or rejection on many tasks,
/// crashes of several agents, plans that go round in circles. A pattern trips the breaker once; it tells a person, and
/// for most patterns it sets CHECKPOINT: nothing new starts until `liza resume`. Debt, workarounds and rejections are told only.
/// `breaker.responses` in liza.yaml says otherwise: warning, checkpoint, halt (ABORT) or off. It changes no task.
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
