use clap::Args;
use serde_json::json;

use crate::flow::Failure;
use crate::flow::archive::{KEEP_DAYS, Report, Which, archive};
use crate::flow::init::parse_task;
use crate::text::plural;

use super::super::Session;
use super::super::ui::Answer;

/// Move finished tasks off the board, each into a file of its own under .liza/archive (planner, people)
///
/// Without a task: those that ended at least 14 days ago. `liza task show` finds archived tasks, tasks that wait for one
/// go on as before, and its id is never given again. Its worktree goes to the trash if nothing in it is uncommitted;
/// branches and refs stay until `liza gc`. Notes, anomalies and the like that are marked processed leave the board, too.
///
/// Example: liza archive --all --dry-run
#[derive(Args)]
pub struct ArchiveArgs {
    /// Tasks that are MERGED, SUPERSEDED or ABANDONED
    pub tasks: Vec<String>,
    /// Every finished task, however young
    #[arg(long, conflicts_with_all = ["tasks", "keep_days"])]
    pub all: bool,
    /// Those that ended at least so many days ago
    #[arg(long, value_name = "DAYS", default_value_t = KEEP_DAYS, conflicts_with = "tasks")]
    pub keep_days: u64,
    /// Only say what would be done
    #[arg(long)]
    pub dry_run: bool,
}

pub fn run(session: &mut Session, args: &ArchiveArgs) -> Result<Answer, Failure> {
    let which = if !args.tasks.is_empty() {
        Which::These(args.tasks.iter().map(|id| parse_task(id)).collect::<Result<_, _>>()?)
    } else if args.all {
        Which::All
    } else {
        Which::OlderThan(args.keep_days)
    };
    session.seal_request()?;
    let report = archive(&session.ctx, &which, args.dry_run)?;
    let text = words(&report, args.dry_run);
    let data = json!({
        "archived": report.archived, "already": report.already, "stay": report.stay, "records": report.records,
        "worktrees": report.worktrees, "dry_run": args.dry_run,
    });
    Ok(Answer::new(data, text).at(report.revision))
}

fn words(report: &Report, dry_run: bool) -> String {
    const SHOWN: usize = 20;
    let ids: Vec<&str> = report.archived.iter().take(SHOWN).map(|id| id.as_str()).collect();
    let more = report.archived.len() - ids.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let verb = if dry_run { "would be archived" } else { "archived" };
    let mut text = match report.archived.len() {
        0 => "nothing to archive\n".to_owned(),
        count => format!("{} {verb}: {}{more}\n", plural(count, "task"), ids.join(", ")),
    };
    if !report.already.is_empty() {
        let ids: Vec<&str> = report.already.iter().map(|id| id.as_str()).collect();
        text.push_str(&format!("archived before: {}\n", ids.join(", ")));
    }
    for stays in report.stay.iter().take(SHOWN) {
        text.push_str(&format!("stays: {} ({})\n", stays.task, stays.why));
    }
    if report.stay.len() > SHOWN {
        text.push_str(&format!("and {} more stay\n", report.stay.len() - SHOWN));
    }
    if report.records > 0 {
        text.push_str(&format!("{} processed records left the board; the log has them\n", report.records));
    }
    for place in &report.worktrees.pruned {
        text.push_str(&format!("worktree to the trash: {}\n", place.path.display()));
    }
    for place in &report.worktrees.stay {
        text.push_str(&format!("worktree stays: {} ({})\n", place.path.display(), place.why));
    }
    text
}
