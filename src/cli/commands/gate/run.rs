use crate::board::gates::{GateOutcome, GateReport, Moment};
use crate::cli::prelude::*;
use crate::flow::gates;
use crate::flow::gates::Question;
use crate::flow::gates::record::GateRecord;

/// Run the gates on a task's submission or on any commit
///
/// The gates run in a private worktree of exactly that commit; a gate that passed on the same tree is not run again.
/// Exit 7 unless every required gate passed.
///
/// Example: liza gate run t1
///
/// Example: liza gate run --tree HEAD --gate test --fresh
#[derive(Args)]
pub struct RunArgs {
    /// Id of the task: its submission, or the head of its branch
    #[arg(conflicts_with = "tree")]
    pub task: Option<TaskId>,
    /// Branch or commit instead of a task
    #[arg(long, value_name = "REV")]
    pub tree: Option<Revision>,
    /// Only this gate; repeat
    #[arg(long, value_name = "NAME")]
    pub gate: Vec<GateName>,
    /// Run the gates even if they passed on the same tree before
    #[arg(long)]
    pub fresh: bool,
}

impl OnBoard for RunArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let ctx = &session.ctx;
        let (task, commit) = subject(ctx, self.task.as_ref(), self.tree.as_ref())?;
        let only: Vec<String> = self.gate.iter().map(ToString::to_string).collect();
        let question = Question {
            task: task.as_ref(),
            only: (!only.is_empty()).then_some(&only[..]),
            fresh: self.fresh,
            ..Question::new(Moment::ByHand, &commit)
        };
        let report = gates::judge(ctx, &question)?;
        let data = Judged { record: GateRecord::of(task.as_ref(), &report), passed: report.passed() };
        let text = match ctx.project_config()?.gates.is_empty() {
            true => super::list::none_configured(),
            false => table(&report),
        };
        let red = (!report.passed()).then(|| {
            Failure::new(Code::GateRed, "not every required gate passed")
                .hint("`data.results` has the result of each gate, its log the output")
        });
        Ok(Answer::new(data, text).failed_if(red))
    }
}

#[derive(Serialize)]
struct Judged {
    #[serde(flatten)]
    record: GateRecord,
    passed: bool,
}

/// What the gates run on: a commit of a task, or any commit.
pub(super) fn subject(
    ctx: &Context,
    task: Option<&TaskId>,
    rev: Option<&Revision>,
) -> Result<(Option<TaskId>, CommitId), Failure> {
    if let Some(rev) = rev {
        let commit = ctx.resolve_here(rev)?.ok_or_else(|| {
            Failure::usage(format!("there is no commit `{rev}`"))
                .hint("name a branch, a tag or a commit of this repository")
        })?;
        return Ok((None, commit));
    }
    let Some(id) = task else {
        return Err(Failure::usage("name a task, or a commit with `--tree REV`")
            .hint("for example `t1`, or `--tree HEAD`"));
    };
    let snapshot = ctx.read(&Needs::task(id))?;
    let archived = ctx.store.archived_beside(&snapshot.board, id)?;
    let Some(task) = snapshot.board.task(id).or(archived.as_ref()) else {
        return Err(view::unknown_task(&snapshot.board, id));
    };
    if let Some(commit) = &task.review_commit {
        return Ok((Some(id.clone()), commit.clone()));
    }
    let body = task.body();
    let head = match body.attempt() {
        Some(attempt) => ctx.query()?.head_of_branch(&attempt.branch)?,
        None => None,
    };
    match head {
        Some(head) => Ok((Some(id.clone()), head)),
        None => Err(Failure::new(Code::Transition, format!("`{id}` has no commit to run the gates on"))
            .hint(format!("`liza task claim {id}` starts it"))),
    }
}

/// One line per gate, and below it the failed checks.
fn table(report: &GateReport) -> String {
    let mut text = String::new();
    for result in &report.results {
        text.push_str(&words(result, report.required.contains(&result.name)));
    }
    for name in report.required.iter().filter(|name| report.result(name).is_none()) {
        text.line(format!("{} not run, because the gate above did not pass", pad_to(name, 14)));
    }
    text.push_str(match report.passed() {
        true => "every required gate passed",
        false => "not every required gate passed",
    });
    text
}

/// The result of one gate as text.
pub(super) fn words(outcome: &GateOutcome, required: bool) -> String {
    let tries = format!("{} tries", outcome.tries);
    let notes = [
        (outcome.reused, "reused"),
        (outcome.flaky, "flaky"),
        (outcome.tries > 1, &tries),
        (!required, "optional"),
    ];
    let notes = commas(notes.into_iter().filter_map(|(is_so, note)| is_so.then_some(note)));
    let line = format!(
        "{} {} {} {} {notes}",
        pad_to(&outcome.name, 14),
        pad_to(outcome.status.as_str(), 13),
        pad_to(&outcome.counts().unwrap_or_default(), 12),
        pad_to(&gates::seconds(outcome.duration_ms), 9)
    );
    let mut text = format!("{}\n", line.trim_end());
    for (value, before) in [(&outcome.reason, "why: "), (&outcome.hash, "hash: "), (&outcome.log, "log: ")] {
        if let Some(value) = value {
            text.line(format!("  {before}{value}"));
        }
    }
    for failing in &outcome.failing {
        text.line(format!("  failing: {failing}"));
    }
    for untested in &outcome.untested {
        text.line(format!("  no test reaches: {untested}"));
    }
    text
}
