use clap::Args;
use serde_json::{Value, json};

use crate::board::gates::{GateOutcome, GateReport, Moment};
use crate::board::{CommitId, Needs, TaskId};
use crate::flow::Failure;
use crate::flow::context::Context;
use crate::flow::gates::{self, Question, record};
use crate::flow::init::parse_task;
use crate::text::pad_to;

use super::super::super::ui::Answer;
use super::super::super::{Session, exit, view};

/// Run the gates on what a task submitted, or on any commit
///
/// They run in a private worktree of exactly that commit; a pass of the same tree is not repeated. Ends with 7 unless every
/// required gate passed.
///
/// Example: liza gate run t1
///
/// Example: liza gate run --tree HEAD --gate test --fresh
#[derive(Args)]
pub struct RunArgs {
    /// The task: what it submitted, or the head of its branch
    #[arg(conflicts_with = "tree")]
    pub task: Option<String>,
    /// A branch or commit instead
    #[arg(long, value_name = "REV")]
    pub tree: Option<String>,
    /// Only this gate (repeatable)
    #[arg(long, value_name = "NAME")]
    pub gate: Vec<String>,
    /// Run them even if the same was said before of the same tree
    #[arg(long)]
    pub fresh: bool,
}

pub fn run(session: &mut Session, args: &RunArgs) -> Result<Answer, Failure> {
    let ctx = &session.ctx;
    let (task, commit) = subject(ctx, args.task.as_deref(), args.tree.as_deref())?;
    let question = Question {
        task: task.as_ref(),
        only: (!args.gate.is_empty()).then_some(&args.gate[..]),
        fresh: args.fresh,
        ..Question::new(Moment::ByHand, &commit)
    };
    let report = gates::judge(ctx, &question)?;
    let mut data = record::object(task.as_ref(), &report);
    data["passed"] = json!(report.passed());
    let text = match ctx.project_config()?.gates.is_empty() {
        true => super::list::none_configured(),
        false => table(&report),
    };
    let mut answer = Answer::new(data, text);
    if !report.passed() {
        answer.exit = exit::GATE;
    }
    Ok(answer)
}

/// What is meant: a task and what is to be judged of it, or a commit.
pub(super) fn subject(
    ctx: &Context,
    task: Option<&str>,
    rev: Option<&str>,
) -> Result<(Option<TaskId>, CommitId), Failure> {
    if let Some(rev) = rev {
        let commit = ctx.resolve_here(rev)?.ok_or_else(|| {
            Failure::usage(format!("there is no commit `{rev}`"))
                .hint("name a branch, a tag or a commit of this repository")
        })?;
        return Ok((None, commit));
    }
    let Some(task) = task else {
        return Err(Failure::usage("it is not said what is meant: a task, or a commit with `--tree REV`")
            .hint("for example `t1`, or `--tree HEAD`"));
    };
    let id = parse_task(task)?;
    let snapshot = ctx.read(&Needs::task(&id))?;
    let archived = ctx.store.archived_beside(&snapshot.board, &id)?;
    let Some(task) = snapshot.board.task(&id).or(archived.as_ref()) else {
        return Err(view::unknown_task(&snapshot.board, &id));
    };
    if let Some(commit) = &task.review_commit {
        return Ok((Some(id), commit.clone()));
    }
    let body = task.body();
    let head = match body.attempt() {
        Some(attempt) => ctx.query()?.head_of_branch(&attempt.branch)?,
        None => None,
    };
    match head {
        Some(head) => Ok((Some(id), head)),
        None => Err(Failure::new("refused.transition", format!("there is nothing of `{id}` to be judged"))
            .hint(format!("`liza task claim {id}` starts it"))),
    }
}

/// One line a gate, and below it the checks that failed.
fn table(report: &GateReport) -> String {
    let mut text = String::new();
    for result in &report.results {
        text.push_str(&line(result, report.required.contains(&result.name)));
    }
    for name in report.required.iter().filter(|name| report.result(name).is_none()) {
        text.push_str(&format!("{} not run, because of the one above\n", pad_to(name, 14)));
    }
    text.push_str(match report.passed() {
        true => "every required gate passed",
        false => "not every required gate passed",
    });
    text
}

fn line(result: &GateOutcome, required: bool) -> String {
    let fields = serde_json::to_value(result).unwrap_or_default();
    words(&result.name, &fields, required)
}

/// One gate's word for people, from the fields that stand in its file.
pub(super) fn words(name: &str, fields: &Value, required: bool) -> String {
    let number = |key: &str| fields[key].as_u64();
    let mut notes = Vec::new();
    if fields["reused"] == true {
        notes.push("reused".to_owned());
    }
    if fields["flaky"] == true {
        notes.push("flaky".to_owned());
    }
    if let Some(tries) = number("tries").filter(|tries| *tries > 1) {
        notes.push(format!("{tries} tries"));
    }
    if !required {
        notes.push("optional".to_owned());
    }
    let counts = match (number("passed"), number("total")) {
        (Some(passed), Some(total)) => format!("{passed} of {total}"),
        _ => String::new(),
    };
    let mut text = format!(
        "{} {} {} {} {}",
        pad_to(name, 14),
        pad_to(fields["status"].as_str().unwrap_or("?"), 13),
        pad_to(&counts, 12),
        pad_to(&gates::seconds(number("duration_ms").unwrap_or(0)), 9),
        notes.join(", ")
    );
    text.truncate(text.trim_end().len());
    text.push('\n');
    for (key, before) in [("reason", "why: "), ("hash", "hash: "), ("log", "log: ")] {
        if let Some(value) = fields[key].as_str() {
            text.push_str(&format!("  {before}{value}\n"));
        }
    }
    for failing in fields["failing"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        text.push_str(&format!("  failing: {failing}\n"));
    }
    text
}
