use std::collections::BTreeSet;

use clap::Args;
use serde_json::json;

use crate::board::graph::Graph;
use crate::board::rules::{AddTasks, NewTask};
use crate::board::task::Kind;
use crate::board::{Needs, PathPattern, TaskId, any_overlap};
use crate::flow::{Failure, views};
use crate::wire::plan::{Planned, Standing, read_planned};

use super::super::Session;
use super::super::ui::Answer;
use super::task::commit;
use super::task_write::specs_found;

/// Create a whole graph of tasks from YAML or JSON, all or nothing (planner, people)
///
/// The file holds `tasks:` with a list, a bare list, one task, or a work graph: `id`, `nodes` (id, description, inputs,
/// outputs, dependencies, owner_role, tags) and perhaps `edges`. `liza schema plan` and `liza schema graph` describe both.
/// Nodes of a work graph that lack a spec or criteria leave the whole plan a draft.
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
    /// The spec of tasks that name none
    #[arg(long, value_name = "FILE")]
    pub spec: Option<String>,
    /// A criterion of tasks that have none
    #[arg(long, value_name = "CRITERION")]
    pub done: Vec<String>,
}

pub fn run(session: &mut Session, args: &PlanArgs) -> Result<Answer, Failure> {
    let bytes = session.input.document(&args.file)?;
    let root = session.ctx.root().to_owned();
    let mut planned = read_planned(&bytes, &|path| standing(&root, path))?;
    fill_in(&mut planned.tasks, args.spec.as_deref(), &session.input.texts(&args.done)?);
    check_window(session, &planned)?;
    if planned.as_graph {
        planned.tasks.iter().try_for_each(|task| super::known_role(session, &task.role))?;
    }
    let tasks = &planned.tasks;
    let specs_found = specs_found(&session.ctx, tasks)?;
    // A work graph has no place for what a task needs to be claimable; that can follow.
    let lacking = if planned.as_graph { lacking(tasks, &specs_found) } else { Vec::new() };
    let advice = advice(tasks);
    let count = tasks.len();
    let add = AddTasks {
        tasks: tasks.clone(),
        finalize: !args.draft && lacking.is_empty(),
        specs_found,
        as_graph: planned.as_graph,
        graph_id: planned.graph_id.clone(),
    };
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
        for line in &planned.remarks {
            text.push_str(&format!("note: {line}\n"));
        }
        for line in lacking_words(&lacking) {
            text.push_str(&format!("{line}\n"));
        }
        let data = json!({
            "tasks": count, "groups": layers, "advice": advice, "remarks": planned.remarks,
            "lacking": lacking_data(&lacking), "graph_id": planned.graph_id,
        });
        return Ok(Answer::new(data, text).at(snapshot.board.revision));
    }
    for line in &advice {
        session.ctx.narrate(format!("advice: {line}"));
    }
    for line in &planned.remarks {
        session.ctx.narrate(format!("note: {line}"));
    }
    let mut answer = commit(session, add, |data| {
        format!("added {count} tasks ({})", data["status"].as_str().unwrap_or_default())
    })?;
    for line in lacking_words(&lacking) {
        session.ctx.narrate(line);
    }
    if planned.as_graph {
        answer.data["lacking"] = lacking_data(&lacking);
    }
    views::refresh(&session.ctx);
    Ok(answer)
}

/// What the person's checkout has there; a link is neither, for nobody may work through it.
fn standing(root: &std::path::Path, path: &str) -> Option<Standing> {
    let path = crate::board::RepoPath::new(path).ok()?;
    let kind = std::fs::symlink_metadata(root.join(path.as_str())).ok()?.file_type();
    if kind.is_dir() {
        Some(Standing::Directory)
    } else if kind.is_file() {
        Some(Standing::File)
    } else {
        None
    }
}

fn fill_in(tasks: &mut [NewTask], spec: Option<&str>, done: &[String]) {
    for task in tasks {
        if task.spec_ref.is_none() {
            task.spec_ref = spec.map(str::to_owned);
        }
        if task.done_when.is_empty() {
            task.done_when = done.to_vec();
        }
    }
}

/// How many work at once is one setting, and people's: a plan that counts on another one is told so.
fn check_window(session: &Session, planned: &Planned) -> Result<(), Failure> {
    let Some(wanted) = planned.max_parallel else { return Ok(()) };
    let window = session.ctx.project_config()?.run.window;
    if wanted == window {
        return Ok(());
    }
    Err(Failure::new(
        "refused.value",
        format!("the plan says max_parallel {wanted}, but the team works with {window} at once"),
    )
    .hint(format!("set `run: {{window: {wanted}}}` in liza.yaml, or take max_parallel out of the plan"))
    .detail("max_parallel", window))
}

/// What each task lacks to be claimable.
fn lacking(tasks: &[NewTask], specs_found: &[TaskId]) -> Vec<(TaskId, Vec<&'static str>)> {
    tasks
        .iter()
        .filter_map(|task| {
            let mut missing = Vec::new();
            if task.done_when.is_empty() {
                missing.push("done_when");
            }
            if !specs_found.contains(&task.id) {
                missing.push("spec_ref");
            }
            if task.scope.inside.is_empty() {
                missing.push("scope");
            }
            (!missing.is_empty()).then(|| (task.id.clone(), missing))
        })
        .collect()
}

fn lacking_data(lacking: &[(TaskId, Vec<&'static str>)]) -> serde_json::Value {
    lacking.iter().map(|(task, missing)| (task.to_string(), json!(missing))).collect()
}

fn lacking_words(lacking: &[(TaskId, Vec<&'static str>)]) -> Vec<String> {
    if lacking.is_empty() {
        return Vec::new();
    }
    let mut lines: Vec<String> = lacking
        .iter()
        .map(|(task, missing)| {
            format!("{task} lacks {}", missing.join(", ").replace("scope", "scope (and owns)"))
        })
        .collect();
    lines.push(
        "so the plan is a draft: write what is missing into the DRAFT tasks in .liza/state.yaml, then `liza task finalize --all`; \
         a plan can be given it with --spec FILE and --done CRITERION, or with `defaults:` in the file"
            .to_owned(),
    );
    lines
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
    let after: Vec<_> = tasks.iter().map(|task| graph.dependents(&task.id)).collect();
    let owned: Vec<Vec<PathPattern>> = tasks.iter().map(owned).collect();
    let begins: Vec<_> = owned.iter().map(|paths| first_names(paths)).collect();
    for (at, task) in tasks.iter().enumerate() {
        for (later, other) in tasks.iter().enumerate().skip(at + 1) {
            if !may_meet(&begins[at], &begins[later])
                || after[at].contains(&other.id)
                || after[later].contains(&task.id)
            {
                continue;
            }
            if let Some((mine, theirs)) = any_overlap(&owned[at], &owned[later]) {
                found.push(format!(
                    "{} and {} both own {mine} / {theirs}: one will wait for the other",
                    task.id, other.id
                ));
            }
        }
    }
    found
}

/// The first names of these paths where all are plain letters; nothing where they could be anything. A plan of a thousand tasks
/// has half a million pairs, and most of them need no closer look.
fn first_names(paths: &[PathPattern]) -> Option<BTreeSet<String>> {
    let plain = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
    let first = |path: &PathPattern| path.as_str().split('/').next().unwrap_or_default().to_ascii_lowercase();
    paths.iter().map(first).map(|name| plain(&name).then_some(name)).collect()
}

fn may_meet(one: &Option<BTreeSet<String>>, other: &Option<BTreeSet<String>>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => !one.is_disjoint(other),
        _ => true,
    }
}
