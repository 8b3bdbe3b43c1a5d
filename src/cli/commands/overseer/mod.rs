mod act;
mod show;

use crate::cli::prelude::*;

commands! {
    pub enum OverseerCommand {
        Nudge(act::NudgeArgs),
        Halt(act::HaltArgs),
    }
}

/// Show which agents make progress; nudge or halt one
///
/// Shows which agents are alive and by which signs, how long each has made no progress, what its session has cost,
/// and what is wrong. `liza watch` and `liza run` judge the observations of runners; this command only shows them and needs
/// neither of them. Settings: `overseer` in liza.yaml.
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
