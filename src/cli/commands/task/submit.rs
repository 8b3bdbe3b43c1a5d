use crate::cli::prelude::*;

/// Submit the work of a task for review
///
/// liza checks that everything is committed, inside the scope and announced in the checkpoint, and runs the
/// checkpoint's validation command itself. For a task of kind report, submit one JSON value of its role's schema
/// instead: --result FILE.
///
/// Example: liza task submit t1
#[derive(Args)]
pub struct SubmitArgs {
    /// Id of the task (optional inside its worktree)
    #[arg(add = Completer::Tasks(|status| status == Status::Working))]
    pub id: Option<TaskId>,
    /// Only run the validation (exit 7 if it fails); submit nothing
    #[arg(long)]
    pub check: bool,
    /// Submit the result of a report: a file with one JSON value, or - for standard input
    #[arg(long, value_name = "FILE", conflicts_with = "check", value_hint = ValueHint::AnyPath)]
    pub result: Option<String>,
}

impl OnBoard for SubmitArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let id = &session.task_or_here(self.id.as_ref())?;
        if self.check {
            let ran = crate::flow::submit::check_validation(&session.ctx, id)?;
            let word = if ran.is_green() { "green" } else { "red" };
            let red = (!ran.is_green()).then(|| {
                Failure::new(Code::ValidationRed, format!("the validation of `{id}` is red"))
                    .hint("fix the work and check again; nothing was submitted")
            });
            let data =
                json!({ "task": id, "green": ran.is_green(), "exit": ran.exit, "problem": ran.problem });
            return Ok(Answer::new(data, format!("the validation of {id} is {word}")).failed_if(red));
        }
        if let Some(file) = &self.result {
            let bytes = session.input.document(file)?;
            session.seal_request()?;
            refuse_former_worktree(session, id)?;
            crate::flow::recover::before(&session.ctx, id)?;
            let (submitted, revision) =
                crate::flow::results::submit(&session.ctx, id, session.ctx.epoch_of(id), &bytes)?;
            let mut text = format!(
                "the result of {id} ({}) is kept; it is {}",
                submitted.result.as_str(),
                submitted.status
            );
            if !submitted.untracked.is_empty() {
                text.line(format!(
                    "\nnot submitted, left in the worktree: {}",
                    submitted.untracked.join(", ")
                ));
            }
            return Ok(Answer::new(submitted, text).at(revision));
        }
        session.seal_request()?;
        refuse_former_worktree(session, id)?;
        crate::flow::recover::before(&session.ctx, id)?;
        let (submitted, revision) = crate::flow::submit::submit(&session.ctx, id)?;
        let text =
            format!("{id} is READY_FOR_REVIEW at {}; another agent reviews it", submitted.review_commit);
        Ok(Answer::new(submitted, text).at(revision))
    }
}

/// Refuses a submission from a former worktree: its content would not be submitted.
pub fn refuse_former_worktree(session: &Session, id: &TaskId) -> Result<(), Failure> {
    let Some(top) =
        std::env::current_dir().ok().and_then(|dir| crate::git::repo::discover(&dir).ok()?.linked)
    else {
        return Ok(());
    };
    let (root, home) = (session.ctx.root(), session.ctx.machine.worktrees());
    let name = top.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    if top.path.parent() != Some(home) || crate::flow::worktrees::task_of(&name).as_ref() != Some(id) {
        return Ok(());
    }
    let snapshot = session.ctx.read(&Needs::task(id))?;
    let Some(attempt) = snapshot.board.task(id).and_then(|task| task.body().attempt()) else { return Ok(()) };
    if root.join(&attempt.worktree) == top.path {
        return Ok(());
    }
    Err(Failure::new(
        Code::LeaseLost,
        format!(
            "you are in `{name}`, a former worktree of `{id}`; the work continues in {}",
            attempt.worktree
        ),
    )
    .hint("go there; the files here stay, and their commits are kept under refs/liza/attempts"))
}
