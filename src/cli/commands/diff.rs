use crate::cli::prelude::*;
use crate::flow::attempt::integration_head;
use crate::git::query;

/// Show what a task changes
///
/// Compares its branch with the commit of integration from which it started.
///
/// Example: liza diff t1
#[derive(Args)]
pub struct DiffArgs {
    /// Id of the task (optional inside its worktree)
    pub task: Option<TaskId>,
}

impl OnBoard for DiffArgs {
    const ACCESS: Access = Access::Reads;

    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let id = &session.task_or_here(self.task.as_ref())?;
        let snapshot = session.ctx.read(&Needs::task(id))?;
        let archived = session.ctx.store.archived_beside(&snapshot.board, id)?;
        let Some(task) = snapshot.board.task(id).or(archived.as_ref()) else {
            return Err(view::unknown_task(&snapshot.board, id));
        };
        let body = task.body();
        let git = session.ctx.query()?;
        // For a merged or submitted task, the reviewed commit; for one in progress, its branch.
        let (base, head) = match (&body.submission, body.attempt()) {
            (Some(submission), _) => (submission.merge_base.clone(), submission.commit.clone()),
            (None, Some(attempt)) => {
                let head = git.head_of_branch(&attempt.branch)?.ok_or_else(|| {
                    let text = format!("the branch `{}` of {id} is gone", attempt.branch);
                    Failure::new(ErrorCode::GitRef, text).hint("`liza doctor` shows what is left")
                })?;
                let integration = integration_head(&session.ctx, &snapshot.board)?;
                (git.merge_base(&integration, &head)?.unwrap_or_else(|| attempt.base_commit.clone()), head)
            }
            (None, None) => {
                return Err(Failure::new(Code::Transition, format!("no agent has worked on `{id}` yet"))
                    .hint(format!("`liza task claim {id}` starts it")));
            }
        };
        let files: Vec<String> =
            git.changed_paths(&base, &head)?.into_iter().map(|change| change.path).collect();
        let plain = query::diff_text(&session.ctx.repo, &base, &head)?;
        let data = json!({ "task": id, "base": base, "head": head, "files": files, "diff": plain });
        let mut answer = Answer::new(data, plain.clone()).verbatim();
        if session.ui.color {
            answer.colored = Some(view::colored_diff(&plain));
        }
        Ok(answer.at(snapshot.board.revision))
    }
}
