//! Reviews a bundle: format, fit, gates in a private tree, and a checklist with an answer to every item.

use super::{Loaded, build, contributors, examine, shown_path};
use crate::flow::gates::{Question, judge};
use crate::flow::prelude::*;
use crate::policy::gate::AdapterKind;
use crate::wire::bundle::{Bundle, LARGEST, Problem, checksum};

/// A reviewer's answer to one item of the checklist.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answered {
    pub item: String,
    pub yes: bool,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
}

/// A verdict on a bundle, as stored in its file.
#[derive(Debug, Serialize, Deserialize)]
pub struct Verdict {
    pub bundle: String,
    pub blake3: String,
    pub reviewer: AgentId,
    pub verdict: VerdictWord,
    pub code: Option<ErrorCode>,
    pub reasons: Vec<String>,
    pub base: CommitId,
    pub commit: Option<CommitId>,
    pub problems: Vec<Problem>,
    pub gates: Option<GateReport>,
    pub checklist: Vec<Answered>,
    pub time: Wall,
    /// The next command to type, if there is one.
    pub next: Option<String>,
    /// The path of the file; not stored in the file itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(serialize_with = "crate::text::serialize_path")]
    pub path: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerdictWord {
    Approve,
    Reject,
}

/// Reviews the bundle and keeps the verdict in `.liza/bundles`. A rejection is an answer with its reasons, and a
/// failure to a script.
pub fn review(
    ctx: &Context,
    loaded: &Loaded,
    onto: Option<&Revision>,
    answers: &[(usize, bool, String)],
) -> Result<(Verdict, u64)> {
    if let Some((BundleReviewed { path, .. }, revision)) = ctx.answered()? {
        return kept_before(ctx, &path.unwrap_or_default(), revision);
    }
    ctx.check_disk()?;
    let bundle = &loaded.bundle;
    let snapshot = ctx.read(&Needs::Everything)?;
    let own = bundle.task.as_ref().filter(|task| snapshot.board.task(task).is_some());
    let verdict = |approved: bool, tree: Option<&CommitId>, path: Option<&Path>| {
        let mut hands: Vec<String> = bundle.implementers.clone();
        let recorded = contributors::recorded(ctx, &snapshot.board, bundle, tree)?;
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
    let checklist = check_answers(&bundle.reviewer_checklist, answers)?;
    let base = base(ctx, &snapshot.board, bundle, onto)?;
    let applied = examine(ctx, &snapshot.board, bundle, &base, own)?;
    let mut reasons: Vec<String> = applied.problems.iter().map(|problem| problem.message.clone()).collect();
    let mut code = None;
    let mut judged = None;
    let mut commit = None;
    let mut tree = None;
    if applied.problems.is_empty() {
        let built = build(ctx, bundle, &base, &applied.changes, own)?;
        // The board decides, not the bundle: an author of the resulting tree may not review it.
        ctx.ask(&snapshot.board, verdict(true, Some(&built.tree), None)?)?;
        // Run for no task: the last results of a task's own gates are about its submission.
        let gates = judge(ctx, &Question::new(Moment::Bundle, &built.commit))?;
        if let Err(refusal) = gates.check(&built.commit, "review the bundle") {
            code = Some(ErrorCode::from(refusal.code));
            reasons.push(refusal.message);
        }
        reasons.extend(unmet(bundle, &ctx.project_config()?.gates, &gates));
        judged = Some(gates);
        commit = Some(built.commit);
        tree = Some(built.tree);
    } else {
        code = Some(if applied.problems.iter().all(|problem| problem.kind.is_conflict()) {
            ErrorCode::GitConflict
        } else {
            ErrorCode::RefusedBundle
        });
    }
    let denied = checklist.iter().filter(|answer| !answer.yes);
    reasons.extend(denied.map(|answer| match answer.text.as_str() {
        "" => format!("not so: {}", answer.item),
        text => format!("answered no: {} ({text})", answer.item),
    }));
    let approved = reasons.is_empty();
    let reviewer = snapshot.board.identify(&ctx.credentials)?.id();
    let next = match &tree {
        Some(tree) if approved => next(ctx, &snapshot.board, tree, own)?,
        _ => None,
    };
    let record = Verdict {
        bundle: bundle.metadata.id.clone(),
        blake3: checksum(&loaded.bytes),
        reviewer,
        verdict: if approved { VerdictWord::Approve } else { VerdictWord::Reject },
        code,
        reasons,
        base,
        commit,
        problems: applied.problems,
        gates: judged,
        checklist,
        time: ctx.now.wall,
        next,
        path: None,
    };
    // The file first: a verdict on the board must be readable.
    let path = keep(ctx, &record)?;
    let committed = ctx.commit(verdict(approved, tree.as_ref(), Some(&path))?)?;
    crash::point("bundle.review_noted");
    answer(record, &path, committed.board.revision)
}

/// The earlier answer to this request, from its file.
fn kept_before(ctx: &Context, path: &str, revision: u64) -> Result<(Verdict, u64)> {
    let path = ctx.root().join(path);
    let unreadable = |why: &dyn std::fmt::Display| {
        failure!(ErrorCode::IoRead, "the verdict {} cannot be read: {why}", path.display())
            .hint("`liza task show` has the recorded verdict; to review again, omit --request-id")
    };
    let (bytes, _) = read_whole(&path, LARGEST as u64).map_err(|error| unreadable(&error))?;
    let verdict = read_foreign(&bytes, Limits::of_bytes(LARGEST)).map_err(|error| unreadable(&error))?;
    answer(verdict, &path, revision)
}

/// An approval is an answer, a rejection a failure with its reasons.
fn answer(verdict: Verdict, path: &Path, revision: u64) -> Result<(Verdict, u64)> {
    let verdict = Verdict { path: Some(path.to_owned()), ..verdict };
    if verdict.verdict == VerdictWord::Approve {
        return Ok((verdict, revision));
    }
    let code = verdict.code.unwrap_or(ErrorCode::RefusedBundle);
    let rejection = failure!(code, "reject: {}", verdict.reasons.join("; "))
        .hint(format!("the verdict is kept in {}; nothing was applied", path.display()))
        .detail("problems", super::list(&verdict.problems));
    Err(rejection.with_data(verdict, revision))
}

/// Checks that every item has one answer, and every answer an item.
fn check_answers(items: &[String], answers: &[(usize, bool, String)]) -> Result<Vec<Answered>> {
    let incomplete = |message: String| {
        let listed: Vec<String> =
            items.iter().enumerate().map(|(at, item)| format!("{} {item}", at + 1)).collect();
        Failure::new(Code::FeedbackIncomplete, message)
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

/// The base of the review: the requested one, the bundle's own, or integration.
fn base(ctx: &Context, board: &Board, bundle: &Bundle, onto: Option<&Revision>) -> Result<CommitId> {
    match (onto, &bundle.base_commit) {
        (Some(rev), _) => ctx.commit_named(rev),
        (None, Some(base)) if ctx.query()?.has_commit(base) => Ok(base.clone()),
        _ => integration_head(ctx, board),
    }
}

/// Checks, also optional ones, that the author expects to pass and that did not.
fn unmet(bundle: &Bundle, gates: &[Gate], report: &GateReport) -> Vec<String> {
    let expected = &bundle.expected_checks;
    let mut reasons = Vec::new();
    for name in expected.names() {
        match report.result(name).map(|result| result.status) {
            Some(GateStatus::Pass) => {}
            Some(status) if report.required.iter().all(|required| required != name) => {
                reasons.push(format!(
                    "check `{name}` is expected to pass, but its result is {}",
                    status.as_str()
                ));
            }
            // The report itself covers required ones.
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

/// Writes the complete verdict under the next unused number; earlier verdicts stay.
fn keep(ctx: &Context, verdict: &Verdict) -> Result<PathBuf> {
    let text = format!("{}\n", to_json_pretty(verdict));
    for number in 1_u32.. {
        let name = format!("{}.review-{number}.json", verdict.bundle);
        if let Some(path) = ctx.store.publish_bundle(&name, text.as_bytes())? {
            crash::point("bundle.reviewed");
            ctx.narrate(format!("the verdict is kept in {}", path.display()));
            return Ok(path);
        }
    }
    Err(Failure::new(ErrorCode::BugBundle, "all verdict numbers are taken"))
}

/// The command that approves the task itself, if this is exactly its submission.
fn next(ctx: &Context, board: &Board, built: &CommitId, own: Option<&TaskId>) -> Result<Option<String>> {
    let Some(task) = own.and_then(|id| board.task(id)) else { return Ok(None) };
    let Some(commit) = task.review_commit.as_ref().filter(|_| task.status == Status::ReadyForReview) else {
        return Ok(None);
    };
    let tree = ctx.query()?.tree_of(commit)?;
    let id = &task.id;
    Ok((*built == tree)
        .then(|| format!("liza review claim {id} && liza review approve {id} --commit {commit}")))
}
