use clap::{Args, Subcommand};
use serde_json::json;

use crate::flow::Failure;
use crate::flow::worktrees::{Place, PruneOptions, PruneReport, list, prune};
use crate::text::{bytes, pad_to};

use super::super::Session;
use super::super::ui::Answer;
use super::people_only;

/// Look at the worktrees, and take away those nobody needs any more
///
/// Example: liza worktree list
#[derive(Subcommand)]
pub enum WorktreeCommand {
    List(ListArgs),
    Prune(PruneArgs),
}

/// List every worktree with its task, branch, size and whether it could go
///
/// Example: liza worktree list --json
#[derive(Args)]
pub struct ListArgs {}

/// Move worktrees of archived tasks and of attempts and reviews that are over to the trash (people)
///
/// Only those in which everything is committed and kept by a branch or ref. `liza trash restore` brings one back.
///
/// Example: liza worktree prune --dry-run
#[derive(Args)]
pub struct PruneArgs {
    /// Only say what would be done
    #[arg(long)]
    pub dry_run: bool,
    /// Save uncommitted work under refs/liza/wip, and then let those worktrees go too
    #[arg(long)]
    pub save: bool,
}

pub fn run(session: &mut Session, command: &WorktreeCommand) -> Result<Answer, Failure> {
    match command {
        WorktreeCommand::List(_) => {
            let places = list(&session.ctx)?;
            let total: u64 = places.iter().map(|place| place.bytes).sum();
            let text = table(&places, total);
            Ok(Answer::new(json!({ "worktrees": places, "bytes": total }), text))
        }
        WorktreeCommand::Prune(args) => {
            people_only(session, "take worktrees away")?;
            session.ctx.store.refuse_other_version()?;
            let options = PruneOptions { dry_run: args.dry_run, save: args.save };
            let report = prune(&session.ctx, options, None)?;
            let mut text = words(&report, args.dry_run);
            if text.is_empty() {
                text.push_str("there are no worktrees");
            }
            Ok(Answer::new(
                json!({ "pruned": report.pruned, "stay": report.stay, "dry_run": args.dry_run }),
                text,
            ))
        }
    }
}

fn table(places: &[Place], total: u64) -> String {
    if places.is_empty() {
        return "there are no worktrees".to_owned();
    }
    let width = places.iter().map(|place| place.path.display().to_string().len()).max().unwrap_or(0);
    let mut text = String::new();
    for place in places {
        let state = match (place.status, place.archived) {
            (Some(status), true) => format!("{status}, archived"),
            (Some(status), false) => status.to_string(),
            (None, _) => "-".to_owned(),
        };
        text.push_str(&format!(
            "{}  {}  {}  {}  {}{}\n",
            pad_to(&place.path.display().to_string(), width),
            pad_to(place.purpose.as_str(), 6),
            pad_to(&state, 20),
            pad_to(&bytes(place.bytes), 10),
            pad_to(place.branch.as_deref().unwrap_or("(no branch)"), 16),
            if place.dirty { "  uncommitted work" } else { "" },
        ));
        let may = if place.prunable { "may go" } else { "stays" };
        text.push_str(&format!("  {may}: {}\n", place.why));
    }
    text.push_str(&format!("{} in all\n", bytes(total)));
    text
}

/// What became of each worktree.
pub fn words(report: &PruneReport, dry_run: bool) -> String {
    let verb = if dry_run { "would go to the trash" } else { "to the trash" };
    let mut text = String::new();
    for place in &report.pruned {
        text.push_str(&format!("{verb}: {} ({}, {})\n", place.path.display(), bytes(place.bytes), place.why));
        for refname in &place.kept {
            text.push_str(&format!("  kept as {refname}\n"));
        }
    }
    for place in &report.stay {
        text.push_str(&format!("stays: {} ({})\n", place.path.display(), place.why));
    }
    text
}
