//! The spend caps that apply now: of liza.yaml, and of a running `liza run` with a cap.

use super::prelude::*;
use crate::board::caps::{Cap, CapUse, Caps};
use crate::store::files::FileIdentity;

impl Context {
    /// The caps that apply now. A run's cap applies while that run lives.
    pub fn caps(&self, board: &Board) -> Result<Caps> {
        Ok(holding(self.project_config()?.spend, board))
    }
}

/// Which of these caps apply now.
pub fn holding(mut caps: Caps, board: &Board) -> Caps {
    if !board.rest.run.as_ref().is_some_and(|run| host::lives(&run.owner)) {
        caps.run = Cap::default();
    }
    caps
}

/// How much is used of every cap that applies to this agent and this task.
pub fn uses(ctx: &Context, agent: &AgentId, task: Option<&TaskId>) -> Result<Vec<CapUse>> {
    let spend = ctx.project_config()?.spend;
    if spend.is_none() {
        return Ok(Vec::new());
    }
    let board = ctx.read(&task.map_or(Needs::Nothing, Needs::task))?.board;
    let task = task.and_then(|task| board.task(task));
    Ok(holding(spend, &board).uses(&board, task, Some(agent)))
}

/// The caps, for repeated queries: liza.yaml is read only when it has changed. A mistake in it keeps the former caps.
#[derive(Debug, Default)]
pub struct KnownCaps {
    seen: Option<FileIdentity>,
    spend: Caps,
}

impl KnownCaps {
    pub fn look(&mut self, ctx: &Context) -> Caps {
        let found = FileIdentity::at(&ctx.root().join("liza.yaml")).ok();
        if found != self.seen || found.is_none() {
            if let Ok(config) = ctx.project_config() {
                self.spend = config.spend;
            }
            self.seen = found;
        }
        self.spend
    }

    pub fn holding(&self, board: &Board) -> Caps {
        holding(self.spend, board)
    }
}
