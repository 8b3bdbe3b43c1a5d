use crate::board::graph::Graph;
use crate::cli::prelude::*;

#[derive(Clone, Copy, ValueEnum)]
pub enum Format {
    Text,
    Mermaid,
    Dot,
    Json,
}

/// Show the tasks and their dependencies
///
/// Shows node states: pending, ready, running, blocked, failed or passed. A node state also considers what the task
/// waits for; task states, such as IDLE or WORKING, are in `liza status`.
///
/// Example: liza graph --format mermaid
#[derive(Args)]
pub struct GraphArgs {
    /// text, mermaid, dot or json
    #[arg(long, value_enum, default_value = "text")]
    pub format: Format,
}

/// Archived tasks that tasks on the board depend on.
type Archived<'b> = BTreeMap<&'b TaskId, Status>;

impl OnBoard for GraphArgs {
    const ACCESS: Access = Access::ReadsAnyVersion;

    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let snapshot = session.ctx.read(&Needs::Everything)?;
        let board = &snapshot.board;
        let frame = view::Frame::new(&session.ctx, board)?;
        let picture = view::Picture::new(&frame, board);
        let nodes: Vec<_> = board
            .tasks
            .iter()
            .map(|task| {
                let body = task.body();
                let children =
                    board.tasks.iter().filter(|other| other.body().parent.as_ref() == Some(&task.id));
                let children: Vec<&TaskId> = children.map(|other| &other.id).collect();
                json!({
                    "id": task.id, "title": body.title, "status": task.status, "state": picture.node(task),
                    "depends_on": task.depends_on, "parent": body.parent, "children": children,
                })
            })
            .collect();
        let graph = Graph::new(board.tasks.iter().map(|task| (&task.id, task.depends_on.as_slice())));
        // A task may depend on an archived task.
        let named = board.tasks.iter().flat_map(|task| &task.depends_on);
        let archived: Archived =
            named.filter_map(|id| frame.archived(id).map(|status| (id, status))).collect();
        let groups = graph.layers();
        let data = json!({
            "graph_id": board.graph_id(), "nodes": nodes, "groups": groups,
            "archived": archived.iter().map(|(id, status)| json!({ "id": id, "status": status })).collect::<Vec<_>>(),
        });
        let text = match self.format {
            Format::Json => crate::wire::to_json_pretty(&data),
            Format::Text => text(board, &picture, &groups, &archived),
            Format::Mermaid => mermaid(&board.tasks, &picture, &archived),
            Format::Dot => dot(&board.tasks, &picture, &archived),
        };
        Ok(Answer::new(data, text).verbatim().at(board.revision))
    }
}

fn text(
    board: &Board,
    picture: &view::Picture<'_>,
    groups: &[Vec<TaskId>],
    archived: &Archived<'_>,
) -> String {
    let mut text = String::new();
    let by_id = board.by_id();
    for (number, group) in groups.iter().enumerate() {
        text.line(format!("{}.", number + 1));
        for task in group.iter().filter_map(|id| by_id.get(id).copied()) {
            let after = commas(task.depends_on.iter().map(|id| match archived.get(id) {
                Some(status) => format!("{id} (archived, task state {status})"),
                None => id.to_string(),
            }));
            let after = if after.is_empty() { after } else { format!("  after {after}") };
            let (state, title) = (picture.node(task).as_str(), &task.body().title);
            let part =
                task.body().parent.as_ref().map_or(String::new(), |parent| format!("  part of {parent}"));
            text.line(format!("   {} [{state}] {title}{after}{part}", task.id));
        }
    }
    if text.is_empty() { "no tasks".to_owned() } else { text }
}

/// Escapes quotes and line ends, which would end the label.
fn label(task: &Task, picture: &view::Picture<'_>) -> String {
    let safe = |c: char| if c == '"' || crate::text::is_unseen(c) { '\'' } else { c };
    let title: String = task.body().title.chars().map(safe).collect();
    format!("{}: {title} ({})", task.id, picture.node(task).as_str())
}

fn mermaid(tasks: &[Task], picture: &view::Picture<'_>, archived: &Archived<'_>) -> String {
    let mut text = "graph TD\n".to_owned();
    for task in tasks {
        text.line(format!("  n_{}[\"{}\"]", task.id, label(task, picture).replace('#', "#35;")));
    }
    for (id, status) in archived {
        text.line(format!("  n_{id}[\"{id} (archived, task state {status})\"]"));
    }
    for task in tasks {
        for on in &task.depends_on {
            text.line(format!("  n_{on} --> n_{}", task.id));
        }
        if let Some(parent) = &task.body().parent {
            text.line(format!("  n_{parent} -.-> n_{}", task.id));
        }
    }
    text
}

fn dot(tasks: &[Task], picture: &view::Picture<'_>, archived: &Archived<'_>) -> String {
    let mut text = "digraph liza {\n  rankdir=LR;\n  node [shape=box];\n".to_owned();
    for task in tasks {
        text.line(format!("  \"{}\" [label=\"{}\"];", task.id, label(task, picture).replace('\\', "\\\\")));
    }
    for (id, status) in archived {
        text.line(format!("  \"{id}\" [label=\"{id} (archived, task state {status})\"];"));
    }
    for task in tasks {
        for on in &task.depends_on {
            text.line(format!("  \"{on}\" -> \"{}\";", task.id));
        }
        if let Some(parent) = &task.body().parent {
            text.line(format!("  \"{parent}\" -> \"{}\" [style=dashed];", task.id));
        }
    }
    text.line("}");
    text
}
