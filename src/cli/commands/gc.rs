use crate::cli::commands::worktree;
use crate::cli::prelude::*;
use crate::flow::archive::KEEP_DAYS;
use crate::flow::gc::{Action, GcOptions, Report, gc};

/// Remove leftovers of finished tasks
///
/// People only. Removes worktrees, branches, refs, run files and old trash. Prints one line: what was freed and why
/// the rest stays; -v lists every decision with its proof. liza removes a branch or ref only with proof that its work
/// is in integration. Work that did not land is kept: its branch moves to refs/liza/attempts. Review checkouts, and
/// clean worktrees whose work is in integration, are deleted; other files go to the trash, and are deleted from there
/// after --keep-days.
///
/// Example: liza gc --dry-run --keep-days 30
#[derive(Args)]
pub struct GcArgs {
    /// Show what would be done; change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Keep leftovers younger than this
    #[arg(long, value_name = "DAYS", default_value_t = KEEP_DAYS)]
    pub keep_days: u64,
    /// Save uncommitted work under refs/liza/wip and remove those worktrees too
    #[arg(long)]
    pub save: bool,
    /// List what was removed and what stays, with the reasons
    #[arg(short, long)]
    pub verbose: bool,
}

impl OnBoard for GcArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        session.people_only("remove leftovers of tasks")?;
        session.ctx.store.refuse_other_version()?;
        let options = GcOptions { dry_run: self.dry_run, keep_days: self.keep_days, save: self.save };
        let report = gc(&session.ctx, &options)?;
        let text = if self.verbose { words(&report) } else { summary(&report) };
        Ok(Answer::new(&report, text))
    }
}

/// What was freed and why the rest stays, in one line.
fn summary(report: &Report) -> String {
    let worktrees =
        |deleted: bool| report.worktrees.pruned.iter().filter(|one| one.deleted == deleted).count();
    let refs = |action: Action| report.refs.iter().filter(|one| one.action == action).count();
    let done = [
        (worktrees(true), "worktree", "deleted"),
        (worktrees(false), "worktree", "moved to the trash"),
        (refs(Action::Removed), "ref", "removed"),
        (refs(Action::Moved), "branch", "moved to refs/liza/attempts"),
        (report.runs.len(), "task's run directory", "moved to the trash"),
        (report.deleted.len(), "item", "deleted from the trash"),
    ];
    let done = done.into_iter().filter(|(count, ..)| *count > 0);
    let done = commas(done.map(|(count, noun, what)| format!("{} {what}", plural(count, noun))));
    let mut stays: BTreeMap<String, usize> = BTreeMap::new();
    for worktree in &report.worktrees.stay {
        *stays.entry(format!("worktree {}", worktree.stay_heading())).or_default() += 1;
    }
    for decision in report.refs.iter().filter(|one| one.action == Action::Kept) {
        *stays.entry(format!("ref {}", decision.stays)).or_default() += 1;
    }
    let verb = if report.dry_run { "would be freed" } else { "freed" };
    let done = if done.is_empty() { "nothing to remove".to_owned() } else { done };
    let mut text = format!("{} {verb}: {done}", bytes(report.freed));
    if !stays.is_empty() {
        let all = stays.into_iter().map(|(what, count)| match what.split_once(' ') {
            Some((noun, why)) => format!("{} {why}", plural(count, noun)),
            None => what,
        });
        text.push_str(&format!("; staying: {} (`liza gc -v` lists them)", commas(all)));
    }
    text
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
