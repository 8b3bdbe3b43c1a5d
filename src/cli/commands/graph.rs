use clap::{Args, ValueEnum};
use serde_json::json;

use crate::board::graph::Graph;
use crate::board::{Needs, Task};
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

pub fn run(session: &mut Session, args: &GraphArgs) -> Result<Answer, Failure> {
    let snapshot = session.ctx.read(&Needs::Everything)?;
    let board = &snapshot.board;
    let frame = view::Frame::new(&session.ctx)?;
    let picture = view::Picture::new(&frame, board);
    let nodes: Vec<_> = board
        .tasks
        .iter()
        .map(|task| json!({ "id": task.id, "title": task.body().title, "status": task.status, "state": picture.node(task), "depends_on": task.depends_on }))
        .collect();
    let graph = Graph::new(board.tasks.iter().map(|task| (&task.id, task.depends_on.as_slice())));
    let data = json!({ "nodes": nodes, "groups": graph.layers() });
    let text = match args.format {
        Format::Json => crate::wire::to_json_pretty(&data),
        Format::Text => text(board, &picture, &graph),
        Format::Mermaid => mermaid(&board.tasks, &picture),
        Format::Dot => dot(&board.tasks, &picture),
    };
    Ok(Answer::new(data, text).at(board.revision))
}

fn text(board: &crate::board::Board, picture: &view::Picture<'_>, graph: &Graph) -> String {
    let mut text = String::new();
    for (number, layer) in graph.layers().iter().enumerate() {
        text.push_str(&format!("{}.\n", number + 1));
        for task in layer.iter().filter_map(|id| board.task(id)) {
            let after: Vec<&str> = task.depends_on.iter().map(|id| id.as_str()).collect();
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

fn mermaid(tasks: &[Task], picture: &view::Picture<'_>) -> String {
    let mut text = "graph TD\n".to_owned();
    for task in tasks {
        text.push_str(&format!("  n_{}[\"{}\"]\n", task.id, label(task, picture).replace('#', "#35;")));
    }
    for task in tasks {
        for on in &task.depends_on {
            text.push_str(&format!("  n_{on} --> n_{}\n", task.id));
        }
    }
    text
}

fn dot(tasks: &[Task], picture: &view::Picture<'_>) -> String {
    let mut text = "digraph liza {\n  rankdir=LR;\n  node [shape=box];\n".to_owned();
    for task in tasks {
        text.push_str(&format!(
            "  \"{}\" [label=\"{}\"];\n",
            task.id,
            label(task, picture).replace('\\', "\\\\")
        ));
    }
    for task in tasks {
        for on in &task.depends_on {
            text.push_str(&format!("  \"{on}\" -> \"{}\";\n", task.id));
        }
    }
    text.push_str("}\n");
    text
}
