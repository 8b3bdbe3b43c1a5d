//! What work may cost at this moment: what liza.yaml says, and whether a run with a cap is under way.

use super::prelude::*;
use crate::board::caps::{Cap, CapUse, Caps};
use crate::store::files::FileIdentity;

impl Context {
    /// The caps that hold now. That of a run holds while the run that began with it lives.
    pub fn caps(&self, board: &Board) -> Result<Caps> {
        Ok(holding(self.project_config()?.spend, board))
    }
}

/// What of these caps holds at the moment.
pub fn holding(mut caps: Caps, board: &Board) -> Caps {
    if !board.rest.run.as_ref().is_some_and(|run| host::lives(&run.owner)) {
        caps.run = Cap::default();
    }
    caps
}

/// How much of every cap is used that bears on this agent and this task.
pub fn uses(ctx: &Context, agent: &AgentId, task: Option<&TaskId>) -> Result<Vec<CapUse>> {
    let said = ctx.project_config()?.spend;
    if said.is_none() {
        return Ok(Vec::new());
    }
    let board = ctx.read(&task.map_or(Needs::Nothing, Needs::task))?.board;
    let task = task.and_then(|task| board.task(task));
    Ok(holding(said, &board).uses(&board, task, Some(agent)))
}

/// The caps, for somebody who asks again and again: liza.yaml is read when it has changed. A mistake in it leaves things as
/// they were.
#[derive(Debug, Default)]
pub struct KnownCaps {
    seen: Option<FileIdentity>,
    said: Caps,
}

impl KnownCaps {
    pub fn look(&mut self, ctx: &Context) -> Caps {
        let found = FileIdentity::at(&ctx.root().join("liza.yaml")).ok();
        if found != self.seen || found.is_none() {
            if let Ok(config) = ctx.project_config() {
                self.said = config.spend;
            }
            self.seen = found;
        }
        self.said
    }

    pub fn holding(&self, board: &Board) -> Caps {
        holding(self.said, board)
    }
}
