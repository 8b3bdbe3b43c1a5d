//! The board as other programs like to read it: the work graph, the table of locks, what the gates said.
//!
//! `.liza/graphs/<graph>.json` and `.liza/locks/locks.json` are written from the board, outside its lock, after every commit that
//! changes what they show (`follow`). liza never takes them for the truth. Each says which revision it was made of, and an older one never
//! takes the place of a newer one. Where they cannot be written, a word about it is all that happens.

use schemars::JsonSchema;

use super::prelude::*;
use crate::board::GraphId;
use crate::board::gates::OutcomesByGate;
use crate::policy::locks::{Lock, locks};
use crate::policy::work_graph::{GraphReport, WorkGraph, work_graph};
use crate::wire::graph_file;

/// A gate file is a few lines for each gate; what is larger was not written by liza.
const LARGEST_GATE_FILE: u64 = 1 << 20;
/// A team changes the board many times a second; nobody reads the files that often.
const AT_MOST_EVERY: Duration = Duration::from_secs(1);

/// The table of locks as it is kept in `.liza/locks/locks.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LockTable {
    /// The board's revision it was made of.
    pub revision: u64,
    /// When it was made: whether a lock is stale is a matter of time.
    pub time: Wall,
    pub locks: Vec<Lock>,
}

/// The board with every task it ever had, at one revision.
struct Whole {
    board: Board,
    graph: WorkGraph,
    table: LockTable,
    /// What could not be read, and so is not in it.
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

/// Everything `liza report` says, and the board it says it of. The files are written anew on the way.
pub fn report(ctx: &Context) -> Result<(GraphReport, Board)> {
    let whole = whole(ctx)?;
    write(ctx, &whole).iter().for_each(|trouble| ctx.narrate(trouble));
    let judged = ctx.machine.names_with_gate_results();
    let nodes = whole.graph.nodes.iter().filter(|node| judged.contains(node.id.as_str()));
    let gates = nodes.filter_map(|node| Some((node.id.clone(), gates_of(ctx, &node.id)?))).collect();
    Ok((GraphReport::new(whole.graph, whole.table.locks, gates), whole.board))
}

/// Writes the files anew. What goes wrong is said and stops nothing: the board is what counts.
pub fn refresh(ctx: &Context) {
    refreshed(ctx).iter().for_each(|trouble| ctx.narrate(trouble));
}

/// As [`refresh`]; gives back what went wrong.
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
    // What was made of a newer board stays.
    if former.is_none_or(|(head, _)| head.revision <= revision) {
        ctx.store.write_graph(
            &name,
            &graph_file::whole(&whole.graph, graph_file::held(&whole.board, &ctx.now)),
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

/// The goal of an older board may be called anything.
fn name_of(board: &Board) -> String {
    GraphId::new(board.graph_id()).map_or_else(|_| "goal".to_owned(), |id| id.to_string())
}

fn busy() -> Failure {
    failure!(ErrorCode::StaleBoard, "another command is writing them")
}

/// One lock a line.
fn table_text(table: &LockTable) -> String {
    let line = |lock: &Lock| serde_json::to_string(lock).unwrap_or_default();
    let lines: Vec<String> = table.locks.iter().map(line).collect();
    let LockTable { revision, time, .. } = table;
    if lines.is_empty() {
        return format!("{{\"revision\":{revision},\"time\":\"{time}\",\"locks\":[]}}\n");
    }
    format!("{{\"revision\":{revision},\"time\":\"{time}\",\"locks\":[\n{}\n]}}\n", lines.join(",\n"))
}

/// The table as it was written last. It is a file that any program may have written: only its shape is believed.
fn former_table(bytes: &[u8]) -> Option<LockTable> {
    serde_json::from_slice(bytes).ok()
}

/// Brings the files in line with a board that was just published. What of it was not loaded was not changed either: it is taken
/// over from the files as they are, and where that cannot be done everything is read once more.
pub(super) fn follow(ctx: &Context, board: &Board, now: &Stamp, whole_again: bool) {
    // Whatever a commit changes of a task, it has loaded.
    let touched = board.tasks.iter().any(|task| !task.is_light());
    // Another commit of this process ends what it has begun.
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

/// False, if the bodies of other tasks are needed for it.
fn followed(ctx: &Context, board: &Board, now: &Stamp) -> Result<bool> {
    let Some(lock) = ctx.store.lock_views()? else { return Err(busy()) };
    let name = name_of(board);
    let Some((head, file)) = ctx.store.graph_head(&name, &lock) else { return Ok(false) };
    let Some(former) = ctx.store.lock_table(&lock).and_then(|bytes| former_table(&bytes)) else {
        return Ok(false);
    };
    let world = World { archived: ctx.store.archived_around(board)?, ..World::default() };
    if head.revision < board.revision {
        match head.brought_up(board, &world, now) {
            None => return Ok(false),
            Some(pieces) if pieces.is_empty() => {}
            Some(pieces) => ctx.store.patch_graph(&name, &file, &pieces, &lock)?,
        }
    }
    if former.revision < board.revision {
        let mut table = LockTable { revision: board.revision, time: now.wall, locks: locks(board, now) };
        for row in table.locks.iter_mut().filter(|row| row.since.is_none()) {
            // Under the same claim it is what it was.
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

/// Keeps the files up for as long as somebody watches the board.
#[derive(Debug, Default)]
pub struct Keeper {
    written: Option<(u64, Instant)>,
}

/// What came of keeping them.
#[derive(Debug, Default)]
pub struct Kept {
    /// They are not up to date, and may be written again then.
    pub again_in: Option<Duration>,
    pub troubles: Vec<String>,
}

impl Keeper {
    /// Writes them if the board has changed since, and not more than once a second.
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

/// What the gates said last about a task, by gate; nothing where none were asked.
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
            ctx.narrate(format!("{} does not say what gates said", path.display()));
            None
        }
    }
}
