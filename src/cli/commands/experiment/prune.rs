use super::open;
use crate::cli::prelude::*;
use crate::flow::experiment::prune;

/// Remove worktrees of ended runs; artifacts and changes stay
///
/// liza first keeps the content of each worktree under refs/liza/experiments.
///
/// Example: liza experiment prune --dry-run
#[derive(Args)]
pub struct PruneArgs {
    /// Only runs that ended at least this long ago, such as 12h or 7d
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = span)]
    pub older_than: Duration,
    /// Show what would be removed; change nothing
    #[arg(long)]
    pub dry_run: bool,
}

fn span(text: &str) -> Result<Duration, String> {
    let seconds = crate::text::span(text);
    seconds
        .map(Duration::from_secs)
        .ok_or_else(|| "a duration is a number with s, min, h or d, such as 12h".to_owned())
}

impl Execute for PruneArgs {
    fn execute(&self, call: &Invocation) -> Result<Answer, Failure> {
        let (_, lab) = open(call, true)?;
        let done = prune(&lab, self.older_than, self.dry_run)?;
        let verb = if self.dry_run { "would remove" } else { "removed" };
        let mut text = String::new();
        match done.pruned.len() {
            0 => text.line("no worktree of an ended run to remove"),
            count => text.line(format!(
                "{verb} {} ({}); their changes stay under refs/liza/experiments",
                plural(count, "worktree"),
                commas(&done.pruned)
            )),
        }
        for staying in &done.stay {
            text.line(format!("stays: {} ({})", staying.run_id, shown_line(&staying.why)));
        }
        Ok(Answer::new(&done, text))
    }
}
