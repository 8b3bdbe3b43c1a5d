//! The board as other programs like to read it: the work graph, the table of locks, what the gates said.
//!
//! `.liza/graphs/<graph>.json` and `.liza/locks/locks.json` are written from the board, outside its lock, and never read by
//! liza. Each says which revision it was made of. Where they cannot be written, a word about it is all that happens.

use schemars::JsonSchema;

use super::prelude::*;
use crate::board::GraphId;
use crate::board::gates::OutcomesByGate;
use crate::policy::locks::{Lock, locks};
use crate::policy::work_graph::{GraphReport, WorkGraph, work_graph};

/// A gate file is a few lines for each gate; what is larger was not written by liza.
const LARGEST_GATE_FILE: u64 = 1 << 20;
/// A team changes the board many times a second; nobody reads the files that often.
const AT_MOST_EVERY: Duration = Duration::from_secs(1);

/// The table of locks as it is kept in `.liza/locks/locks.json`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
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
    // The goal of an older board may be called anything.
    let name = GraphId::new(&whole.graph.graph_id).map_or_else(|_| "goal".to_owned(), |id| id.to_string());
    if let Ok(graph) = serde_json::to_value(&whole.graph) {
        ctx.store.write_graph(&name, &format!("{}\n", to_json_pretty(&graph)))?;
    }
    if let Ok(table) = serde_json::to_value(&whole.table) {
        ctx.store.write_lock_table(&format!("{}\n", to_json_pretty(&table)))?;
    }
    Ok(())
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
