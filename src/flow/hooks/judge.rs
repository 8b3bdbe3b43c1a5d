//! A hook's answer to git. Reads only: stages, locks and changes nothing, whatever the answer.

use super::super::branches::is_private;
use super::super::worktrees::task_of;
use super::Hook;
use crate::board::branch::{BranchUpdate, Wanted, may_move_integration};
use crate::flow::prelude::*;
use crate::git::repo;
use crate::store::WORKTREES;

/// What git passed to the hook, and the caller's identity from its environment.
#[derive(Debug, Default)]
pub struct HookCall {
    pub args: Vec<String>,
    pub stdin: String,
    /// The guarded branch, as written in the hook's own file.
    pub branch: Option<String>,
    /// Git's current directory: the top of a worktree, or the git directory.
    pub cwd: PathBuf,
    /// The index to be committed, if it is not the usual one.
    pub index: Option<OsString>,
    pub agent: Option<AgentId>,
    /// None if the agent shows no token: git's children do not inherit it from liza.
    pub token_hash: Option<String>,
    pub claim: Option<(TaskId, u64)>,
}

pub fn judge(ctx: &Context, hook: Hook, hook_call: &HookCall) -> Result<()> {
    match hook {
        Hook::PreCommit => pre_commit(ctx, hook_call),
        Hook::CommitMsg => commit_msg(ctx, hook_call),
        Hook::PrePush => pre_push(ctx, hook_call),
        Hook::ReferenceTransaction => reference_transaction(ctx, hook_call),
    }
}

fn reference_transaction(ctx: &Context, hook_call: &HookCall) -> Result<()> {
    if hook_call.args.first().map(String::as_str) != Some("prepared") {
        return Ok(());
    }
    let mut deleted = false;
    check_branch_moves(ctx, hook_call, &mut deleted).map_err(|mut failure| {
        if let Some(taken) = taken_by_rename(ctx).filter(|_| deleted) {
            failure.message.push_str(&format!(
                "; git was renaming a branch to it and has already removed that branch: restore it with `git branch NAME {taken}`"
            ));
        }
        failure
    })
}

/// Checks only moves of the guarded branch against the board: git's own housekeeping works while the board cannot be
/// read.
fn check_branch_moves(ctx: &Context, hook_call: &HookCall, deleted: &mut bool) -> Result<()> {
    let mut board = None;
    let branch = match &hook_call.branch {
        Some(branch) => branch.clone(),
        None => board.insert(ctx.store.read(&Needs::Nothing)?.board).config().integration_branch.clone(),
    };
    let refname = refs::of_branch(&branch)?;
    for line in hook_call.stdin.lines() {
        let mut words = line.splitn(3, ' ');
        let (Some(old), Some(new), Some(name)) = (words.next(), words.next(), words.next()) else { continue };
        if name != refname {
            continue;
        }
        let (Some(old), Some(new)) = (Wanted::parse(old), Wanted::parse(new)) else {
            return Err(failure!(ErrorCode::GitHook, "liza cannot parse git's line `{line}`")
                .hint("`liza doctor` shows whether this git is too new or too old"));
        };
        *deleted = new == Wanted::Zero;
        // Git passes no old value with --force, so the branch is looked up.
        let current = ctx.query()?.head_of_branch(&branch)?;
        let packed = packed_ref(&ctx.repo.common_dir, &refname);
        let update = BranchUpdate { old, new, current, packed };
        if update.moves_nothing() {
            continue;
        }
        if board.is_none() {
            board = Some(ctx.store.read(&Needs::Nothing)?.board);
        }
        if let Some(board) = &board {
            may_move_integration(board, &update)?;
        }
    }
    Ok(())
}

/// The former commit of a branch that git is renaming: git removes it before its new name is free, and does not
/// restore it when that is refused. Its reflog is under this name meanwhile, and an earlier refused rename leaves it
/// there.
fn taken_by_rename(ctx: &Context) -> Option<CommitId> {
    use std::os::unix::fs::MetadataExt;
    const FRESH: i64 = 60;
    let path = ctx.repo.common_dir.join("logs/refs/.tmp-renamed-log");
    let moved = fs::metadata(&path).ok()?.ctime();
    if ctx.now.wall.0 - moved > FRESH {
        return None;
    }
    let log = fs::read_to_string(path).ok()?;
    CommitId::new(log.lines().last()?.split(' ').nth(1)?).ok()
}

/// The commit of a branch in the packed refs file, unless a process is changing that file.
///
/// A deletion holds the file's lock while the hook runs; removing the loose file of a packed ref does not.
fn packed_ref(common_dir: &Path, refname: &str) -> Option<CommitId> {
    const PATIENCE: Duration = Duration::from_millis(500);
    let lock = common_dir.join("packed-refs.lock");
    let start = Instant::now();
    while lock.symlink_metadata().is_ok() {
        if start.elapsed() > PATIENCE {
            return None;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let text = host::plain_text(&common_dir.join("packed-refs")).ok()?;
    let line = text.lines().find(|line| line.split_once(' ').is_some_and(|(_, name)| name == refname))?;
    CommitId::new(line.split(' ').next()?).ok()
}

/// Where a commit is about to be made.
enum Site {
    /// The user's own checkout, or a worktree that is not liza's.
    Elsewhere,
    Task {
        task: TaskId,
        worktree: String,
    },
    /// A checkout that only shows a commit.
    Sealed(String),
}

fn site(ctx: &Context, hook_call: &HookCall) -> Result<(Site, PathBuf)> {
    let found = repo::discover(&hook_call.cwd)?;
    let Some(linked) = found.linked else { return Ok((Site::Elsewhere, found.repo.root)) };
    let top = linked.path;
    let Ok(relative) = top.strip_prefix(ctx.root()) else { return Ok((Site::Elsewhere, top)) };
    let parts: Vec<String> =
        relative.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
    let worktree = parts.join("/");
    let site = match parts.as_slice() {
        [home, _, _] if home == WORKTREES => Site::Sealed(worktree),
        [home, name] if home == WORKTREES => match task_of(name) {
            Some(task) => Site::Task { task, worktree },
            None => Site::Sealed(worktree),
        },
        _ => Site::Elsewhere,
    };
    Ok((site, top))
}

fn sealed_refusal(worktree: &str) -> Failure {
    failure!(Code::Sealed, "`{worktree}` only shows a commit; do not commit there")
        .hint("report findings with `liza review reject …`; changes belong in the task's own worktree")
}

fn pre_commit(ctx: &Context, hook_call: &HookCall) -> Result<()> {
    let (site, top) = site(ctx, hook_call)?;
    let files = staged_paths(&top, hook_call)?;
    let private: Vec<&str> = files.iter().map(String::as_str).filter(|path| is_private(path)).collect();
    if !private.is_empty() {
        return Err(failure!(Code::Scope, "liza's own files are staged: {}", private.join(", "))
            .hint("unstage them with `git restore --staged`; .liza and .worktrees are never committed")
            .detail("paths", private.iter().map(|path| (*path).to_owned()).collect::<Vec<_>>()));
    }
    let (task, worktree) = match site {
        Site::Sealed(worktree) => return Err(sealed_refusal(&worktree)),
        Site::Task { task, worktree } => (task, worktree),
        Site::Elsewhere => {
            if let Err(failure) = valid_board(ctx)
                && failure.code != ErrorCode::UsageNoBoard
            {
                // An agent may not commit here, and a broken board does not change that.
                let is_agent = hook_call.agent.is_some()
                    || ctx.store.read(&Needs::Nothing).is_ok_and(|snapshot| {
                        snapshot.board.identify(&ctx.credentials).is_ok_and(|actor| !actor.is_human())
                    });
                if is_agent {
                    return Err(failure);
                }
                ctx.narrate(format!(
                    "the board is broken: {failure} (`liza doctor` shows the remedy)\nliza allows this commit anyway: it is yours, outside liza's worktrees"
                ));
            }
            return Ok(());
        }
    };
    let board = valid_board(ctx)?;
    let world = World::default();
    let call = Call::new(who(ctx, &board, hook_call, &task)?, &ctx.now, &world);
    let epoch = epoch_of(hook_call, &task);
    // In a merge, only differences from git's own merge result are the caller's changes.
    let mut touched = Vec::new();
    if let Some(other) = content::merge_head(&top)? {
        let (MergeTree::Clean(merged) | MergeTree::Conflict { tree: merged, .. }) =
            merge_tree(&ctx.repo, &content::head(&top)?, &other)?;
        let files = staged_against(&top, hook_call, merged.as_str())?;
        touched.push(Touched { agent: call.by.id(), files });
    }
    Ok(WorktreeCommit { task, epoch, worktree }.check(&board, &call, &files, &touched)?)
}

fn valid_board(ctx: &Context) -> Result<Board> {
    let snapshot = ctx.store.read(&Needs::Everything)?;
    if let Some(warning) = snapshot.warning {
        return Err(Failure::new(ErrorCode::BoardInvalid, warning).hint("`liza doctor` shows the remedy"));
    }
    let found = violations(&snapshot.board);
    match found.first() {
        None => Ok(snapshot.board),
        Some(first) => Err(failure!(ErrorCode::BoardViolations, "the board is not valid: {first}")
            .hint("`liza doctor` shows the remedy; a person fixes the board before work goes on")),
    }
}

/// The paths to be committed, compared with the other side in a merge.
fn staged_paths(top: &Path, hook_call: &HookCall) -> Result<Vec<String>> {
    let against = match content::merge_head(top)? {
        Some(other) => other.as_str().to_owned(),
        None if content::head(top).is_ok() => "HEAD".to_owned(),
        // The first commit of a branch: everything is new.
        None => Git::reading(top, "hash-object").args(["-t", "tree", "--stdin"]).stdin("").run_line()?,
    };
    staged_against(top, hook_call, &against)
}

fn staged_against(top: &Path, hook_call: &HookCall, against: &str) -> Result<Vec<String>> {
    let mut git = Git::reading(top, "diff-index")
        .args(["--cached", "--name-only", "--no-renames", "--ignore-submodules=none", "-z"])
        .end_of_options()
        .arg(against)
        .arg("--");
    if let Some(index) = &hook_call.index {
        git = git.env("GIT_INDEX_FILE", index);
    }
    let bytes = git.run()?;
    let paths = bytes.split(|&byte| byte == 0).filter(|path| !path.is_empty());
    Ok(paths.map(|path| String::from_utf8_lossy(path).into_owned()).collect())
}

/// Identifies the committer. A caller without a name counts as the holder, and a name without a token is accepted:
/// tools clear the environment of what they run, and git's children never get the token from liza. A hook warns early
/// and is not the final check; but another name, or an invalid token, is refused.
fn who(ctx: &Context, board: &Board, hook_call: &HookCall, task: &TaskId) -> Result<Actor> {
    // A descendant of a runner is its agent, with or without a name. Git starts every hook, and below git no agent
    // may change the board; this changes nothing.
    if let Credentials::Descendant { of, .. } = &ctx.credentials
        && !of.gate
        && let Some((id, agent)) = board.runs_under(&of.ancestors)
    {
        return Ok(Actor::Agent { id: id.clone(), incarnation: agent.incarnation });
    }
    if let actor @ Actor::Agent { .. } = board.identify(&ctx.credentials)? {
        return Ok(actor);
    }
    let present = |id: &AgentId| Actor::Agent {
        id: id.clone(),
        incarnation: board.agent(id).map_or(0, |agent| agent.incarnation),
    };
    match (&hook_call.agent, &hook_call.token_hash) {
        (None, _) => Ok(match board.task(task).and_then(|task| task.lease.as_ref()) {
            Some(lease) if !lease.agent.is_human() => {
                Actor::Agent { id: lease.agent.clone(), incarnation: lease.incarnation }
            }
            _ => Actor::Human,
        }),
        (Some(id), Some(token_hash)) => {
            Ok(board.identify(&Credentials::Agent { id: id.clone(), token_hash: token_hash.clone() })?)
        }
        (Some(id), None) => Ok(present(id)),
    }
}

fn epoch_of(hook_call: &HookCall, task: &TaskId) -> Option<u64> {
    hook_call.claim.as_ref().filter(|(claimed, _)| claimed == task).map(|(_, epoch)| *epoch)
}

/// Trailers that only liza writes; verify and people rely on them.
const OWN_TRAILERS: [&str; 3] = ["liza-task:", "liza-gates:", "liza-advance:"];

/// Runs for merges too, for which git runs no pre-commit hook.
fn commit_msg(ctx: &Context, hook_call: &HookCall) -> Result<()> {
    if let Some(file) = hook_call.args.first() {
        let path = hook_call.cwd.join(file);
        let message = fs::read(&path).map_err(|error| Failure::io("read", &path, &error))?;
        let message = String::from_utf8_lossy(&message).to_lowercase();
        if let Some(trailer) =
            OWN_TRAILERS.iter().find(|trailer| message.lines().any(|line| line.starts_with(**trailer)))
        {
            return Err(failure!(
                ErrorCode::RefusedTrailer,
                "the message has a line `{trailer} …`, which only liza's own merges may have"
            )
            .hint("remove that line from the message"));
        }
    }
    let (task, worktree) = match site(ctx, hook_call)?.0 {
        Site::Elsewhere => return Ok(()),
        Site::Sealed(worktree) => return Err(sealed_refusal(&worktree)),
        Site::Task { task, worktree } => (task, worktree),
    };
    let board = ctx.store.read(&Needs::task(&task))?.board;
    let world = World::default();
    let call = Call::new(who(ctx, &board, hook_call, &task)?, &ctx.now, &world);
    let epoch = epoch_of(hook_call, &task);
    WorktreeCommit { task, epoch, worktree }.check_place(&board, &call)?;
    Ok(())
}

/// Lines `<local ref> <local id> <remote ref> <remote id>`.
fn pre_push(ctx: &Context, hook_call: &HookCall) -> Result<()> {
    if ctx.project_config()?.hooks.push_task_branches {
        return Ok(());
    }
    let board = match ctx.store.read(&Needs::Nothing) {
        Ok(snapshot) => snapshot.board,
        Err(StoreError::Missing(_)) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let unreviewed = |name: &str| name.starts_with("refs/heads/task/") || name.starts_with("refs/liza/");
    for line in hook_call.stdin.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let [local, id, remote, _] = words.as_slice() else { continue };
        let Ok(commit) = CommitId::new(id) else { continue };
        if id.bytes().all(|byte| byte == b'0') {
            // Deleting a branch on the remote publishes nothing.
            continue;
        }
        let named = [local, remote].into_iter().find(|name| unreviewed(name)).map(|name| (*name).to_owned());
        let Some(what) = named.or(head_of_task(ctx, &board, &commit)?) else { continue };
        return Err(failure!(
            ErrorCode::RefusedPush,
            "`{what}` is a task's own branch, not reviewed and merged work"
        )
        .hint(
            "push the integration branch instead; `hooks: {push_task_branches: true}` in liza.yaml allows it",
        )
        .detail("ref", what));
    }
    Ok(())
}

/// The task branch whose head is that commit, if it has not landed: `HEAD:main` hides its name.
fn head_of_task(ctx: &Context, board: &Board, commit: &CommitId) -> Result<Option<String>> {
    let branches = refs::list(&ctx.repo, "refs/heads/task")?;
    let Some((name, _)) = branches.into_iter().find(|(_, at)| at == commit) else { return Ok(None) };
    let query = ctx.query()?;
    let head = query.head_of_branch(&board.config().integration_branch)?;
    let landed = head.map_or(Ok(false), |head| query.is_ancestor(commit, &head))?;
    Ok((!landed).then_some(name))
}
