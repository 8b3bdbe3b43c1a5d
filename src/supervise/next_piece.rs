//! A runner that a run has started asks it for the next piece of work when one is done. The run answers with a line on the
//! runner's standard input; an end of that means that there is none, and the runner leaves.

use std::io::BufRead;

use serde::{Deserialize, Serialize};

use super::agent_monitor::Wake;
use super::prelude::*;
use super::runner::{Left, Runner};

/// What a runner is to work on next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Piece {
    pub task: Option<TaskId>,
}

/// Reads one answer of the run. Another line than one of [`Piece`] is none.
fn hear(tx: Sender<Wake>) {
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
    /// Waits for the next piece of work, where there may be one; otherwise says why it leaves.
    pub(super) fn next_piece(&mut self) -> Option<Left> {
        // A planner is woken for occasions of its own, and an agent that crashed starts with a new runner.
        if self.options.parent.is_none() || self.role == Role::planner() || self.crashes.any() {
            return Some(Left::Done);
        }
        hear(self.tx.clone());
        self.tell(Event::new(Kind::Free, ""));
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
                // The run looks at the board.
                Ok(_) => {}
            }
        }
    }
}
