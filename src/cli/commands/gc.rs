use clap::Args;

use crate::flow::Failure;
use crate::flow::archive::KEEP_DAYS;
use crate::flow::gc::{Action, GcOptions, Report, gc};
use crate::text::bytes;

use super::super::Session;
use super::super::ui::Answer;
use super::{people_only, worktree};

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

pub fn run(session: &mut Session, args: &GcArgs) -> Result<Answer, Failure> {
    people_only(session, "collect what tasks left behind")?;
    session.ctx.store.refuse_other_version()?;
    let options = GcOptions { dry_run: args.dry_run, keep_days: args.keep_days, save: args.save };
    let report = gc(&session.ctx, &options)?;
    let text = words(&report);
    Ok(Answer::new(serde_json::to_value(&report).unwrap_or_default(), text))
}

fn words(report: &Report) -> String {
    let mut text = worktree::words(&report.worktrees, report.dry_run);
    for decision in &report.refs {
        let verb = match (decision.action, report.dry_run) {
            (Action::Kept, _) => "stays",
            (Action::Removed, true) => "would be removed",
            (Action::Moved, true) => "would be moved",
            (action, false) => action.as_str(),
        };
        text.push_str(&format!(
            "{verb}: {} at {} ({})\n",
            decision.name,
            decision.commit.short(),
            decision.why
        ));
    }
    for task in &report.runs {
        let verb = if report.dry_run { "would go to the trash" } else { "to the trash" };
        text.push_str(&format!("{verb}: run files of {task}\n"));
    }
    for removed in &report.deleted {
        let verb = if report.dry_run { "would be deleted" } else { "deleted" };
        text.push_str(&format!(
            "{verb}: {} ({}, since {})\n",
            removed.name,
            bytes(removed.bytes),
            removed.since
        ));
    }
    for (kind, size) in &report.sizes {
        text.push_str(&format!("{kind}: {} before, {} after\n", bytes(size.before), bytes(size.after)));
    }
    let verb = if report.dry_run { "would be freed" } else { "freed" };
    text.push_str(&format!("{} {verb}\n", bytes(report.freed)));
    text
}
