//! Judging a bundle: format, fit, gates in a private tree, and a checklist of which every item is answered.

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::{Value, json};

use crate::board::gates::{GateReport, GateStatus, Moment};
use crate::board::rules::ReviewBundle;
use crate::board::{Board, CommitId, Needs, Status, TaskId};
use crate::flow::claim::integration_head;
use crate::flow::gates::{Question, judge};
use crate::policy::gate::{AdapterKind, Gate};
use crate::store::files::{make_private_dirs, publish_new, read_whole};
use crate::wire::bundle::{Bundle, LARGEST, checksum};
use crate::wire::{Limits, read_foreign_value, to_json_pretty};

use super::super::context::Context;
use super::super::failure::Failure;
use super::{Loaded, build, examine, hands, report, shown_path};

/// What a reviewer says to one item of the checklist.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Answered {
    pub item: String,
    pub yes: bool,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub text: String,
}

/// Judges the bundle and keeps the verdict in `.liza/bundles`. A rejection is an answer with its reasons, and a failure to a script.
pub fn review(
    ctx: &Context,
    loaded: &Loaded,
    onto: Option<&str>,
    answers: &[(usize, bool, String)],
) -> Result<(Value, u64), Failure> {
    if let Some((outcome, revision)) = ctx.answered()? {
        return kept_before(ctx, &outcome, revision);
    }
    ctx.check_disk()?;
    let bundle = &loaded.bundle;
    let snapshot = ctx.read(&Needs::Everything)?;
    let own = bundle.task.as_ref().filter(|task| snapshot.board.task(task).is_some());
    let verdict = |approved: bool, tree: Option<&CommitId>, path: Option<&Path>| {
        let mut hands: Vec<String> = bundle.implementers.clone();
        let recorded = hands::recorded(ctx, &snapshot.board, bundle, tree)?;
        hands.extend(recorded.iter().map(ToString::to_string));
        Ok::<_, Failure>(ReviewBundle {
            id: bundle.metadata.id.clone(),
            author: bundle.metadata.author.clone(),
            task: own.cloned(),
            hands,
            approved,
            path: path.map(|path| shown_path(ctx, path)),
        })
    };
    ctx.ask(&snapshot.board, verdict(true, None, None)?)?;
    let checklist = answered(&bundle.reviewer_checklist, answers)?;
    let base = base(ctx, &snapshot.board, bundle, onto)?;
    let applied = examine(ctx, &snapshot.board, bundle, &base, own)?;
    let mut reasons: Vec<String> = applied.problems.iter().map(|problem| problem.message.clone()).collect();
    let mut code = None;
    let mut judged = None;
    let mut commit = None;
    let mut tree = None;
    if applied.problems.is_empty() {
        let built = build(ctx, bundle, &base, &applied.changes, own)?;
        // Whatever it says of itself: whoever made the very tree it leads to is not the one to judge it.
        ctx.ask(&snapshot.board, verdict(true, Some(&built.tree), None)?)?;
        // Asked for no task: what a task's own gates said last is about what it handed in.
        let gates = judge(ctx, &Question::new(Moment::Bundle, &built.commit))?;
        if let Err(refusal) = gates.check(&built.commit, "review the bundle") {
            code = Some(refusal.code.as_str());
            reasons.push(refusal.message);
        }
        reasons.extend(unmet(bundle, &ctx.project_config()?.gates, &gates));
        judged = Some(gates);
        commit = Some(built.commit);
        tree = Some(built.tree);
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
        "verdict": if approved { "approve" } else { "reject" }, "code": code, "reasons": reasons, "base": base,
        "commit": commit, "problems": report(bundle, &base, &applied)["problems"],
        "gates": judged, "checklist": checklist, "time": ctx.now.wall,
    });
    data["next"] = json!(match &tree {
        Some(tree) if approved => next(ctx, &snapshot.board, tree, own)?,
        _ => None,
    });
    // The file first: a verdict on the board is one that can be read.
    let path = keep(ctx, bundle, &data)?;
    let committed = ctx.commit(verdict(approved, tree.as_ref(), Some(&path))?)?;
    crate::host::crash::point("bundle.review_noted");
    answer(data, &path, committed.board.revision)
}

/// What was answered to this request before, as its file has it.
fn kept_before(ctx: &Context, outcome: &Value, revision: u64) -> Result<(Value, u64), Failure> {
    let path = ctx.root().join(outcome["path"].as_str().unwrap_or_default());
    let unreadable = |why: &dyn std::fmt::Display| {
        Failure::new("io.read", format!("the verdict {} cannot be read: {why}", path.display()))
            .hint("`liza task show` has what was noted of it; review the bundle again without --request-id")
    };
    let (bytes, _) = read_whole(&path, LARGEST as u64).map_err(|error| unreadable(&error))?;
    let data = read_foreign_value(&bytes, Limits::of_bytes(LARGEST)).map_err(|error| unreadable(&error))?;
    answer(data, &path, revision)
}

/// An approval is an answer, a rejection a failure that says why.
fn answer(mut data: Value, path: &Path, revision: u64) -> Result<(Value, u64), Failure> {
    data["path"] = json!(path);
    if data["verdict"] == "approve" {
        return Ok((data, revision));
    }
    let reasons: Vec<&str> =
        data["reasons"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let code = data["code"].as_str().unwrap_or("refused.bundle");
    let told = Failure::new(code, format!("reject: {}", reasons.join("; ")))
        .hint(format!("the verdict is kept in {}; nothing was applied", path.display()))
        .detail("problems", data["problems"].clone());
    Err(told.with_data(data, revision))
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

/// Whole, under the next free number; an earlier verdict stays.
fn keep(ctx: &Context, bundle: &Bundle, data: &Value) -> Result<PathBuf, Failure> {
    let dir = ctx.store.layout().bundles();
    make_private_dirs(&dir)?;
    let text = format!("{}\n", to_json_pretty(data));
    for number in 1_u32.. {
        let path = dir.join(format!("{}.review-{number}.json", bundle.metadata.id));
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
    built: &CommitId,
    own: Option<&TaskId>,
) -> Result<Option<String>, Failure> {
    let Some(task) = own.and_then(|id| board.task(id)) else { return Ok(None) };
    let Some(commit) = task.review_commit.as_ref().filter(|_| task.status == Status::ReadyForReview) else {
        return Ok(None);
    };
    let tree = ctx.query()?.tree_of(commit)?;
    let id = &task.id;
    Ok((*built == tree)
        .then(|| format!("liza review claim {id} && liza review approve {id} --commit {commit}")))
}
