use super::flags::TaskFlags;
use crate::cli::prelude::*;

/// Add a task as a draft, or claimable at once with --finalize (planner, people)
///
/// A whole task may come as YAML or JSON: liza task add --from FILE (or - for standard input). There `done_when` may be a block with a
/// criterion in each line, and `scope` a block with the lines `IN: PATH, PATH` and `OUT: PATH`, as in plans.
///
/// Example: liza task add --id t1 --title "Greet by name" --spec specs/vision.md --done "prints Hello, Ada" --in src/ --in tests/ --finalize
#[derive(Args)]
#[command(
    mut_arg("title", |title| title.required_unless_present("from")),
    mut_arg("priority", |priority| priority.default_value("0")),
    mut_arg("kind", |kind| kind.default_value("code")),
    mut_arg("risk", |risk| risk.default_value("low")),
    mut_arg("role", |role| role.default_value("coder")),
)]
pub struct AddArgs {
    /// Its id: letters, digits, `_` and `-`
    #[arg(long, required_unless_present = "from", value_hint = ValueHint::Other)]
    pub id: Option<TaskId>,
    #[command(flatten)]
    pub text: TaskFlags,
    /// Make it claimable in the same step
    #[arg(long)]
    pub finalize: bool,
    /// Take the task from a YAML or JSON file, or - for standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["id", "title"], value_hint = ValueHint::AnyPath)]
    pub from: Option<String>,
}

impl OnBoard for AddArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let task = match (&self.from, &self.id) {
            (None, Some(id)) => {
                let mut task = NewTask::blank(id.clone());
                self.text.write_over(session, &mut task)?;
                task
            }
            (from, _) => {
                let file = from.as_deref().unwrap_or_default();
                session.input.value::<NewTask>(file)?
            }
        };
        let specs_found = specs_found(&session.ctx, std::slice::from_ref(&task))?;
        let id = task.id.clone();
        session.commit(AddTasks::one(task, self.finalize, specs_found), |planned| {
            format!("added {id} ({})", planned.status)
        })
    }
}

/// Those of the tasks whose spec is there; one that could not be a spec at all is refused.
pub fn specs_found(ctx: &Context, tasks: &[NewTask]) -> Result<Vec<TaskId>, Failure> {
    let mut found = Vec::new();
    for task in tasks {
        if let Some(spec) = &task.spec_ref
            && ctx.spec_found(spec)?
        {
            found.push(task.id.clone());
        }
    }
    Ok(found)
}
