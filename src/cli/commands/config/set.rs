use crate::cli::prelude::*;
use crate::flow::settings;
use crate::provider::Catalog;
use crate::wire::yaml_edit::flow;

/// Change a setting of liza.yaml (people only)
///
/// Comments, order and all other lines stay. liza refuses a value that does not fit and leaves the file unchanged. A
/// gate changed this way counts as accepted, as with `liza gate accept`. `null` removes the value.
///
/// Example: liza config set provider codex
///
/// Example: liza config set gates.lint.command "cargo clippy"
#[derive(Args)]
pub struct SetArgs {
    /// Key of the setting, such as provider, run.window or gates.test.timeout
    #[arg(value_hint = ValueHint::Other)]
    pub key: String,
    /// Value: a word, a number, or YAML such as "[target/, build/]"
    #[arg(allow_hyphen_values = true, value_hint = ValueHint::Other)]
    pub value: String,
}

impl OnBoard for SetArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        session.people_only("change liza.yaml")?;
        let value = session.input.text(&self.value)?;
        let changed = settings::set(&session.ctx, &self.key, &value)?;
        let mut text = format!("{}: {}", shown_line(&self.key), flow(&changed.value));
        if !changed.before.is_null() {
            text.push_str(&format!(" (was {})", clipped(&flow(&changed.before), 200)));
        }
        if !changed.accepted.is_empty() {
            text.push_str(&format!("\naccepted: {}", commas(&changed.accepted)));
        }
        if !changed.not_accepted.is_empty() {
            let gates = commas(&changed.not_accepted);
            text.push_str(&format!(
                "\nnot accepted: {gates} was changed before, too; `liza gate accept --dry-run` shows the difference"
            ));
        }
        // The name may be described under `providers:` next, so it is set all the same.
        let config = session.ctx.project_config()?;
        for name in config.providers_in_use() {
            if let Err(unusable) = Catalog::new(&config).entry(name) {
                session.ctx.narrate(format!("warning: {} ({})", unusable.message, unusable.hint));
            }
        }
        Ok(Answer::new(changed, text))
    }
}
