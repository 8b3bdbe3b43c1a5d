//! What liza finds in a worktree, before and after the validation ran.

use super::prelude::*;
use super::prepare::topmost_new;
use crate::board::task::Kind;
use crate::git::{self, DirtyKind};

/// A validation that makes more files than this should have them in `.gitignore`.
const MOST_BYPRODUCTS: usize = 50;

/// The state of a worktree.
pub struct Collected {
    pub evidence: Evidence,
    /// Ignored files of the task, which are not submitted.
    pub ignored: Vec<String>,
    /// Untracked files among the uncommitted ones.
    pub untracked: Vec<String>,
}

impl Collected {
    /// New untracked files that appeared while a command ran are the command's, not the agent's.
    pub fn leave_to_command(&mut self, ctx: &Context, before: &Self) -> Result<()> {
        let new: Vec<&String> =
            self.untracked.iter().filter(|path| !before.untracked.contains(path)).collect();
        let (query, head) = (ctx.query()?, &self.evidence.head);
        let tracked = |dir: &str| query.has_path(head, dir).unwrap_or(true);
        let made: BTreeSet<String> = new.iter().map(|path| topmost_new(path, tracked)).collect();
        if made.len() <= MOST_BYPRODUCTS {
            let named: Vec<String> =
                new.into_iter().map(|path| dirty_line(path, DirtyKind::Untracked)).collect();
            self.evidence.dirty.retain(|line| !named.contains(line));
            self.evidence.byproducts = made.into_iter().collect();
        }
        Ok(())
    }
}

/// Examines the worktree of a task as it is now, without the validation.
pub fn collect(ctx: &Context, board: &Board, task: &TaskId, worktree: &Path) -> Result<Collected> {
    let query = ctx.query()?;
    let config = ctx.project_config()?;
    let head = content::head(worktree)?;
    let integration = integration_head(ctx, board)?;
    let attempt = attempt_of(board, task);
    let base = attempt.map_or(&integration, |attempt| &attempt.base_commit).clone();
    // A branch that merged integration is judged by its own changes only.
    let merge_base = query.merge_base(&integration, &head)?.unwrap_or_else(|| base.clone());
    let changed = query.changed_paths(&merge_base, &head)?;
    let kept = changed.iter().filter(|change| change.status != ChangeStatus::Deleted);
    let kept = kept.map(|change| change.path.as_str());
    let (mut dirty, mut ignored) = content::status_and_ignored(worktree, Filters::Run)?;
    let not_work = super::prepared::not_work(board, task);
    dirty.retain(|found| !super::prepared::is_not_work(&not_work, found));
    ignored.retain(|found| !super::prepared::is_prepared(&not_work, found));
    let scope = board.task(task).map(|task| &task.body().scope);
    let ignored =
        scope.map_or(Vec::new(), |scope| super::attempt::ignored_in_scope(worktree, &ignored, scope).files);
    let untracked = dirty.iter().filter(|found| found.kind == DirtyKind::Untracked);
    let untracked: Vec<String> = untracked.map(|found| found.path.clone()).collect();
    let mut dirty: Vec<String> = dirty.into_iter().map(|found| dirty_line(&found.path, found.kind)).collect();
    if let Some(branch) = attempt.map(|attempt| &attempt.branch)
        && query.head_of_branch(branch)?.as_ref() != Some(&head)
    {
        dirty.push(format!("HEAD (not at the head of branch {branch})"));
    }
    if content::merge_head(worktree)?.is_some() {
        dirty.push("a merge in progress".to_owned());
    }
    let files: Vec<String> = changed.iter().map(|change| change.path.clone()).collect();
    let evidence = Evidence {
        touched: files_by_agent(ctx, board, task, &integration, &head, &files)?,
        contains_base: query.is_ancestor(&base, &head)?,
        tests: config.tests_among(kept),
        // Only for a task that may have none.
        code: match board.task(task).map(|task| task.kind) {
            Some(Kind::Code) | None => Vec::new(),
            Some(_) => config.code_among(changed.iter().map(|change| change.path.as_str())),
        },
        protected: config.protected_among(changed.iter().map(|change| change.path.as_str())),
        files,
        authors: authors(ctx, &merge_base, &head)?,
        tree: Some(query.tree_of(&head)?),
        head,
        merge_base,
        dirty,
        validation: None,
        gates: None,
        byproducts: Vec::new(),
    };
    Ok(Collected { evidence, ignored, untracked })
}

/// Which of these files each agent with restricted paths changed.
fn files_by_agent(
    ctx: &Context,
    board: &Board,
    task: &TaskId,
    integration: &CommitId,
    head: &CommitId,
    files: &[String],
) -> Result<Vec<Touched>> {
    let bounded = |id: &AgentId| board.agent(id).is_some_and(|agent| !agent.grants.paths.is_empty());
    let attempts = board.task(task).map(|task| task.body().attempts.as_slice()).unwrap_or_default();
    let mut found: Vec<Touched> = Vec::new();
    for (at, attempt) in attempts.iter().enumerate().filter(|(_, attempt)| bounded(&attempt.agent)) {
        let end = attempts.get(at + 1).map_or(head, |next| next.start());
        let mut own = changed_by(ctx, integration, attempt.start(), end)?;
        own.retain(|file| files.contains(file));
        match found.iter_mut().find(|one| one.agent == attempt.agent) {
            Some(one) => one.files.extend(own),
            None => found.push(Touched { agent: attempt.agent.clone(), files: own }),
        }
    }
    for one in &mut found {
        one.files.sort();
        one.files.dedup();
    }
    Ok(found)
}

/// What an agent changed that started from `start` and left `end`. Changes merged from integration meanwhile count
/// for no agent, except where the agent resolved a conflict.
fn changed_by(
    ctx: &Context,
    integration: &CommitId,
    start: &CommitId,
    end: &CommitId,
) -> Result<Vec<String>> {
    let query = ctx.query()?;
    let taken_in = match query.merge_base(integration, end)? {
        Some(base) if !query.is_ancestor(&base, start)? => base,
        _ => return Ok(query.changed_paths(start, end)?.into_iter().map(|change| change.path).collect()),
    };
    let (MergeTree::Clean(merged) | MergeTree::Conflict { tree: merged, .. }) =
        git::merge_tree(&ctx.repo, start, &taken_in)?;
    let differences = git::tree::differences(&ctx.repo, &merged, end)?;
    Ok(differences.into_iter().flat_map(|one| std::iter::once(one.path).chain(one.renamed_from)).collect())
}

/// How an uncommitted file is shown on the board.
fn dirty_line(path: &str, kind: DirtyKind) -> String {
    let word = match kind {
        DirtyKind::Staged => "staged",
        DirtyKind::Unstaged => "modified",
        DirtyKind::StagedAndUnstaged => "staged and modified",
        DirtyKind::Untracked => "untracked",
        DirtyKind::Conflicted => "in conflict",
        DirtyKind::Submodule => "submodule",
    };
    format!("{path} ({word})")
}

/// Bounded, because every command reads the board.
const MOST_AUTHORS: usize = 500;

/// Names and mailbox names of all authors and committers of the work, without merges of integration.
pub(super) fn authors(ctx: &Context, base: &CommitId, head: &CommitId) -> Result<Vec<String>> {
    let mut found: Vec<String> = Vec::new();
    for commit in ctx.query()?.commits_between(base, head)? {
        if commit.parents.len() > 1 {
            continue;
        }
        for who in [&commit.author.identity, &commit.committer.identity] {
            let mailbox = who.email.split('@').next().unwrap_or_default();
            for name in [who.name.as_str(), mailbox] {
                if !name.is_empty() && !found.iter().any(|known| known == name) {
                    found.push(name.to_owned());
                }
            }
        }
    }
    found.sort();
    // An author who is left out could review their own work.
    if found.len() > MOST_AUTHORS {
        let count = found.len();
        let what = format!("the commits of this branch have {count} authors; the limit is {MOST_AUTHORS}");
        return Err(Failure::new(Code::Limit, what)
            .hint("squash commits (`git rebase -i`), or submit the work as several tasks"));
    }
    Ok(found)
}
