use crate::cli::prelude::*;
use crate::flow::archive::{KEEP_DAYS, Report, Which, archive};

/// Move finished tasks from the board to .liza/archive
///
/// For planners and people. Without a task: tasks that ended at least 14 days ago. Each task gets its own file. `liza
/// task show` finds archived tasks, tasks that depend on one continue as before, and its id is never used again. Its
/// worktree goes to the trash if everything in it is committed; branches and refs stay until `liza gc`. Processed
/// notes, anomalies and other records also leave the board.
///
/// Example: liza archive --all --dry-run
#[derive(Args)]
pub struct ArchiveArgs {
    /// Ids of tasks that are MERGED, SUPERSEDED or ABANDONED
    #[arg(add = Completer::Tasks(Status::is_terminal))]
    pub tasks: Vec<TaskId>,
    /// All finished tasks, of any age
    #[arg(long, conflicts_with_all = ["tasks", "keep_days"])]
    pub all: bool,
    /// Minimum age of a task, in days since it ended
    #[arg(long, value_name = "DAYS", default_value_t = KEEP_DAYS, conflicts_with = "tasks")]
    pub keep_days: u64,
    /// Show what would be done; change nothing
    #[arg(long)]
    pub dry_run: bool,
}

impl OnBoard for ArchiveArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let which = if !self.tasks.is_empty() {
            Which::These(self.tasks.clone())
        } else if self.all {
            Which::All
        } else {
            Which::OlderThan(self.keep_days)
        };
        session.seal_request()?;
        let report = archive(&session.ctx, &which, self.dry_run)?;
        let text = words(&report, self.dry_run);
        let data = json!({
            "archived": report.archived, "already": report.already, "stay": report.stay, "records": report.records,
            "worktrees": report.worktrees, "dry_run": self.dry_run,
        });
        Ok(Answer::new(data, text).at(report.revision))
    }
}

fn words(report: &Report, dry_run: bool) -> String {
    const SHOWN: usize = 20;
    let ids = commas(report.archived.iter().take(SHOWN));
    let more = match report.archived.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let verb = if dry_run { "would be archived" } else { "archived" };
    let mut text = match report.archived.len() {
        0 => "nothing to archive\n".to_owned(),
        count => format!("{} {verb}: {ids}{more}\n", plural(count, "task")),
    };
    if !report.already.is_empty() {
        text.line(format!("archived before: {}", commas(&report.already)));
    }
    for stays in report.stay.iter().take(SHOWN) {
        text.line(format!("stays: {} ({})", stays.task, stays.why));
    }
    if report.stay.len() > SHOWN {
        text.line(format!("and {} more stay", report.stay.len() - SHOWN));
    }
    if report.records > 0 {
        text.line(format!("{} processed records left the board; the journal keeps them", report.records));
    }
    for worktree in &report.worktrees.pruned {
        text.line(format!("worktree to the trash: {}", worktree.path.display()));
    }
    for worktree in &report.worktrees.stay {
        text.line(format!("worktree stays: {} ({})", worktree.path.display(), worktree.why));
    }
    text
}
