//! The state of a running session on the board and in its worktree. Examining changes nothing.

use crate::board::paths::inside;
use crate::flow::prelude::*;

/// The work of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// The task that the agent holds; the agent may claim another one itself.
    Claim,
    Review(TaskId),
    Plan,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct OnBoard {
    pub task: Option<TaskId>,
    pub epoch: Option<u64>,
    /// Changes after every step, finding or message of the agent; renewing a lease does not count.
    pub mark: String,
    pub sent: u64,
    pub received: u64,
    /// Whether the agent announced its work for the present claim.
    pub has_checkpoint: bool,
    pub work_area: Option<WorkArea>,
}

/// The worktree of a session's task, and the paths that the task may change.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkArea {
    worktree: PathBuf,
    base: CommitId,
    allowed: Vec<PathPattern>,
}

#[derive(Debug, Default)]
pub struct InWorktree {
    pub tree: Option<String>,
    pub modified: u64,
    pub unannounced: u64,
    pub last_modified: Option<String>,
}

/// None if the board cannot be read or the agent has no work there any more.
pub fn on_board(ctx: &Context, agent: &AgentId, incarnation: u64, subject: &Subject) -> Option<OnBoard> {
    let find = |board: &Board| task_of(board, agent, incarnation, subject).map(|task| task.id.clone());
    let needs = |board: &Board| find(board).map_or(Needs::Nothing, |task| Needs::task(&task));
    let snapshot = ctx.store.read_with(needs).ok()?;
    let board = &snapshot.board;
    let known = board.agent(agent).filter(|known| known.incarnation == incarnation)?;
    let sent = count(board.rest.messages.iter().filter(|message| &message.from == agent));
    let received = count(board.rest.messages.iter().filter(|message| match &message.to {
        Recipient::One(id) => id == agent,
        Recipient::Role(role) => known.roles.contains(role),
    }));
    let reports = count(board.rest.anomalies.iter().filter(|one| &one.logged_by == agent))
        + count(board.rest.discovered.iter().filter(|one| &one.by == agent));
    let mut seen = OnBoard { sent, received, ..OnBoard::default() };
    match task_of(board, agent, incarnation, subject) {
        Some(task) => {
            let body = task.body();
            let (history, issues) = (body.history.len(), body.issues.len());
            seen.mark = format!("{} {} {history} {issues} {reports} {sent}", task.status, task.iteration);
            seen.task = Some(task.id.clone());
            seen.epoch = Some(task.epoch);
            seen.has_checkpoint = current_checkpoint(body).is_some();
            seen.work_area = (subject == &Subject::Claim).then(|| work_area(ctx, task)).flatten();
        }
        None if subject == &Subject::Plan => {
            let of = |status: Status| count(board.tasks.iter().filter(|task| task.status == status));
            let (all, drafts, blocked) = (board.tasks.len(), of(Status::Draft), of(Status::Blocked));
            let ended = of(Status::Superseded) + of(Status::Abandoned);
            seen.mark = format!("{all} {drafts} {blocked} {ended} {reports} {sent}");
        }
        None => return None,
    }
    Some(seen)
}

fn count<T>(items: impl Iterator<Item = T>) -> u64 {
    items.count() as u64
}

fn task_of<'b>(board: &'b Board, agent: &AgentId, incarnation: u64, subject: &Subject) -> Option<&'b Task> {
    let mine = |lease: &crate::board::lease::Lease| &lease.agent == agent && lease.incarnation == incarnation;
    match subject {
        Subject::Claim => {
            let mut all = board.tasks.iter();
            all.find(|task| task.status == Status::Working && task.lease.as_ref().is_some_and(mine))
        }
        Subject::Review(id) => {
            let held = |task: &&Task| task.judged_by().is_some();
            board.task(id).filter(held).filter(|task| task.review_lease.as_ref().is_some_and(mine))
        }
        Subject::Plan => None,
    }
}

fn work_area(ctx: &Context, task: &Task) -> Option<WorkArea> {
    let body = task.body();
    let attempt = body.attempt()?;
    let announced =
        checkpoints_of_attempt(body).into_iter().flat_map(|checkpoint| &checkpoint.files_to_modify);
    let announced = announced.filter_map(|file| PathPattern::new(file).ok());
    Some(WorkArea {
        worktree: ctx.root().join(&attempt.worktree),
        base: attempt.base_commit.clone(),
        allowed: body.scope.inside.iter().cloned().chain(announced).collect(),
    })
}

/// Examines all files; large ones are not read.
pub fn in_worktree(work_area: &WorkArea) -> Option<InWorktree> {
    let found = content::present(&work_area.worktree, &work_area.base).ok()?;
    let allowed = |path: &String| RepoPath::new(path).is_ok_and(|path| inside(&path, &work_area.allowed));
    let changed_at = |path: &String| {
        fs::symlink_metadata(work_area.worktree.join(path)).and_then(|meta| meta.modified()).ok()
    };
    let last = found.changed.iter().filter_map(|path| Some((changed_at(path)?, path))).max();
    Some(InWorktree {
        modified: count(found.changed.iter()),
        unannounced: count(found.changed.iter().filter(|path| !allowed(path))),
        last_modified: last.map(|(_, path)| path.clone()),
        tree: Some(found.mark),
    })
}
