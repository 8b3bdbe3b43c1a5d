//! What an agent's session left in its worktree, and the checkouts for agents without a task.

use super::attempt::keep_now;
use super::ownership::PLANS;
use super::prelude::*;
use crate::git::locks;

const LONGEST_LEFT_OUT: usize = 500;

/// The state of a claim's worktree.
#[derive(Debug, Default)]
pub struct Leftovers {
    /// Whether it has commits since the claim.
    pub committed: bool,
    /// The first uncommitted files.
    pub uncommitted: Vec<String>,
    /// The ref that keeps the uncommitted work.
    pub kept_as: Option<String>,
    /// Uncommitted work that could not be kept, and why.
    pub left_out: Option<String>,
    pub has_checkpoint: bool,
    /// Identifies the whole content: if two sessions have the same, nothing changed in between.
    pub fingerprint: String,
    /// Why the worktree is gone or unusable.
    pub lost: Option<String>,
}

impl Leftovers {
    /// Whether everything is committed, and was announced by a checkpoint.
    pub fn is_ready_to_submit(&self) -> bool {
        self.committed && self.has_checkpoint && self.uncommitted.is_empty()
    }
}

/// Examines the worktree and keeps uncommitted work. To be called when no process works there any more.
pub fn gather(ctx: &Context, task: &TaskId) -> Result<Leftovers> {
    let snapshot = ctx.read(&Needs::task(task))?;
    let board = &snapshot.board;
    let mut found = Leftovers::default();
    let Some(known) = board.task(task) else { return Ok(found) };
    found.has_checkpoint = current_checkpoint(known.body()).is_some();
    let path = match worktree_of(ctx, board, task) {
        Ok((path, _)) => path,
        Err(failure) => {
            found.lost = Some(failure.message);
            return Ok(found);
        }
    };
    locks::clear_dead(&path, &git_dir(ctx, &path));
    // Save first: if a later step fails, no work is lost.
    match keep_now(ctx, board, task) {
        Ok(None) => {}
        Ok(Some(kept)) => {
            found.uncommitted = kept.saved.files;
            found.kept_as = Some(kept.refname);
            found.left_out = in_one_line(&kept.saved.left_out);
        }
        Err(failure) => found.left_out = in_one_line(&format!("all of it ({})", failure.message)),
    }
    let handed_out = known.body().attempt().and_then(|attempt| attempt.handout.clone());
    found.committed = match (&handed_out, content::head(&path)) {
        (Some(handed_out), Ok(head)) => handed_out.head != head,
        (None, _) => true,
        (Some(_), Err(_)) => false,
    };
    // A state that cannot be determined does not count as changed.
    found.fingerprint = content::fingerprint(&path, &super::prepared::not_work(board, task))
        .map(|now| named(&now.head, &now.tree, found.has_checkpoint))
        .unwrap_or_default();
    Ok(found)
}

/// Git's messages about files are as long as the list of files.
fn in_one_line(said: &str) -> Option<String> {
    let lines: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    (!lines.is_empty()).then(|| clipped(&lines.join("; "), LONGEST_LEFT_OUT).into_owned())
}

fn named(head: &CommitId, tree: &CommitId, has_checkpoint: bool) -> String {
    format!("{head} {tree} {has_checkpoint}")
}

/// The [`Leftovers::fingerprint`] of a worktree that is unchanged since the claim.
pub fn as_handed_out(ctx: &Context, task: &TaskId) -> Option<String> {
    let snapshot = ctx.read(&Needs::task(task)).ok()?;
    let body = snapshot.board.task(task)?.body();
    let handed_out = body.attempt()?.handout.as_ref()?;
    Some(named(&handed_out.head, &handed_out.tree, current_checkpoint(body).is_some()))
}

/// A detached checkout of integration for a planner to read: no agent works in the user's own.
pub fn plan_checkout(ctx: &Context, board: &Board, agent: &AgentId) -> Result<PathBuf> {
    let commit = integration_head(ctx, board)?;
    let dir = ctx.machine.worktrees().join(PLANS);
    super::worktrees::detached_checkout(
        ctx,
        &dir,
        agent.as_str(),
        &commit,
        &format!("reading of {agent}"),
        None,
    )
}

/// The git directory of one worktree.
pub fn git_dir(ctx: &Context, worktree: &Path) -> PathBuf {
    checkouts::admin_dir(&ctx.repo, worktree)
}

/// The author for git: the identity configured for the repository, or the agent if there is none. It is always passed
/// on, because some agent commands hide git's settings from the commands they run.
pub fn author(ctx: &Context, agent: &AgentId) -> Result<Vec<(&'static str, String)>> {
    let configured = ctx.query()?.identity();
    let (name, email) = if configured == crate::git::Identity::fallback() {
        (agent.to_string(), format!("{agent}@localhost"))
    } else {
        (configured.name, configured.email)
    };
    Ok(vec![
        ("GIT_AUTHOR_NAME", name.clone()),
        ("GIT_AUTHOR_EMAIL", email.clone()),
        ("GIT_COMMITTER_NAME", name),
        ("GIT_COMMITTER_EMAIL", email),
    ])
}
