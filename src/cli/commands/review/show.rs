use crate::board::checklist;
use crate::cli::prelude::*;
use crate::flow::{alignment, outside};

/// Show what a verdict needs: diff, tests, validation, earlier issues
///
/// Also compares the change with the coder's checkpoint.
///
/// Example: liza review show t1
#[derive(Args)]
pub struct ShowArgs {
    /// Id of the task (optional inside its review checkout)
    #[arg(add = Completer::Tasks(super::under_review))]
    pub id: Option<TaskId>,
    /// Print no diff
    #[arg(long)]
    pub no_diff: bool,
}

impl OnBoard for ShowArgs {
    const ACCESS: Access = Access::Reads;

    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let id = &session.task_or_here(self.id.as_ref())?;
        let snapshot = session.ctx.read(&Needs::task(id))?;
        let task = view::known_task(&snapshot.board, id)?;
        let body = task.body();
        let Some(submission) = &body.submission else {
            let text = format!("task `{id}` is {}: nothing was submitted", task.status);
            return Err(
                Failure::new(Code::Transition, text).hint(format!("`liza task show {id}` shows its state"))
            );
        };
        let answers = alignment::answers(body);
        let (from, to) = (&submission.merge_base, &submission.commit);
        let diff = || crate::git::query::diff_text(&session.ctx.repo, from, to);
        let plain = if self.no_diff { String::new() } else { diff()? };
        let config = session.ctx.project_config()?;
        let items = checklist::items(&body.checklist, config.checklists.of(task.risk));
        let gates = crate::flow::gates::shown::shown(&session.ctx, task)?;
        let mut head = view::review(task, submission, &answers, &items, &gates);
        let quorum = config.review.quorum.of(task.risk);
        match &task.approvals {
            Some(approvals) => head.line(format!("approvals: {}", approvals.words())),
            None if quorum > 1 && body.approval.is_none() => head.line(format!("approvals: 0 of {quorum}")),
            None => {}
        }
        let outside = outside::since_claim(&session.ctx, &snapshot.board, id);
        if !outside.is_empty() {
            head.line("changed outside the task's worktree since its claim (author unknown):");
            outside.iter().for_each(|checkout| head.line(format!("  {}", checkout.words())));
        }
        let data = json!({
            "task": id, "review_commit": submission.commit, "merge_base": submission.merge_base, "round": task.review_cycles_total + 1,
            "done_when": body.done_when, "checkpoint": crate::board::rules::current_checkpoint(body), "alignment": answers,
            "files": submission.files, "tests": submission.tests, "tests_present": !submission.tests.is_empty(),
            "protected": submission.protected, "validation": submission.validation, "gates": body.gates, "gate_results": gates, "issues": body.issues,
            "checklist": items.iter().enumerate().map(|(at, item)| json!({ "n": at + 1, "item": item })).collect::<Vec<_>>(),
            "assumptions": assumptions_of_checkpoint(body).iter().enumerate().map(|(at, one)| json!({ "n": at + 1, "assumption": one.text, "critical": one.critical })).collect::<Vec<_>>(),
            "outside": outside,
            "red_team": task.red_team, "judged_by": task.judged_by(), "approvals": task.approvals, "quorum": quorum,
            "reviews": body.reviews, "review_result": body.review_result, "diff": plain,
        });
        let mut answer = Answer::new(data, format!("{head}\n{plain}")).verbatim().at(snapshot.board.revision);
        if session.ui.color && !self.no_diff {
            // git does not escape the diff, so liza escapes each line and restores only git's own colours.
            answer.colored = Some(format!("{}\n{}", crate::text::shown(&head), view::colored_diff(&plain)));
        }
        Ok(answer)
    }
}
