use crate::cli::prelude::*;
use crate::flow::worktrees::{PruneOptions, PruneReport, prune};

/// Move worktrees of ended work to the trash (people only)
///
/// Worktrees of archived tasks, ended attempts and ended reviews, if everything in them is committed and a branch or
/// ref keeps it. `liza trash restore` restores a worktree.
///
/// Example: liza worktree prune --dry-run
#[derive(Args)]
pub struct PruneArgs {
    /// Show what would be done; change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Save uncommitted work under refs/liza/wip and move those worktrees too
    #[arg(long)]
    pub save: bool,
}

impl OnBoard for PruneArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        session.people_only("remove worktrees")?;
        session.ctx.store.refuse_other_version()?;
        let options = PruneOptions { dry_run: self.dry_run, save: self.save, keep_merged: None };
        let report = prune(&session.ctx, options, None)?;
        let mut text = words(&report, self.dry_run);
        if text.is_empty() {
            text.push_str("there are no worktrees");
        }
        let data = json!({ "pruned": report.pruned, "stay": report.stay, "dry_run": self.dry_run });
        Ok(Answer::new(data, text))
    }
}

/// The outcome for each worktree.
pub fn words(report: &PruneReport, dry_run: bool) -> String {
    let mut text = String::new();
    for worktree in &report.pruned {
        let verb = match (worktree.deleted, dry_run) {
            (true, true) => "would be deleted",
            (true, false) => "deleted",
            (false, true) => "would go to the trash",
            (false, false) => "to the trash",
        };
        text.line(format!(
            "{verb}: {} ({}, {})",
            worktree.path.display(),
            bytes(worktree.bytes),
            worktree.why
        ));
        for refname in &worktree.kept {
            text.line(format!("  kept as {refname}"));
        }
    }
    for worktree in &report.stay {
        text.line(format!("stays: {} ({})", worktree.path.display(), worktree.why));
    }
    text
}
