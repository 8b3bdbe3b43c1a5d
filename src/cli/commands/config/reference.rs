use crate::cli::prelude::*;
use crate::flow::settings::REFERENCE;

/// Print every setting of liza.yaml with its meaning and default
///
/// Example: liza config reference
#[derive(Args)]
pub struct ReferenceArgs {}

impl Execute for ReferenceArgs {
    fn execute(&self, _: &Invocation) -> Result<Answer, Failure> {
        Ok(Answer::new(json!({ "reference": REFERENCE }), REFERENCE))
    }
}
