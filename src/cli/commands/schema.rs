use clap::builder::PossibleValuesParser;

use crate::cli::prelude::*;
use crate::director::schema::NAMES as OF_SLICES;
use crate::flow::init::published_schema;
use crate::wire::schema::NAMES;
use crate::wire::to_json_pretty;

/// Print the JSON Schema of a file liza reads or writes
///
/// state, task, new-task, plan, graph, subcontracts, report, feedback, checkpoint, config, bundle or route; for slices: task-dispatch,
/// worker-result-supervisor, worker-result-operator, worker-result-coder, review-result-auditor.
///
/// Example: liza schema feedback
#[derive(Args)]
pub struct SchemaArgs {
    /// Name of the schema
    #[arg(value_parser = PossibleValuesParser::new(NAMES.into_iter().chain(OF_SLICES)), hide_possible_values = true)]
    pub name: String,
}

impl Execute for SchemaArgs {
    fn execute(&self, _: &Invocation) -> Result<Answer, Failure> {
        let schema = published_schema(&self.name)
            .ok_or_else(|| Failure::usage(format!("there is no schema `{}`", self.name)))?;
        let text = to_json_pretty(&schema);
        Ok(Answer::new(schema, text).verbatim())
    }
}
