use crate::cli::prelude::*;
use crate::flow::hooks::install;

/// Install liza's git hooks before existing ones
///
/// Adds a block to pre-commit, commit-msg, pre-push and reference-transaction, where git looks for hooks. Existing
/// hooks stay and run after it. If core.hooksPath points elsewhere, or husky, lefthook or pre-commit own the hooks,
/// liza installs nothing and prints the lines to add. Installing twice changes nothing.
///
/// Example: liza hooks install
#[derive(Args)]
pub struct InstallArgs {
    /// If another tool owns some hooks, install the others
    #[arg(long)]
    pub beside: bool,
}

impl OnBoard for InstallArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let (data, text) = install_now(&session.ctx, self.beside)?;
        Ok(Answer::new(data, text))
    }
}

/// Also for `init --hooks`.
pub fn install_now(ctx: &Context, beside: bool) -> Result<(Value, String), Failure> {
    let program = std::env::current_exe().map_err(|error| {
        Failure::new(ErrorCode::IoFailed, format!("liza cannot find its own program file: {error}"))
    })?;
    let installed = install::install(ctx, &program, beside)?;
    let mut text = String::new();
    for done in &installed.done {
        text.line(format!("{}: {} ({})", done.hook.name(), done.what, done.path.display()));
    }
    if let Some(manager) = &installed.manager {
        text.line(format!("{} owns the hooks: {}", manager.name, manager.why));
        let left: Vec<&str> = manager.leaves.iter().map(|hook| hook.name()).collect();
        match (installed.done.is_empty(), beside) {
            (false, _) => text.push_str("For the others, "),
            (true, true) => {
                text.push_str(&format!("Nothing was installed: {} owns every hook. ", manager.name))
            }
            (true, false) => text.push_str("Nothing was installed. "),
        }
        if installed.done.is_empty() {
            text.push_str("To have liza's checks, ");
        }
        text.push_str(&manager.lines);
        if installed.done.is_empty() && !left.is_empty() {
            let (left, name) = (left.join(", "), manager.name);
            text.line(format!("`liza hooks install --beside` adds {left}, which {name} does not own."));
        }
        text.line("`liza hooks status` shows whether git runs them.");
    }
    let data = json!({
        "hooks": installed.done, "manager": installed.manager.as_ref().map(|manager| manager.name),
        "lines": installed.manager.as_ref().map(|manager| manager.lines.clone()),
    });
    Ok((data, text))
}
