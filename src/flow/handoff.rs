//! Adds facts from git and the board to an agent's handoff.

use super::prelude::*;
use crate::board::records::HandoffPackage;

/// How many of each are listed; the rest is counted.
const FILES: usize = 100;
const COMMITS: usize = 30;
const MESSAGES: usize = 20;

/// The handoff with its package. If the package cannot be made, the handoff is made without it: the agent is about to
/// end.
pub fn with_facts(ctx: &Context, mut handoff: HandOff) -> HandOff {
    match package(ctx, &handoff.task) {
        Ok(package) => handoff.package = package,
        Err(failure) => ctx.narrate(format!("the handoff lacks the facts from git: {}", failure.message)),
    }
    handoff
}

/// Files, commits, test results, open messages and warnings of the present attempt.
fn package(ctx: &Context, id: &TaskId) -> Result<Option<HandoffPackage>> {
    let board = ctx.read(&Needs::task(id))?.board;
    let Some(task) = board.task(id) else { return Ok(None) };
    let body = task.body();
    let Some(attempt) = body.attempt() else { return Ok(None) };
    let query = ctx.query()?;
    let mut package = HandoffPackage::default();
    let integration = query.head_of_branch(&board.config().integration_branch)?;
    if let Some(head) = query.head_of_branch(&attempt.branch)? {
        let base = match &integration {
            Some(integration) => query.merge_base(integration, &head)?,
            None => None,
        };
        let base = base.unwrap_or_else(|| attempt.base_commit.clone());
        let changed = query.changed_paths(&base, &head)?;
        package.files_changed =
            first_items(changed.iter().map(|changed| changed.path.clone()), FILES, "file");
        let commits = query.commits_between(&base, &head)?;
        let line = |commit: &crate::git::query::CommitInfo| {
            format!("{} {}", commit.id.short(), clipped(shown_line(&commit.subject).trim(), 100))
        };
        package.commits = first_items(commits.iter().map(line), COMMITS, "commit");
        package.test_results = results(task, &head);
        if package.commits.is_empty() {
            package.warnings.push("the branch has no commit".to_owned());
        }
        if let Some(integration) = integration.filter(|integration| *integration != base) {
            let behind = query.ids_between(&base, &integration)?.len();
            package.warnings.push(format!(
                "integration has {} that the branch lacks: `liza task sync {id}`",
                plural(behind, "commit")
            ));
        }
    }
    let worktree = ctx.root().join(&attempt.worktree);
    if worktree.join(".git").exists() {
        let open = uncommitted(&worktree, Filters::Skip, &attempt.not_work())?;
        if !open.is_empty() {
            let kept = format!("refs/liza/wip/{id}/{}", task.epoch);
            package.warnings.push(format!("uncommitted: {}; kept as {kept}", plural(open.len(), "file")));
        }
    }
    let must_fix: Vec<&str> = body.blocking_issues().map(|issue| issue.id.as_str()).collect();
    if !must_fix.is_empty() {
        package.warnings.push(format!("issues that forbid an approval are open: {}", must_fix.join(", ")));
    }
    if current_checkpoint(body).is_none() {
        package.warnings.push("no checkpoint was written".to_owned());
    }
    let about = |message: &&Message| message.task_id.as_ref() == Some(id);
    let open = |message: &&Message| message.is_unanswered() || board.is_unseen(message);
    let letters = board.rest.messages.iter().filter(about).filter(open);
    let line = |message: &Message| {
        let subject = clipped(shown_line(&message.subject).trim(), 100).into_owned();
        format!("{} {} from {}: {subject}", message.id, message.kind.as_str(), message.from)
    };
    package.open_messages = first_items(letters.map(line), MESSAGES, "message");
    Ok(Some(package))
}

/// Test results that liza itself saw, and whether they are about the present commit.
fn results(task: &Task, head: &CommitId) -> Vec<String> {
    let body = task.body();
    let about = |commit: &CommitId| match commit == head {
        true => String::new(),
        false => format!(" (on {}, before the last commits)", commit.short()),
    };
    let mut lines = Vec::new();
    if let Some(submission) = &body.submission {
        let ran = &submission.validation;
        let word = if ran.passed() { "passed" } else { "failed" };
        let command = clipped(shown_line(&ran.command).trim(), 100).into_owned();
        lines.push(format!("validation `{command}` {word}{}", about(&submission.commit)));
    }
    if let Some(gates) = body.gates.as_ref().filter(|gates| !gates.results.is_empty()) {
        lines.push(format!("gates: {}{}", gates.summary(), about(&gates.commit)));
    }
    if lines.is_empty() {
        lines.push("liza has run no test on this work yet".to_owned());
    }
    lines
}

/// The first items, and how many more there are.
fn first_items(all: impl Iterator<Item = String>, most: usize, what: &str) -> Vec<String> {
    let mut all: Vec<String> = all.collect();
    if all.len() > most {
        let left = all.len() - most;
        all.truncate(most);
        all.push(format!("and {left} more {what}s"));
    }
    all
}
