use clap::Arg;

use super::flags::TaskFlags;
use crate::cli::prelude::*;
use crate::policy::plan_check::{Finding, ground};

/// Add a task as a draft (planner, people)
///
/// With --finalize, agents can claim the task at once. A whole task may come as YAML or JSON: liza task add --from
/// FILE (or - for standard input). There, `done_when` may be a block with one criterion per line, and `scope` a block
/// with the lines `IN: PATH, PATH` and `OUT: PATH`, as in plans.
///
/// Without --id, liza makes the id from the title: "Greet by name" becomes greet-by-name.
///
/// Example: liza task add --id t1 --title "Greet by name" --spec specs/vision.md --done "prints Hello, Ada" --in src/ --in tests/ --finalize
#[derive(Args)]
#[command(mut_args(of_new_task))]
pub struct AddArgs {
    /// Id of the task: letters, digits, `_` and `-` (default: made from the title)
    #[arg(long, value_hint = ValueHint::Other)]
    pub id: Option<TaskId>,
    #[command(flatten)]
    pub text: TaskFlags,
    /// Make the task claimable in the same step
    #[arg(long)]
    pub finalize: bool,
    /// Take the task from a YAML or JSON file, or - for standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["id", "title"], value_hint = ValueHint::AnyPath)]
    pub from: Option<String>,
}

/// What a new task needs, and what it has by default; the same flags edit a task.
fn of_new_task(arg: Arg) -> Arg {
    match arg.get_id().as_str() {
        "title" => arg.required_unless_present("from"),
        "priority" => arg.default_value("0"),
        "kind" => arg.default_value("code"),
        "risk" => arg.default_value("low"),
        "role" => arg.default_value("coder"),
        _ => arg,
    }
}

impl OnBoard for AddArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let board = session.ctx.read(&Needs::Nothing)?.board;
        let task = match (&self.from, &self.id) {
            (None, id) => {
                let made = || {
                    let title = session.input.text(self.text.title.as_deref().unwrap_or_default())?;
                    crate::flow::free_id::for_title(&session.ctx, &board, &title, "task")
                };
                let id = id.clone().map_or_else(made, Ok)?;
                let mut task = NewTask::blank(id);
                self.text.write_over(session, &mut task)?;
                task
            }
            (Some(file), _) => session.input.value::<NewTask>(file)?,
        };
        let specs = session.ctx.pin_spec(&task, &board)?;
        let doubts = doubts(session, &board, std::slice::from_ref(&task));
        let added = session.commit(AddTasks::one(task, self.finalize, specs), |planned| {
            let ids = commas(&planned.tasks);
            let next = match planned.status {
                Status::Draft => format!("; agents can claim it after `liza task finalize {ids}`"),
                _ => String::new(),
            };
            format!("added {ids} ({}){next}", planned.status)
        })?;
        Ok(with_doubts(session, added, doubts))
    }
}

/// Warnings about these tasks from the repository; the tasks are added anyway.
pub fn doubts(session: &Session, board: &Board, tasks: &[NewTask]) -> Vec<Finding> {
    let found = crate::flow::ground::of_tasks(&session.ctx, board, tasks);
    tasks
        .iter()
        .flat_map(|task| found.get(&task.id).map(|at| ground::of_task(task, at)).unwrap_or_default())
        .collect()
}

/// Prints warnings for people and for programs.
pub fn with_doubts(session: &Session, mut answer: Answer, doubts: Vec<Finding>) -> Answer {
    for finding in &doubts {
        session.ctx.narrate(format!("{}: {} ({})", finding.severity.as_str(), finding.message, finding.hint));
    }
    if !doubts.is_empty() {
        answer.data["findings"] = json!(doubts);
    }
    answer
}
