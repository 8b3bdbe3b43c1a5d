use super::open;
use crate::cli::prelude::*;
use crate::experiment::{Idea, report};
use crate::flow::experiment::{Lab, Options, Progress, Series, choose, gather, run};

/// Try ideas: plan, edit, review, test, sweep and score each
///
/// IDEAS is a file (one idea per `##` heading, or between lines of `---`) or a directory (one per *.md or *.txt). Skips
/// ideas with a finished run, unless --only names them or --again is given. Exit 0 if every idea was tried, whatever its verdict.
///
/// Example: liza experiment run ideas/ --dry-run
#[derive(Args)]
pub struct RunArgs {
    /// A file or directory of ideas (default: `experiment.ideas_file` of liza.yaml)
    #[arg(value_name = "IDEAS", value_hint = ValueHint::AnyPath)]
    pub ideas: Option<PathBuf>,
    /// Only the idea with this id, even if it was tried before; repeat
    #[arg(long, value_name = "ID")]
    pub only: Vec<String>,
    /// Try all ideas, even those with a finished run
    #[arg(long, conflicts_with = "only")]
    pub again: bool,
    /// Number of ideas to try at the same time
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub parallel: u32,
    /// Keep the worktrees of finished runs
    #[arg(long)]
    pub keep_worktrees: bool,
    /// Start from the present files of your checkout instead of HEAD
    #[arg(long)]
    pub base_on_working_tree: bool,
    /// Show which ideas would be tried; start nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Number of this process of --parallel
    #[arg(long, hide = true, requires = "base")]
    pub slot: Option<u32>,
    /// Commit that all processes of --parallel start from
    #[arg(long, hide = true, requires = "slot")]
    pub base: Option<CommitId>,
}

impl Execute for RunArgs {
    fn execute(&self, call: &Invocation) -> Result<Answer, Failure> {
        let (ctx, lab) = open(call, true)?;
        let source = self.source(&lab)?;
        let options = Options {
            ideas: gather(&source)?,
            only: self.only.clone(),
            again: self.again,
            parallel: self.parallel,
            keep_worktrees: self.keep_worktrees,
            base_on_working_tree: self.base_on_working_tree,
            given: self.slot.zip(self.base.clone()),
            source,
        };
        if self.dry_run {
            let (chosen, skipped) = choose(&lab, &options)?;
            return Ok(planned(&chosen, &skipped));
        }
        let ui = call.ui;
        let report = |progress: Progress| {
            if ui.json {
                ui.stream(&to_json_line(&serde_json::to_value(&progress).unwrap_or_default()));
            } else if !ui.quiet {
                ui.stream(&format!(
                    "{}  {}",
                    pad_to(&shown_line(&progress.idea), 32),
                    shown_line(&progress.what)
                ));
            }
        };
        series_answer(&lab, run(&ctx, &lab, &options, &report)?)
    }
}

impl RunArgs {
    fn source(&self, lab: &Lab) -> Result<PathBuf, Failure> {
        match (&self.ideas, &lab.config().ideas_file) {
            (Some(path), _) => Ok(path.clone()),
            (None, Some(name)) => Ok(lab.root().join(name)),
            (None, None) => Err(Failure::usage("no ideas are given")
                .hint("name a file or a directory: `liza experiment run IDEAS`, or set `experiment.ideas_file` in liza.yaml")),
        }
    }
}

fn planned(chosen: &[Idea], skipped: &[String]) -> Answer {
    let mut text = String::new();
    for idea in chosen {
        text.line(format!("would try  {}  {}", pad_to(&idea.id, 32), clipped(&idea.title, 60)));
    }
    for id in skipped {
        text.line(format!("done       {id}"));
    }
    let ids: Vec<&str> = chosen.iter().map(|idea| idea.id.as_str()).collect();
    Answer::new(json!({ "ideas": ids, "skipped": skipped }), text)
}

fn series_answer(lab: &Lab, series: Series) -> Result<Answer, Failure> {
    let left = series.left.len() + series.runs.iter().filter(|summary| !summary.status.is_final()).count();
    if series.signal.is_some() {
        let failure = crate::flow::interruption::failure("while ideas were tried");
        let text =
            format!("interrupted; {} left: run the same command again to continue\n", plural(left, "idea"));
        return Ok(Answer::new(&series, text).failed(failure));
    }
    if let Some(switch) = series.switch {
        return Err(Failure::new(
            Code::Switched,
            format!("{} is set; {} not finished", switch.as_str(), plural(left, "idea")),
        )
        .hint("`liza resume`, then run the same command again to continue")
        .with_data(&series, 0));
    }
    let mut text = if series.runs.is_empty() && series.left.is_empty() {
        "Every idea was tried before; `--only ID` tries one again, `--again` all of them.\n".to_owned()
    } else {
        let config = &lab.config().score;
        let board = report(series.runs.clone(), config.column.clone(), config.better);
        let next = match (board.rows.first(), board.rows.iter().any(|row| row.rank.is_some())) {
            (Some(row), false) => format!("liza experiment show {}", row.idea),
            _ => "liza experiment report --format html --out report.html".to_owned(),
        };
        format!("\n{}\nnext: {next}\n", board.table())
    };
    let open = series.runs.iter().filter(|summary| !summary.status.is_judged()).count() + series.left.len();
    let failure = (!series.is_complete()).then(|| {
        let what = format!("{} could not be finished", plural(open, "idea"));
        let hint = "`liza experiment show IDEA` shows the cause; run the same command again to retry";
        text.line(format!("{what}; {hint}"));
        Failure::new(ErrorCode::RefusedStuck, what).hint(hint)
    });
    Ok(Answer::new(&series, text).failed_if(failure))
}
