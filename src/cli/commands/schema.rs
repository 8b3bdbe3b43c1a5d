use clap::Args;

use crate::flow::Failure;
use crate::wire::schema::{NAMES, schema};
use crate::wire::to_json_pretty;

use super::super::ui::Answer;

/// Print a JSON Schema: state, task, new-task, plan, graph, report, feedback, checkpoint, config or bundle
///
/// Example: liza schema feedback
#[derive(Args)]
pub struct SchemaArgs {
    /// Which one
    pub name: String,
}

pub fn run(args: &SchemaArgs) -> Result<Answer, Failure> {
    let schema = schema(&args.name).ok_or_else(|| {
        Failure::usage(format!("there is no schema `{}`", args.name))
            .hint(format!("one of {}", NAMES.join(", ")))
    })?;
    let text = to_json_pretty(&schema);
    Ok(Answer::new(schema, text))
}
