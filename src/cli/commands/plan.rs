use crate::board::Refusal;
use crate::board::goals::Specs;
use crate::board::graph::Graph;
use crate::board::route::Way;
use crate::cli::prelude::*;
use crate::policy::plan_check;
use crate::policy::plan_check::{Around, Checked, Finding, Order, Severity};
use crate::wire::plan::{Planned, Standing, read_planned};

/// Create all tasks of a plan file, or none of them
///
/// For planners and people. The file holds `tasks:` with a list, a bare list, one task, a work graph (`id`, `nodes`,
/// optionally `edges`) or `subcontracts` (`parent_id`, `assigned_role`, `blocks`, `execution_mode`, named inputs and
/// expected outputs). `workstreams:` (`id`, `goal`, `ownership_paths`, …) opens workstreams that own different paths; each gets
/// a task for a supervisor, who plans it first. `liza schema plan`, `liza schema graph` and `liza schema subcontracts` describe them. If a node
/// or subcontract lacks a spec or criteria, all tasks of the plan stay drafts; `liza task edit` completes them.
///
/// --check looks for cycles, dangling references, missing or vague criteria, tasks for tests alone, tasks that are
/// too large or too small, and paths that two tasks own; it shows the resulting groups and the critical path. Exit 1
/// if `plan` would refuse the file.
///
/// Example: liza plan plan.yaml --check
#[derive(Args)]
pub struct PlanArgs {
    /// Plan file, or - for standard input
    #[arg(value_hint = ValueHint::AnyPath)]
    pub file: String,
    /// Only report errors and warnings; create nothing
    #[arg(long)]
    pub check: bool,
    /// Leave the tasks as drafts
    #[arg(long)]
    pub draft: bool,
    /// Spec for tasks that name none
    #[arg(long, visible_alias = "spec-ref", value_name = "FILE", value_hint = ValueHint::AnyPath)]
    pub spec: Option<String>,
    /// Acceptance criterion for tasks that have none
    #[arg(long, visible_alias = "done-when", value_name = "CRITERION")]
    pub done: Vec<String>,
}

impl OnBoard for PlanArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let bytes = session.input.document(&self.file)?;
        let root = session.ctx.root().to_owned();
        let mut planned = read_planned(&bytes, &|path| path_kind(&root, path))?;
        for stream in &planned.workstreams {
            planned.tasks.push(plan_task(stream)?);
        }
        fill_in(&mut planned.tasks, self.spec.as_deref(), &session.input.texts(&self.done)?);
        check_window(session, &planned)?;
        if planned.as_graph {
            planned.tasks.iter().try_for_each(|task| session.known_role(&task.role))?;
        }
        let tasks = &planned.tasks;
        let (Specs { found: specs_found, pins }, texts) = session.ctx.find_specs(tasks)?;
        // A work graph may lack what a task needs to be claimable; `liza task edit` adds it later.
        let lacking = if planned.as_graph { lacking(tasks, &specs_found) } else { Vec::new() };
        let count = tasks.len();
        let add = AddTasks {
            tasks: tasks.clone(),
            finalize: !self.draft && lacking.is_empty(),
            specs_found,
            as_graph: planned.as_graph,
            graph_id: planned.graph_id.clone(),
            pins,
            single: false,
            strict: true,
            workstreams: planned.workstreams.clone(),
            slices: true,
        };
        if self.check {
            let judged = judge(session, &add)?;
            return answer(session, &planned, judged, &lacking);
        }
        session.ctx.keep_texts(&texts)?;
        // If the plan cannot be checked, the commit reports why.
        if let Ok(judged) = judge(session, &add) {
            judged.refuse_errors_of_routed_goal()?;
            for finding in judged.remarks(&lacking) {
                session.ctx.narrate(format!("{}: {}", finding.severity.as_str(), finding.message));
            }
        }
        planned.remarks.iter().for_each(|line| session.ctx.narrate(format!("note: {line}")));
        let mut answer = session.commit(add, |planned| {
            format!("added {} ({})", crate::text::plural(count, "task"), planned.status)
        })?;
        lacking_words(&lacking).iter().for_each(|line| session.ctx.narrate(line));
        if planned.as_graph {
            answer.data["lacking"] = lacking_data(&lacking);
        }
        views::refresh(&session.ctx);
        Ok(answer)
    }
}

/// A plan, the findings about it, and the refusal of the board, if any.
struct Judged {
    checked: Checked,
    refusal: Option<Refusal>,
    revision: u64,
}

impl Judged {
    /// For a routed goal, refuses errors of the check even if the rules of the board allow them.
    fn refuse_errors_of_routed_goal(&self) -> Result<(), Failure> {
        let sized = ["micro_slice", "timebox_band", "split_unjustified"];
        let errors = self.checked.findings.iter().filter(|finding| finding.severity == Severity::Error);
        match errors.into_iter().find(|finding| sized.contains(&finding.code)) {
            Some(finding) => Err(Failure::new(Code::Limit, finding.message.clone())
                .hint(finding.hint.clone())
                .detail("finding", finding.code)),
            None => Ok(()),
        }
    }

    /// Warnings; what a graph lacks is printed at the end.
    fn remarks(&self, lacking: &[Lacking]) -> impl Iterator<Item = &Finding> {
        let said_later = !lacking.is_empty();
        self.checked.findings.iter().filter(move |finding| {
            finding.severity != Severity::Error && !(said_later && finding.code.ends_with("_missing"))
        })
    }
}

/// Checks the plan and asks the board whether it would refuse it. Changes nothing.
fn judge(session: &Session, add: &AddTasks) -> Result<Judged, Failure> {
    let snapshot = session.ctx.read(&Needs::Nothing)?;
    let board = &snapshot.board;
    let actor = board.identify(&session.ctx.credentials)?;
    let parents = add.tasks.iter().filter_map(|task| task.parent.clone());
    let named = crate::board::verb::Verb::asks_archive(add, board).into_iter().chain(parents).collect();
    let archived = session.ctx.store.archived_among(board, named)?;
    let known = board.tasks.iter().map(|task| task.id.clone()).chain(archived.keys().cloned()).collect();
    let around = Around {
        known: &known,
        board: &Graph::of(&board.tasks),
        specs_found: &add.specs_found,
        finalize: add.finalize,
        as_graph: add.as_graph,
        strict: board.route().is_some_and(|route| route.route == Way::Multi),
        ground: &crate::flow::ground::of_tasks(&session.ctx, board, &add.tasks),
    };
    let mut checked = plan_check::check(&add.tasks, &around);
    let world = crate::board::World { archived, ..Default::default() };
    let call = crate::board::Call::new(actor, &session.ctx.now, &world);
    let refusal = crate::board::verb::Verb::check(add, board, &call).err();
    if let Some(refusal) = &refusal
        && !is_reported(&checked.findings, refusal)
    {
        checked.findings.insert(0, Finding::refusal(&refusal.message, refusal.hint.as_deref()));
    }
    Ok(Judged { checked, refusal, revision: board.revision })
}

/// Whether a finding already reports the refusal of the board.
fn is_reported(findings: &[Finding], refusal: &Refusal) -> bool {
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
        text.line(format!("{}: {}", finding.severity.as_str(), finding.message));
        text.line(format!("  hint: {}", finding.hint));
    }
    planned.remarks.iter().for_each(|line| text.line(format!("note: {line}")));
    lacking_words(lacking).iter().for_each(|line| text.line(line));
    let mut answer = Answer::new(data, text).at(revision);
    if let Some(refusal) = judged.refusal {
        answer.text.line("nothing was added; `liza plan` would refuse this");
        answer = answer.failed(refusal.into());
    }
    Ok(answer)
}

fn order_words(count: usize, order: &Order) -> String {
    let mut text = format!("{}; in this order:\n", plural(count, "task"));
    for (number, group) in order.groups.iter().enumerate() {
        text.line(format!("  {}. {}", number + 1, commas(group)));
    }
    let path = &order.critical_path;
    if path.tasks.len() > 1 {
        let length = match path.minutes {
            Some(minutes) => format!("{minutes} minutes"),
            None => plural(path.tasks.len(), "task"),
        };
        let tasks: Vec<&str> = path.tasks.iter().map(TaskId::as_str).collect();
        text.line(format!("critical path ({length}): {}", tasks.join(" → ")));
    }
    text
}

/// Whether the person's checkout has a file or directory at a path; a link counts as neither, because no task may follow it.
fn path_kind(root: &std::path::Path, path: &str) -> Option<Standing> {
    let path = crate::board::RepoPath::new(path).ok()?;
    let kind = std::fs::symlink_metadata(root.join(path.as_str())).ok()?.file_type();
    if kind.is_dir() {
        return Some(Standing::Directory);
    }
    kind.is_file().then_some(Standing::File)
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

/// Warns if the plan expects another number of agents at work than the setting, which only people change.
fn check_window(session: &Session, planned: &Planned) -> Result<(), Failure> {
    let Some(wanted) = planned.max_parallel else { return Ok(()) };
    let window = session.ctx.project_config()?.run.window;
    if wanted == window {
        return Ok(());
    }
    let text = format!("the plan says max_parallel {wanted}, but the team works with {window} at once");
    Err(Failure::new(Code::Value, text)
        .hint(format!("set `run: {{window: {wanted}}}` in liza.yaml, or remove max_parallel from the plan"))
        .detail("max_parallel", window))
}

/// A task and what it lacks to be claimable.
type Lacking = (TaskId, Vec<&'static str>);

fn lacking(tasks: &[NewTask], specs_found: &[TaskId]) -> Vec<Lacking> {
    let specs_found: std::collections::BTreeSet<&TaskId> = specs_found.iter().collect();
    let lacks = |task: &NewTask| {
        let mut missing = Vec::new();
        missing.extend(task.done_when.is_empty().then_some("done_when"));
        missing.extend((!specs_found.contains(&task.id)).then_some("spec_ref"));
        let lacks_scope = task.scope.inside.is_empty() && task.kind != Kind::Report;
        missing.extend(lacks_scope.then_some("scope"));
        (!missing.is_empty()).then(|| (task.id.clone(), missing))
    };
    tasks.iter().filter_map(lacks).collect()
}

fn lacking_data(lacking: &[Lacking]) -> Value {
    lacking.iter().map(|(task, missing)| (task.to_string(), json!(missing))).collect()
}

fn lacking_words(lacking: &[Lacking]) -> Vec<String> {
    if lacking.is_empty() {
        return Vec::new();
    }
    let lacks = |(task, missing): &Lacking| {
        format!("{task} lacks {}", missing.join(", ").replace("scope", "scope (and owns)"))
    };
    let mut lines: Vec<String> = lacking.iter().map(lacks).collect();
    lines.push(
        "so the plan is a draft: give each DRAFT task what it lacks with `liza task edit`, then `liza task finalize --all`; \
         a plan can be given it with --spec FILE and --done CRITERION, or with `defaults:` in the file"
            .to_owned(),
    );
    lines
}
