use std::fmt::Write as _;

use clap::Args;
use serde_json::{Map, Value};

use crate::flow::{Failure, roll_up, views};
use crate::policy::NodeState;
use crate::policy::work_graph::{GraphReport, WorkNode};
use crate::text::{clipped, md_inline, plural};

use super::super::ui::Answer;
use super::super::{Session, view};

/// Report on the whole work graph: nodes and what became of them, locks, and what the gates said last
///
/// Archived tasks count, replaced ones do not. The JSON has the keys graph_id, total_nodes, passed, failed, pending, nodes,
/// locks and last_gate_results; whatever has neither passed nor failed is pending there. (What one run of the team did is in
/// .liza/reports.) --format markdown or json gives the whole instead: goal, sprint, tasks by state, figures, spending, open
/// questions, anomalies, breaker and interventions; --goal what the goal has come to alone.
///
/// Example: liza report --format markdown
#[derive(Args)]
pub struct ReportArgs {
    /// The whole report, in this form
    #[arg(long, value_enum, value_name = "FORM")]
    pub format: Option<Format>,
    /// What the goal has come to: tasks, files, tests, iterations, spending, errors, state of the review
    #[arg(long)]
    pub goal: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    Markdown,
    Json,
}

/// Writing to a string cannot fail.
macro_rules! line {
    ($text:expr) => { let _ = writeln!($text); };
    ($text:expr, $($arg:tt)*) => { let _ = writeln!($text, $($arg)*); };
}

pub fn run(session: &Session, args: &ReportArgs) -> Result<Answer, Failure> {
    if args.goal || args.format.is_some() {
        return whole(session, args);
    }
    let (report, board) = views::report(&session.ctx)?;
    let frame = view::Frame::new(&session.ctx, &board)?;
    let picture = view::Picture::new(&frame, &board);
    let why = |node: &WorkNode| {
        board.task(&node.id).and_then(|task| picture.waiting(task)).map(|waiting| waiting.why)
    };
    let text = words(&report, &board.rest.goal.description, &why);
    let data = serde_json::to_value(&report)
        .map_err(|error| Failure::new("bug.report", format!("the report cannot be written: {error}")))?;
    Ok(Answer::new(data, text).at(board.revision))
}

/// Beside the work graph, what it came to and what it cost.
fn whole(session: &Session, args: &ReportArgs) -> Result<Answer, Failure> {
    let found = roll_up::gather(&session.ctx)?;
    let revision = found.everything.board.revision;
    let data = if args.goal { found.goal_json() } else { found.json() };
    let text = match args.format {
        Some(Format::Json) => format!("{}\n", crate::wire::to_json_pretty(&data)),
        _ if args.goal => found.goal_markdown(),
        _ => {
            let (report, board) = views::report(&session.ctx)?;
            let frame = view::Frame::new(&session.ctx, &board)?;
            let picture = view::Picture::new(&frame, &board);
            let why = |node: &WorkNode| {
                board.task(&node.id).and_then(|task| picture.waiting(task)).map(|waiting| waiting.why)
            };
            let graph = words(&report, &board.rest.goal.description, &why).replacen(
                "# Work graph",
                "## Work graph",
                1,
            );
            format!("{}\n{graph}\n{}", found.goal_markdown(), found.rest_markdown())
        }
    };
    Ok(Answer::new(data, text).at(revision))
}

fn words(report: &GraphReport, goal: &str, why: &dyn Fn(&WorkNode) -> Option<String>) -> String {
    let mut text = String::new();
    line!(text, "# Work graph {}", report.graph_id);
    line!(text);
    line!(text, "{}", md_inline(goal));
    line!(text);
    let counted: Vec<String> = [
        NodeState::Pending,
        NodeState::Ready,
        NodeState::Running,
        NodeState::Blocked,
        NodeState::Failed,
        NodeState::Passed,
    ]
    .into_iter()
    .map(|state| (state, report.nodes.iter().filter(|node| node.status == state).count()))
    .filter(|(_, count)| *count > 0)
    .map(|(state, count)| format!("{count} {}", state.as_str()))
    .collect();
    let counted = if counted.is_empty() { String::new() } else { format!(": {}", counted.join(", ")) };
    line!(text, "{}{counted}", plural(report.total_nodes, "node"));
    if !report.nodes.is_empty() {
        line!(text);
        line!(text, "| node | state | task | by | after | what |");
        line!(text, "|---|---|---|---|---|---|");
    }
    for node in &report.nodes {
        let first = node.description.lines().next().unwrap_or_default();
        let after: Vec<&str> = node.dependencies.iter().map(|id| id.as_str()).collect();
        let waits = why(node).map_or(String::new(), |why| format!(" ({})", md_inline(&why)));
        line!(
            text,
            "| {} | {} | {} | {} | {} | {}{waits} |",
            node.id,
            node.status.as_str(),
            node.task_status,
            node.assigned_to.as_ref().map_or("–", |agent| agent.as_str()),
            if after.is_empty() { "–".to_owned() } else { after.join(", ") },
            md_inline(&clipped(first, 60)),
        );
    }
    if !report.locks.is_empty() {
        line!(text);
        line!(text, "## Locks");
        line!(text);
        for lock in &report.locks {
            let agent = lock.agent.as_ref().map_or("nobody", |agent| agent.as_str());
            let until = lock.until.map_or(String::new(), |until| format!(", until {until}"));
            let stale = if lock.stale { ", stale" } else { "" };
            line!(
                text,
                "- {} ({}): {} ({}), {agent}{until}{stale}",
                md_inline(lock.path.as_str()),
                lock.granularity.as_str(),
                lock.task,
                lock.status
            );
        }
    }
    if !report.last_gate_results.is_empty() {
        line!(text);
        line!(text, "## Gates");
        line!(text);
        for (task, gates) in &report.last_gate_results {
            line!(text, "- {task}: {}", gate_words(gates));
        }
    }
    text
}

fn gate_words(gates: &Map<String, Value>) -> String {
    let one = |(name, said): (&String, &Value)| {
        let status = said["status"].as_str().unwrap_or("?");
        let counts = match (said["passed"].as_u64(), said["total"].as_u64()) {
            (Some(passed), Some(total)) => format!(" ({passed} of {total})"),
            _ => String::new(),
        };
        format!("{} {}{counts}", md_inline(name), md_inline(status))
    };
    let words: Vec<String> = gates.iter().map(one).collect();
    if words.is_empty() { "none".to_owned() } else { words.join(", ") }
}
