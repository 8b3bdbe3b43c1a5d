//! An unused id for a task, made from its title.

use super::prelude::*;
use crate::text::slug;

/// The title as an id, with a number if it is taken. `otherwise` is the name for a title without Latin letters.
pub fn for_title(ctx: &Context, board: &Board, title: &str, otherwise: &str) -> Result<TaskId> {
    let stem = Some(slug(title)).filter(|name| !name.is_empty()).unwrap_or_else(|| otherwise.to_owned());
    let is_free = |id: &TaskId| {
        board.task_alike(id).is_none() && ctx.store.archived_task(id).is_ok_and(|found| found.is_none())
    };
    std::iter::once(stem.clone())
        .chain((2..1000).map(|number| format!("{stem}-{number}")))
        .filter_map(|name| TaskId::new(&name).ok())
        .find(is_free)
        .ok_or_else(|| {
            failure!(Code::IdTaken, "could not generate an unused id for `{stem}`").hint("name one with --id")
        })
}
