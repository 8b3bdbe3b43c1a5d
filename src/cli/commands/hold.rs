use std::ffi::OsString;

use clap::Args;

use crate::flow::Failure;
use crate::supervise::child;

/// Become a command that dies with its runner
#[derive(Args)]
pub struct HoldArgs {
    /// The runner
    pub parent: u32,
    /// The command
    #[arg(last = true, required = true)]
    pub command: Vec<OsString>,
}

/// Comes back only if it could not become the command. The exit code is a shell's for that.
pub fn run(args: &HoldArgs) -> Failure {
    let Some((program, rest)) = args.command.split_first() else {
        return Failure::usage("no command is given");
    };
    let error = child::hold(args.parent, program, rest);
    Failure::new("agent.not_started", format!("{}: {error}", program.display()))
}
