use std::collections::BTreeSet;

use clap::Args;
use serde_json::{Value, json};

use crate::board::{Needs, TaskId};
use crate::flow::Failure;
use crate::flow::init::parse_task;
use crate::flow::merge::{First, MergeOptions, MergeResult, merge, merge_first};

use super::super::ui::Answer;
use super::super::{Session, exit};

/// Land approved work on the integration branch
///
/// Merges without a checkout, asks the gates about exactly that tree, and moves the branch only if nobody else did. A
/// conflict is exit 11: trivial ones leave the task INTEGRATION_FAILED (or are resolved with --resolve-trivial), real ones
/// BLOCKED. A red gate is exit 7 and leaves it INTEGRATION_FAILED, unless integration itself is red: then nothing is
/// merged and the task stays APPROVED.
///
/// Example: liza merge t1
#[derive(Args)]
pub struct MergeArgs {
    /// The task
    #[arg(required_unless_present = "all", conflicts_with = "all")]
    pub task: Option<String>,
    /// Every approved task: the most urgent first, then who was approved first, then who owns least
    #[arg(long)]
    pub all: bool,
    /// Resolve white space, import order and pure additions
    #[arg(long)]
    pub resolve_trivial: bool,
    /// Land this commit, a person's resolution that contains the task's work
    #[arg(long, value_name = "COMMIT", conflicts_with = "all")]
    pub resolved: Option<String>,
}

pub fn run(session: &mut Session, args: &MergeArgs) -> Result<Answer, Failure> {
    let resolved =
        match &args.resolved {
            None => None,
            Some(rev) => {
                Some(session.ctx.query()?.resolve(rev)?.ok_or_else(|| {
                    Failure::new("refused.value", format!("`{rev}` does not name a commit"))
                })?)
            }
        };
    let options = MergeOptions { resolve_trivial: args.resolve_trivial, resolved };
    session.seal_request()?;
    match &args.task {
        Some(task) => one(session, task, &options),
        None => all(session, &options),
    }
}

fn one(session: &mut Session, task: &str, options: &MergeOptions) -> Result<Answer, Failure> {
    let id = parse_task(task)?;
    let merged = merge(&session.ctx, &id, options)?;
    if merged.result == MergeResult::Merged {
        let mut text =
            format!("{id} is merged as {}", merged.data["merge_commit"].as_str().unwrap_or_default());
        let snapshot = session.ctx.read(&Needs::task(&id))?;
        let approval = snapshot.board.task(&id).and_then(|task| task.body().approval.as_ref());
        if let Some(approval) = approval.filter(|approval| !approval.notes.is_empty()) {
            let notes = approval.notes.join(", ");
            text.push_str(&format!(
                "; it was accepted with notes ({notes}), which `liza task show {id}` lists"
            ));
        }
        return Ok(Answer::new(merged.data, text).at(merged.revision));
    }
    let failure = match merged.result {
        MergeResult::Red => red(&id, &merged.data),
        _ => conflict(&id, &merged.data),
    };
    Err(failure.with_data(merged.data, merged.revision))
}

fn red(id: &TaskId, data: &Value) -> Failure {
    let reason = data["reason"].as_str().unwrap_or_default();
    let read = data["log"].as_str().map_or(String::new(), |log| format!("read {log}; "));
    Failure::new("gate.red", format!("{id} cannot be merged: {reason}"))
        .hint(format!("{read}integration is as it was; a coder mends it with `liza task claim {id}`"))
        .detail("gate", data["gate"].clone())
        .detail("log", data["log"].clone())
        .detail("failing", data["failing"].clone())
}

fn conflict(id: &TaskId, data: &Value) -> Failure {
    let reason = data["reason"].as_str().unwrap_or_default();
    let failure = Failure::new("git.conflict", format!("{id} cannot be merged: {reason}"));
    if data["outcome"] == "blocked" {
        failure.hint(format!(
            "a person brings the two together on a branch that contains both, then `liza merge {id} --resolved COMMIT`"
        ))
    } else {
        failure.hint(format!(
            "`liza merge {id} --resolve-trivial` resolves it, or a coder does with `liza task claim {id}`"
        ))
    }
}

/// Whether the next task may fare better: it may be what mends a red head, or run where this one does not.
fn of_one_task(failure: &Failure) -> bool {
    ["stale.", "tier0.", "gate."].iter().any(|prefix| failure.code.starts_with(prefix))
}

fn all(session: &mut Session, options: &MergeOptions) -> Result<Answer, Failure> {
    // A request id belongs to one merge; a queue is merged task by task.
    session.ctx.request = None;
    let mut outcomes: Vec<Value> = Vec::new();
    let mut tried: BTreeSet<TaskId> = BTreeSet::new();
    let mut text = String::new();
    let mut worst = exit::DONE;
    let mut refused: Option<Failure> = None;
    let mut revision = session.ctx.read(&Needs::Nothing)?.board.revision;
    while let Some(First { task: id, merged }) =
        merge_first(&session.ctx, options, |task| !tried.contains(task))?
    {
        match merged {
            Ok(merged) => {
                let reason = merged.data["reason"].as_str().map_or(String::new(), |why| format!(": {why}"));
                let outcome = merged.data["outcome"].as_str().unwrap_or_default();
                text.push_str(&format!("{id}: {outcome}{reason}\n"));
                revision = merged.revision;
                match merged.result {
                    MergeResult::Merged => {}
                    MergeResult::Conflict => worst = exit::CONFLICT,
                    MergeResult::Red => worst = exit::GATE,
                }
                outcomes.push(merged.data);
            }
            // What stops one task may not stop the next; what stops all of them does.
            Err(failure) if of_one_task(&failure) => {
                let hint = failure.hint.as_ref().map_or(String::new(), |hint| format!(" ({hint})"));
                text.push_str(&format!("{id}: {}{hint}\n", failure.message));
                outcomes.push(json!({
                    "task": id, "outcome": "refused", "code": failure.code, "reason": failure.message, "hint": failure.hint,
                }));
                worst = exit::of(&failure.code);
                refused.get_or_insert(failure);
            }
            Err(failure) if outcomes.is_empty() => return Err(failure),
            Err(mut failure) => {
                failure.message = format!("{}; before that:\n{}", failure.message, text.trim_end());
                return Err(failure.with_data(json!({ "merges": outcomes }), revision));
            }
        }
        tried.insert(id);
    }
    if outcomes.is_empty() {
        text.push_str("nothing is approved");
    }
    // Where nothing came of any of them, the first says why.
    if let Some(failure) = refused.filter(|_| outcomes.iter().all(|outcome| outcome["outcome"] == "refused"))
    {
        return Err(failure.with_data(json!({ "merges": outcomes }), revision));
    }
    let mut answer = Answer::new(json!({ "merges": outcomes }), text).at(revision);
    answer.exit = worst;
    Ok(answer)
}
