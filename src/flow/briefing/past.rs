//! The history of a task, for the agent that continues it.

use super::task::{files, numbered};
use super::{Desk, KIB};
use crate::board::history::HistoryEntry;
use crate::board::records::HandoffPackage;
use crate::flow::prelude::*;
use crate::git::DirtyKind;
use crate::prompt::{Block, Bound};

/// How many of the newest refs with uncommitted work are listed.
const REFS_NAMED: usize = 5;
/// How many of the newest commits of this claim are listed.
const COMMITS_NAMED: usize = 10;

impl Desk<'_> {
    pub(super) fn past(&mut self, task: &Task, epoch: u64) -> Result<()> {
        let shown = self.row.past;
        let pick = |block: Block| if shown { block } else { Block::none() };
        let done = if shown { self.done(task, epoch)? } else { Block::none() };
        self.facts.block("done", done);
        self.facts.block("handoff", pick(self.handoff(task)));
        let saved = if shown { self.saved(task)? } else { Block::none() };
        self.facts.block("saved", saved);
        let conflict = if shown { self.conflict(task, epoch)? } else { Block::none() };
        self.facts.block("conflict", conflict);
        self.facts.block("answer", pick(answer(task)));
        self.facts.block("feedback", pick(feedback(task)));
        Ok(())
    }

    /// What was done under this claim before this session: the checkpoint, and the commits since.
    fn done(&self, task: &Task, epoch: u64) -> Result<Block> {
        let body = task.body();
        let attempt = body.attempt().filter(|attempt| attempt.epoch <= epoch && epoch == task.epoch);
        let (Some(plan), Some(attempt)) = (current_checkpoint(body), attempt) else {
            return Ok(Block::none());
        };
        let mut lines = vec![
            format!("checkpoint, intent: {}", shown_line(plan.intent.trim())),
            format!("checkpoint, validation: {}", shown_line(&plan.validation.command)),
            format!("checkpoint, files: {}", files(&plan.files_to_modify)),
        ];
        let query = self.ctx.query()?;
        let head = query.head_of_branch(&attempt.branch)?;
        let start = attempt.handout.as_ref().map_or(&attempt.base_commit, |handout| &handout.head);
        let commits = match &head {
            Some(head) => query.commits_between(start, head)?,
            None => Vec::new(),
        };
        lines.push(match commits.len() {
            0 => "committed since: nothing".to_owned(),
            count => format!("committed since: {}", plural(count, "commit")),
        });
        for commit in commits.iter().rev().take(COMMITS_NAMED) {
            lines.push(format!("  {} {}", commit.id.short(), shown_line(&commit.subject)));
        }
        let origin = format!("claim {epoch} on task {}", task.id);
        Ok(Block::new(
            &origin,
            &lines.join("\n"),
            &Bound::new(8 * KIB, format!("`liza task show {}`", task.id)),
        ))
    }

    /// The handoff of the previous agent, unless its work has been submitted since.
    fn handoff(&self, task: &Task) -> Block {
        if !since_submission(task).iter().any(|line| line.event == Event::HandedOff) {
            return Block::none();
        }
        let Some(handoff) = self.board.rest.handoff.iter().rfind(|handoff| handoff.task_id == task.id) else {
            return Block::none();
        };
        let [summary, next] = [&handoff.summary, &handoff.next_action].map(|text| indent(text.trim(), 2));
        let mut text = format!("summary: {}\nnext action: {}", summary.trim_start(), next.trim_start());
        for (name, lines) in handoff.package.iter().flat_map(HandoffPackage::parts) {
            text.push_str(&format!("\n{name}:"));
            lines.iter().for_each(|line| text.push_str(&format!("\n  - {}", shown_line(line))));
        }
        let origin = format!("the handoff of {} on task {}, {}", handoff.by, task.id, handoff.time);
        Block::new(&origin, &text, &Bound::new(48 * KIB, format!("`liza task show {} --feedback`", task.id)))
    }

    /// Refs that keep an earlier agent's uncommitted work.
    fn saved(&self, task: &Task) -> Result<Block> {
        let let_go = [Event::HandedOff, Event::Released, Event::Blocked, Event::TakenOver];
        if !since_submission(task).iter().any(|line| let_go.contains(&line.event)) {
            return Ok(Block::none());
        }
        let query = self.ctx.query()?;
        let prefix = format!("refs/liza/wip/{}/", task.id);
        let mut kept = Vec::new();
        for name in query.refs_below(&prefix)? {
            if let Some(commit) = query.ref_commit(&name)? {
                let about = query.commit_info(&commit)?;
                kept.push((about.committer.seconds, format!("{} ({})", shown_line(&name), commit.short())));
            }
        }
        kept.sort();
        let newest: Vec<String> = kept.into_iter().rev().take(REFS_NAMED).map(|(_, line)| line).collect();
        let bound = Bound::new(4 * KIB, format!("`git for-each-ref {prefix}`"));
        Ok(Block::new(&format!("the refs of task {}", task.id), &newest.join("\n"), &bound))
    }

    /// Why the work did not merge, and which files are in conflict in the worktree now.
    fn conflict(&self, task: &Task, epoch: u64) -> Result<Block> {
        let body = task.body();
        let Some(failure) = body.integration_failure.as_ref().filter(|_| task.integration_fix) else {
            return Ok(Block::none());
        };
        let mut lines = vec![
            format!("why: {}", shown_line(failure.reason.trim())),
            format!("integration was at: {}", failure.onto),
        ];
        if !failure.files.is_empty() {
            lines.push(format!("files: {}", files(&failure.files)));
        }
        if let Some(gate) = &failure.gate {
            lines.push(format!("red gate: {}", shown_line(gate)));
        }
        for check in &failure.failing {
            lines.push(format!("failing: {}", shown_line(check)));
        }
        if let Some(log) = &failure.log {
            lines.push(format!("log: {}", shown_line(log)));
        }
        let attempt = body.attempt().filter(|attempt| attempt.epoch == epoch);
        let worktree = attempt.map(|attempt| self.ctx.root().join(&attempt.worktree));
        if let Some(worktree) = worktree.filter(|path| path.join(".git").exists()) {
            let open: Vec<String> = content::status(&worktree, content::Filters::Skip)?
                .into_iter()
                .filter(|found| found.kind == DirtyKind::Conflicted)
                .map(|found| found.path)
                .collect();
            if !open.is_empty() {
                lines.push(format!("in conflict in your worktree now: {}", files(&open)));
            }
        }
        let origin = format!("the failed merge of task {}", task.id);
        Ok(Block::new(&origin, &lines.join("\n"), &Bound::new(16 * KIB, "`git status` in your worktree")))
    }
}

fn answer(task: &Task) -> Block {
    let body = task.body();
    let Some(answer) = &body.answer else { return Block::none() };
    let by = body.history.iter().rfind(|line| line.event == Event::Unblocked).map(|line| &line.agent);
    let origin = match by {
        Some(by) => format!("{by}, who answered for task {}", task.id),
        None => format!("task {}, field answer", task.id),
    };
    let whole = Bound::new(32 * KIB, format!("`liza task show {}`", task.id));
    let mut text = String::new();
    if !body.blocked_questions.is_empty() {
        text.push_str(&format!("asked:\n{}\nanswer:\n", indent(&numbered(&body.blocked_questions), 2)));
    }
    text.push_str(answer.trim());
    Block::new(&origin, &text, &whole)
}

/// The last rejection, as a list of findings to fix.
fn feedback(task: &Task) -> Block {
    let body = task.body();
    let Some(feedback) = &body.rejection_feedback else { return Block::none() };
    let origin = match body.reviews.last() {
        Some(review) => {
            format!("the review of task {} by {}, round {}", task.id, review.reviewer, review.round)
        }
        None => format!("the review of task {}", task.id),
    };
    let whole = Bound::new(48 * KIB, format!("`liza task show {} --feedback`", task.id));
    Block::new(&origin, feedback.trim(), &whole)
}

/// What happened since the last submission.
fn since_submission(task: &Task) -> &[HistoryEntry] {
    let history = &task.body().history;
    let start = history.iter().rposition(|line| line.event == Event::Submitted).map_or(0, |at| at + 1);
    &history[start..]
}
