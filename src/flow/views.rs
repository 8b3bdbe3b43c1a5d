//! The board in files for other programs: the work graph, the table of locks, gate results.
//!
//! `.liza/graphs/<graph>.json` and `.liza/locks/locks.json` are written from the board, outside its lock, after every
//! commit that changes what they show (`follow`). liza never reads them as truth. Each names its revision, and an
//! older one never replaces a newer one. If they cannot be written, liza only reports that.

use schemars::JsonSchema;

use super::prelude::*;
use crate::board::GraphId;
use crate::board::gates::OutcomesByGate;
use crate::policy::locks::{Lock, locks};
use crate::policy::work_graph::{GraphReport, WorkGraph, work_graph};
use crate::store::views::ViewLock;
use crate::wire::graph_file;

/// A gate file has a few lines per gate; a larger one was not written by liza.
const LARGEST_GATE_FILE: u64 = 1 << 20;
/// A team changes the board many times a second; no program reads the files that often.
const AT_MOST_EVERY: Duration = Duration::from_secs(1);

/// A larger graph is written by commands that show it, and by processes that watch the board: copying it costs a
/// command more than the board does.
const LARGEST_FOLLOWED: u64 = 1 << 20;

/// The table of locks as it is kept in `.liza/locks/locks.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LockTable {
    /// The board's revision it was made from.
    pub revision: u64,
    /// When it was made: whether a lock is stale depends on the time.
    pub time: Wall,
    pub locks: Vec<Lock>,
}

/// The board with every task it ever had, at one revision.
struct Whole {
    board: Board,
    graph: WorkGraph,
    table: LockTable,
    /// What could not be read, and so is missing.
    left_out: Vec<String>,
}

fn whole(ctx: &Context) -> Result<Whole> {
    let board = ctx.read(&Needs::Everything)?.board;
    let world = ctx.store.surroundings(&board)?;
    let (archived, left_out) = ctx.store.archived_for_views(&board)?;
    let graph = work_graph(&board, &archived, &world, &ctx.now);
    let table = LockTable { revision: board.revision, time: ctx.now.wall, locks: locks(&board, &ctx.now) };
    Ok(Whole { board, graph, table, left_out })
}

/// The content of `liza report`, and its board. Also rewrites the files.
pub fn report(ctx: &Context) -> Result<(GraphReport, Board)> {
    let whole = whole(ctx)?;
    write(ctx, &whole).iter().for_each(|trouble| ctx.narrate(trouble));
    let judged = ctx.machine.names_with_gate_results();
    let nodes = whole.graph.nodes.iter().filter(|node| judged.contains(node.id.as_str()));
    let gates = nodes.filter_map(|node| Some((node.id.clone(), gates_of(ctx, &node.id)?))).collect();
    Ok((GraphReport::new(whole.graph, whole.table.locks, gates), whole.board))
}

/// Rewrites the files. A failure is reported and stops nothing: the board is what counts.
pub fn refresh(ctx: &Context) {
    refreshed(ctx).iter().for_each(|trouble| ctx.narrate(trouble));
}

/// As [`refresh`]; returns the problems.
fn refreshed(ctx: &Context) -> Vec<String> {
    match whole(ctx) {
        Ok(whole) => write(ctx, &whole),
        Err(failure) => vec![not_written(&failure)],
    }
}

fn not_written(failure: &Failure) -> String {
    format!("the files for other programs are not up to date: {}", failure.message)
}

fn write(ctx: &Context, whole: &Whole) -> Vec<String> {
    let left_out = whole.left_out.iter().map(|trouble| format!("left out of the work graph: {trouble}"));
    left_out.chain(write_files(ctx, whole).err().map(|failure| not_written(&failure))).collect()
}

fn write_files(ctx: &Context, whole: &Whole) -> Result<()> {
    let Some(lock) = ctx.store.lock_views()? else { return Err(busy()) };
    let name = name_of(&whole.board);
    let (revision, former) = (whole.board.revision, ctx.store.graph_head(&name, &lock));
    // A file made from a newer board stays.
    if former.is_none_or(|(head, _)| head.revision <= revision) {
        ctx.store.write_graph(
            &name,
            &graph_file::whole(&whole.graph, graph_file::held_paths_mark(&whole.board, &ctx.now)),
            &lock,
        )?;
    }
    let goal = &whole.board.rest.goal.id;
    if GraphId::new(goal).is_ok_and(|goal| goal.to_string() != name) {
        ctx.store.remove_graph(goal, &lock);
    }
    let former = ctx.store.lock_table(&lock).and_then(|bytes| former_table(&bytes));
    if former.is_none_or(|table| table.revision <= revision) {
        ctx.store.write_lock_table(&table_text(&whole.table), &lock)?;
    }
    Ok(())
}

/// The goal of an older board may have any name.
fn name_of(board: &Board) -> String {
    GraphId::new(board.graph_id()).map_or_else(|_| "goal".to_owned(), |id| id.to_string())
}

fn busy() -> Failure {
    failure!(ErrorCode::StaleBoard, "another command is writing them")
}

/// One lock per line.
fn table_text(table: &LockTable) -> String {
    let line = |lock: &Lock| serde_json::to_string(lock).unwrap_or_default();
    let lines: Vec<String> = table.locks.iter().map(line).collect();
    let LockTable { revision, time, .. } = table;
    if lines.is_empty() {
        return format!("{{\"revision\":{revision},\"time\":\"{time}\",\"locks\":[]}}\n");
    }
    format!("{{\"revision\":{revision},\"time\":\"{time}\",\"locks\":[\n{}\n]}}\n", lines.join(",\n"))
}

/// The table as last written. Any program may have written the file: only its shape is trusted.
fn former_table(bytes: &[u8]) -> Option<LockTable> {
    serde_json::from_slice(bytes).ok()
}

/// Updates the files for a board that was just published. What was not loaded was not changed either: it is copied
/// from the present files, and if that fails everything is read again.
pub(super) fn follow(ctx: &Context, board: &Board, now: &Stamp, whole_again: bool) {
    // A commit has loaded every task that it changes.
    let touched = board.tasks.iter().any(|task| !task.is_light());
    // Another commit of this process finishes what this one started.
    let unfinished = board.rest.intents.iter().any(|intent| intent.owner.pid == std::process::id());
    if !(touched || whole_again) || unfinished {
        return;
    }
    let done = match whole_again {
        true => Ok(false),
        false => followed(ctx, board, now),
    };
    let troubles = match done {
        Ok(true) => Vec::new(),
        Ok(false) => refreshed(ctx),
        Err(failure) => vec![not_written(&failure)],
    };
    troubles.iter().for_each(|trouble| ctx.narrate(trouble));
}

/// False if the bodies of other tasks are needed.
fn followed(ctx: &Context, board: &Board, now: &Stamp) -> Result<bool> {
    let Some(lock) = ctx.store.lock_views()? else { return Err(busy()) };
    let name = name_of(board);
    let is_followed = ctx.store.graph_bytes(&name).is_none_or(|bytes| bytes <= LARGEST_FOLLOWED);
    if is_followed && !followed_by_graph(ctx, board, now, &name, &lock)? {
        return Ok(false);
    }
    let Some(former) = ctx.store.lock_table(&lock).and_then(|bytes| former_table(&bytes)) else {
        return Ok(false);
    };
    if former.revision < board.revision {
        let mut table = LockTable { revision: board.revision, time: now.wall, locks: locks(board, now) };
        for row in table.locks.iter_mut().filter(|row| row.since.is_none()) {
            // Under the same claim it is unchanged.
            let same = |known: &&Lock| known.task == row.task && known.epoch == row.epoch;
            row.since = former.locks.iter().find(same).and_then(|known| known.since);
            if row.since.is_none() {
                return Ok(false);
            }
        }
        if table.locks != former.locks {
            ctx.store.write_lock_table(&table_text(&table), &lock)?;
        }
    }
    Ok(true)
}

/// Updates the graph's file alone; false likewise.
fn followed_by_graph(ctx: &Context, board: &Board, now: &Stamp, name: &str, lock: &ViewLock) -> Result<bool> {
    let Some((head, file)) = ctx.store.graph_head(name, lock) else { return Ok(false) };
    if head.revision < board.revision {
        let world = World { archived: ctx.store.archived_around(board)?, ..World::default() };
        match head.updated_parts(board, &world, now) {
            None => return Ok(false),
            Some(pieces) if pieces.is_empty() => {}
            Some(pieces) => ctx.store.patch_graph(name, &file, &pieces, lock)?,
        }
    }
    Ok(true)
}

/// Keeps the files up to date while a process watches the board.
#[derive(Debug, Default)]
pub struct Keeper {
    written: Option<(u64, Instant)>,
}

/// The result of keeping them.
#[derive(Debug, Default)]
pub struct Kept {
    /// They are out of date, and may be written again then.
    pub again_in: Option<Duration>,
    pub troubles: Vec<String>,
}

impl Keeper {
    /// Writes them if the board has changed, at most once a second.
    pub fn keep(&mut self, ctx: &Context, revision: u64) -> Kept {
        match self.written {
            Some((written, _)) if written == revision => Kept::default(),
            Some((_, at)) if at.elapsed() < AT_MOST_EVERY => {
                Kept { again_in: Some(AT_MOST_EVERY.saturating_sub(at.elapsed())), troubles: Vec::new() }
            }
            _ => {
                let troubles = refreshed(ctx);
                self.written = Some((revision, Instant::now()));
                Kept { again_in: None, troubles }
            }
        }
    }
}

/// The last gate results for a task, by gate; none if no gate ran.
fn gates_of(ctx: &Context, task: &TaskId) -> Option<OutcomesByGate> {
    #[derive(Deserialize)]
    struct Said {
        gates: OutcomesByGate,
    }
    let path = ctx.machine.gate_results(task.as_str());
    let bytes = match read_whole(&path, LARGEST_GATE_FILE) {
        Ok((bytes, _)) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
        Err(error) => {
            ctx.narrate(format!("{} cannot be read: {error}", path.display()));
            return None;
        }
    };
    match read_foreign::<Said>(&bytes, Limits::default()) {
        Ok(said) => Some(said.gates),
        Err(_) => {
            ctx.narrate(format!("{} holds no gate results", path.display()));
            None
        }
    }
}
