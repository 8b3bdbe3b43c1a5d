use crate::cli::prelude::*;
use crate::flow::settings;
use crate::wire::yaml_edit::flow;

/// Print the value of a setting, from liza.yaml or the default
///
/// A key is words joined by dots; an element of a list is named by its name or number: gates.test.command,
/// team.0.count.
///
/// Example: liza config get gating.keep
#[derive(Args)]
pub struct GetArgs {
    /// Key of the setting, such as provider or run.window
    #[arg(value_hint = ValueHint::Other)]
    pub key: String,
}

impl OnBoard for GetArgs {
    const ACCESS: Access = Access::Reads;

    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let setting = settings::get(&session.ctx, &self.key)?;
        let text = match &setting.value {
            Value::Null => {
                session.ctx.narrate(format!("{} is not set", shown_line(&self.key)));
                String::new()
            }
            Value::String(text) => shown_line(text).into_owned(),
            other => flow(other),
        };
        Ok(Answer::new(setting, text))
    }
}
