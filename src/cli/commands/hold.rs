use std::ffi::OsString;

use crate::cli::prelude::*;
use crate::supervise::child;

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

impl Execute for HoldArgs {
    /// The exit code is the command's own, or a shell's for one that could not be started.
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
        // Its words were the command's.
        Ok(Answer { exit: code, ..Answer::default() })
    }
}
