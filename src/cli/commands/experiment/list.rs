use super::open;
use crate::cli::prelude::*;
use crate::flow::experiment::all;

/// List runs, oldest first
///
/// Example: liza experiment list
#[derive(Args)]
pub struct ListArgs {}

impl Execute for ListArgs {
    fn execute(&self, call: &Invocation) -> Result<Answer, Failure> {
        let (_, lab) = open(call, false)?;
        let runs = all(&lab)?;
        let mut text = String::new();
        for kept in &runs {
            let summary = &kept.summary;
            let at =
                if kept.running { format!("running: {}", summary.phase) } else { summary.status.to_string() };
            let worktree = if kept.worktree.is_some() && !kept.running { "  (worktree kept)" } else { "" };
            text.line(format!("{}  {}{worktree}", pad_to(&summary.run_id, 56), shown_line(&at)));
        }
        if runs.is_empty() {
            text.line("no runs yet; `liza experiment run IDEAS` starts one per idea");
        }
        Ok(Answer::new(json!({ "runs": runs }), text))
    }
}
