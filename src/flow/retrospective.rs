//! The draft of a retrospective: what the board records of a sprint, and the questions that only people can answer.
//! It holds facts only, no opinions.

use super::metrics::Everything;
use super::page::{heading, line, rows_of};
use super::prelude::*;
use super::roll_up::{amount_rows, intervened, took};
use crate::board::marks::TaskMark;
use crate::board::review::Verdict;
use crate::policy::metrics::{Spread, in_sprint, journey};

/// How many of each are listed; the board and the log have the rest.
const MOST: usize = 20;

/// `sprint` must have ended.
pub fn draft(everything: &Everything, sprint: &Sprint, metrics: &Metrics) -> String {
    let all = everything.tasks();
    let tasks = in_sprint(sprint, &all);
    let mut text = String::new();
    line!(text, "# Retrospective of {}", md_inline(&sprint.id));
    line!(text);
    line!(
        text,
        "Draft, made of the board at revision {}. Every figure is computed from history (specs/metrics.md).",
        everything.board.revision
    );
    line!(text);
    let goal = sprint.goal.as_deref().unwrap_or(&everything.board.rest.goal.description);
    line!(text, "- Goal: {}", md_inline(goal));
    let ended = sprint.timeline.ended.map_or("still open".to_owned(), |ended| ended.to_string());
    line!(text, "- From {} to {ended}", sprint.timeline.started);
    if let Some(deadline) = sprint.timeline.deadline {
        line!(text, "- Deadline: {deadline}");
    }
    if let Some(note) = &sprint.note {
        line!(text, "- Note: {}", md_inline(note));
    }
    write_done(&mut text, &tasks, metrics);
    write_late(&mut text, &tasks, sprint);
    time(&mut text, metrics);
    rejections(&mut text, &tasks, sprint);
    blocked(&mut text, &tasks, sprint);
    spend(&mut text, &tasks, sprint, metrics);
    write_trouble(&mut text, everything, sprint, metrics);
    questions(&mut text, &tasks, metrics);
    text
}

/// A heading, and a bounded list under it.
fn section(text: &mut String, title: &str, rows: Vec<String>) {
    heading!(text, "{title}");
    if rows.is_empty() {
        line!(text, "None.");
    }
    rows_of(text, rows, MOST);
}

fn title(task: &Task) -> String {
    format!("{} ({})", task.id, md_inline(&clipped(&task.body().title, 60)))
}

/// The state of a task when the sprint began.
fn mark(sprint: &Sprint, task: &Task) -> TaskMark {
    sprint.before.get(&task.id).cloned().unwrap_or_default()
}

fn write_done(text: &mut String, tasks: &[&Task], metrics: &Metrics) {
    let rows = tasks.iter().filter(|task| task.status == Status::Merged).map(|task| {
        let lead = journey(task, None).lead;
        let lead = lead.map_or(String::new(), |lead| format!(", {} after it was created", took(lead)));
        format!("{}{lead}", title(task))
    });
    let title = format!("What was done ({} of {})", metrics.tasks.done, metrics.tasks.total);
    section(text, &title, rows.collect());
}

fn write_late(text: &mut String, tasks: &[&Task], sprint: &Sprint) {
    let mut rows: Vec<String> = Vec::new();
    for task in tasks {
        let merged = journey(task, None).ended.filter(|_| task.status == Status::Merged);
        let after = merged.zip(sprint.timeline.deadline).filter(|(merged, deadline)| merged > deadline);
        if let Some((merged, _)) = after {
            rows.push(format!("{}: merged at {merged}, after the deadline", title(task)));
        } else if !task.status.is_terminal() {
            rows.push(format!("{}: {} when the sprint ended", title(task), task.status));
        }
    }
    section(text, "What was late or is not done", rows);
}

fn time(text: &mut String, metrics: &Metrics) {
    let spreads = metrics.seconds.named().into_iter().filter(|(_, spread)| spread.count > 0);
    let rows = spreads.map(|(name, Spread { count, total, median, p90, max })| {
        let (name, [total, median, p90, max]) = (name.replace('_', " "), [total, median, p90, max].map(took));
        format!(
            "{name}: {total} in all over {count} times; median {median}, nine of ten at most {p90}, longest {max}"
        )
    });
    section(text, "Where the time went", rows.collect());
}

fn rejections(text: &mut String, tasks: &[&Task], sprint: &Sprint) {
    let mut rows = Vec::new();
    for task in tasks {
        let reviews = task.body().reviews.iter().skip(mark(sprint, task).reviews);
        let sent_back = reviews.filter(|review| review.verdict == Verdict::RequestChanges);
        rows.extend(sent_back.map(|review| {
            let why = md_inline(&clipped(&review.summary, 200)).to_string();
            format!("{}, round {}, by {}: {why}", task.id, review.round, review.reviewer)
        }));
    }
    section(text, "Rejections and their reasons", rows);
}

fn blocked(text: &mut String, tasks: &[&Task], sprint: &Sprint) {
    let mut rows = Vec::new();
    for task in tasks {
        let lines = task.body().history.iter().skip(mark(sprint, task).history);
        let blocks = lines.filter(|line| line.event == Event::Blocked);
        rows.extend(blocks.map(|line| {
            let why = line.detail.as_deref().unwrap_or("no reason on record");
            let now = if task.status == Status::Blocked { " (still blocked)" } else { "" };
            format!("{} at {}: {}{now}", task.id, line.time, md_inline(&clipped(why, 200)))
        }));
    }
    section(text, "What was blocked, and why", rows);
}

fn spend(text: &mut String, tasks: &[&Task], sprint: &Sprint, metrics: &Metrics) {
    section(text, "What it cost in this sprint, by outcome", amount_rows(metrics));
    let spent = tasks.iter().map(|task| (*task, task.body().spent.since(&mark(sprint, task).spent)));
    let mut dear: Vec<(&Task, Spent)> = spent.filter(|(_, spent)| spent.tokens() > 0).collect();
    dear.sort_by_key(|(_, spent)| std::cmp::Reverse(spent.tokens()));
    let row = |(task, spent): (&Task, Spent)| format!("{}: {} ({})", task.id, spent.words(), task.status);
    section(text, "The dearest tasks", dear.into_iter().take(5).map(row).collect());
}

fn write_trouble(text: &mut String, everything: &Everything, sprint: &Sprint, metrics: &Metrics) {
    let in_time = |time: Wall| {
        time >= sprint.timeline.started && sprint.timeline.ended.is_none_or(|ended| time <= ended)
    };
    let rest = &everything.board.rest;
    let trips = rest.circuit_breaker.trips.iter().filter(|trip| in_time(trip.time)).map(|trip| {
        let state = if trip.resolved.is_some() { "resolved" } else { "open" };
        format!("breaker {} at {} ({state}): {}", trip.id, trip.time, md_inline(&clipped(&trip.summary, 200)))
    });
    let done = rest.interventions.iter().filter(|done| in_time(done.time)).map(intervened);
    let mut rows: Vec<String> = trips.chain(done).collect();
    if metrics.crashes > 0 {
        let crashes = usize::try_from(metrics.crashes).unwrap_or(usize::MAX);
        rows.push(format!("{} of agents' commands", plural(crashes, "crash")));
    }
    section(text, "Breaker, interventions, crashes", rows);
}

/// Only if the figures give a reason to ask.
fn questions(text: &mut String, tasks: &[&Task], metrics: &Metrics) {
    let mut rows = Vec::new();
    for task in tasks.iter().filter(|task| task.status == Status::Blocked) {
        let questions = task.body().blocked_questions.iter();
        rows.extend(questions.map(|question| format!("{}: {}", task.id, md_inline(question))));
    }
    let verdicts = &metrics.verdicts;
    if verdicts.rejections > 0 {
        rows.push(format!(
            "{} of {} verdicts were rejections: which gate or test would have found the same before the review?",
            verdicts.rejections, verdicts.total
        ));
    }
    let waited = [metrics.seconds.claim_queue, metrics.seconds.review_queue, metrics.seconds.merge_queue];
    let waited = waited.iter().fold(0, |sum: u64, spread| sum.saturating_add(spread.total));
    if waited > metrics.seconds.work.total.saturating_add(metrics.seconds.review.total) {
        let waited = took(waited);
        rows.push(format!(
            "Tasks waited longer ({waited}) than agents worked on them: which agents, people or answers were missing?"
        ));
    }
    let open = metrics.tasks.in_progress + metrics.tasks.blocked + metrics.tasks.waiting;
    if open > 0 {
        rows.push(format!(
            "{open} of {} tasks are not done: does the next sprint take them?",
            metrics.tasks.total
        ));
    }
    let wasted = metrics.spent.rejected_rounds.tokens.saturating_add(metrics.spent.abandoned.tokens);
    if wasted > metrics.spent.merged.tokens {
        rows.push(format!("Rejected and abandoned work used more tokens ({wasted}) than merged work: why?"));
    }
    section(text, "Questions for people", rows);
}
