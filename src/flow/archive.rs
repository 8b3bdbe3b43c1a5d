//! Archiving: writes finished tasks to files, removes them from the board, then moves their worktrees to the trash.

use super::prelude::*;
use super::worktrees::{self, PruneOptions, PruneReport};
use crate::store::Committed;

/// How long finished tasks and trash entries are kept by default.
pub const KEEP_DAYS: u64 = 14;
/// With more finished tasks than this on the board, liza archives the oldest automatically.
const CROWDED: usize = 200;
/// How many finished tasks stay then, so that the next one does not start the archiving again.
const STAY: usize = 100;
/// Most tasks removed in one commit.
const AT_ONCE: usize = 2_000;

pub enum Which {
    These(Vec<TaskId>),
    All,
    /// Tasks that ended at least this many days ago.
    OlderThan(u64),
}

#[derive(Debug, Default, Serialize)]
pub struct Report {
    pub archived: Vec<TaskId>,
    /// Requested, and already archived.
    pub already: Vec<TaskId>,
    /// Finished, but not archived now.
    pub stay: Vec<Stays>,
    /// Processed notes, anomalies, discoveries and spec changes removed with them.
    pub records: u64,
    pub worktrees: PruneReport,
    #[serde(skip)]
    pub revision: u64,
}

#[derive(Debug, Serialize)]
pub struct Stays {
    pub task: TaskId,
    pub why: String,
}

/// When a task ended; its body must be loaded.
pub fn end_time(task: &Task) -> Wall {
    task.body().history.last().map_or(task.body().created_at, |entry| entry.time)
}

/// Whether the task ended at least `days` days ago. A time in the future counts as now.
pub fn ended_before(task: &Task, days: u64, now: Wall) -> bool {
    u64::try_from(now.since(end_time(task))).is_ok_and(|age| age >= days.saturating_mul(86_400))
}

pub fn archive(ctx: &Context, which: &Which, dry_run: bool) -> Result<Report> {
    // Another process may archive the same tasks at the same moment.
    for _ in 0..5 {
        match archive_once(ctx, which, dry_run) {
            Err(failure) if failure.details.contains_key("archived") => {}
            other => return other,
        }
    }
    Err(Failure::new(
        ErrorCode::StaleBoard,
        "other processes keep archiving the same tasks; run the command again",
    ))
}

fn archive_once(ctx: &Context, which: &Which, dry_run: bool) -> Result<Report> {
    let snapshot = ctx.read(&finished_bodies(ctx)?)?;
    // Check the caller's permission before writing anything.
    ctx.ask(&snapshot.board, ArchiveTasks { tasks: Vec::new() })?;
    let mut report = Report { revision: snapshot.board.revision, ..Report::default() };
    let chosen = choose(ctx, &snapshot.board, which, &mut report)?;
    if dry_run {
        report.archived = chosen;
        return Ok(report);
    }
    ctx.check_disk()?;
    let chunks: Vec<&[TaskId]> = if chosen.is_empty() { vec![&[]] } else { chosen.chunks(AT_ONCE).collect() };
    for (number, chunk) in chunks.into_iter().enumerate() {
        write(ctx, &snapshot.board, chunk)?;
        let what = ArchiveTasks { tasks: chunk.to_vec() };
        // The request covers the whole command, and the first commit answers it.
        let committed = if number == 0 { ctx.commit(what)? } else { ctx.commit_step(what)? };
        tally(&mut report, committed);
    }
    crash::point("archive.committed");
    match worktrees::prune(ctx, PruneOptions::default(), Some(&report.archived)) {
        Ok(pruned) => report.worktrees = pruned,
        // The tasks are archived; their worktrees may be removed later.
        Err(failure) => ctx.narrate(format!("their worktrees stay for now: {}", failure.message)),
    }
    Ok(report)
}

fn finished_bodies(ctx: &Context) -> Result<Needs> {
    let snapshot = ctx.store.read(&Needs::Nothing)?;
    let finished = snapshot.board.tasks.iter().filter(|task| task.status.is_terminal());
    Ok(Needs::Tasks(finished.map(|task| task.id.clone()).collect()))
}

fn choose(ctx: &Context, board: &Board, which: &Which, report: &mut Report) -> Result<Vec<TaskId>> {
    let finished = Finished::of(board);
    if let Which::These(ids) = which {
        let mut chosen: Vec<TaskId> = Vec::new();
        for id in ids {
            if ctx.store.archived_beside(board, id)?.is_some() {
                report.already.push(id.clone());
                continue;
            }
            finished.check(id)?;
            if !chosen.contains(id) {
                chosen.push(id.clone());
            }
        }
        return Ok(chosen);
    }
    let mut chosen = Vec::new();
    for task in board.tasks.iter().filter(|task| task.status.is_terminal() && !task.is_light()) {
        let young = match which {
            Which::OlderThan(days) if !ended_before(task, *days, ctx.now.wall) => {
                Some(format!("it ended {}", end_time(task)))
            }
            _ => None,
        };
        match (young, finished.check(&task.id)) {
            (Some(why), _) => report.stay.push(Stays { task: task.id.clone(), why }),
            (None, Err(refusal)) => {
                report.stay.push(Stays { task: task.id.clone(), why: refusal.message });
            }
            (None, Ok(())) => chosen.push(task.id.clone()),
        }
    }
    Ok(chosen)
}

fn write(ctx: &Context, board: &Board, ids: &[TaskId]) -> Result<()> {
    let tasks: Vec<&Task> =
        ids.iter().filter_map(|id| board.task(id)).filter(|task| !task.is_light()).collect();
    // A task that ended after the board was read waits for the next time.
    if tasks.len() != ids.len() {
        return Err(Failure::new(
            ErrorCode::StaleBoard,
            "the board changed meanwhile; run the command again",
        ));
    }
    ctx.store.write_archive(&tasks, ctx.now.wall)?;
    crash::point("archive.files");
    Ok(())
}

fn tally(report: &mut Report, committed: Committed<Archived>) {
    report.archived.extend(committed.outcome.archived);
    report.records += committed.outcome.records;
    report.revision = committed.board.revision;
}

/// Whether the board has so many finished tasks that some should be archived.
pub fn is_crowded(board: &Board) -> bool {
    board.tasks.iter().filter(|task| task.status.is_terminal()).count() > CROWDED
}

/// Archives the oldest finished tasks of a crowded board. The caller's command is already done, so a failure here is
/// only reported.
pub fn archive_if_crowded(ctx: &Context) {
    match archive_oldest(ctx) {
        Ok(0) => {}
        Ok(count) => ctx.narrate(format!(
            "{count} finished tasks were archived, because the board had more than {CROWDED}; `liza gc` removes their leftovers"
        )),
        Err(failure) => ctx.narrate(format!("finished tasks could not be archived: {failure}")),
    }
}

fn archive_oldest(ctx: &Context) -> Result<usize> {
    let snapshot = ctx.store.read(&finished_bodies(ctx)?)?;
    let board = &snapshot.board;
    if !is_crowded(board) {
        return Ok(0);
    }
    ctx.check_disk()?;
    let finished = Finished::of(board);
    let standing = board.tasks.iter().filter(|task| task.status.is_terminal()).count();
    let mut old: Vec<&Task> = board
        .tasks
        .iter()
        .filter(|task| task.status.is_terminal() && !task.is_light() && finished.check(&task.id).is_ok())
        .collect();
    old.sort_by_key(|task| end_time(task).0);
    let ids: Vec<TaskId> =
        old.into_iter().take((standing - STAY).min(AT_ONCE)).map(|task| task.id.clone()).collect();
    if ids.is_empty() {
        return Ok(0);
    }
    write(ctx, board, &ids)?;
    match ctx.commit_as_liza(ArchiveTasks { tasks: ids.clone() }) {
        Ok(_) => Ok(ids.len()),
        // Another process archived them at the same moment.
        Err(StoreError::Refused(_)) => Ok(0),
        Err(error) => Err(error.into()),
    }
}
