//! Gate results on a merge, and the cause of a failure.

use super::super::gates::{Question, judge};
use super::super::moved::integration_was_moved;
use crate::flow::prelude::*;

/// The result of the gates.
pub enum Judged {
    Green(GateReport),
    /// The merge brings in the failure: integration's head passes that gate.
    Red(GateReport),
}

/// Runs the gates on the merged tree. A gate that does not pass also runs on the head alone: a task is not sent back
/// for another task's failure, nor for a machine on which the gate cannot run at all.
pub fn merged(ctx: &Context, task: &TaskId, onto: &CommitId, commit: &CommitId) -> Result<Judged> {
    let report = judge(ctx, &Question { task: Some(task), ..Question::new(Moment::Merge, commit) })?;
    let Some((gate, lacking)) = report.lacking() else { return Ok(Judged::Green(report)) };
    let only = [gate.to_owned()];
    // An earlier result on the head does not show whether the gate can run now.
    let fresh = lacking == Lacking::CouldNotRun;
    let alone = judge(ctx, &Question { only: Some(&only), fresh, ..Question::new(Moment::Merge, onto) })?;
    match alone.result(gate).map(|result| result.status) {
        Some(GateStatus::Fail) => Err(red_head(ctx, &alone)),
        Some(GateStatus::Pass) => Ok(Judged::Red(report)),
        Some(GateStatus::CouldNotRun) | None => {
            // The machine is at fault, not the work, so the work stays approved.
            report.check(commit, "merge")?;
            alone.check(onto, "merge")?;
            Ok(Judged::Red(report))
        }
    }
}

/// Refuses to merge onto a head that liza did not make: a person has to look at it. Its gates run first, so that the
/// person knows the result.
pub fn not_foreign(ctx: &Context) -> Result<()> {
    let board = ctx.read(&Needs::Nothing)?.board;
    let Some(evidence) = integration_was_moved(ctx, &board)? else { return Ok(()) };
    let Some(head) = &evidence.to else { return Ok(()) };
    ctx.narrate(format!("{}; liza runs its gates first", evidence.message()));
    let report = judge(ctx, &Question::new(Moment::Merge, head))?;
    if report.lacking().is_some_and(|(_, why)| why == Lacking::Failed) {
        return Err(red_head(ctx, &report));
    }
    ctx.integration_in_place(&board)
        .map_err(|failure| failure.detail("gates", serde_json::to_value(&report.results).unwrap_or_default()))
}

/// Records that integration itself is red, and says how to continue.
pub fn red_head(ctx: &Context, report: &GateReport) -> Failure {
    let branch = ctx
        .store
        .read(&Needs::Nothing)
        .map(|snapshot| snapshot.board.config().integration_branch.clone())
        .unwrap_or_default();
    let (gate, reason, log, failing) = match report.lacking().and_then(|(gate, _)| report.result(gate)) {
        Some(red) => {
            (red.name.clone(), red.reason.clone().unwrap_or_default(), red.log.clone(), red.failing.clone())
        }
        None => Default::default(),
    };
    if let Err(error) = ctx.commit_as_liza(JudgeIntegration { gates: report.clone() }) {
        ctx.narrate(format!("liza could not record that integration is red: {error}"));
    }
    let about = ctx.query().ok().and_then(|query| query.commit_info(&report.commit).ok());
    let whose = about.map_or(String::new(), |about| {
        format!(" (\"{}\" by {})", shown_line(&about.subject), shown_line(&about.committer.identity.name))
    });
    let read = log.as_ref().map_or(String::new(), |log| format!("read {log}; "));
    failure!(ErrorCode::GateIntegrationRed, "`{branch}` itself is red: gate `{gate}` fails on its head {}{whose}: {reason}; liza merges no task onto it",
            report.commit.short())
    .hint(format!(
        "{read}fix it with a commit of your own (`liza integration advance REV --reason …`) or merge a task that fixes it; approved tasks stay approved"
    ))
    .detail("gate", gate)
    .detail("log", log)
    .detail("failing", failing)
    .detail("commit", report.commit.as_str())
}
