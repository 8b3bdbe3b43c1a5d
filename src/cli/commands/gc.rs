use crate::cli::commands::worktree;
use crate::cli::prelude::*;
use crate::flow::archive::KEEP_DAYS;
use crate::flow::gc::{Action, GcOptions, Report, gc};

/// Collect what finished tasks left behind: worktrees, branches, refs, run files, old trash (people)
///
/// A branch or ref goes only with proof that its work is in integration, and each decision is printed with its proof.
/// Work that did not land is kept: its branch moves to refs/liza/attempts. Files go to the trash first; what has been
/// there for so many days is deleted.
///
/// Example: liza gc --dry-run --keep-days 30
#[derive(Args)]
pub struct GcArgs {
    /// Only say what would be done
    #[arg(long)]
    pub dry_run: bool,
    /// Leave what is younger
    #[arg(long, value_name = "DAYS", default_value_t = KEEP_DAYS)]
    pub keep_days: u64,
    /// Save uncommitted work under refs/liza/wip, and then let those worktrees go too
    #[arg(long)]
    pub save: bool,
}

impl OnBoard for GcArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        session.people_only("collect what tasks left behind")?;
        session.ctx.store.refuse_other_version()?;
        let options = GcOptions { dry_run: self.dry_run, keep_days: self.keep_days, save: self.save };
        let report = gc(&session.ctx, &options)?;
        let text = words(&report);
        Ok(Answer::new(&report, text))
    }
}

fn words(report: &Report) -> String {
    let mut text = worktree::prune::words(&report.worktrees, report.dry_run);
    for decision in &report.refs {
        let verb = match (decision.action, report.dry_run) {
            (Action::Kept, _) => "stays",
            (Action::Removed, true) => "would be removed",
            (Action::Moved, true) => "would be moved",
            (action, false) => action.as_str(),
        };
        text.line(format!("{verb}: {} at {} ({})", decision.name, decision.commit.short(), decision.why));
    }
    for task in &report.runs {
        let verb = if report.dry_run { "would go to the trash" } else { "to the trash" };
        text.line(format!("{verb}: run files of {task}"));
    }
    for removed in &report.deleted {
        let verb = if report.dry_run { "would be deleted" } else { "deleted" };
        text.line(format!("{verb}: {} ({}, since {})", removed.name, bytes(removed.bytes), removed.since));
    }
    for (kind, size) in &report.sizes {
        text.line(format!("{kind}: {} before, {} after", bytes(size.before), bytes(size.after)));
    }
    let verb = if report.dry_run { "would be freed" } else { "freed" };
    text.line(format!("{} {verb}", bytes(report.freed)));
    text
}
