//! A runner that a run has started asks the run for the next piece of work. The run answers with a line on the runner's
//! standard input; end of input means that there is no more work, and the runner exits.

use std::io::BufRead;

use serde::{Deserialize, Serialize};

use super::agent_monitor::Wake;
use super::prelude::*;
use super::runner::{Left, Runner};

/// The next piece of work for a runner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Piece {
    pub task: Option<TaskId>,
}

/// Reads one answer of the run; a line that is no [`Piece`] counts as none.
fn read_answer(tx: Sender<Wake>) {
    let none = tx.clone();
    let reading = crate::host::start_thread(move || {
        let mut line = String::new();
        let read = std::io::stdin().lock().read_line(&mut line);
        let piece = read.ok().and_then(|_| serde_json::from_str(&line).ok());
        let _ = tx.send(Wake::Next(piece));
    });
    if reading.is_err() {
        let _ = none.send(Wake::Next(None));
    }
}

impl Runner {
    /// Waits for the next piece of work, if a run can give one; otherwise returns why the runner ends.
    pub(super) fn next_piece(&mut self) -> Option<Left> {
        // A planner is started for named occasions, and a crashed agent gets a new runner.
        if self.options.parent.is_none() || self.role == Role::planner() || self.crashes.any() {
            return Some(Left::Done);
        }
        read_answer(self.tx.clone());
        self.emit(Event::new(Kind::Free, ""));
        loop {
            match self.rx.recv() {
                Ok(Wake::Next(Some(piece))) => {
                    self.options.task = piece.task;
                    self.forget_former_piece();
                    return None;
                }
                Ok(Wake::Next(None)) => return Some(Left::Done),
                Ok(Wake::Signal(signal)) => return Some(Left::Signal(signal)),
                Err(_) => return Some(Left::Signal(signal_hook::consts::SIGTERM)),
                // The run reads the board itself.
                Ok(_) => {}
            }
        }
    }
}
