use std::ffi::OsString;

use crate::cli::prelude::*;
use crate::supervise::child;

/// The exit codes of a shell for a program that it cannot find, and for one that it cannot start.
const NOT_FOUND: u8 = 127;
const NOT_STARTED: u8 = 126;

/// Run a command and end it, with all its processes, when its parent process ends
#[derive(Args)]
pub struct HoldArgs {
    /// The command is a gate's: its remaining processes are ended with it, and none may change this board
    #[arg(long, value_name = "BOARD")]
    pub gate: Option<PathBuf>,
    /// Process id of the parent
    pub parent: u32,
    /// Command and its arguments
    #[arg(last = true, required = true)]
    pub command: Vec<OsString>,
}

impl Execute for HoldArgs {
    /// Exits with the command's exit code, or with a shell's code for a command that cannot be started.
    fn execute(&self, _: &Invocation) -> Result<Answer, Failure> {
        let Some((program, rest)) = self.command.split_first() else {
            return Err(Failure::usage("no command is given"));
        };
        let code = match child::hold(self.parent, self.gate.as_deref(), program, rest) {
            Ok(code) => code,
            Err(error) if self.gate.is_some() => {
                crate::cli::ui::Ui::new(false, false, crate::cli::ui::ColorChoice::Never)
                    .narrate(&format!("{}: {error}", program.display()));
                if error.kind() == std::io::ErrorKind::NotFound { NOT_FOUND } else { NOT_STARTED }
            }
            Err(error) => {
                let text = format!("{}: {error}", program.display());
                return Err(Failure::new(ErrorCode::AgentNotStarted, text));
            }
        };
        // The command has printed its own output.
        Ok(Answer { exit: code, ..Answer::default() })
    }
}
