use std::fmt::Write as _;

use clap::Args;
use serde_json::{Map, Value, json};

use crate::flow::Failure;
use crate::flow::init::parse_task;
use crate::flow::metrics::{Measured, Scope, measure};
use crate::flow::roll_up::{amount_rows, took};
use crate::policy::metrics::Metrics;
use crate::text::pad_to;

use super::super::Session;
use super::super::ui::Answer;

/// Figures computed from history: how much was done, how long it took and waited, what it cost, and what became of it
///
/// Of the whole board, of a sprint or of one task; archived tasks count. Durations are in seconds; of many figures the count,
/// the sum, the median, the ninth of ten and the largest are given. A closed sprint has the figures it was closed with.
///
/// Example: liza metrics --csv
#[derive(Args)]
pub struct MetricsArgs {
    /// Only this sprint, the present one or a former one
    #[arg(long, value_name = "SPRINT", conflicts_with = "task")]
    pub sprint: Option<String>,
    /// Only this task, archived or not
    #[arg(long, value_name = "TASK")]
    pub task: Option<String>,
    /// One figure a line, for a spreadsheet
    #[arg(long)]
    pub csv: bool,
}

/// Writing to a string cannot fail.
macro_rules! line {
    ($text:expr) => { let _ = writeln!($text); };
    ($text:expr, $($arg:tt)*) => { let _ = writeln!($text, $($arg)*); };
}

pub fn run(session: &Session, args: &MetricsArgs) -> Result<Answer, Failure> {
    if args.csv && session.ui.json {
        return Err(Failure::usage("--csv and --json are two forms of the same figures: give one of them"));
    }
    let scope = match (&args.sprint, &args.task) {
        (Some(sprint), _) => Scope::Sprint(sprint.clone()),
        (None, Some(task)) => Scope::Task(parse_task(task)?),
        (None, None) => Scope::Board,
    };
    let measured = measure(&session.ctx, &scope)?;
    let figures: Map<String, Value> =
        measured.figures.iter().map(|(name, value)| (name.clone(), figure(name, *value))).collect();
    let mut data = json!({ "scope": measured.scope, "figures": figures });
    if let Some(metrics) = &measured.metrics {
        data["metrics"] = serde_json::to_value(metrics).unwrap_or_default();
    }
    let text = if args.csv { csv(&measured) } else { words(&measured) };
    Ok(Answer::new(data, text).at(measured.revision))
}

/// Whatever is counted is a whole number; rates and costs are not.
pub fn figure(name: &str, value: f64) -> Value {
    let is_share = name.contains("_rate") || name.starts_with("cost_usd");
    // As text it is exact, and what is too large for a whole number stays as it is.
    let whole = (!is_share && value.fract() == 0.0).then(|| format!("{value:.0}").parse::<u64>().ok());
    whole.flatten().map_or_else(|| json!(value), |whole| json!(whole))
}

fn csv(measured: &Measured) -> String {
    let mut text = "metric,value\n".to_owned();
    for (name, value) in &measured.figures {
        line!(text, "{name},{value}");
    }
    text
}

fn words(measured: &Measured) -> String {
    let mut text = String::new();
    line!(text, "{}", measured.title);
    match &measured.metrics {
        Some(metrics) => tables(&mut text, metrics),
        None => {
            for (name, value) in &measured.figures {
                line!(text, "{}  {value}", pad_to(name, 34));
            }
        }
    }
    text
}

fn tables(text: &mut String, metrics: &Metrics) {
    let tasks = &metrics.tasks;
    line!(
        text,
        "tasks: {} in all, {} done, {} in progress, {} blocked, {} waiting, {} abandoned, {} replaced",
        tasks.total,
        tasks.done,
        tasks.in_progress,
        tasks.blocked,
        tasks.waiting,
        tasks.abandoned,
        tasks.superseded
    );
    let percent = |rate: Option<f64>| rate.map_or("–".to_owned(), |rate| format!("{:.0} %", rate * 100.0));
    let verdicts = &metrics.verdicts;
    line!(
        text,
        "verdicts: {} ({} approvals, {} rejections, {} discussions); approval rate {}, at the first verdict {}",
        verdicts.total,
        verdicts.approvals,
        verdicts.rejections,
        verdicts.discussions,
        percent(verdicts.approval_rate),
        percent(verdicts.first_round_rate)
    );
    for (reviewer, counted) in &verdicts.reviewers {
        line!(
            text,
            "  {reviewer}: {} of {} approved ({})",
            counted.approvals,
            counted.verdicts,
            percent(counted.approval_rate)
        );
    }
    line!(text, "crashes: {}, interventions: {}", metrics.crashes, metrics.interventions);
    line!(text);
    let row = |text: &mut String, cells: [String; 6]| {
        let [name, rest @ ..] = cells;
        let rest: Vec<String> = rest.iter().map(|cell| format!("{cell:>13}")).collect();
        line!(text, "{}{}", pad_to(&name, 16), rest.concat());
    };
    row(text, ["", "times", "in all", "median", "p90", "most"].map(str::to_owned));
    let counted = [
        ("iterations", metrics.iterations),
        ("rejections", metrics.review_cycles),
        ("drift at merge", metrics.drift),
    ];
    for (name, spread) in counted {
        let cells = [spread.count, spread.total, spread.median, spread.p90, spread.max]
            .map(|value| value.to_string());
        let [a, b, c, d, e] = cells;
        row(text, [name.to_owned(), a, b, c, d, e]);
    }
    for (name, spread) in metrics.seconds.named() {
        let [b, c, d, e] = [spread.total, spread.median, spread.p90, spread.max].map(took);
        row(text, [name.replace('_', " "), spread.count.to_string(), b, c, d, e]);
    }
    let spent = amount_rows(metrics);
    if !spent.is_empty() {
        line!(text);
        line!(text, "spent");
    }
    for spent in spent {
        line!(text, "  {spent}");
    }
}
