use crate::cli::prelude::*;
use crate::flow::hooks::status;

/// Check whether git runs liza's hooks
///
/// Triggers each hook and checks that it answers with its name.
///
/// Example: liza hooks status
#[derive(Args)]
pub struct StatusArgs {}

impl OnBoard for StatusArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let found = status::status(&session.ctx)?;
        let mut text = format!("hooks are {}\n", if found.active { "active" } else { "inactive" });
        for hook in &found.hooks {
            let mark = if hook.active { "active  " } else { "inactive" };
            text.line(format!("  {mark} {}: {} ({})", hook.hook.name(), hook.detail, hook.path.display()));
        }
        match &found.lines {
            Some(lines) => {
                text.push_str(&format!("{} owns the hooks: {lines}", found.manager.unwrap_or("another tool")))
            }
            None if !found.active => text.line("`liza hooks install` installs them"),
            None => {}
        }
        Ok(Answer::new(&found, text))
    }
}
