//! The facts for a reviewer's verdict.

use super::task::{files, sheet};
use super::{Desk, KIB};
use crate::board::checklist;
use crate::board::review::Issue;
use crate::board::task::Kind;
use crate::flow::alignment::{self, Answer};
use crate::flow::outside;
use crate::flow::prelude::*;
use crate::git::query;
use crate::prompt::{AnswerFlags, AssumptionFlags, Block, Bound, PriorFlags, Quoted};

const DIFF_SHOWN: usize = 200_000;

impl Desk<'_> {
    pub(super) fn judge(&mut self, id: &TaskId) -> Result<()> {
        let task = self.task(id)?;
        let body = task.body();
        let open = task.judged_by().as_ref() == Some(self.request.role);
        if open && task.stands_on_result() {
            return self.judge_result(task);
        }
        self.facts.block("result", Block::none());
        let (Some(submission), Some(commit), true) = (&body.submission, &task.review_commit, open) else {
            return Err(failure!(ErrorCode::StaleReview, "`{id}` has nothing to review any more")
                .hint(format!("`liza next --role {}` finds other work", self.request.role)));
        };
        let checkout = self.ctx.machine.worktrees().join(".review").join(id.as_str());
        let shown = Quoted::new(&checkout.display().to_string());
        let claimed = task.review_lease.as_ref().is_some_and(|lease| lease.agent.is_same(self.request.agent));
        if claimed && !checkout.join(".git").exists() {
            self.missing.push(format!(
                "the review checkout {} of {id} is gone: `liza review claim {id}` makes it again",
                shown.as_str()
            ));
        }
        self.facts.plain("checkout", &shown);
        self.facts.plain("review_commit", commit);
        self.facts.plain("round", &u64::from(task.review_cycles_total + 1));
        self.facts.block("task", sheet(task));
        let remedy = "add the spec, or discuss the review";
        self.spec(&format!("task {id}"), body.spec_ref.as_deref(), body.spec.as_ref(), remedy);
        let outputs = self.outputs(task)?;
        self.facts.block("outputs", outputs);

        let whole = Bound::new(32 * KIB, format!("`liza review show {id} --no-diff`"));
        let announced = current_checkpoint(body).map(checkpoint_text).unwrap_or_default();
        let aligned = comparison_text(&alignment::answers(body));
        let found = submission_text(submission, task.kind) + &gates_said(task);
        let protected = submission.protected.join("\n");
        let outside: Vec<String> =
            outside::since_claim(self.ctx, self.board, id).iter().map(outside::Outside::words).collect();
        let issues: Vec<String> = body.issues.iter().map(issue).collect();
        for (name, origin, text) in [
            ("checkpoint", format!("the checkpoint of task {id}"), announced),
            ("alignment", format!("liza's comparison of the work on {id} with its checkpoint"), aligned),
            ("submission", format!("the submission of task {id}, as liza found it"), found),
            ("protected", format!("the paths in the submission of task {id}"), protected),
            ("outside", format!("checkouts beside that of task {id}"), outside.join("\n")),
            ("issues", format!("earlier reviews of task {id}"), issues.join("\n")),
        ] {
            self.facts.block(name, Block::new(&origin, &text, &whole));
        }
        let open = body.issues.iter().filter(|issue| issue.is_open());
        self.facts.plain("prior_flags", &PriorFlags::of(open.map(|issue| issue.id.as_str())));
        let config = self.ctx.project_config()?;
        let items = checklist::items(&body.checklist, config.checklists.of(task.risk));
        let is_reviewer = *self.request.role != Role::red_team();
        let assumptions = if is_reviewer { assumptions_of_checkpoint(body).len() } else { 0 };
        self.facts.plain("assumption_flags", &AssumptionFlags::of(assumptions));
        // The checklist is for reviewers; the red team has its own procedure.
        let items = if is_reviewer { items } else { Vec::new() };
        self.facts.plain("answer_flags", &AnswerFlags::of(items.len()));
        let numbered: Vec<String> = items
            .iter()
            .enumerate()
            .map(|(at, item)| format!("{}. {}", at + 1, indent(item, 3).trim_start()))
            .collect();
        let origin = format!("the plan of task {id} and liza.yaml");
        self.facts.block("checklist", Block::new(&origin, &numbered.join("\n"), &whole));
        self.facts.optional("approver", body.approval.as_ref().map(|approval| &approval.reviewer));
        // One byte more than is shown, to notice a cut.
        let read = DIFF_SHOWN as u64 + 1;
        let diff = query::start_of_diff(&self.ctx.repo, &submission.merge_base, &submission.commit, read)?;
        let bound = Bound::new(DIFF_SHOWN, format!("`liza diff {id}`, or look in the checkout"));
        let origin = format!("the change of task {id}");
        self.facts.block("diff", Block::in_language(&origin, "diff", &diff, &bound));
        Ok(())
    }
}

impl Desk<'_> {
    /// The result of a merge slice without changes: its checks, and integration to examine.
    fn judge_result(&mut self, task: &Task) -> Result<()> {
        let id = &task.id;
        let checkout = self.ctx.machine.worktrees().join(".review").join(id.as_str());
        self.facts.plain("checkout", &Quoted::new(&checkout.display().to_string()));
        self.facts.optional("review_commit", self.board.rest.integration.head.as_ref());
        self.facts.plain("round", &u64::from(task.review_cycles_total + 1));
        self.facts.block("task", sheet(task));
        let body = task.body();
        self.spec(&format!("task {id}"), body.spec_ref.as_deref(), body.spec.as_ref(), "add the spec");
        let outputs = self.outputs(task)?;
        self.facts.block("outputs", outputs);
        for name in
            ["checkpoint", "alignment", "submission", "protected", "outside", "issues", "checklist", "diff"]
        {
            self.facts.block(name, Block::none());
        }
        self.facts.plain("prior_flags", &PriorFlags::of(std::iter::empty()));
        self.facts.plain("assumption_flags", &AssumptionFlags::of(0));
        self.facts.plain("answer_flags", &AnswerFlags::of(0));
        self.facts.optional("approver", None::<&AgentId>);
        let result = task.result.as_ref().and_then(|result| self.ctx.store.result_bytes(id, result));
        let text = String::from_utf8_lossy(&result.unwrap_or_default()).into_owned();
        let bound = Bound::new(64 * KIB, format!("`liza result show {id}`"));
        self.facts
            .block("result", Block::in_language(&format!("the result of task {id}"), "json", &text, &bound));
        Ok(())
    }
}

fn checkpoint_text(checkpoint: &Checkpoint) -> String {
    let more = |text: &str| indent(text.trim(), 2).trim_start().to_owned();
    let mut lines = vec![format!("intent: {}", more(&checkpoint.intent))];
    for (at, assumption) in checkpoint.assumptions.iter().enumerate() {
        let kind = if assumption.critical { "critical assumption" } else { "assumption" };
        lines.push(format!("{kind} {}: {}", at + 1, more(&assumption.text)));
    }
    lines.push(format!("risks: {}", more(&checkpoint.risks)));
    let planned = &checkpoint.validation;
    let (command, expect) = (shown_line(&planned.command), shown_line(&planned.expect));
    lines.push(format!("validation: {command} must print {expect}"));
    lines.push(format!("files: {}", files(&checkpoint.files_to_modify)));
    lines.join("\n")
}

fn comparison_text(answers: &[Answer]) -> String {
    let lines = answers.iter().map(|answer| {
        let mark = match answer.holds {
            _ if answer.answer.starts_with("judge") => "judge",
            true => "yes",
            false => "NO",
        };
        format!("{} {mark}: {}", answer.question, indent(answer.answer.trim(), 2).trim_start())
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn submission_text(submission: &Submission, kind: Kind) -> String {
    let ran = &submission.validation;
    let passed = if ran.passed() { "passed" } else { "FAILED" };
    let exit = ran.exit.map_or("none".to_owned(), |code| code.to_string());
    let matched = if ran.output_matched { "found" } else { "not found" };
    let tests = match (kind, submission.tests.is_empty()) {
        (Kind::Code, true) => "none: a code task without tests cannot be approved".to_owned(),
        (_, true) => "none (not a code task)".to_owned(),
        (_, false) => files(&submission.tests),
    };
    [
        format!("commit: {} on {}", submission.commit, submission.merge_base),
        format!("files: {}", files(&submission.files)),
        format!("tests among them: {tests}"),
        format!("validation: {passed}, exit {exit}, expected text {matched}, log {}", shown_line(&ran.log)),
    ]
    .join("\n")
}

/// The results of liza's gates on exactly the commit under review.
fn gates_said(task: &Task) -> String {
    let report =
        task.body().gates.as_ref().filter(|gates| Some(&gates.commit) == task.review_commit.as_ref());
    let Some(report) = report else { return String::new() };
    let mut lines = vec![String::new()];
    for result in &report.results {
        let required = if report.required.contains(&result.name) { "" } else { " (optional)" };
        let reason = result.reason.as_ref().map_or(String::new(), |why| format!(": {}", shown_line(why)));
        let log = result.log.as_ref().map_or(String::new(), |log| format!(", log {}", shown_line(log)));
        lines.push(format!("gate {}{required}: {}{reason}{log}", result.name, result.status.as_str()));
        lines.extend(result.failing.iter().map(|name| format!("  failing: {}", shown_line(name))));
        lines.extend(result.untested.iter().map(|name| format!("  no test reaches: {}", shown_line(name))));
    }
    lines.join("\n")
}

fn issue(issue: &Issue) -> String {
    let Issue { status, severity, round, raised_by, .. } = issue;
    let line = issue.lines();
    let (id, file) = (shown_line(&issue.id), shown_line(&issue.file));
    let (status, severity) = (status.as_str(), severity.as_str());
    let words = indent(issue.last_words().trim(), 2);
    let story = if issue.rounds.len() > 1 { format!("\n  {}", issue.story()) } else { String::new() };
    format!(
        "{id} [{status}] {severity} {file}:{line} (round {round}, {raised_by}): {}{story}",
        words.trim_start()
    )
}
