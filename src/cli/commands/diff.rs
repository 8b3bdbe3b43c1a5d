use clap::Args;
use serde_json::json;

use crate::board::Needs;
use crate::flow::Failure;
use crate::flow::claim::integration_head;
use crate::flow::init::parse_task;
use crate::git::{Color, query};

use super::super::ui::Answer;
use super::super::{Session, view};

/// Show what a task changes: its branch against where it left integration
///
/// Example: liza diff t1
#[derive(Args)]
pub struct DiffArgs {
    /// The task
    pub task: String,
}

pub fn run(session: &mut Session, args: &DiffArgs) -> Result<Answer, Failure> {
    let id = parse_task(&args.task)?;
    let snapshot = session.ctx.read(&Needs::task(&id))?;
    let archived = session.ctx.store.archived_beside(&snapshot.board, &id)?;
    let Some(task) = snapshot.board.task(&id).or(archived.as_ref()) else {
        return Err(view::unknown_task(&snapshot.board, &id));
    };
    let body = task.body();
    let git = session.ctx.query()?;
    // A merged or submitted task shows what was judged; one in progress shows its branch.
    let (base, head) = match (&body.submission, body.attempt()) {
        (Some(submission), _) => (submission.merge_base.clone(), submission.commit.clone()),
        (None, Some(attempt)) => {
            let head = git.head_of_branch(&attempt.branch)?.ok_or_else(|| {
                Failure::new("git.ref", format!("the branch `{}` of {id} is gone", attempt.branch))
                    .hint("`liza doctor` says what is left")
            })?;
            let integration = integration_head(&session.ctx, &snapshot.board)?;
            (git.merge_base(&integration, &head)?.unwrap_or_else(|| attempt.base_commit.clone()), head)
        }
        (None, None) => {
            return Err(Failure::new("refused.transition", format!("nobody has worked on `{id}` yet"))
                .hint(format!("`liza task claim {id}` starts it")));
        }
    };
    let files: Vec<String> = git.changed_paths(&base, &head)?.into_iter().map(|change| change.path).collect();
    let plain = query::diff_text(&session.ctx.repo, &base, &head, Color::Never)?;
    let mut answer = Answer::new(
        json!({ "task": id, "base": base, "head": head, "files": files, "diff": plain }),
        plain.clone(),
    );
    if session.ui.color {
        answer.colored = Some(view::colored_diff(&plain));
    }
    Ok(answer.at(snapshot.board.revision))
}
