//! What a delivery would do, and why it may be refused. Changes nothing.

use crate::flow::prelude::*;
use crate::git::checkouts::{Standing, branch_of, standing_on};
use crate::git::fast_forward::{empty_tree, obstacles};

const CONFIG: &str = "liza.yaml";

/// The person's request.
#[derive(Debug)]
pub struct Wanted<'a> {
    /// The branch; by default the one checked out in the person's directory.
    pub to: Option<&'a str>,
    /// Whether the branch may be a new one.
    pub create: bool,
    /// The person's directory.
    pub cwd: &'a Path,
    /// What no auditor has approved, too.
    pub unaudited: bool,
}

/// A delivery that passed all checks.
#[derive(Debug)]
pub struct Plan {
    pub source: String,
    /// The head of integration.
    pub head: CommitId,
    pub branch: String,
    pub old: Option<CommitId>,
    pub checkout: Option<PathBuf>,
    pub has_own_commits: bool,
    commits: usize,
    files: usize,
    /// How `liza.yaml` would change, if it would.
    pub config: Option<String>,
}

/// What was delivered, or would be.
#[derive(Debug, Serialize)]
pub struct Delivered {
    pub branch: String,
    pub old: Option<CommitId>,
    /// The new commit of the branch; in a dry run, that of integration.
    pub new: CommitId,
    /// The checkout whose files were updated.
    #[serde(serialize_with = "crate::text::serialize_path")]
    pub checkout: Option<PathBuf>,
    /// The branch had its own commits; they were merged into integration first.
    pub advanced: bool,
    pub commits: usize,
    pub files: usize,
    /// The gate results for them.
    pub gates: Vec<GateOutcome>,
    pub dry_run: bool,
}

impl Plan {
    pub fn foreseen(&self) -> Delivered {
        Delivered {
            branch: self.branch.clone(),
            old: self.old.clone(),
            new: self.head.clone(),
            checkout: self.checkout.clone(),
            advanced: self.has_own_commits,
            commits: self.commits,
            files: self.files,
            gates: Vec::new(),
            dry_run: true,
        }
    }
}

/// Plans a delivery, or refuses it.
pub fn plan(ctx: &Context, wanted: &Wanted<'_>) -> Result<Plan> {
    let snapshot = ctx.read(&Needs::Nothing)?;
    let board = &snapshot.board;
    let source = board.config().integration_branch.clone();
    permitted_now(ctx, board, wanted.to.unwrap_or(&source), !wanted.unaudited)?;
    ctx.integration_in_place(board)?;
    let query = ctx.query()?;
    let head = integration_head(ctx, board)?;
    let branch = target(ctx, board, wanted)?;
    let old = query.head_of_branch(&branch)?;
    if old.as_ref() == Some(&head) {
        return Err(failure!(Code::NothingSubmitted, "`{branch}` is at the head of `{source}` already"));
    }
    let checkout = checkout_of(ctx, &branch)?;
    let (has_own_commits, tree) = match &old {
        Some(old) if query.is_ancestor(&head, old)? => {
            return Err(failure!(Code::NothingSubmitted, "`{branch}` has everything of `{source}` already")
                .hint(format!(
                    "to bring its own commits there: liza integration advance {branch} --reason …"
                )));
        }
        Some(old) if !query.is_ancestor(old, &head)? => (true, merged(ctx, &source, &branch, &head, old)?),
        _ => (false, head.clone()),
    };
    let from = start(ctx, old.as_ref())?;
    if let Some(checkout) = &checkout {
        refuse_obstacles(ctx, &branch, checkout, &from, &tree)?;
    }
    let commits = match &old {
        Some(old) => query.ids_between(old, &head)?.len(),
        None => 0,
    };
    let files = match &old {
        Some(_) => names(ctx, &from, &tree)?,
        None => 0,
    };
    // A new branch affects no checkout yet.
    let config = match old.is_some() || checkout.is_some() {
        true => config_change(ctx, &from, &tree)?,
        false => None,
    };
    Ok(Plan { source, head, branch, old, checkout, has_own_commits, commits, files, config })
}

/// Refuses agents, callers stopped by a switch, and (`audited`) what no auditor has approved, before any other check.
pub fn permitted_now(ctx: &Context, board: &Board, branch: &str, audited: bool) -> Result<()> {
    let begin = BeginMove {
        kind: MoveKind::Deliver,
        branch: branch.to_owned(),
        reason: "deliver".to_owned(),
        owner: host::this_process(),
        checkout: None,
        audited,
    };
    ctx.ask(board, begin)
}

/// The tree that the files of a branch at this commit start from.
pub fn start(ctx: &Context, old: Option<&CommitId>) -> Result<CommitId> {
    old.map_or_else(|| Ok(empty_tree(&ctx.repo)?), |old| Ok(old.clone()))
}

/// The name of the branch, which exists or is to be made.
fn target(ctx: &Context, board: &Board, wanted: &Wanted<'_>) -> Result<String> {
    let source = &board.config().integration_branch;
    let (name, create) = match wanted.to {
        Some(name) => (name.strip_prefix("refs/heads/").unwrap_or(name).to_owned(), wanted.create),
        None => (stands_on(ctx, wanted.cwd)?, true),
    };
    refs::of_branch(&name)?;
    if &name == source {
        return Err(Failure::usage(format!("`{name}` is the integration branch itself"))
            .hint("name another one: liza deliver --to main"));
    }
    if let Some(task) = name.strip_prefix("task/").and_then(crate::flow::merged::task_of_name)
        && (board.task(&task).is_some() || ctx.store.archived_beside(board, &task)?.is_some())
    {
        return Err(failure!(Code::BranchMove, "`{name}` is a branch of task `{task}`")
            .hint("name a branch of your own: liza deliver --to main"));
    }
    if create || ctx.query()?.head_of_branch(&name)?.is_some() || !standing_on(&ctx.repo, &name)?.is_empty() {
        return Ok(name);
    }
    Err(unknown_branch(
        ctx,
        source,
        &name,
        &format!("to make a new branch: liza deliver --to {name} --create"),
    )?)
}

/// The failure for an unknown branch; suggests a similar name.
pub fn unknown_branch(ctx: &Context, source: &str, name: &str, remedy: &str) -> Result<Failure> {
    let all = ctx.query()?.refs_below("refs/heads")?;
    let others = all.iter().filter_map(|name| name.strip_prefix("refs/heads/"));
    let others = others.filter(|other| *other != source && !other.starts_with("task/"));
    let alike = crate::text::nearest(name, others);
    let hint = match (alike, remedy) {
        (Some(other), "") => format!("did you mean `{other}`?"),
        (Some(other), remedy) => format!("did you mean `{other}`? Otherwise, {remedy}"),
        (None, "") => "`git branch` lists the branches".to_owned(),
        (None, remedy) => remedy.to_owned(),
    };
    Ok(failure!(Code::Value, "there is no branch `{name}`").hint(hint))
}

/// The branch of the checkout that contains a directory.
pub fn stands_on(ctx: &Context, cwd: &Path) -> Result<String> {
    let here = ctx.linked_worktree_at(cwd).unwrap_or_else(|| ctx.root().to_owned());
    branch_of(&ctx.repo, &here).ok_or_else(|| {
        failure!(Code::CheckedOut, "no branch is checked out in {}: HEAD is detached", here.display())
            .hint("name the branch: liza deliver --to main")
    })
}

/// The one checkout whose files must follow the branch.
fn checkout_of(ctx: &Context, branch: &str) -> Result<Option<PathBuf>> {
    let all = standing_on(&ctx.repo, branch)?;
    let refused = |standing: &Standing, why: String, hint: &str| {
        Err(failure!(Code::CheckedOut, "`{branch}` is checked out in {}, {why}", standing.path.display())
            .hint(hint)
            .detail("path", standing.path.display().to_string()))
    };
    if let [one, other, ..] = &all[..] {
        let too = format!("and in {}, too", other.path.display());
        return refused(one, too, "switch one of them to another branch, then deliver");
    }
    let Some(standing) = all.first() else { return Ok(None) };
    if let Some(busy) = standing.busy {
        return refused(standing, format!("in the middle of {busy}"), "end that first, then deliver");
    }
    if standing.path != ctx.repo.root
        && let Err(fault) = checkouts::check_sound(&ctx.repo, &standing.path)
    {
        let hint =
            "bring that worktree back or remove git's record of it (`git worktree prune`), then deliver";
        return refused(standing, format!("which cannot be used: {fault}"), hint);
    }
    if standing.path.starts_with(ctx.machine.worktrees()) {
        return refused(standing, "a worktree of liza's".to_owned(), "name another branch with --to");
    }
    if standing.path.to_str().is_none() {
        return refused(
            standing,
            "a name that is not UTF-8".to_owned(),
            "switch to another branch there, then deliver",
        );
    }
    Ok(Some(standing.path.clone()))
}

/// Refuses what git would refuse, naming the files.
pub fn refuse_obstacles(
    ctx: &Context,
    branch: &str,
    checkout: &Path,
    from: &CommitId,
    to: &CommitId,
) -> Result<()> {
    if let Some(lock) = crate::git::tree::index_lock(checkout)? {
        let place = checkout.display();
        return Err(failure!(ErrorCode::StaleWorktree, "the index of {place} is locked: {}", lock.display())
            .hint("wait for the git that is at work there; if none is, move this file away"));
    }
    let found = obstacles(&ctx.repo, checkout, from, to)?;
    if found.is_empty() {
        return Ok(());
    }
    let shown: Vec<String> = found.iter().take(10).map(|path| shown_line(path).into_owned()).collect();
    let more = if found.len() > 10 { format!(" and {} more", found.len() - 10) } else { String::new() };
    let place = checkout.display();
    Err(failure!(
        Code::WorktreeDirty,
        "files in {place} stand in the way of `{branch}`: {}{more}",
        shown.join(", ")
    )
    .hint("commit them, or move them away (`git stash -u`), then deliver; nothing was changed")
    .detail("paths", found))
}

/// The tree that integration will have once the target's own commits are merged into it.
fn merged(ctx: &Context, source: &str, branch: &str, head: &CommitId, old: &CommitId) -> Result<CommitId> {
    match merge_tree(&ctx.repo, head, old)? {
        MergeTree::Clean(tree) => Ok(tree),
        MergeTree::Conflict { files, .. } => {
            let files: Vec<String> = files.into_iter().map(|file| file.path).collect();
            Err(failure!(ErrorCode::GitConflict, "`{branch}` conflicts with `{source}` in {}", files.join(", "))
                .hint(format!("merge it into `{branch}`, resolve the conflict there and commit: git switch {branch} && git merge refs/heads/{source}"))
                .detail("files", files))
        }
    }
}

fn names(ctx: &Context, from: &CommitId, to: &CommitId) -> Result<usize> {
    let git = Git::reading(ctx.root(), "diff-tree").args(["-r", "-z", "--name-only", "--no-renames"]);
    let names = git.end_of_options().args([from.as_str(), to.as_str()]).run()?;
    Ok(names.iter().filter(|&&byte| byte == 0).count())
}

/// Refuses a `liza.yaml` other than the person was shown: more may have been merged since.
pub fn refuse_other_config(ctx: &Context, plan: &Plan, old: &CommitId, head: &CommitId) -> Result<()> {
    if config_change(ctx, old, head)? == plan.config {
        return Ok(());
    }
    Err(failure!(Code::Edited, "`{}` got another liza.yaml meanwhile", plan.source)
        .hint("run the command again; it shows the difference"))
}

/// How `liza.yaml` would change for a person who has the target checked out.
pub fn config_change(ctx: &Context, from: &CommitId, tree: &CommitId) -> Result<Option<String>> {
    // As text whatever .gitattributes say: they must not hide the difference.
    let git =
        Git::reading(ctx.root(), "diff").args(["--text", "--no-ext-diff", "--no-textconv", "--no-color"]);
    let git = git.args([from.as_str(), tree.as_str(), "--", CONFIG]);
    let text = String::from_utf8_lossy(&git.run_start(64 * 1024)?).into_owned();
    Ok((!text.trim().is_empty()).then_some(text))
}
