//! Restores a former revision, even if the present board file is damaged.

use super::prelude::*;
use crate::store::read::{LARGEST_STATE, invalid};
use crate::wire::state::Decoded;

/// What would change, for a person to check first.
#[derive(Serialize)]
pub struct Plan {
    pub revision: u64,
    /// The revision the board is at.
    pub on: u64,
    pub tasks: Vec<Back>,
    pub goal: bool,
    pub config: bool,
    /// Tasks that were merged since.
    pub landed: Vec<TaskId>,
    /// Tasks that did not exist then.
    pub added: Vec<TaskId>,
    /// Tasks that are no longer on the board.
    pub left: Vec<TaskId>,
    /// Why the present file cannot be used and is replaced first.
    pub broken: Option<String>,
    #[serde(skip)]
    change: RestoreRevision,
    #[serde(skip)]
    fixed: Option<Decoded>,
}

#[derive(Serialize)]
pub struct Back {
    pub id: TaskId,
    pub from: Status,
    pub to: Status,
    /// Whether its text, scope or priority change, too.
    pub text: bool,
}

impl Plan {
    pub fn is_empty(&self) -> bool {
        self.change.is_empty()
    }
}

/// Plans the restore of `revision`. Changes nothing.
pub fn plan(ctx: &Context, revision: u64) -> Result<Plan> {
    let (now, fixed, broken) = present(ctx)?;
    if revision >= now.revision {
        return Err(failure!(Code::Value, "the board is at revision {}", now.revision)
            .hint("name an earlier revision; `liza log` shows what each changed"));
    }
    let old = full_board(&ctx.store.rebuild(Some(revision))?)?;
    let change = RestoreRevision::between(&now, &old, &ctx.now);
    let ids = |pick: &dyn Fn(&crate::board::Task) -> bool, from: &Board| -> Vec<TaskId> {
        from.tasks.iter().filter(|task| pick(task)).map(|task| task.id.clone()).collect()
    };
    let (now_by_id, old_by_id) = (now.by_id(), old.by_id());
    let merged_then = |id: &TaskId| old_by_id.get(id).is_some_and(|task| task.status == Status::Merged);
    let tasks = change.tasks.iter().filter_map(|back| {
        let task = now_by_id.get(&back.text.id)?;
        let text = TaskEdit::of(task) != back.text;
        Some(Back { id: task.id.clone(), from: task.status, to: back.to, text })
    });
    Ok(Plan {
        revision,
        on: now.revision,
        tasks: tasks.collect(),
        goal: change.goal_description.is_some() || change.goal_spec_ref.is_some(),
        config: change.config.is_some(),
        landed: ids(&|task| task.status == Status::Merged && !merged_then(&task.id), &now),
        added: ids(&|task| task.status != Status::Merged && !old_by_id.contains_key(&task.id), &now),
        left: ids(&|task| !now_by_id.contains_key(&task.id), &old),
        broken,
        change,
        fixed,
    })
}

/// Makes the planned change; returns the new revision.
pub fn carry_out(ctx: &Context, plan: Plan) -> Result<u64> {
    if !ctx.is_human() {
        return Err(Failure::new(Code::HumanOnly, "only a person may restore a former revision")
            .hint("with --dry-run the command changes nothing"));
    }
    if let Some(fixed) = &plan.fixed {
        ctx.store.restore(fixed, LARGEST_STATE, &ctx.now)?;
    }
    if plan.change.is_empty() {
        return Ok(plan.on);
    }
    Ok(ctx.commit(plan.change)?.board.revision)
}

/// The present board, or if its file is damaged, as image and log rebuild it.
fn present(ctx: &Context) -> Result<(Board, Option<Decoded>, Option<String>)> {
    let broken = match ctx.store.read(&Needs::Everything) {
        Ok(snapshot) => match snapshot.warning {
            None => return Ok((snapshot.board, None, None)),
            Some(warning) if warning.starts_with(EDITED_BY_HAND) => {
                return Err(Failure::new(ErrorCode::BoardEdited, warning).hint(
                    "run any command first, such as `liza note`; `liza doctor` then shows the state of the edit",
                ));
            }
            Some(warning) => warning,
        },
        Err(StoreError::Invalid { message, .. }) if ctx.store.other_version()?.is_none() => message,
        Err(error) => return Err(error.into()),
    };
    let rebuilt = ctx.store.rebuild_published()?;
    let board = full_board(&rebuilt)?;
    Ok((board, Some(rebuilt), Some(broken)))
}

fn full_board(rebuilt: &Decoded) -> Result<Board> {
    let mut decoded = rebuilt.clone();
    decoded.load(&Needs::Everything).map_err(|why| invalid(&why))?;
    Ok(decoded.into_board())
}
