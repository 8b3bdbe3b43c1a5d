use crate::cli::prelude::*;
use crate::cli::view::Relations;
use crate::store::Snapshot;
use crate::wire::flat::task_value;

/// Show a task with its history
///
/// Example: liza task show t1 --feedback
#[derive(Args)]
pub struct ShowArgs {
    /// Id of the task (optional inside its worktree)
    pub id: Option<TaskId>,
    /// Only what the last review asks for
    #[arg(long)]
    pub feedback: bool,
}

impl OnBoard for ShowArgs {
    const ACCESS: Access = Access::ReadsAnyVersion;

    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let id = &session.task_or_here(self.id.as_ref())?;
        let snapshot = session.ctx.read_with(|board| with_dependencies(board, id))?;
        let Some(task) = snapshot.board.task(id) else {
            return show_archived(session, &snapshot, id);
        };
        if self.feedback {
            let data = json!({
                "task": id, "reason": task.body().rejection_reason, "feedback": task.body().rejection_feedback,
                "issues": task.body().issues.iter().filter(|issue| issue.is_open()).collect::<Vec<_>>(),
                "handoff": snapshot.board.rest.handoff.iter().rfind(|handoff| &handoff.task_id == id),
                "answer": task.body().answer,
            });
            return Ok(Answer::new(data, view::feedback(&snapshot.board, task)).at(snapshot.board.revision));
        }
        let relations = Relations::of(&session.ctx, &snapshot, task)?;
        let text = match session.ui.json {
            true => String::new(),
            false => view::task(&session.ctx, &snapshot.board, task, &relations)?,
        };
        let data = || {
            let mut data = task_value(task);
            if !relations.children.is_empty() {
                data["children"] = json!(relations.children);
            }
            if task.is_slice() {
                data["ssot_id"] = json!(crate::flow::dispatch::scenario_of(task));
            }
            if !relations.inputs.is_empty() {
                data["inputs_from"] = json!(relations.inputs);
            }
            data
        };
        Ok(session.answer(data, || text).at(snapshot.board.revision))
    }
}

/// The task and its dependencies, with their bodies.
fn with_dependencies(board: &Board, id: &TaskId) -> Needs {
    let depends_on = board.task(id).map(|task| &task.depends_on[..]).unwrap_or_default();
    let known = depends_on.iter().filter(|other| board.task(other).is_some());
    Needs::Tasks(std::iter::once(id).chain(known).cloned().collect())
}

/// Shows an archived task, by its exact id.
fn show_archived(session: &Session, snapshot: &Snapshot, id: &TaskId) -> Result<Answer, Failure> {
    let board = &snapshot.board;
    let archived = match board.task_alike(id) {
        Some(_) => None,
        None => session.ctx.store.archived_task(id)?,
    };
    match archived {
        Some(task) if &task.id == id => {
            let mut data = task_value(&task);
            data["archived"] = json!(true);
            let relations = Relations::of(&session.ctx, snapshot, &task)?;
            let mut text = view::task(&session.ctx, board, &task, &relations)?;
            text.line(format!("archived:  {}", session.ctx.store.archived_file(id).display()));
            Ok(Answer::new(data, text).at(board.revision))
        }
        Some(task) => {
            Err(view::unknown_task(board, id).hint(format!("did you mean `{}`? It is archived", task.id)))
        }
        None => Err(view::unknown_task(board, id)),
    }
}
