//! Everything about the goal in one report: for people as Markdown, for programs as JSON.

use super::metrics::Everything;
use super::page::{heading, line, rows_of};
use super::prelude::*;
use crate::board::caps::CapUse;
use crate::board::records::Anomaly;
use crate::board::state::GoalStatus;
use crate::policy::metrics::{Counts, GoalRollUp, ReviewState, Spread, goal_roll_up, merged_at};
use crate::policy::spend::near;
use crate::text::ago;

/// How many rows of a list people are shown; the JSON has them all.
const MOST: usize = 50;

pub struct RollUp {
    pub everything: Everything,
    pub goal: GoalRollUp,
    pub files: Files,
    pub metrics: Metrics,
    pub sprint: Metrics,
    caps: Vec<CapUse>,
    time: Wall,
}

/// What merged tasks did to files, from before the first of them to the present integration.
#[derive(Debug, Clone, Default)]
pub struct Files {
    pub created: Vec<String>,
    pub modified: Vec<String>,
    pub deleted: Vec<String>,
    /// Changed and changed back, or no longer determinable from the repository.
    pub other: Vec<String>,
}

pub fn gather(ctx: &Context) -> Result<RollUp> {
    let everything = Everything::read(ctx)?;
    let goal = goal_roll_up(&everything.board, &everything.tasks_of_goal());
    let files = files(ctx, &everything, &goal.files);
    let metrics = everything.of_goal();
    let sprint = everything.of_sprint(&everything.board.rest.sprint);
    let caps = near(&everything.board, &ctx.caps(&everything.board)?);
    Ok(RollUp { goal, files, metrics, sprint, caps, time: ctx.now.wall, everything })
}

fn files(ctx: &Context, everything: &Everything, named: &[String]) -> Files {
    let tasks = everything.tasks_of_goal();
    let first = tasks.iter().filter(|task| merged_at(task).is_some()).min_by_key(|task| merged_at(task));
    let base = first.and_then(|task| task.body().merge.as_ref()).and_then(|merge| merge.onto.clone());
    let head = integration_head(ctx, &everything.board).ok();
    let changed = base
        .zip(head)
        .and_then(|(base, head)| ctx.query().ok()?.changed_paths(&base, &head).ok())
        .unwrap_or_default();
    let changed: BTreeMap<&str, ChangeStatus> =
        changed.iter().map(|change| (change.path.as_str(), change.status)).collect();
    let mut found = Files::default();
    for name in named {
        let list = match changed.get(name.as_str()) {
            Some(ChangeStatus::Added) => &mut found.created,
            Some(ChangeStatus::Deleted) => &mut found.deleted,
            Some(_) => &mut found.modified,
            None => &mut found.other,
        };
        list.push(name.clone());
    }
    found
}

/// A time span for people.
pub fn took(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        _ => ago(i64::try_from(seconds).unwrap_or(i64::MAX)),
    }
}

/// What was spent, one line per outcome with costs.
pub fn amount_rows(metrics: &Metrics) -> Vec<String> {
    let paid = metrics.spent.by_outcome().into_iter().filter(|(_, amount)| amount.sessions > 0);
    paid.map(|(name, amount)| {
        let (name, cost) = (name.replace('_', " "), cost(amount.cost_usd));
        format!("{name}: {} tokens{cost}, {} sessions", amount.tokens, amount.sessions)
    })
    .collect()
}

fn cost(usd: f64) -> String {
    if usd > 0.0 { format!(", {usd:.2} USD") } else { String::new() }
}

impl RollUp {
    fn board(&self) -> &Board {
        &self.everything.board
    }

    pub fn goal_json(&self) -> Value {
        let mut goal = serde_json::to_value(&self.goal).unwrap_or_default();
        if let Some(goal) = goal.as_object_mut() {
            goal.remove("files");
            goal.insert("files_created".to_owned(), json!(self.files.created));
            goal.insert("files_modified".to_owned(), json!(self.files.modified));
            goal.insert("files_deleted".to_owned(), json!(self.files.deleted));
            goal.insert("files_other".to_owned(), json!(self.files.other));
        }
        goal
    }

    pub fn json(&self) -> Value {
        let rest = &self.board().rest;
        let mut states = Map::new();
        for status in Status::ALL {
            let tasks = self.everything.tasks_of_goal().into_iter().filter(|task| task.status == status);
            states.insert(status.as_str().to_owned(), tasks.map(|task| json!(task.id)).collect());
        }
        json!({
            "time": self.time, "revision": self.board().revision, "goal": self.goal_json(),
            "sprint": {
                "id": rest.sprint.id, "status": rest.sprint.status, "goal": rest.sprint.goal, "scope": rest.sprint.scope,
                "timeline": rest.sprint.timeline, "metrics": self.sprint,
            },
            "tasks": states, "metrics": self.metrics,
            "spend": {
                "by_outcome": self.metrics.spent,
                "agents": rest.agents.iter().map(|(id, agent)| (id.to_string(), json!(agent.spent))).collect::<Map<_, _>>(),
                "caps": self.caps.iter().map(|cap| json!({
                    "setting": cap.setting, "subject": cap.subject, "used": cap.used, "cap": cap.cap, "reached": cap.is_reached(),
                })).collect::<Vec<_>>(),
            },
            "open_questions": self.questions().into_iter().map(|(task, question)| json!({
                "task": task.id, "question": question, "answer_with": answer(task),
            })).collect::<Vec<_>>(),
            "anomalies": rest.anomalies.iter().filter(|anomaly| anomaly.processed_by.is_none()).collect::<Vec<_>>(),
            "breaker": {
                "tier0_violations": rest.circuit_breaker.tier0_violations, "crashes": rest.circuit_breaker.crashes.len(),
                "trips": rest.circuit_breaker.trips,
            },
            "interventions": rest.interventions,
        })
    }

    fn questions(&self) -> Vec<(&Task, &str)> {
        let blocked = self.board().tasks.iter().filter(|task| task.status == Status::Blocked);
        let asked =
            |task| Task::body(task).blocked_questions.iter().map(move |question| (task, &question[..]));
        blocked.flat_map(asked).collect()
    }

    /// The goal alone.
    pub fn goal_markdown(&self) -> String {
        let goal = &self.goal;
        let mut text = String::new();
        line!(text, "# Goal {}", md_inline(&goal.id));
        line!(text);
        line!(text, "{}", md_inline(&goal.description));
        line!(text);
        let word = match goal.status {
            GoalStatus::InProgress => "in progress",
            GoalStatus::Complete => "complete",
            GoalStatus::Abandoned => "abandoned",
            GoalStatus::Queued => "queued",
        };
        let success = if goal.success { "; everything is merged and approved" } else { "" };
        line!(text, "- State: {word}{success}");
        let Counts { total, done, in_progress, blocked, waiting, abandoned, superseded, reports } =
            goal.tasks;
        let reports = if reports == 0 { String::new() } else { format!("; {reports} of them reports") };
        line!(
            text,
            "- Tasks: {total} in all, {done} merged, {in_progress} in progress, {blocked} blocked, {waiting} waiting, {abandoned} abandoned, {superseded} replaced{reports}"
        );
        let Files { created, modified, deleted, other } = &self.files;
        let [created, modified, deleted, other] = [created, modified, deleted, other].map(Vec::len);
        let other = if other == 0 { String::new() } else { format!(", {other} otherwise") };
        line!(text, "- Files: {created} created, {modified} modified, {deleted} deleted{other}");
        let tests = &goal.tests;
        let counted = match (tests.passed, tests.total) {
            (Some(passed), Some(total)) => {
                format!("; the gates of the last merge counted {passed} of {total} passing")
            }
            _ => String::new(),
        };
        line!(text, "- Test files: {}{counted}", tests.files.len());
        if let Some(errors) = goal.lint.errors {
            line!(text, "- Lint errors: {errors} ({})", md_inline(&goal.lint.gates.join(", ")));
        }
        line!(text, "- Iterations: {}, rejections: {}", goal.iterations, goal.review_cycles);
        let ReviewState { ready_for_review, sent_back, approved, blocking_issues, .. } = goal.review;
        let approved = match (done, approved) {
            (0, _) => "nothing is merged yet; ",
            (_, true) => "everything merged was approved; ",
            (_, false) => "",
        };
        line!(
            text,
            "- Review: {approved}{ready_for_review} waiting, {sent_back} sent back, {blocking_issues} blocking issues open"
        );
        let (tokens, sessions) = (goal.spent.tokens, goal.spent.sessions);
        line!(text, "- Spent: {tokens} tokens{} in {sessions} sessions", cost(goal.spent.cost_usd));
        let errors = goal.errors.iter().map(|error| md_inline(&clipped(error, 300)).to_string());
        list(&mut text, "Errors", errors.collect());
        text
    }

    /// What follows the goal: sprint, figures, spending, and what waits for a person.
    pub fn rest_markdown(&self) -> String {
        let rest = &self.board().rest;
        let mut text = String::new();
        let sprint = &rest.sprint;
        line!(text, "## Sprint {}", md_inline(&sprint.id));
        line!(text);
        let until =
            sprint.timeline.deadline.map_or(String::new(), |deadline| format!(", deadline {deadline}"));
        let state = if sprint.is_open() { "Open" } else { "Closed" };
        line!(text, "- {state} since {}{until}", sprint.timeline.started);
        line!(text, "- {} of {} tasks done", self.sprint.tasks.done, self.sprint.tasks.total);
        if let Some(goal) = &sprint.goal {
            line!(text, "- {}", md_inline(goal));
        }
        heading!(text, "Figures");
        text.push_str(&table(&self.metrics));
        list(&mut text, "Spent, by outcome", amount_rows(&self.metrics));
        let caps = self.caps.iter().map(|cap| md_inline(&cap.describe()).to_string());
        list(&mut text, "Caps that are nearly or wholly used", caps.collect());
        let asked = self.questions().into_iter();
        let asked = asked
            .map(|(task, question)| format!("{}: {} — `{}`", task.id, md_inline(question), answer(task)));
        list(&mut text, "Open questions", asked.collect());
        let open = rest.anomalies.iter().filter(|anomaly| anomaly.processed_by.is_none());
        let anomalies = open.map(|Anomaly { id, kind, task_id, logged_by, details, .. }| {
            let details = details
                .iter()
                .map(|(key, value)| format!("{}: {}", md_inline(key), md_inline(&clipped(value, 200))));
            let details = details.collect::<Vec<_>>().join("; ");
            format!("{id} {} on {task_id} by {logged_by}: {details}", kind.as_str())
        });
        list(&mut text, "Unprocessed anomalies", anomalies.collect());
        let trips = rest.circuit_breaker.trips.iter().map(|trip| {
            let state = if trip.resolved.is_some() { "resolved" } else { "open" };
            format!("{} at {} ({state}): {}", trip.id, trip.time, md_inline(&clipped(&trip.summary, 200)))
        });
        let violations = rest.circuit_breaker.tier0_violations;
        let violations = (violations > 0).then(|| format!("Tier 0 violations refused: {violations}"));
        list(&mut text, "Breaker", violations.into_iter().chain(trips).collect());
        list(&mut text, "Interventions", rest.interventions.iter().map(intervened).collect());
        text
    }
}

/// What the overseer did, on one line.
pub fn intervened(done: &Intervention) -> String {
    let Intervention { id, time, agent, action, behaviour, .. } = done;
    format!("{id} at {time}: {agent} (action: {}; seen: {})", action.as_str(), behaviour.as_str())
}

fn answer(task: &Task) -> String {
    if task.hypothesis_exhausted() {
        format!("liza task rescope {} --into FILE --reason …", task.id)
    } else {
        format!("liza task unblock {} --answer …", task.id)
    }
}

/// A section with a list, if there is anything to list.
fn list(text: &mut String, title: &str, rows: Vec<String>) {
    if !rows.is_empty() {
        heading!(text, "{title}");
        rows_of(text, rows, MOST);
    }
}

/// The figures with a distribution, as a table.
pub fn table(metrics: &Metrics) -> String {
    let mut text = String::new();
    line!(text, "| figure | times | in all | median | p90 | most |");
    line!(text, "|---|---|---|---|---|---|");
    let counted = [
        ("iterations", metrics.iterations),
        ("rejections", metrics.review_cycles),
        ("drift at merge", metrics.drift),
    ];
    for (name, Spread { count, total, median, p90, max }) in counted {
        line!(text, "| {name} | {count} | {total} | {median} | {p90} | {max} |");
    }
    for (name, Spread { count, total, median, p90, max }) in metrics.seconds.named() {
        let (name, [total, median, p90, max]) = (name.replace('_', " "), [total, median, p90, max].map(took));
        line!(text, "| {name} | {count} | {total} | {median} | {p90} | {max} |");
    }
    text
}
