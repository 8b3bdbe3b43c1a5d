use clap::Args;
use serde_json::json;

use crate::board::graph::Graph;
use crate::board::rules::{AddTasks, NewTask};
use crate::board::task::Kind;
use crate::board::{Needs, any_overlap};
use crate::flow::Failure;
use crate::wire::plan::read_plan;

use super::super::Session;
use super::super::ui::Answer;
use super::task::commit;
use super::task_write::specs_found;

/// Create a whole graph of tasks from YAML or JSON, all or nothing (planner, people)
///
/// The file holds `tasks:` with a list, a bare list, or one task; `liza schema plan` describes it.
///
/// Example: liza plan plan.yaml --check
#[derive(Args)]
pub struct PlanArgs {
    /// The file, or - for standard input
    pub file: String,
    /// Only say what would be refused and what looks unwise
    #[arg(long)]
    pub check: bool,
    /// Leave the tasks as drafts
    #[arg(long)]
    pub draft: bool,
}

pub fn run(session: &mut Session, args: &PlanArgs) -> Result<Answer, Failure> {
    let tasks = read_plan(&session.input.document(&args.file)?)?;
    let specs_found = specs_found(&session.ctx, &tasks)?;
    let advice = advice(&tasks);
    let count = tasks.len();
    let add = AddTasks { tasks: tasks.clone(), finalize: !args.draft, specs_found };
    if args.check {
        let snapshot = session.ctx.read(&Needs::Nothing)?;
        let actor = snapshot.board.identify(&session.ctx.credentials)?;
        let named = crate::board::transition::Rule::asks_archive(&add, &snapshot.board);
        let archived = session.ctx.store.archived_among(&snapshot.board, named)?;
        let world = crate::board::World { archived, ..Default::default() };
        let call = crate::board::Call::new(actor, &session.ctx.now, &world);
        crate::board::transition::Rule::check(&add, &snapshot.board, &call)?;
        let graph = Graph::new(tasks.iter().map(|task| (&task.id, task.depends_on.as_slice())));
        let layers = graph.layers();
        let mut text = format!("{count} tasks; in this order:\n");
        for (number, layer) in layers.iter().enumerate() {
            let ids: Vec<&str> = layer.iter().map(|id| id.as_str()).collect();
            text.push_str(&format!("  {}. {}\n", number + 1, ids.join(", ")));
        }
        for line in &advice {
            text.push_str(&format!("advice: {line}\n"));
        }
        let data = json!({ "tasks": count, "groups": layers, "advice": advice });
        return Ok(Answer::new(data, text).at(snapshot.board.revision));
    }
    for line in &advice {
        session.ctx.narrate(format!("advice: {line}"));
    }
    commit(session, add, |data| {
        format!("added {count} tasks ({})", data["status"].as_str().unwrap_or_default())
    })
}

/// Things that are allowed and seldom wise.
fn advice(tasks: &[NewTask]) -> Vec<String> {
    const MOST_FILES: usize = 5;
    const MOST_STEPS: usize = 5;
    let mut found = Vec::new();
    for task in tasks {
        let title = task.title.to_lowercase();
        let only_tests = ["add tests", "write tests", "add unit tests", "test coverage", "write the tests"];
        if task.kind == Kind::Code && only_tests.iter().any(|words| title.contains(words)) {
            found.push(format!(
                "{} looks like a task for tests alone; tests belong to the task they prove",
                task.id
            ));
        }
        let files = task
            .scope
            .inside
            .iter()
            .filter(|path| !path.as_str().ends_with('/') && !path.as_str().contains('*'))
            .count();
        if files > MOST_FILES {
            found.push(format!(
                "{} names {files} files; more than {MOST_FILES} is too much for one task",
                task.id
            ));
        }
        if task.done_when.len() > MOST_STEPS {
            found.push(format!(
                "{} has {} criteria; more than {MOST_STEPS} is too much for one task",
                task.id,
                task.done_when.len()
            ));
        }
    }
    let owned =
        |task: &NewTask| if task.owns.is_empty() { task.scope.inside.clone() } else { task.owns.clone() };
    let graph = Graph::new(tasks.iter().map(|task| (&task.id, task.depends_on.as_slice())));
    for (at, task) in tasks.iter().enumerate() {
        for other in &tasks[at + 1..] {
            let ordered = graph.dependents(&task.id).contains(&other.id)
                || graph.dependents(&other.id).contains(&task.id);
            if ordered {
                continue;
            }
            let (a, b) = (owned(task), owned(other));
            if let Some((mine, theirs)) = any_overlap(&a, &b) {
                found.push(format!(
                    "{} and {} both own {mine} / {theirs}: one will wait for the other",
                    task.id, other.id
                ));
            }
        }
    }
    found
}
