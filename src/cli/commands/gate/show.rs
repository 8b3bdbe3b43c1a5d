use std::path::{Component, Path, PathBuf};

use clap::Args;
use serde_json::Value;

use crate::flow::Failure;
use crate::flow::context::Context;
use crate::flow::gates::record;
use crate::store::files::read_whole;

use super::super::super::Session;
use super::super::super::ui::Answer;
use super::run::{subject, words};

/// The head and tail of every try, and what stands between them.
const LARGEST_LOG: u64 = 64 * 1024 * 1024;

/// Show what the gates said last of a task or a commit
///
/// Example: liza gate show t1
///
/// Example: liza gate show t1 --log test
#[derive(Args)]
pub struct ShowArgs {
    /// The task
    #[arg(conflicts_with = "tree")]
    pub task: Option<String>,
    /// A branch or commit instead
    #[arg(long, value_name = "REV")]
    pub tree: Option<String>,
    /// Print the output of this gate
    #[arg(long, value_name = "NAME")]
    pub log: Option<String>,
}

pub fn run(session: &mut Session, args: &ShowArgs) -> Result<Answer, Failure> {
    let ctx = &session.ctx;
    let (task, commit) = subject(ctx, args.task.as_deref(), args.tree.as_deref())?;
    let tree = ctx.query()?.tree_of(&commit)?;
    let Some(found) = record::read(ctx, task.as_ref(), &tree) else {
        let (what, again) = match &task {
            Some(task) => (format!("`{task}`"), format!("`liza gate run {task}` runs them")),
            None => {
                (format!("tree {}", record::short(&tree)), "`liza gate run --tree …` runs them".to_owned())
            }
        };
        return Err(Failure::new("refused.no_results", format!("the gates have said nothing of {what} yet"))
            .hint(again));
    };
    if let Some(name) = &args.log {
        return log(ctx, &found, name);
    }
    let mut text = format!(
        "commit {} (tree {}), {} at {}\n",
        found["commit"].as_str().unwrap_or("?"),
        found["tree"].as_str().unwrap_or("?"),
        found["moment"].as_str().unwrap_or("?"),
        found["time"].as_str().unwrap_or("?")
    );
    if found["tree"] != serde_json::json!(tree) {
        text.push_str(match found["moment"].as_str() {
            Some("merge") => "this is the tree that integration and the task made together then\n",
            _ => "this is another tree than the one that stands there now\n",
        });
    }
    for (name, fields) in found["gates"].as_object().into_iter().flatten() {
        text.push_str(&words(name, fields, fields["required"] == true));
    }
    Ok(Answer::new(found, text))
}

fn log(ctx: &Context, found: &Value, name: &str) -> Result<Answer, Failure> {
    let Some(path) = found["gates"][name]["log"].as_str() else {
        return Err(Failure::new("refused.no_results", format!("there is no output of a gate `{name}`"))
            .hint("`liza gate show` without --log lists what the gates said"));
    };
    let file = inside(ctx, path)
        .ok_or_else(|| Failure::new("io.failed", format!("`{path}` is no file below the board")))?;
    let (bytes, _) = read_whole(&file, LARGEST_LOG).map_err(|error| Failure::io("read", &file, &error))?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Ok(Answer::new(serde_json::json!({ "gate": name, "log": path, "text": text }), text))
}

/// The file that a record names: one of the board's own, whatever somebody wrote there.
fn inside(ctx: &Context, path: &str) -> Option<PathBuf> {
    let file = ctx.root().join(path);
    let below = file.strip_prefix(ctx.store.dir()).ok()?;
    let plain = below.components().all(|part| matches!(part, Component::Normal(_)));
    (plain && below != Path::new("")).then_some(file)
}
