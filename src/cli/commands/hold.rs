use std::ffi::OsString;

use clap::Args;

use crate::flow::Failure;
use crate::supervise::child;

use super::super::ui::Answer;

/// Run a command that dies with its runner, and all it started
#[derive(Args)]
pub struct HoldArgs {
    /// The runner
    pub parent: u32,
    /// The command
    #[arg(last = true, required = true)]
    pub command: Vec<OsString>,
}

/// The exit code is the command's own, or a shell's for one that could not be started.
pub fn run(args: &HoldArgs) -> Result<Answer, Failure> {
    let Some((program, rest)) = args.command.split_first() else {
        return Err(Failure::usage("no command is given"));
    };
    let code = child::hold(args.parent, program, rest)
        .map_err(|error| Failure::new("agent.not_started", format!("{}: {error}", program.display())))?;
    // Its words were the command's.
    Ok(Answer { exit: code, ..Answer::default() })
}
