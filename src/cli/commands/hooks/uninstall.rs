use crate::cli::prelude::*;
use crate::flow::hooks::install;

/// Remove liza's git hooks and keep all others
///
/// Example: liza hooks uninstall
#[derive(Args)]
pub struct UninstallArgs {}

impl OnBoard for UninstallArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let done = install::uninstall(&session.ctx)?;
        let mut text = String::new();
        for one in &done {
            text.line(format!("{}: {} ({})", one.hook.name(), one.what, one.path.display()));
        }
        if done.is_empty() {
            text.push_str("no git hook of liza is installed");
        }
        Ok(Answer::new(json!({ "hooks": done }), text))
    }
}
