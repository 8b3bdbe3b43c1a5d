use crate::cli::prelude::*;
use crate::flow::uninstall::{Report, uninstall};

/// Remove liza from this repository
///
/// People only. Removes hooks, excludes, worktrees and .liza; a directory beside it keeps what was in .liza, without
/// the agents' secrets. Branches, refs, liza.yaml and specs/ stay. Uncommitted work in worktrees is saved under refs
/// first. Refused while agents are at work.
///
/// Example: liza uninstall --dry-run
#[derive(Args)]
pub struct UninstallArgs {
    /// Do not ask for confirmation
    #[arg(long)]
    pub yes: bool,
    /// Show what would be done; change nothing
    #[arg(long)]
    pub dry_run: bool,
}

impl OnBoard for UninstallArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        session.people_only("remove liza from the repository")?;
        if !self.yes && !self.dry_run {
            match session.ui.ask("Remove liza from this repository? The board is kept beside it.") {
                Some(true) => {}
                Some(false) => {
                    return Err(Failure::new(ErrorCode::RefusedDeclined, "nothing was changed")
                        .hint("`liza uninstall --dry-run` shows what would be done"));
                }
                None => {
                    let text = "liza cannot ask for confirmation: there is no terminal";
                    let hint = "`liza uninstall --dry-run` shows what would be done; `liza uninstall --yes` does it without asking";
                    return Err(Failure::new(ErrorCode::UsageConfirm, text).hint(hint));
                }
            }
        }
        let report = uninstall(&session.ctx, self.dry_run)?;
        let text = words(&report);
        Ok(Answer::new(&report, text))
    }
}

fn words(report: &Report) -> String {
    let mut text = String::new();
    if report.dry_run {
        text.line("nothing was changed; this would be done:");
    }
    if !report.worktrees.is_empty() {
        text.line(format!("{} removed; their branches stay", plural(report.worktrees.len(), "worktree")));
    }
    for refname in &report.saved {
        text.line(format!("uncommitted work saved as {refname}"));
    }
    if !report.hooks.is_empty() {
        text.line(format!("liza's block is removed from {}", plural(report.hooks.len(), "git hook")));
    }
    if !report.excludes.is_empty() {
        text.line(format!("no longer excluded from git: {}", report.excludes.join(", ")));
    }
    for path in &report.left {
        text.line(format!("kept, because liza did not create it: {}", path.display()));
    }
    for path in &report.not_removed {
        text.line(format!(
            "empty, but removing it failed (`liza uninstall` tries again): {}",
            path.display()
        ));
    }
    match &report.kept {
        Some(kept) => text.line(format!(
            "the board is kept in {}; delete it, or rename it to .liza to use it again",
            kept.display()
        )),
        None => text.line("there is no board here"),
    }
    text
}
