use crate::cli::input::Input;
use crate::cli::prelude::*;
use crate::text::ssot_id;

/// Print the stable id of a scenario's text
///
/// `scenario-` and 12 hexadecimal digits. The same words give the same id, however they are broken into lines.
///
/// Example: liza ssot-id "Add a --json flag to every command"
#[derive(Args)]
pub struct SsotIdArgs {
    /// Text, @file, or - for standard input
    pub text: String,
}

impl Execute for SsotIdArgs {
    fn execute(&self, _: &Invocation) -> Result<Answer, Failure> {
        let text = Input::default().text(&self.text)?;
        if text.trim().is_empty() {
            return Err(Failure::usage("an empty text has no id").hint("liza ssot-id \"WHAT\""));
        }
        let id = ssot_id(&text);
        Ok(Answer::new(json!({ "ssot_id": id }), id.clone()))
    }
}
