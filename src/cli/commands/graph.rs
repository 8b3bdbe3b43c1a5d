use std::collections::BTreeMap;

use clap::{Args, ValueEnum};
use serde_json::json;

use crate::board::graph::Graph;
use crate::board::{Board, Needs, Status, Task, TaskId};
use crate::flow::Failure;

use super::super::ui::Answer;
use super::super::{Session, view};

#[derive(Clone, Copy, ValueEnum)]
pub enum Format {
    Text,
    Mermaid,
    Dot,
    Json,
}

/// Show the tasks and what they wait for
///
/// Example: liza graph --format mermaid
#[derive(Args)]
pub struct GraphArgs {
    /// text, mermaid, dot or json
    #[arg(long, value_enum, default_value = "text")]
    pub format: Format,
}

/// Tasks that left the board, of those that somebody on it waits for.
type Archived<'b> = BTreeMap<&'b TaskId, Status>;

pub fn run(session: &mut Session, args: &GraphArgs) -> Result<Answer, Failure> {
    let snapshot = session.ctx.read(&Needs::Everything)?;
    let board = &snapshot.board;
    let frame = view::Frame::new(&session.ctx, board)?;
    let picture = view::Picture::new(&frame, board);
    let nodes: Vec<_> = board
        .tasks
        .iter()
        .map(|task| json!({ "id": task.id, "title": task.body().title, "status": task.status, "state": picture.node(task), "depends_on": task.depends_on }))
        .collect();
    let graph = Graph::new(board.tasks.iter().map(|task| (&task.id, task.depends_on.as_slice())));
    // What finished and left the board is still what somebody waits for.
    let archived: BTreeMap<&TaskId, Status> = board
        .tasks
        .iter()
        .flat_map(|task| &task.depends_on)
        .filter_map(|id| frame.archived(id).map(|status| (id, status)))
        .collect();
    let data = json!({
        "graph_id": board.graph_id(), "nodes": nodes, "groups": graph.layers(),
        "archived": archived.iter().map(|(id, status)| json!({ "id": id, "status": status })).collect::<Vec<_>>(),
    });
    let text = match args.format {
        Format::Json => crate::wire::to_json_pretty(&data),
        Format::Text => text(board, &picture, &graph, &archived),
        Format::Mermaid => mermaid(&board.tasks, &picture, &archived),
        Format::Dot => dot(&board.tasks, &picture, &archived),
    };
    Ok(Answer::new(data, text).at(board.revision))
}

fn text(board: &Board, picture: &view::Picture<'_>, graph: &Graph, archived: &Archived<'_>) -> String {
    let mut text = String::new();
    for (number, layer) in graph.layers().iter().enumerate() {
        text.push_str(&format!("{}.\n", number + 1));
        for task in layer.iter().filter_map(|id| board.task(id)) {
            let after: Vec<String> = task
                .depends_on
                .iter()
                .map(|id| match archived.get(id) {
                    Some(status) => format!("{id} (archived, {status})"),
                    None => id.to_string(),
                })
                .collect();
            let after =
                if after.is_empty() { String::new() } else { format!("  after {}", after.join(", ")) };
            text.push_str(&format!(
                "   {} [{}] {}{after}\n",
                task.id,
                picture.node(task).as_str(),
                task.body().title
            ));
        }
    }
    if text.is_empty() { "no tasks".to_owned() } else { text }
}

/// Quotes and line ends would end the label; everything else is a label's own business.
fn label(task: &Task, picture: &view::Picture<'_>) -> String {
    let title: String = task
        .body()
        .title
        .chars()
        .map(|c| if c == '"' || crate::text::is_unseen(c) { '\'' } else { c })
        .collect();
    format!("{}: {title} ({})", task.id, picture.node(task).as_str())
}

fn mermaid(tasks: &[Task], picture: &view::Picture<'_>, archived: &Archived<'_>) -> String {
    let mut text = "graph TD\n".to_owned();
    for task in tasks {
        text.push_str(&format!("  n_{}[\"{}\"]\n", task.id, label(task, picture).replace('#', "#35;")));
    }
    for (id, status) in archived {
        text.push_str(&format!("  n_{id}[\"{id} (archived, {status})\"]\n"));
    }
    for task in tasks {
        for on in &task.depends_on {
            text.push_str(&format!("  n_{on} --> n_{}\n", task.id));
        }
    }
    text
}

fn dot(tasks: &[Task], picture: &view::Picture<'_>, archived: &Archived<'_>) -> String {
    let mut text = "digraph liza {\n  rankdir=LR;\n  node [shape=box];\n".to_owned();
    for task in tasks {
        text.push_str(&format!(
            "  \"{}\" [label=\"{}\"];\n",
            task.id,
            label(task, picture).replace('\\', "\\\\")
        ));
    }
    for (id, status) in archived {
        text.push_str(&format!("  \"{id}\" [label=\"{id} (archived, {status})\"];\n"));
    }
    for task in tasks {
        for on in &task.depends_on {
            text.push_str(&format!("  \"{on}\" -> \"{}\";\n", task.id));
        }
    }
    text.push_str("}\n");
    text
}
