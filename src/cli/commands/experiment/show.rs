use super::open;
use crate::cli::prelude::*;
use crate::flow::experiment::find;

/// Show one run: how it ended, its score and its artifacts
///
/// The id of an idea shows its last run.
///
/// Example: liza experiment show faster-cache
#[derive(Args)]
pub struct ShowArgs {
    /// Id of the run or idea
    pub run: String,
}

impl Execute for ShowArgs {
    fn execute(&self, call: &Invocation) -> Result<Answer, Failure> {
        let (_, lab) = open(call, false)?;
        let kept = find(&lab, &self.run)?;
        let (artifacts, rollout) = (kept.artifacts(), kept.rollout_path());
        let summary = &kept.summary;
        let mut text = String::new();
        text.line(format!("{}  {}", summary.run_id, summary.status));
        text.line(&summary.title);
        if let Some(why) = &summary.error {
            text.line(format!("why:       {}", shown_line(why)));
        }
        if let Some(review) = &summary.review {
            text.line(format!("review:    {} in round {}", review.verdict.as_str(), review.round));
        }
        for (name, ended) in [("tests", &summary.tests), ("sweep", &summary.sweep)] {
            if let Some(ended) = ended {
                let exit = ended.exit_code.map_or("stopped".to_owned(), |code| format!("exit {code}"));
                text.line(format!("{}  {exit} after {:.1} s", pad_to(&format!("{name}:"), 9), ended.seconds));
            }
        }
        if let Some(score) = summary.score {
            let against = score.baseline.map_or(String::new(), |baseline| format!(" (baseline {baseline})"));
            text.line(format!("score:     {}{against}", score.value));
        }
        if let Some(name) = &summary.kept_as {
            text.line(format!("change:    git diff {} {name}", summary.base_commit.short()));
        }
        for remark in &summary.remarks {
            text.line(format!("remark:    {}", shown_line(remark)));
        }
        text.line(format!("artifacts: {}", kept.dir.display()));
        for name in &artifacts {
            text.line(format!("  {name}"));
        }
        if let Some(path) = &rollout {
            text.line(format!("rollout:   {}", shown_line(path)));
        }
        Ok(Answer::new(json!({ "run": kept, "artifacts": artifacts, "rollout_path": rollout }), text))
    }
}
