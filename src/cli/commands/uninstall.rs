use clap::Args;

use crate::flow::Failure;
use crate::flow::uninstall::{Report, uninstall};
use crate::text::plural;

use super::super::Session;
use super::super::ui::Answer;
use super::people_only;

/// Take liza out of this repository (people)
///
/// Hooks, excludes, worktrees and .liza go; what was in .liza is kept in one directory beside it, without the agents'
/// secrets. Branches, refs, liza.yaml and specs/ stay. Uncommitted work in worktrees is saved under refs first. Refused
/// while agents are at work.
///
/// Example: liza uninstall --dry-run
#[derive(Args)]
pub struct UninstallArgs {
    /// Do not ask
    #[arg(long)]
    pub yes: bool,
    /// Only say what would be done
    #[arg(long)]
    pub dry_run: bool,
}

pub fn run(session: &mut Session, args: &UninstallArgs) -> Result<Answer, Failure> {
    people_only(session, "take liza out of the repository")?;
    if !args.yes && !args.dry_run {
        match session.ui.ask("Take liza out of this repository? The board is kept beside it.") {
            Some(true) => {}
            Some(false) => {
                return Err(Failure::new("refused.declined", "nothing was changed")
                    .hint("`liza uninstall --dry-run` says what would be done"));
            }
            None => {
                return Err(Failure::new(
                    "usage.confirm",
                    "nobody is there to be asked: this is no terminal",
                )
                .hint("`liza uninstall --dry-run` says what would be done; with --yes it is done unasked"));
            }
        }
    }
    let report = uninstall(&session.ctx, args.dry_run)?;
    let text = words(&report);
    Ok(Answer::new(serde_json::to_value(&report).unwrap_or_default(), text))
}

fn words(report: &Report) -> String {
    let mut text = String::new();
    let mut line = |words: String| {
        text.push_str(&words);
        text.push('\n');
    };
    if report.dry_run {
        line("nothing was changed; this would be done:".to_owned());
    }
    if !report.worktrees.is_empty() {
        line(format!("{} taken away; their branches stay", plural(report.worktrees.len(), "worktree")));
    }
    for refname in &report.saved {
        line(format!("uncommitted work saved as {refname}"));
    }
    if !report.hooks.is_empty() {
        line(format!("liza's block is out of {}", plural(report.hooks.len(), "git hook")));
    }
    if !report.excludes.is_empty() {
        line(format!("no longer excluded from git: {}", report.excludes.join(", ")));
    }
    for path in &report.left {
        line(format!("left where it is, for it is not liza's: {}", path.display()));
    }
    match &report.kept {
        Some(kept) => line(format!(
            "the board is kept in {}; it is yours to keep or delete, and renamed back to .liza it is a board again",
            kept.display()
        )),
        None => line("there is no board here any more".to_owned()),
    }
    text
}
