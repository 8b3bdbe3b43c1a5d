//! The work graph as a file that is kept up cheaply: one node to a line, and in the first line where each of them stands.
//!
//! `{"revision":12,"graph_id":"G-001","held":"…","index":"ID LENGTH CHECK STATE STATUS AGENT;…","nodes":[` and then a node a line. What changes
//! with every step of a task stands at the beginning of its line; the rest of the line is known by its check. So a change that
//! touches two tasks of a thousand gives a file of which all but two lines are copied, without a single one being read.

use std::cell::OnceCell;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::prelude::*;
use crate::board::World;
use crate::policy::NodeState;
use crate::policy::view::Scene;
use crate::policy::work_graph::{ReviewResult, WorkGraph, WorkNode, node_of};

/// The first line of such a file, as text: it is read with every step of every task.
#[derive(Debug)]
pub struct FileHead {
    line: String,
    pub revision: u64,
    graph_id: String,
    /// Where the index stands in the line.
    index: Range<usize>,
    /// Which paths were held, as a number.
    held: u64,
}

/// A node as the first line has it.
#[derive(Debug, Clone, Copy)]
struct Entry<'h> {
    text: &'h str,
    id: &'h str,
    /// Of the whole line, with what comes before and behind the node.
    length: usize,
    /// Of what does not change with every step.
    check: &'h str,
    now: Now<'h>,
}

/// What changes with every step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Now<'h> {
    state: &'h str,
    status: &'h str,
    /// `-` for none.
    agent: &'h str,
}

/// A part of the new file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    New(String),
    /// These bytes of the old one.
    Kept {
        from: usize,
        length: usize,
    },
}

impl<'h> Now<'h> {
    fn of(state: &'h str, status: Status, agent: Option<&'h AgentId>) -> Self {
        Self { state, status: status.as_str(), agent: agent.map_or("-", |agent| agent.as_str()) }
    }

    /// How the line of a node begins.
    fn text(self, id: &str, is_first: bool) -> String {
        let Self { state, status, agent } = self;
        let comma = if is_first { "" } else { "," };
        let quote = if agent == "-" { "" } else { "\"" };
        let agent = if agent == "-" { "null" } else { agent };
        [
            comma,
            "{\"id\":\"",
            id,
            "\",\"status\":\"",
            state,
            "\",\"task_status\":\"",
            status,
            "\",\"assigned_to\":",
            quote,
            agent,
            quote,
            ",",
        ]
        .concat()
    }
}

/// What stands behind that.
fn rest(node: &WorkNode) -> String {
    #[derive(Serialize)]
    struct Rest<'n> {
        description: &'n str,
        inputs: &'n [String],
        outputs: &'n [String],
        dependencies: &'n [TaskId],
        owner_role: &'n str,
        tags: &'n [String],
        patch_bundle: Option<&'n str>,
        review_result: Option<&'n ReviewResult>,
    }
    let WorkNode { description, inputs, outputs, dependencies, owner_role, tags, review_result, .. } = node;
    let patch_bundle = node.patch_bundle.as_deref();
    let review_result = review_result.as_ref();
    let rest =
        Rest { description, inputs, outputs, dependencies, owner_role, tags, patch_bundle, review_result };
    let text = serde_json::to_string(&rest).unwrap_or_default();
    format!("{}\n", text.strip_prefix('{').unwrap_or_default())
}

fn check_of(rest: &str) -> String {
    blake3::hash(rest.as_bytes()).to_hex()[..16].to_owned()
}

fn entry_text(id: &str, length: usize, check: &str, now: Now<'_>) -> String {
    [id, " ", &length.to_string(), " ", check, " ", now.state, " ", now.status, " ", now.agent].concat()
}

/// The line of a node, and its entry in the index.
fn line_of(node: &WorkNode, is_first: bool) -> (String, String) {
    let now = Now::of(node.status.as_str(), node.task_status, node.assigned_to.as_ref());
    let (mut line, rest) = (now.text(node.id.as_str(), is_first), rest(node));
    let entry = entry_text(node.id.as_str(), line.len() + rest.len(), &check_of(&rest), now);
    line.push_str(&rest);
    (line, entry)
}

/// The whole file.
pub fn whole(graph: &WorkGraph, held: u64) -> String {
    let mut index = Vec::with_capacity(graph.nodes.len());
    let mut lines = String::new();
    for (at, node) in graph.nodes.iter().enumerate() {
        let (line, entry) = line_of(node, at == 0);
        index.push(entry);
        lines.push_str(&line);
    }
    format!(
        "{}{}{BEHIND_INDEX}{lines}{END}",
        before_index(graph.revision, &graph.graph_id, held),
        index.join(";")
    )
}

const BEHIND_INDEX: &str = "\",\"nodes\":[\n";
const END: &str = "]}\n";

fn before_index(revision: u64, graph_id: &str, held: u64) -> String {
    let graph_id = serde_json::to_string(graph_id).unwrap_or_default();
    format!("{{\"revision\":{revision},\"graph_id\":{graph_id},\"held\":\"{held:016x}\",\"index\":\"")
}

/// Which paths are held now, as a number: while it is the same, a task waits for a path as it did before.
pub fn held(board: &Board, now: &Stamp) -> u64 {
    let mut hasher = DefaultHasher::new();
    for task in board.tasks.iter().filter(|task| task.is_live(now)) {
        task.id.as_str().hash(&mut hasher);
        task.owns.iter().for_each(|path| path.as_str().hash(&mut hasher));
    }
    hasher.finish()
}

impl FileHead {
    /// Of the first line with its end; nothing if it was not written so.
    pub fn read(line: String) -> Option<Self> {
        let text = line.strip_prefix("{\"revision\":")?.strip_suffix(BEHIND_INDEX)?;
        let (revision, text) = text.split_once(",\"graph_id\":")?;
        let (graph_id, text) = text.split_once(",\"held\":\"")?;
        let (held, index) = text.split_once("\",\"index\":\"")?;
        let (revision, held) = (revision.parse().ok()?, u64::from_str_radix(held, 16).ok()?);
        let graph_id = serde_json::from_str(graph_id).ok()?;
        let end = line.len() - BEHIND_INDEX.len();
        let index = end - index.len()..end;
        Some(Self { revision, graph_id, index, held, line })
    }

    fn entries(&self) -> Option<Vec<Entry<'_>>> {
        let index = &self.line[self.index.clone()];
        let mut entries = Vec::with_capacity(index.len() / 48 + 1);
        let mut left = index;
        while !left.is_empty() {
            let text = until(&mut left, b';');
            let mut parts = text;
            let mut part = || until(&mut parts, b' ');
            let (id, length, check) = (part(), part().parse().ok()?, part());
            let now = Now { state: part(), status: part(), agent: part() };
            if now.agent.is_empty() {
                return None;
            }
            entries.push(Entry { text, id, length, check, now });
        }
        Some(entries)
    }

    /// The file as it should be now, as parts of it as it is: nothing at all, if nothing of it has changed. None if that cannot be
    /// decided without the bodies that are not loaded: tasks went, or are waited for and no longer on the board under their name.
    pub fn brought_up(&self, board: &Board, world: &World, now: &Stamp) -> Option<Vec<Piece>> {
        let entries = self.entries()?;
        let is_node = |task: &&Task| task.status != Status::Superseded && board.is_of_current_goal(task);
        let nodes: Vec<&Task> = board.tasks.iter().filter(is_node).collect();
        let is_first = |entry: &Entry<'_>| nodes.first().is_some_and(|task| task.id.as_str() == entry.id);
        let archived = entries.iter().position(is_first).unwrap_or(entries.len());
        let (gone, here) = entries.split_at(archived);
        // New tasks stand at the end, and the commit that made them has them loaded.
        let same = here.iter().zip(&nodes).all(|(entry, task)| entry.id == task.id.as_str())
            && nodes.get(here.len()..)?.iter().all(|task| !task.is_light());
        let is_replaced =
            |id: &TaskId| world.archived.get(id).is_some_and(|gone| gone.status == Status::Superseded);
        if !same || self.graph_id != board.graph_id() || world.archived.keys().any(is_replaced) {
            return None;
        }
        let held = held(board, now);
        let states = States { scene: OnceCell::new(), board, world, now, as_before: held == self.held };
        let mut pieces = Pieces::default();
        let mut index = String::with_capacity(self.index.len() + 64);
        let add = |index: &mut String, text: &str| {
            if !index.is_empty() {
                index.push(';');
            }
            index.push_str(text);
        };
        let mut at = self.line.len();
        for entry in gone {
            add(&mut index, entry.text);
            pieces.keep(at, entry.length);
            at += entry.length;
        }
        let mut changed = false;
        for (number, task) in nodes.into_iter().enumerate() {
            let Some(entry) = here.get(number) else {
                changed = true;
                let node = node_of(task, states.of(task, ""), states.scene().by_id());
                let (line, entry) = line_of(&node, archived + number == 0);
                add(&mut index, &entry);
                pieces.add(line);
                continue;
            };
            let state = states.of(task, entry.now.state);
            let new = Now::of(state.as_str(), task.status, task.assigned_to.as_ref());
            let rest = (!task.is_light()).then(|| rest(&node_of(task, state, states.scene().by_id())));
            let checked = rest.map(|rest| (check_of(&rest), rest)).filter(|(check, _)| check != entry.check);
            if checked.is_none() && new == entry.now {
                add(&mut index, entry.text);
                pieces.keep(at, entry.length);
                at += entry.length;
                continue;
            }
            changed = true;
            let is_first = archived + number == 0;
            let before = entry.now.text(entry.id, is_first).len();
            let kept = entry.length.checked_sub(before)?;
            let start = new.text(entry.id, is_first);
            let length = start.len() + checked.as_ref().map_or(kept, |(_, rest)| rest.len());
            let check = checked.as_ref().map_or(entry.check, |(check, _)| check);
            add(&mut index, &entry_text(entry.id, length, check, new));
            pieces.add(start);
            match checked {
                Some((_, rest)) => pieces.add(rest),
                None => pieces.keep(at + before, kept),
            }
            at += entry.length;
        }
        if !changed {
            return Some(Vec::new());
        }
        pieces.add(END.to_owned());
        let head = [&before_index(board.revision, &self.graph_id, held), &index[..], BEHIND_INDEX].concat();
        let mut all = vec![Piece::New(head)];
        all.append(&mut pieces.0);
        Some(all)
    }
}

/// Takes the text up to this ASCII byte, which is left out, or all of it. Entries are many and short: searchers made
/// for long texts take eight times as long.
fn until<'t>(left: &mut &'t str, end: u8) -> &'t str {
    let at = left.bytes().position(|byte| byte == end).unwrap_or(left.len());
    let taken = &left[..at];
    *left = left.get(at + 1..).unwrap_or_default();
    taken
}

/// The states of all nodes, asked as little as possible.
struct States<'b> {
    scene: OnceCell<Scene<'b>>,
    board: &'b Board,
    world: &'b World,
    now: &'b Stamp,
    /// The same paths are held as when the file was written.
    as_before: bool,
}

impl<'b> States<'b> {
    fn scene(&self) -> &Scene<'b> {
        self.scene.get_or_init(|| Scene::new(self.board, self.world, self.now))
    }

    fn of(&self, task: &'b Task, before: &str) -> NodeState {
        // A claimable task that waits for nothing is ready, unless another one holds its paths.
        if task.status == Status::Idle && task.is_light() && task.depends_on.is_empty() && self.as_before {
            match before {
                "ready" => return NodeState::Ready,
                "blocked" => return NodeState::Blocked,
                _ => {}
            }
        }
        NodeState::of_status(task.status).unwrap_or_else(|| self.scene().node_state(task))
    }
}

/// Parts that follow each other are one.
#[derive(Default)]
struct Pieces(Vec<Piece>);

impl Pieces {
    fn add(&mut self, text: String) {
        match self.0.last_mut() {
            Some(Piece::New(last)) => last.push_str(&text),
            _ => self.0.push(Piece::New(text)),
        }
    }

    fn keep(&mut self, from: usize, length: usize) {
        match self.0.last_mut() {
            _ if length == 0 => {}
            Some(Piece::Kept { from: first, length: kept }) if *first + *kept == from => *kept += length,
            _ => self.0.push(Piece::Kept { from, length }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::testing::{Bench, new_task, plan_of};
    use crate::policy::work_graph::work_graph;

    fn file_of(bench: &Bench) -> String {
        whole(&work_graph(&bench.board, &[], &bench.world, &bench.now), held(&bench.board, &bench.now))
    }

    fn joined(old: &str, pieces: &[Piece]) -> String {
        let part = |piece: &Piece| match piece {
            Piece::New(text) => text.clone(),
            Piece::Kept { from, length } => old[*from..from + length].to_owned(),
        };
        pieces.iter().map(part).collect()
    }

    fn head_of(file: &str) -> FileHead {
        FileHead::read(file[..=file.find('\n').expect("a line")].to_owned()).expect("a head")
    }

    /// What a command would write after its change; bodies that it has not loaded are not looked at.
    fn brought_up(bench: &Bench, file: &str) -> Option<String> {
        let pieces = head_of(file).brought_up(&bench.board, &bench.world, &bench.now)?;
        Some(if pieces.is_empty() { file.to_owned() } else { joined(file, &pieces) })
    }

    #[test]
    fn every_step_gives_the_file_of_the_whole_board() {
        let mut bench = Bench::with_tasks(&["a", "b"]);
        let mut late = new_task("late", "late/");
        late.depends_on = vec![crate::board::testing::id("a")];
        let rival = new_task("rival", "b/");
        bench.ok("planner-1", plan_of(vec![late, rival]));
        let mut file = file_of(&bench);
        let value: serde_json::Value = serde_json::from_str(&file).expect("JSON");
        assert_eq!(value["nodes"].as_array().map(Vec::len), Some(4));
        type Step = fn(&mut Bench);
        let steps: [Step; 5] = [
            |bench| {
                bench.claim("coder-1", "b");
            },
            |bench| bench.approved("coder-2", "a"),
            |bench| {
                bench.merge("a");
            },
            |bench| {
                bench.ok("coder-1", bench.release("b"));
            },
            |bench| {
                let mut last = new_task("last", "last/");
                last.depends_on = vec![crate::board::testing::id("b")];
                bench.ok("planner-1", plan_of(vec![new_task("new", "new/"), last]));
            },
        ];
        for (number, step) in steps.into_iter().enumerate() {
            step(&mut bench);
            file = brought_up(&bench, &file).expect("a file");
            assert_eq!(file, file_of(&bench), "step {number}");
        }
        assert!(file.contains("\"id\":\"late\",\"status\":\"ready\""), "{file}");
        // A note changes nothing that it shows.
        assert_eq!(head_of(&file).brought_up(&bench.board, &bench.world, &bench.now), Some(Vec::new()));
    }

    #[test]
    fn few_lines_are_written() {
        let names: Vec<String> = (0..50).map(|number| format!("t{number}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut bench = Bench::with_tasks(&names);
        let file = file_of(&bench);
        bench.claim("coder-1", "t7");
        let pieces = head_of(&file).brought_up(&bench.board, &bench.world, &bench.now).expect("pieces");
        assert_eq!(pieces.len(), 5, "head, kept, one line, kept, end: {pieces:?}");
        // A board without tasks that the file has needs to be read whole.
        let other = Bench::with_tasks(&["t0", "t2"]);
        assert_eq!(head_of(&file).brought_up(&other.board, &other.world, &other.now), None);
        assert!(FileHead::read("{\"revision\":1}\n".to_owned()).is_none());
        assert!(FileHead::read(String::new()).is_none());
    }
}
