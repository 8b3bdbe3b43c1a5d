mod act;
mod show;

use crate::cli::prelude::*;

commands! {
    pub enum OverseerCommand {
        Nudge(act::NudgeArgs),
        Halt(act::HaltArgs),
    }
}

/// Show which agents get anywhere, and do something about one that does not
///
/// Who lives and by which signs, since when nothing came of the work, what it has cost, and what is the matter. What runners
/// see is judged by `watch` and `run`; looking changes nothing and needs neither. Settings: `overseer` in liza.yaml.
///
/// Example: liza overseer
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct OverseerArgs {
    #[command(flatten)]
    pub show: show::ShowArgs,
    #[command(subcommand)]
    pub command: Option<OverseerCommand>,
}

impl Execute for OverseerArgs {
    fn execute(&self, call: &Invocation) -> Result<Answer, Failure> {
        match &self.command {
            Some(command) => command.execute(call),
            None => self.show.execute(call),
        }
    }
}
