//! The work graph as a file that is kept up cheaply: one node to a line, and in the first line where each of them stands.
//!
//! `{"revision":12,"graph_id":"G-001","index":"ID LENGTH CHECK STATE STATUS AGENT;…","nodes":[` and then a node a line. What changes
//! with every step of a task stands at the beginning of its line; the rest of the line is known by its check. So a change that
//! touches two tasks of a thousand gives a file of which all but two lines are copied, without a single one being read.

use super::prelude::*;
use crate::board::World;
use crate::policy::NodeState;
use crate::policy::view::Scene;
use crate::policy::work_graph::{ReviewResult, WorkGraph, WorkNode, node_of};

/// The first line of such a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileHead {
    pub revision: u64,
    graph_id: String,
    entries: Vec<Entry>,
    /// Where the first node stands.
    length: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    id: String,
    /// Of the whole line, with what comes before and behind the node.
    length: usize,
    /// Of what does not stand in `now`.
    check: String,
    now: Now,
}

/// What changes with every step.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Now {
    state: String,
    status: String,
    agent: Option<String>,
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

impl Now {
    fn of(task: &Task, state: NodeState) -> Self {
        Self {
            state: state.as_str().to_owned(),
            status: task.status.as_str().to_owned(),
            agent: task.assigned_to.as_ref().map(ToString::to_string),
        }
    }

    fn of_node(node: &WorkNode) -> Self {
        Self {
            state: node.status.as_str().to_owned(),
            status: node.task_status.as_str().to_owned(),
            agent: node.assigned_to.as_ref().map(ToString::to_string),
        }
    }

    /// How the line of a node begins.
    fn text(&self, id: &str, is_first: bool) -> String {
        let comma = if is_first { "" } else { "," };
        let agent = self.agent.as_ref().map_or("null".to_owned(), |agent| format!("\"{agent}\""));
        let Self { state, status, .. } = self;
        format!(
            "{comma}{{\"id\":\"{id}\",\"status\":\"{state}\",\"task_status\":\"{status}\",\"assigned_to\":{agent},"
        )
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

/// The whole file.
pub fn whole(graph: &WorkGraph) -> String {
    let mut entries = Vec::with_capacity(graph.nodes.len());
    let mut lines = String::new();
    for (at, node) in graph.nodes.iter().enumerate() {
        let (now, rest) = (Now::of_node(node), rest(node));
        let start = now.text(node.id.as_str(), at == 0);
        let length = start.len() + rest.len();
        lines.push_str(&start);
        lines.push_str(&rest);
        entries.push(Entry { id: node.id.to_string(), length, check: check_of(&rest), now });
    }
    let head = head_text(graph.revision, &graph.graph_id, &entries);
    format!("{head}{lines}{END}")
}

const END: &str = "]}\n";

fn head_text(revision: u64, graph_id: &str, entries: &[Entry]) -> String {
    let mut index = String::with_capacity(entries.len() * 48);
    for Entry { id, length, check, now: Now { state, status, agent } } in entries {
        if !index.is_empty() {
            index.push(';');
        }
        index
            .push_str(&format!("{id} {length} {check} {state} {status} {}", agent.as_deref().unwrap_or("-")));
    }
    let graph_id = serde_json::to_string(graph_id).unwrap_or_default();
    format!("{{\"revision\":{revision},\"graph_id\":{graph_id},\"index\":\"{index}\",\"nodes\":[\n")
}

impl FileHead {
    /// Of the first line with its end; nothing if it was not written so.
    pub fn read(line: &str) -> Option<Self> {
        let text = line.strip_prefix("{\"revision\":")?.strip_suffix("\",\"nodes\":[\n")?;
        let (revision, text) = text.split_once(",\"graph_id\":")?;
        let (graph_id, index) = text.split_once(",\"index\":\"")?;
        let entry = |text: &str| {
            let mut parts = text.split(' ');
            let mut next = || parts.next().map(str::to_owned);
            let (id, length, check, state, status, agent) =
                (next()?, next()?, next()?, next()?, next()?, next()?);
            let now = Now { state, status, agent: Some(agent).filter(|agent| agent != "-") };
            Some(Entry { id, length: length.parse().ok()?, check, now })
        };
        let entries =
            index.split(';').filter(|text| !text.is_empty()).map(entry).collect::<Option<Vec<_>>>()?;
        Some(Self {
            revision: revision.parse().ok()?,
            graph_id: serde_json::from_str(graph_id).ok()?,
            entries,
            length: line.len(),
        })
    }

    /// The file as it should be now, as parts of it as it is: nothing at all, if nothing of it has changed. None if that cannot
    /// be told without the bodies that are not loaded: tasks came or went, or are waited for and no longer on the board under their name.
    pub fn brought_up(&self, board: &Board, world: &World, now: &Stamp) -> Option<Vec<Piece>> {
        let nodes: Vec<&Task> = board.tasks.iter().filter(|task| task.status != Status::Superseded).collect();
        let archived = self.entries.len().checked_sub(nodes.len())?;
        let same =
            self.entries[archived..].iter().zip(&nodes).all(|(entry, task)| entry.id == task.id.as_str());
        let is_replaced =
            |id: &TaskId| world.archived.get(id).is_some_and(|gone| gone.status == Status::Superseded);
        if !same || self.graph_id != board.graph_id() || world.archived.keys().any(is_replaced) {
            return None;
        }
        let scene = Scene::new(board, world, now);
        let all = board.by_id();
        let (mut pieces, mut entries) = (Pieces::default(), self.entries[..archived].to_vec());
        let mut at = self.length;
        let kept: usize = entries.iter().map(|entry| entry.length).sum();
        pieces.keep(at, kept);
        at += kept;
        let mut changed = false;
        for (number, (entry, task)) in self.entries[archived..].iter().zip(nodes).enumerate() {
            let is_first = archived + number == 0;
            let state = scene.node_state(task);
            let mut new = Entry { now: Now::of(task, state), ..entry.clone() };
            let rest = if task.is_light() { None } else { Some(rest(&node_of(task, state, &all))) };
            let rest = rest.filter(|rest| {
                let check = check_of(rest);
                let differs = check != entry.check;
                new.check = check;
                differs
            });
            let before = entry.now.text(&entry.id, is_first).len();
            let kept = entry.length.checked_sub(before)?;
            if rest.is_some() || new.now != entry.now {
                changed = true;
                let start = new.now.text(&entry.id, is_first);
                new.length = start.len() + rest.as_ref().map_or(kept, String::len);
                pieces.add(start);
                match rest {
                    Some(rest) => pieces.add(rest),
                    None => pieces.keep(at + before, kept),
                }
            } else {
                pieces.keep(at, entry.length);
            }
            at += entry.length;
            entries.push(new);
        }
        if !changed {
            return Some(Vec::new());
        }
        pieces.add(END.to_owned());
        let mut all = vec![Piece::New(head_text(board.revision, &self.graph_id, &entries))];
        all.append(&mut pieces.0);
        Some(all)
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
        whole(&work_graph(&bench.board, &[], &bench.world, &bench.now))
    }

    fn joined(old: &str, pieces: &[Piece]) -> String {
        let part = |piece: &Piece| match piece {
            Piece::New(text) => text.clone(),
            Piece::Kept { from, length } => old[*from..from + length].to_owned(),
        };
        pieces.iter().map(part).collect()
    }

    fn head_of(file: &str) -> FileHead {
        FileHead::read(&file[..=file.find('\n').expect("a line")]).expect("a head")
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
        let steps: [Step; 4] = [
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
    fn few_lines_are_written_and_new_tasks_need_the_whole_board() {
        let names: Vec<String> = (0..50).map(|number| format!("t{number}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut bench = Bench::with_tasks(&names);
        let file = file_of(&bench);
        bench.claim("coder-1", "t7");
        let pieces = head_of(&file).brought_up(&bench.board, &bench.world, &bench.now).expect("pieces");
        assert_eq!(pieces.len(), 5, "head, kept, one line, kept, end: {pieces:?}");
        bench.ok("planner-1", plan_of(vec![new_task("new", "new/")]));
        assert_eq!(head_of(&file).brought_up(&bench.board, &bench.world, &bench.now), None);
        assert_eq!(FileHead::read("{\"revision\":1}\n"), None);
        assert_eq!(FileHead::read(""), None);
    }
}
