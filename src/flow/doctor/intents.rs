//! Git work whose process died.

use super::{Finding, Scene};
use crate::flow::prelude::*;
use crate::flow::recover;

pub fn left_half_done(scene: &Scene) -> Result<Vec<Finding>> {
    let Some(board) = scene.board() else { return Ok(Vec::new()) };
    let dead = board.rest.intents.iter().filter(|intent| !scene.ctx.machine.works_on_intents(&intent.owner));
    let found = dead.map(|intent| {
        let id = intent.id;
        let task = intent.task.as_ref().map_or(String::new(), |task| format!(" of {task}"));
        let verb = intent.work.verb();
        Finding::new(
            "intent.dead",
            format!("a {verb}{task} is unfinished: its process {} is dead", intent.owner.pid),
            "the task waits until that work is finished or undone",
            "finishes it if its effect exists, and undoes it otherwise",
        )
        .fixed_by(move |ctx| {
            // One call finishes them all; later findings find theirs done.
            recover::recover(ctx)?;
            let open = ctx.store.read(&Needs::Nothing)?.board.intent(id).is_some();
            if open {
                return Err(Failure::new(Code::IntentOpen, "another process has taken it over"));
            }
            Ok(None)
        })
    });
    Ok(found.collect())
}
