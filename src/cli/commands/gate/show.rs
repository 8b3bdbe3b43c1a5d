use super::run::{subject, words};
use crate::board::gates::Moment;
use crate::cli::prelude::*;
use crate::flow::gates::record::{self, GateRecord};
use crate::store::files::read_whole;

/// The head and tail of every try, and the mark between them.
const LARGEST_LOG: u64 = 64 * 1024 * 1024;

/// Show the last gate results of a task or a commit
///
/// Example: liza gate show t1
///
/// Example: liza gate show t1 --log test
#[derive(Args)]
pub struct ShowArgs {
    /// Id of the task
    #[arg(conflicts_with = "tree")]
    pub task: Option<TaskId>,
    /// Branch or commit instead of a task
    #[arg(long, value_name = "REV")]
    pub tree: Option<Revision>,
    /// Print the output of this gate
    #[arg(long, value_name = "NAME")]
    pub log: Option<GateName>,
}

impl OnBoard for ShowArgs {
    const ACCESS: Access = Access::Reads;

    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let ctx = &session.ctx;
        let (task, commit) = subject(ctx, self.task.as_ref(), self.tree.as_ref())?;
        let tree = ctx.query()?.tree_of(&commit)?;
        let Some(found) = record::read(ctx, task.as_ref(), &tree) else {
            let (what, again) = match &task {
                Some(task) => (format!("`{task}`"), format!("`liza gate run {task}` runs them")),
                None => (
                    format!("tree {}", record::short(&tree)),
                    "`liza gate run --tree …` runs them".to_owned(),
                ),
            };
            let text = format!("no gate has run on {what} yet");
            return Err(Failure::new(ErrorCode::RefusedNoResults, text).hint(again));
        };
        if let Some(name) = &self.log {
            return log(ctx, &found, name.as_str());
        }
        let mut text =
            format!("commit {} (tree {}), {} at {}\n", found.commit, found.tree, found.moment, found.time);
        if found.tree != tree {
            text.push_str(match found.moment {
                Moment::Merge => "this is the merged tree of integration and the task at that time\n",
                _ => "the present tree is a different one\n",
            });
        }
        for kept in &found.gates.0 {
            text.push_str(&words(&kept.outcome, kept.required == Some(true)));
        }
        Ok(Answer::new(found, text))
    }
}

fn log(ctx: &Context, found: &GateRecord, name: &str) -> Result<Answer, Failure> {
    let Some(path) = found.gates.get(name).and_then(|kept| kept.outcome.log.as_ref()) else {
        let text = format!("gate `{name}` has no output here");
        return Err(Failure::new(ErrorCode::RefusedNoResults, text)
            .hint("`liza gate show` without --log lists the results"));
    };
    // Only a file of liza's own, whatever the record says.
    let file = ctx.machine.file_at(ctx.root().join(path)).ok_or_else(|| {
        Failure::new(ErrorCode::IoFailed, format!("`{path}` is not a file below the board"))
    })?;
    let (bytes, _) = read_whole(&file, LARGEST_LOG).map_err(|error| Failure::io("read", &file, &error))?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Ok(Answer::new(json!({ "gate": name, "log": path, "text": text }), text).verbatim())
}
