//! Judging a bundle: format, fit, gates in a private tree, and a checklist of which every item is answered.

use std::path::PathBuf;

use serde::Serialize;
use serde_json::{Value, json};

use crate::board::gates::{GateReport, GateStatus, Moment};
use crate::board::rules::ReviewBundle;
use crate::board::{Board, CommitId, Needs, Status, TaskId};
use crate::flow::claim::integration_head;
use crate::flow::gates::{Question, judge};
use crate::policy::gate::{AdapterKind, Gate};
use crate::store::files::publish_new;
use crate::wire::bundle::{Bundle, ENDING, checksum};
use crate::wire::to_json_pretty;

use super::super::context::Context;
use super::super::failure::Failure;
use super::{Loaded, build, examine, report, told};

/// What a reviewer says to one item of the checklist.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Answered {
    pub item: String,
    pub yes: bool,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub text: String,
}

/// Judges the bundle and keeps the verdict beside it. A rejection is an answer with its reasons, and a failure to a script.
pub fn review(
    ctx: &Context,
    loaded: &Loaded,
    onto: Option<&str>,
    answers: &[(usize, bool, String)],
) -> Result<(Value, u64), Failure> {
    ctx.check_disk()?;
    let bundle = &loaded.bundle;
    let snapshot = match &bundle.task {
        Some(task) => ctx.read(&Needs::task(task))?,
        None => ctx.read(&Needs::Nothing)?,
    };
    let own = bundle.task.as_ref().filter(|task| snapshot.board.task(task).is_some());
    let verdict = |approved: bool| ReviewBundle {
        id: bundle.metadata.id.clone(),
        author: bundle.metadata.author.clone(),
        task: own.cloned(),
        approved,
    };
    ctx.would_allow(&snapshot.board, &verdict(true).into())?;
    let checklist = answered(&bundle.reviewer_checklist, answers)?;
    let base = base(ctx, &snapshot.board, bundle, onto)?;
    let applied = examine(ctx, &snapshot.board, bundle, &base, own)?;
    let mut reasons: Vec<String> = applied.problems.iter().map(|problem| problem.message.clone()).collect();
    let mut code = None;
    let mut judged = None;
    let mut commit = None;
    if applied.problems.is_empty() {
        let built = build(ctx, bundle, &base, &applied.changes, own)?;
        let question = Question { task: own, ..Question::new(Moment::Bundle, &built.commit) };
        let gates = judge(ctx, &question)?;
        if let Err(refusal) = gates.check(&built.commit, "review the bundle") {
            code = Some(refusal.code.as_str());
            reasons.push(refusal.message);
        }
        reasons.extend(unmet(bundle, &ctx.project_config()?.gates, &gates));
        judged = Some(gates);
        commit = Some(built.commit);
    } else {
        code = Some(if applied.problems.iter().all(|problem| problem.kind.is_conflict()) {
            "git.conflict"
        } else {
            "refused.bundle"
        });
    }
    let denied = checklist.iter().filter(|answer| !answer.yes);
    reasons.extend(denied.map(|answer| match answer.text.as_str() {
        "" => format!("not so: {}", answer.item),
        text => format!("not so: {} ({text})", answer.item),
    }));
    let approved = reasons.is_empty();
    let reviewer = snapshot.board.identify(&ctx.credentials)?.id();
    let mut data = json!({
        "bundle": bundle.metadata.id, "blake3": checksum(&loaded.bytes), "reviewer": reviewer,
        "verdict": if approved { "approve" } else { "reject" }, "reasons": reasons, "base": base, "commit": commit,
        "gates": judged, "checklist": checklist, "time": ctx.now.wall,
    });
    let committed = ctx.commit(verdict(approved))?;
    let path = keep(ctx, loaded, &data)?;
    data["path"] = json!(path);
    data["problems"] = report(bundle, &base, &applied)["problems"].clone();
    data["next"] = json!(approved.then(|| next(ctx, &snapshot.board, bundle, own)).transpose()?.flatten());
    if approved {
        return Ok((data, committed.board.revision));
    }
    let told = match applied.problems.is_empty() {
        false => told(&loaded.path, &applied.problems),
        true => Failure::new(code.unwrap_or("refused.bundle"), format!("reject: {}", reasons.join("; ")))
            .hint(format!("the verdict is kept in {}; nothing was applied", path.display())),
    };
    Err(told.with_data(data, committed.board.revision))
}

/// Every item has its answer, and every answer its item.
fn answered(items: &[String], answers: &[(usize, bool, String)]) -> Result<Vec<Answered>, Failure> {
    let incomplete = |message: String| {
        let listed: Vec<String> =
            items.iter().enumerate().map(|(at, item)| format!("{} {item}", at + 1)).collect();
        Failure::new("refused.feedback_incomplete", message)
            .hint(format!(
                "answer every item with --answer \"N=yes\" or \"N=no: why\": {}",
                listed.join("; ")
            ))
            .detail("checklist", items.to_vec())
    };
    if let Some((number, ..)) = answers.iter().find(|(number, ..)| *number == 0 || *number > items.len()) {
        return Err(incomplete(format!(
            "the checklist has {} items, none with number {number}",
            items.len()
        )));
    }
    let one = |(at, item): (usize, &String)| {
        let mut given = answers.iter().filter(|(number, ..)| *number == at + 1);
        match (given.next(), given.next()) {
            (Some((_, yes, text)), None) => {
                Ok(Answered { item: item.clone(), yes: *yes, text: text.clone() })
            }
            (None, _) => Err(incomplete(format!("item {} of the checklist is not answered: {item}", at + 1))),
            (Some(_), Some(_)) => {
                Err(incomplete(format!("item {} of the checklist is answered twice", at + 1)))
            }
        }
    };
    items.iter().enumerate().map(one).collect()
}

/// What it is judged on: what was asked for, what it was made against, or integration.
fn base(ctx: &Context, board: &Board, bundle: &Bundle, onto: Option<&str>) -> Result<CommitId, Failure> {
    match (onto, &bundle.base_commit) {
        (Some(rev), _) => super::named(ctx, rev),
        (None, Some(base)) if ctx.query()?.has_commit(base) => Ok(base.clone()),
        _ => integration_head(ctx, board),
    }
}

/// Checks that the author expects to pass and that did not, also optional ones.
fn unmet(bundle: &Bundle, gates: &[Gate], report: &GateReport) -> Vec<String> {
    let expected = &bundle.expected_checks;
    let mut reasons = Vec::new();
    for name in expected.names() {
        match report.result(name).map(|result| result.status) {
            Some(GateStatus::Pass) => {}
            Some(status) if report.required.iter().all(|required| required != name) => {
                reasons.push(format!("check `{name}` is expected to pass and said {}", status.as_str()));
            }
            // The report itself says so of required ones.
            Some(_) => {}
            None if gates.iter().any(|gate| gate.name == name) => {}
            None => reasons
                .push(format!("check `{name}` is expected to pass, and no gate of that name is configured")),
        }
    }
    if let Some(most) = expected.diagnostics_count {
        let counted = gates
            .iter()
            .filter(|gate| gate.adapter == AdapterKind::Diag)
            .find_map(|gate| report.result(&gate.name)?.total);
        match counted {
            Some(count) if count <= most => {}
            Some(count) => {
                reasons.push(format!("{count} diagnostics were found, and {most} are expected at most"))
            }
            None => {
                reasons.push(format!("at most {most} diagnostics are expected, and no gate counted them"))
            }
        }
    }
    reasons
}

/// Beside the bundle, whole; an earlier verdict stays.
fn keep(ctx: &Context, loaded: &Loaded, data: &Value) -> Result<PathBuf, Failure> {
    let name = loaded.path.file_name().unwrap_or_default().to_string_lossy();
    let stem = name.strip_suffix(ENDING).unwrap_or(&name);
    let text = format!("{}\n", to_json_pretty(data));
    for number in 1_u32.. {
        let name =
            if number == 1 { format!("{stem}.review.json") } else { format!("{stem}.review-{number}.json") };
        let path = loaded.path.with_file_name(name);
        if publish_new(&path, text.as_bytes())? {
            crate::host::crash::point("bundle.reviewed");
            ctx.narrate(format!("the verdict is kept in {}", path.display()));
            return Ok(path);
        }
    }
    Err(Failure::new("bug.bundle", "no number is free"))
}

/// The command that approves the task itself, where this is exactly what it handed in.
fn next(
    ctx: &Context,
    board: &Board,
    bundle: &Bundle,
    own: Option<&TaskId>,
) -> Result<Option<String>, Failure> {
    let Some(task) = own.and_then(|id| board.task(id)) else { return Ok(None) };
    let Some(commit) = task.review_commit.as_ref().filter(|_| task.status == Status::ReadyForReview) else {
        return Ok(None);
    };
    let tree = ctx.query()?.tree_of(commit)?;
    let id = &task.id;
    Ok((bundle.result_tree.as_ref() == Some(&tree))
        .then(|| format!("liza review claim {id} && liza review approve {id} --commit {commit}")))
}
