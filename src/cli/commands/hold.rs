use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

use crate::flow::Failure;
use crate::supervise::child;

use super::super::ui::Answer;

/// What a shell answers for a program it cannot find, and for one it cannot start.
const NOT_FOUND: u8 = 127;
const NOT_STARTED: u8 = 126;

/// Run a command that dies with whoever started it, and all it started
#[derive(Args)]
pub struct HoldArgs {
    /// The command is a gate's: what it leaves behind ends with it, and nothing of it may act on this board
    #[arg(long, value_name = "BOARD")]
    pub gate: Option<PathBuf>,
    /// Whoever started it
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
    let code = match child::hold(args.parent, args.gate.is_some(), program, rest) {
        Ok(code) => code,
        Err(error) if args.gate.is_some() => {
            super::super::ui::Ui::new(false, false, super::super::ui::ColorChoice::Never)
                .narrate(&format!("{}: {error}", program.display()));
            if error.kind() == std::io::ErrorKind::NotFound { NOT_FOUND } else { NOT_STARTED }
        }
        Err(error) => {
            return Err(Failure::new("agent.not_started", format!("{}: {error}", program.display())));
        }
    };
    // Its words were the command's.
    Ok(Answer { exit: code, ..Answer::default() })
}
