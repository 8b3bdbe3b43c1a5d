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
        session.people_only("take liza out of the repository")?;
        if !self.yes && !self.dry_run {
            match session.ui.ask("Take liza out of this repository? The board is kept beside it.") {
                Some(true) => {}
                Some(false) => {
                    return Err(Failure::new(ErrorCode::RefusedDeclined, "nothing was changed")
                        .hint("`liza uninstall --dry-run` says what would be done"));
                }
                None => {
                    let text = "nobody is there to be asked: this is no terminal";
                    let hint =
                        "`liza uninstall --dry-run` says what would be done; with --yes it is done unasked";
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
        text.line(format!("{} taken away; their branches stay", plural(report.worktrees.len(), "worktree")));
    }
    for refname in &report.saved {
        text.line(format!("uncommitted work saved as {refname}"));
    }
    if !report.hooks.is_empty() {
        text.line(format!("liza's block is out of {}", plural(report.hooks.len(), "git hook")));
    }
    if !report.excludes.is_empty() {
        text.line(format!("no longer excluded from git: {}", report.excludes.join(", ")));
    }
    for path in &report.left {
        text.line(format!("left where it is, for it is not liza's: {}", path.display()));
    }
    match &report.kept {
        Some(kept) => text.line(format!(
            "the board is kept in {}; it is yours to keep or delete, and renamed back to .liza it is a board again",
            kept.display()
        )),
        None => text.line("there is no board here any more"),
    }
    text
}
