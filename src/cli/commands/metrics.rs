use crate::cli::prelude::*;
use crate::flow::metrics::{Measured, Scope, measure};
use crate::flow::roll_up::{amount_rows, took};
use crate::policy::metrics::{Counts, Metrics, Verdicts};

/// Show throughput, durations, cost and outcomes
///
/// Of the current goal, all goals, a sprint or one task; archived tasks count. Durations are in seconds; where there
/// are many values, you see their count, sum, median, 90th percentile and maximum. A closed sprint keeps the metrics
/// that it was closed with.
///
/// Example: liza metrics --csv
#[derive(Args)]
pub struct MetricsArgs {
    /// Only this sprint, open or closed
    #[arg(long, value_name = "SPRINT", conflicts_with = "task")]
    pub sprint: Option<SprintId>,
    /// Only this task, archived or not
    #[arg(long, value_name = "TASK")]
    pub task: Option<TaskId>,
    /// All goals of this board together
    #[arg(long, conflicts_with_all = ["task", "sprint"])]
    pub all_goals: bool,
    /// Print CSV, one metric per line
    #[arg(long)]
    pub csv: bool,
}

impl OnBoard for MetricsArgs {
    const ACCESS: Access = Access::Reads;

    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        if self.csv && session.ui.json {
            let text = "--csv and --json exclude each other: give one of them";
            return Err(Failure::usage(text));
        }
        let scope = match (&self.sprint, &self.task) {
            (Some(sprint), _) => Scope::Sprint(sprint.clone()),
            (None, Some(task)) => Scope::Task(task.clone()),
            (None, None) if self.all_goals => Scope::Board,
            (None, None) => Scope::Goal,
        };
        let measured = measure(&session.ctx, &scope)?;
        let data = || {
            let figures = measured.figures.iter().map(|(name, value)| (name.clone(), figure(name, *value)));
            let mut data = json!({ "scope": measured.scope, "figures": figures.collect::<Map<_, _>>() });
            if let Some(metrics) = &measured.metrics {
                data["metrics"] = serde_json::to_value(metrics).unwrap_or_default();
            }
            data
        };
        let text = || if self.csv { csv(&measured) } else { words(&measured) };
        Ok(session.answer(data, text).at(measured.revision))
    }
}

/// Counts are whole numbers; rates and costs are not.
pub fn figure(name: &str, value: f64) -> Value {
    let is_share = name.contains("_rate") || name.starts_with("cost_usd");
    // Text is exact; a value that is too large for a whole number is kept.
    let whole = (!is_share && value.fract() == 0.0).then(|| format!("{value:.0}").parse::<u64>().ok());
    whole.flatten().map_or_else(|| json!(value), |whole| json!(whole))
}

fn csv(measured: &Measured) -> String {
    let mut text = "metric,value\n".to_owned();
    for (name, value) in &measured.figures {
        text.line(format!("{name},{value}"));
    }
    text
}

fn words(measured: &Measured) -> String {
    let mut text = String::new();
    text.line(&measured.title);
    match &measured.metrics {
        Some(metrics) => tables(&mut text, metrics),
        None => {
            for (name, value) in &measured.figures {
                text.line(format!("{}  {value}", pad_to(name, 34)));
            }
        }
    }
    text
}

fn tables(text: &mut String, metrics: &Metrics) {
    let Counts { total, done, in_progress, blocked, waiting, abandoned, superseded, reports } = metrics.tasks;
    let reports = if reports == 0 { String::new() } else { format!("; {reports} of them reports") };
    text.line(format!(
        "tasks: {total} in all, {done} done, {in_progress} in progress, {blocked} blocked, \
        {waiting} waiting, {abandoned} abandoned, {superseded} replaced{reports}"
    ));
    let percent = |rate: Option<f64>| rate.map_or("–".to_owned(), |rate| format!("{:.0} %", rate * 100.0));
    let Verdicts { total, approvals, rejections, discussions, .. } = metrics.verdicts;
    let [rate, first] = [metrics.verdicts.approval_rate, metrics.verdicts.first_round_rate].map(percent);
    text.line(format!(
        "verdicts: {total} ({approvals} approvals, {rejections} rejections, {discussions} discussions); \
        approval rate {rate}, at the first verdict {first}"
    ));
    for (reviewer, counted) in &metrics.verdicts.reviewers {
        let (approved, all, rate) = (counted.approvals, counted.verdicts, percent(counted.approval_rate));
        text.line(format!("  {reviewer}: {approved} of {all} approved ({rate})"));
    }
    text.line(format!("crashes: {}, interventions: {}\n", metrics.crashes, metrics.interventions));
    let row = |text: &mut String, cells: [String; 6]| {
        let [name, rest @ ..] = cells;
        let rest: Vec<String> = rest.iter().map(|cell| format!("{cell:>13}")).collect();
        text.line(format!("{}{}", pad_to(&name, 16), rest.concat()));
    };
    row(text, ["", "times", "in all", "median", "p90", "most"].map(str::to_owned));
    let counted = [
        ("iterations", metrics.iterations),
        ("rejections", metrics.review_cycles),
        ("drift at merge", metrics.drift),
    ];
    for (name, spread) in counted {
        let figures = [spread.count, spread.total, spread.median, spread.p90, spread.max];
        let [a, b, c, d, e] = figures.map(|value| value.to_string());
        row(text, [name.to_owned(), a, b, c, d, e]);
    }
    for (name, spread) in metrics.seconds.named() {
        let [b, c, d, e] = [spread.total, spread.median, spread.p90, spread.max].map(took);
        row(text, [name.replace('_', " "), spread.count.to_string(), b, c, d, e]);
    }
    let spent = amount_rows(metrics);
    if !spent.is_empty() {
        text.line("\nspent");
    }
    spent.iter().for_each(|spent| text.line(format!("  {spent}")));
}
