//! Everything about the goal in one report: for people as Markdown, for programs as JSON.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use crate::board::oversight::Intervention;
use crate::board::spent::CapUse;
use crate::board::{Board, Status, Task};
use crate::git::ChangeStatus;
use crate::policy::metrics::{GoalRollUp, Metrics, goal_roll_up, merged_at};
use crate::policy::spend::near;
use crate::text::{ago, clipped, md_inline};

use super::context::Context;
use super::failure::Failure;
use super::metrics::Everything;

/// Writing to a string cannot fail.
macro_rules! line {
    ($text:expr) => { let _ = writeln!($text); };
    ($text:expr, $($arg:tt)*) => { let _ = writeln!($text, $($arg)*); };
}

/// So many rows of a list are shown to people; the JSON has them all.
const MOST: usize = 50;

pub struct RollUp {
    pub everything: Everything,
    pub goal: GoalRollUp,
    pub files: Files,
    pub metrics: Metrics,
    pub sprint: Metrics,
    caps: Vec<CapUse>,
    time: crate::board::Wall,
}

/// What merged tasks did to files, from before the first of them to where integration is.
#[derive(Debug, Clone, Default)]
pub struct Files {
    pub created: Vec<String>,
    pub modified: Vec<String>,
    pub deleted: Vec<String>,
    /// Changed once and as before again, or not to be told from the repository any more.
    pub other: Vec<String>,
}

pub fn gather(ctx: &Context) -> Result<RollUp, Failure> {
    let everything = Everything::read(ctx)?;
    let goal = goal_roll_up(&everything.board, &everything.tasks());
    let files = files(ctx, &everything, &goal.files);
    let metrics = everything.of_board();
    let sprint = everything.of_sprint(&everything.board.rest.sprint);
    let caps = near(&everything.board, &ctx.caps(&everything.board)?);
    Ok(RollUp { goal, files, metrics, sprint, caps, time: ctx.now.wall, everything })
}

fn files(ctx: &Context, everything: &Everything, named: &[String]) -> Files {
    let tasks = everything.tasks();
    let first = tasks.iter().filter(|task| merged_at(task).is_some()).min_by_key(|task| merged_at(task));
    let base = first.and_then(|task| task.body().merge.as_ref()).map(|merge| merge.onto.clone());
    let head = super::claim::integration_head(ctx, &everything.board).ok();
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

/// A span for people.
pub fn took(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        _ => ago(i64::try_from(seconds).unwrap_or(i64::MAX)),
    }
}

/// What was spent, a line for each outcome that has cost anything.
pub fn amount_rows(metrics: &Metrics) -> Vec<String> {
    let paid = metrics.spent.by_outcome().into_iter().filter(|(_, amount)| amount.sessions > 0);
    paid.map(|(name, amount)| {
        let cost =
            if amount.cost_usd > 0.0 { format!(", {:.2} USD", amount.cost_usd) } else { String::new() };
        format!("{}: {} tokens{cost}, {} sessions", name.replace('_', " "), amount.tokens, amount.sessions)
    })
    .collect()
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
            let ids: Vec<&str> = self
                .everything
                .tasks()
                .into_iter()
                .filter(|task| task.status == status)
                .map(|task| task.id.as_str())
                .collect();
            states.insert(status.as_str().to_owned(), json!(ids));
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
        blocked
            .flat_map(|task| {
                task.body().blocked_questions.iter().map(move |question| (task, question.as_str()))
            })
            .collect()
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
            crate::board::state::GoalStatus::InProgress => "in progress",
            crate::board::state::GoalStatus::Complete => "complete",
            crate::board::state::GoalStatus::Abandoned => "abandoned",
        };
        line!(
            text,
            "- State: {word}{}",
            if goal.success { "; everything is merged and approved" } else { "" }
        );
        let tasks = &goal.tasks;
        line!(
            text,
            "- Tasks: {} in all, {} merged, {} in progress, {} blocked, {} waiting, {} abandoned, {} replaced",
            tasks.total,
            tasks.done,
            tasks.in_progress,
            tasks.blocked,
            tasks.waiting,
            tasks.abandoned,
            tasks.superseded
        );
        let files = &self.files;
        line!(
            text,
            "- Files: {} created, {} modified, {} deleted{}",
            files.created.len(),
            files.modified.len(),
            files.deleted.len(),
            if files.other.is_empty() { String::new() } else { format!(", {} otherwise", files.other.len()) }
        );
        let tests = &goal.tests;
        let counted = match (tests.passed, tests.total) {
            (Some(passed), Some(total)) => {
                format!("; the gates of the last merge counted {passed} of {total} passing")
            }
            _ => String::new(),
        };
        line!(text, "- Test files: {}{counted}", tests.files.len());
        line!(text, "- Iterations: {}, rejections: {}", goal.iterations, goal.review_cycles);
        let review = &goal.review;
        line!(
            text,
            "- Review: {}{} waiting, {} sent back, {} blocking issues open",
            match (goal.tasks.done, review.approved) {
                (0, _) => "nothing is merged yet; ",
                (_, true) => "everything merged was approved; ",
                (_, false) => "",
            },
            review.ready_for_review,
            review.sent_back,
            review.blocking_issues
        );
        let cost = if goal.spent.cost_usd > 0.0 {
            format!(", {:.2} USD", goal.spent.cost_usd)
        } else {
            String::new()
        };
        line!(text, "- Spent: {} tokens{cost} in {} sessions", goal.spent.tokens, goal.spent.sessions);
        list(
            &mut text,
            "Errors",
            goal.errors.iter().map(|error| md_inline(&clipped(error, 300)).to_string()).collect(),
        );
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
        line!(
            text,
            "- {} since {}{until}",
            if sprint.is_open() { "Open" } else { "Closed" },
            sprint.timeline.started
        );
        line!(text, "- {} of {} tasks done", self.sprint.tasks.done, self.sprint.tasks.total);
        if let Some(goal) = &sprint.goal {
            line!(text, "- {}", md_inline(goal));
        }
        line!(text);
        line!(text, "## Figures");
        line!(text);
        text.push_str(&table(&self.metrics));
        list(&mut text, "Spent, by outcome", amount_rows(&self.metrics));
        list(
            &mut text,
            "Caps that are nearly or wholly used",
            self.caps.iter().map(|cap| md_inline(&cap.told()).to_string()).collect(),
        );
        let asked = self.questions();
        list(
            &mut text,
            "Open questions",
            asked
                .into_iter()
                .map(|(task, question)| format!("{}: {} — `{}`", task.id, md_inline(question), answer(task)))
                .collect(),
        );
        let anomalies =
            rest.anomalies.iter().filter(|anomaly| anomaly.processed_by.is_none()).map(|anomaly| {
                let details: Vec<String> = anomaly
                    .details
                    .iter()
                    .map(|(key, value)| format!("{}: {}", md_inline(key), md_inline(&clipped(value, 200))))
                    .collect();
                format!(
                    "{} {} on {} by {}: {}",
                    anomaly.id,
                    anomaly.kind.as_str(),
                    anomaly.task_id,
                    anomaly.logged_by,
                    details.join("; ")
                )
            });
        list(&mut text, "Anomalies nobody has dealt with", anomalies.collect());
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
    format!(
        "{} at {}: {} (action: {}; seen: {})",
        done.id,
        done.time,
        done.agent,
        done.action.as_str(),
        done.behaviour.as_str()
    )
}

fn answer(task: &Task) -> String {
    if task.hypothesis_exhausted() {
        format!("liza task rescope {} --into FILE --reason …", task.id)
    } else {
        format!("liza task unblock {} --answer …", task.id)
    }
}

/// A section with a list, where there is anything to list.
fn list(text: &mut String, title: &str, rows: Vec<String>) {
    if rows.is_empty() {
        return;
    }
    line!(text);
    line!(text, "## {title}");
    line!(text);
    let more = rows.len().saturating_sub(MOST);
    for row in rows.into_iter().take(MOST) {
        line!(text, "- {row}");
    }
    if more > 0 {
        line!(text, "- … and {more} more");
    }
}

/// The figures that are spreads, as a table.
pub fn table(metrics: &Metrics) -> String {
    let mut text = String::new();
    line!(text, "| figure | times | in all | median | p90 | most |");
    line!(text, "|---|---|---|---|---|---|");
    let counted = [
        ("iterations", metrics.iterations),
        ("rejections", metrics.review_cycles),
        ("drift at merge", metrics.drift),
    ];
    for (name, spread) in counted {
        line!(
            text,
            "| {name} | {} | {} | {} | {} | {} |",
            spread.count,
            spread.total,
            spread.median,
            spread.p90,
            spread.max
        );
    }
    for (name, spread) in metrics.seconds.named() {
        line!(
            text,
            "| {} | {} | {} | {} | {} | {} |",
            name.replace('_', " "),
            spread.count,
            took(spread.total),
            took(spread.median),
            took(spread.p90),
            took(spread.max)
        );
    }
    text
}
