use clap::Args;
use serde_json::json;

use crate::board::graph::Graph;
use crate::board::rules::{AddTasks, NewTask};
use crate::board::{Code, Needs, Refusal, TaskId};
use crate::flow::{Failure, views};
use crate::policy::plan_check::{self, Around, Checked, Finding, Order, Severity};
use crate::text::plural;
use crate::wire::plan::{Planned, Standing, read_planned};

use super::super::Session;
use super::super::exit;
use super::super::ui::Answer;
use super::task::commit;
use super::task_write::specs_found;

/// Create a whole graph of tasks from YAML or JSON, all or nothing (planner, people)
///
/// The file holds `tasks:` with a list, a bare list, one task, or a work graph: `id`, `nodes` (id, description, inputs,
/// outputs, dependencies, owner_role, tags) and perhaps `edges`. `liza schema plan` and `liza schema graph` describe both.
/// Nodes of a work graph that lack a spec or criteria leave the whole plan a draft.
///
/// --check looks for circles, dangling references, missing or vague criteria, tasks for tests alone, tasks too large or too
/// small, paths that two tasks own, and shows the groups and the critical path that result. Exit 1 if `plan` would refuse it.
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
    let count = tasks.len();
    let add = AddTasks {
        tasks: tasks.clone(),
        finalize: !args.draft && lacking.is_empty(),
        specs_found,
        as_graph: planned.as_graph,
        graph_id: planned.graph_id.clone(),
    };
    if args.check {
        let judged = judge(session, &add)?;
        return answer(session, &planned, judged, &lacking);
    }
    // What keeps it from being looked at is said by the commit, which may mend it.
    if let Ok(judged) = judge(session, &add) {
        for finding in judged.remarks(&lacking) {
            session.ctx.narrate(format!("{}: {}", finding.severity.as_str(), finding.message));
        }
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

/// A plan, what was found in it, and what the board says to it.
struct Judged {
    checked: Checked,
    refusal: Option<Refusal>,
    revision: u64,
}

impl Judged {
    /// What is not refused and yet worth saying; what a graph lacks is said at the end.
    fn remarks(&self, lacking: &[Lacking]) -> impl Iterator<Item = &Finding> {
        let said_later = !lacking.is_empty();
        self.checked.findings.iter().filter(move |finding| {
            finding.severity != Severity::Error && !(said_later && finding.code.ends_with("_missing"))
        })
    }
}

/// Looks at the plan as it is, and asks the board whether it would take it. Changes nothing.
fn judge(session: &Session, add: &AddTasks) -> Result<Judged, Failure> {
    let snapshot = session.ctx.read(&Needs::Nothing)?;
    let board = &snapshot.board;
    let actor = board.identify(&session.ctx.credentials)?;
    let parents = add.tasks.iter().filter_map(|task| task.parent.clone());
    let named = crate::board::transition::Rule::asks_archive(add, board).into_iter().chain(parents).collect();
    let archived = session.ctx.store.archived_among(board, named)?;
    let known = board.tasks.iter().map(|task| task.id.clone()).chain(archived.keys().cloned()).collect();
    let around = Around {
        known: &known,
        board: &Graph::of(&board.tasks),
        specs_found: &add.specs_found,
        finalize: add.finalize,
        as_graph: add.as_graph,
    };
    let mut checked = plan_check::check(&add.tasks, &around);
    let world = crate::board::World { archived, ..Default::default() };
    let call = crate::board::Call::new(actor, &session.ctx.now, &world);
    let refusal = crate::board::transition::Rule::check(add, board, &call).err();
    if let Some(refusal) = &refusal
        && !is_said(&checked.findings, refusal)
    {
        checked.findings.insert(0, Finding::refusal(&refusal.message, refusal.hint.as_deref()));
    }
    Ok(Judged { checked, refusal, revision: board.revision })
}

/// Whether one of the findings says what the board would refuse.
fn is_said(findings: &[Finding], refusal: &Refusal) -> bool {
    let codes: &[&str] = match refusal.code {
        Code::Cycle => &["cycle"],
        Code::DependencyMissing => &["dangling_reference"],
        Code::Incomplete => &["criteria_missing", "spec_missing", "scope_missing"],
        Code::Limit => &["timebox_over_cap"],
        _ => &[],
    };
    findings.iter().any(|finding| finding.severity == Severity::Error && codes.contains(&finding.code))
}

fn answer(
    session: &Session,
    planned: &Planned,
    judged: Judged,
    lacking: &[Lacking],
) -> Result<Answer, Failure> {
    let Checked { findings, order, split } = &judged.checked;
    let advice: Vec<&str> = judged.remarks(&[]).map(|finding| finding.message.as_str()).collect();
    let data = json!({
        "tasks": planned.tasks.len(), "groups": order.groups, "waits": order.waits,
        "critical_path": order.critical_path, "split": split, "findings": findings, "advice": advice,
        "remarks": planned.remarks, "lacking": lacking_data(lacking), "graph_id": planned.graph_id,
    });
    let revision = judged.revision;
    if session.ui.json
        && let Some(refusal) = judged.refusal
    {
        return Err(Failure::from(refusal).with_data(data, revision));
    }
    let mut text = order_words(planned.tasks.len(), order);
    let errors = findings.iter().filter(|finding| finding.severity == Severity::Error);
    for finding in errors.chain(judged.remarks(lacking)) {
        text.push_str(&format!("{}: {}\n", finding.severity.as_str(), finding.message));
        text.push_str(&format!("  hint: {}\n", finding.hint));
    }
    for line in &planned.remarks {
        text.push_str(&format!("note: {line}\n"));
    }
    for line in lacking_words(lacking) {
        text.push_str(&format!("{line}\n"));
    }
    let mut answer = Answer::new(data, text).at(revision);
    if judged.refusal.is_some() {
        answer.text.push_str("nothing was added; `liza plan` would refuse this\n");
        answer.exit = exit::REFUSED;
    }
    Ok(answer)
}

fn order_words(count: usize, order: &Order) -> String {
    let ids =
        |ids: &[TaskId], between: &str| ids.iter().map(TaskId::as_str).collect::<Vec<_>>().join(between);
    let mut text = format!("{}; in this order:\n", plural(count, "task"));
    for (number, group) in order.groups.iter().enumerate() {
        text.push_str(&format!("  {}. {}\n", number + 1, ids(group, ", ")));
    }
    let path = &order.critical_path;
    if path.tasks.len() > 1 {
        let length = match path.minutes {
            Some(minutes) => format!("{minutes} minutes"),
            None => plural(path.tasks.len(), "task"),
        };
        text.push_str(&format!("critical path ({length}): {}\n", ids(&path.tasks, " → ")));
    }
    text
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

/// A task and what it lacks to be claimable.
type Lacking = (TaskId, Vec<&'static str>);

fn lacking(tasks: &[NewTask], specs_found: &[TaskId]) -> Vec<Lacking> {
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

fn lacking_data(lacking: &[Lacking]) -> serde_json::Value {
    lacking.iter().map(|(task, missing)| (task.to_string(), json!(missing))).collect()
}

fn lacking_words(lacking: &[Lacking]) -> Vec<String> {
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
