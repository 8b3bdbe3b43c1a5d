use crate::board::gates::{KeptOutcome, OutcomesByGate};
use crate::cli::prelude::*;
use crate::flow::roll_up;
use crate::policy::work_graph::{GraphReport, WorkNode};
use crate::text::md_inline;

/// Report on the work graph: nodes, locks and gate results
///
/// Archived tasks count, replaced ones do not. The JSON has the keys graph_id, total_nodes, passed, failed, pending,
/// nodes, locks and last_gate_results; a node that has neither passed nor failed counts as pending there. These are
/// node states, not task states: see `liza status` for the latter. --format markdown or json prints the full report:
/// goal, sprint, tasks by task state, metrics, spending, open questions, anomalies, breaker and interventions. --goal
/// prints only the result of the goal. The report of a single `liza run` is in .liza/reports.
///
/// Example: liza report --format markdown
#[derive(Args)]
pub struct ReportArgs {
    /// Print the full report in this format
    #[arg(long, value_enum, value_name = "FORM")]
    pub format: Option<Format>,
    /// Print the result of the goal: tasks, files, tests, iterations, spending, errors, review state
    #[arg(long)]
    pub goal: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    Markdown,
    Json,
}

impl OnBoard for ReportArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        if self.goal || self.format.is_some() {
            return full_report(session, self);
        }
        let (report, text, revision) = work_graph(session)?;
        let data = serde_json::to_value(&report).map_err(|error| {
            Failure::new(ErrorCode::BugReport, format!("cannot render the report: {error}"))
        })?;
        Ok(Answer::new(data, text).at(revision))
    }
}

/// The work graph, its report as text, and the revision of the board.
fn work_graph(session: &Session) -> Result<(GraphReport, String, u64), Failure> {
    let (report, board) = views::report(&session.ctx)?;
    let frame = view::Frame::new(&session.ctx, &board)?;
    let picture = view::Picture::new(&frame, &board);
    let by_id = board.by_id();
    let why = |node: &WorkNode| {
        by_id.get(&node.id).and_then(|task| picture.waiting(task)).map(|waiting| waiting.why)
    };
    let text = words(&report, &board.rest.goal.description, &why);
    Ok((report, text, board.revision))
}

/// The work graph with results and cost.
fn full_report(session: &Session, args: &ReportArgs) -> Result<Answer, Failure> {
    let found = roll_up::gather(&session.ctx)?;
    let revision = found.everything.board.revision;
    let data = if args.goal { found.goal_json() } else { found.json() };
    let text = match args.format {
        Some(Format::Json) => format!("{}\n", crate::wire::to_json_pretty(&data)),
        _ if args.goal => found.goal_markdown(),
        _ => {
            let (_, graph, _) = work_graph(session)?;
            let graph = graph.replacen("# Work graph", "## Work graph", 1);
            format!("{}\n{graph}\n{}", found.goal_markdown(), found.rest_markdown())
        }
    };
    Ok(Answer::new(data, text).verbatim().at(revision))
}

fn words(report: &GraphReport, goal: &str, why: &dyn Fn(&WorkNode) -> Option<String>) -> String {
    let mut text = String::new();
    text.line(format!("# Work graph {}\n\n{}\n", report.graph_id, md_inline(goal)));
    let counted = commas(NodeState::ALL.iter().filter_map(|state| {
        let count = report.nodes.iter().filter(|node| node.status == *state).count();
        (count > 0).then(|| format!("{count} {}", state.as_str()))
    }));
    let counted = if counted.is_empty() { counted } else { format!(": {counted}") };
    text.line(format!("{}{counted}", plural(report.total_nodes, "node")));
    if !report.nodes.is_empty() {
        text.line("\n| node | node state | task state | agent | after | title |");
        text.line("|---|---|---|---|---|---|");
    }
    for node in &report.nodes {
        let first = node.description.lines().next().unwrap_or_default();
        let after = commas(&node.dependencies);
        let waits = why(node).map_or(String::new(), |why| format!(" ({})", md_inline(&why)));
        text.line(format!(
            "| {} | {} | {} | {} | {} | {}{waits} |",
            node.id,
            node.status.as_str(),
            node.task_status,
            node.assigned_to.as_ref().map_or("–", |agent| agent.as_str()),
            if after.is_empty() { "–" } else { &after },
            md_inline(&clipped(first, 60))
        ));
    }
    if !report.locks.is_empty() {
        text.line("\n## Locks\n");
        for lock in &report.locks {
            let agent = lock.agent.as_ref().map_or("no agent", |agent| agent.as_str());
            let until = lock.until.map_or(String::new(), |until| format!(", until {until}"));
            let stale = if lock.stale { ", stale" } else { "" };
            let (path, kind) = (md_inline(lock.path.as_str()), lock.granularity.as_str());
            let (task, status) = (&lock.task, lock.status);
            text.line(format!("- {path} ({kind}): {task} ({status}), {agent}{until}{stale}"));
        }
    }
    if !report.last_gate_results.is_empty() {
        text.line("\n## Gates\n");
        for (task, gates) in &report.last_gate_results {
            text.line(format!("- {task}: {}", gate_words(gates)));
        }
    }
    text
}

fn gate_words(gates: &OutcomesByGate) -> String {
    let one = |kept: &KeptOutcome| {
        let outcome = &kept.outcome;
        let counts = outcome.counts().map_or(String::new(), |counts| format!(" ({counts})"));
        format!("{} {}{counts}", md_inline(&outcome.name), md_inline(outcome.status.as_str()))
    };
    if gates.0.is_empty() { "none".to_owned() } else { commas(gates.0.iter().map(one)) }
}
