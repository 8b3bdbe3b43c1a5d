use std::sync::atomic::{AtomicI32, Ordering};

use crate::cli::demo::{
    Cast, Check, Outcome, Played, PlayedGoal, SCRIPTED_TASKS, Stage, Story, WakeQueue, direct, judge,
    play_goal, try_ideas,
};
use crate::cli::prelude::*;
use crate::cli::redteam::{ALL, count, play_all};
use crate::host::anchored_path::Temporary;
use crate::supervise::child::end_descendants;

/// Watch a scripted team work on a throw-away repository
///
/// Creates a small program with tests in a temporary folder and lets `liza run` extend it: a planner, coders and
/// reviewers as real processes, in real worktrees, played by short scripts. The demo shows a plan with dependencies,
/// work in parallel, a wait for a file that another task owns, a rejection and its fix, a refused self-approval, a
/// killed coder whose task another coder takes over, a resolved conflict, a pause, two tasks that pass alone and fail
/// together and that a gate stops before the merge, a complete goal, and some attacks of `liza redteam`, each
/// refused. The demo checks each of them; exit 0 means that all of them happened. It needs only git and sh.
///
/// With --experiment: `liza experiment` tries five ideas for a small forecast, without a board; the demo checks them
/// the same way.
///
/// With --director: a goal that is too large for one plan. The planner estimates it; two supervisors plan a workstream
/// each, and slices of one start while the other is still being planned. Merge slices follow. An auditor asks for
/// evidence, an operator provides it, and after the audit liza delivers the goal.
///
/// Example: liza demo --keep liza-demo
#[derive(Args)]
pub struct DemoArgs {
    /// Create the repository here and keep it (default: a temporary folder, removed unless a check fails)
    #[arg(long, value_name = "DIR")]
    pub keep: Option<PathBuf>,
    /// Show a large goal instead: routed, split into workstreams, audited (half a minute)
    #[arg(long, conflicts_with_all = ["tasks", "coders", "experiment"])]
    pub director: bool,
    /// Number of tasks
    #[arg(long, value_name = "N", default_value_t = SCRIPTED_TASKS,
          value_parser = clap::value_parser!(u32).range(i64::from(SCRIPTED_TASKS)..=500))]
    pub tasks: u32,
    /// Number of coders
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(3..=10))]
    pub coders: u32,
    /// Seconds that each agent waits after each step, to make the demo easier to watch
    #[arg(long, value_name = "SECONDS", value_parser = parse_speed)]
    pub speed: Option<f64>,
    /// Show `liza experiment` instead: five ideas, one of them fixed, one red, one worse
    #[arg(long, conflicts_with_all = ["tasks", "coders", "speed"])]
    pub experiment: bool,
}

fn parse_speed(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.0..=30.0).contains(&seconds) => Ok(seconds),
        _ => Err("a number of seconds from 0 to 30".to_owned()),
    }
}

impl Execute for DemoArgs {
    fn execute(&self, call: &Invocation) -> Result<Answer, Failure> {
        let ui = call.ui;
        let began = Instant::now();
        if let Some(dir) = self.keep.as_ref().filter(|dir| dir.symlink_metadata().is_ok()) {
            return Err(Failure::usage(format!("{} exists already", dir.display()))
                .hint("name a folder that does not exist"));
        }
        let temporary = Temporary::new(&std::env::temp_dir(), "liza-demo-").map_err(|error| {
            Failure::new(ErrorCode::IoFailed, format!("could not make a temporary folder: {error}"))
        })?;
        if self.experiment {
            return self.try_ideas(ui, began, temporary);
        }
        let root = self.keep.clone().unwrap_or_else(|| temporary.path().join("wordtool"));
        if self.director {
            return self.direct(&root, temporary, began, ui);
        }
        let cast = Cast { tasks: self.tasks, coders: self.coders, speed: self.speed };
        ui.narrate(&format!(
            "# A small program in {}, with tests and a spec. A planner, {} coders and 2 reviewers extend it.",
            root.display(),
            self.coders
        ));
        let (stage, story, checks) = match play(&root, temporary.path(), cast, ui) {
            Ok(played) => played,
            Err(Ended::Failed(failure)) => {
                return Err(kept_for_looking(*failure, temporary, self.keep.is_some()));
            }
            Err(Ended::Signal(signal)) => return Ok(interrupted_answer(signal)),
        };
        self.judged(&stage, &story, &checks, temporary, began)
    }
}

impl DemoArgs {
    /// The demo of a large goal.
    fn direct(&self, root: &Path, temporary: Temporary, began: Instant, ui: Ui) -> Result<Answer, Failure> {
        ui.narrate(&format!(
            "# A small repository in {}, and one script that plays all roles.",
            root.display()
        ));
        match play_goal(root, temporary.path(), self.speed, ui) {
            Ok(PlayedGoal::Done { stage, story, checks }) => {
                self.judged(&stage, &story, &checks, temporary, began)
            }
            Ok(PlayedGoal::Signal(signal)) => Ok(interrupted_answer(signal)),
            Err(failure) => Err(kept_for_looking(failure, temporary, self.keep.is_some())),
        }
    }

    /// The checks, each with the command that shows it.
    fn judged(
        &self,
        stage: &Stage,
        story: &Story,
        checks: &[Check],
        temporary: Temporary,
        began: Instant,
    ) -> Result<Answer, Failure> {
        let all = checks.iter().all(|check| check.shown);
        let seconds = began.elapsed().as_secs_f64();
        let mut text = ending(stage, story, self.keep.is_some())?;
        text.push_str(&table(checks));
        let kept = self.keep.is_some() || !all;
        text.push_str(&conclusion(checks, seconds));
        text.push_str(&try_next(&stage.root, kept));
        let data = json!({
            "shown": all, "checks": checks, "seconds": seconds, "tasks": self.tasks, "coders": self.coders,
            "repository": kept.then(|| stage.root.to_string_lossy()), "report": story.report().filter(|_| kept),
        });
        if !all {
            let _ = temporary.keep();
        }
        Ok(Answer::new(data, text).failed_if(problem(all)))
    }
}

impl DemoArgs {
    fn try_ideas(&self, ui: Ui, began: Instant, temporary: Temporary) -> Result<Answer, Failure> {
        let root = self.keep.clone().unwrap_or_else(|| temporary.path().join("forecast"));
        ui.narrate(&format!(
            "# A small forecast in {}, with tests, a measurement and five ideas to improve it. There is no board.",
            root.display()
        ));
        let (checks, report) = match try_ideas(&root, temporary.path(), ui) {
            Ok(Played::Whole(checks, report)) => (checks, report),
            Ok(Played::Signal(signal)) => return Ok(interrupted_answer(signal)),
            Err(failure) => return Err(kept_for_looking(failure, temporary, self.keep.is_some())),
        };
        let (all, seconds) = (checks.iter().all(|check| check.shown), began.elapsed().as_secs_f64());
        let kept = self.keep.is_some() || !all;
        let mut text = format!("\nThe leaderboard (liza experiment report):\n{report}");
        text.push_str(&table(&checks));
        text.push_str(&conclusion(&checks, seconds));
        text.push_str("\nTry next:\n");
        if kept {
            text.line(format!("  cd {} && liza experiment show follow-the-trend", root.display()));
        } else {
            text.line("  liza demo --experiment --keep DIR   keep the repository, to look at it afterwards");
        }
        text.line("  liza experiment run IDEAS           in a repository of your own: docs/experiments.md");
        let data = json!({
            "shown": all, "checks": checks, "seconds": seconds, "repository": kept.then(|| root.to_string_lossy()),
        });
        if !all {
            let _ = temporary.keep();
        }
        Ok(Answer::new(data, text).failed_if(problem(all)))
    }
}

fn interrupted_answer(signal: i32) -> Answer {
    let stopped = Failure::new(ErrorCode::of_signal(signal), "stopped by a signal");
    let answer = Answer::new(json!({ "stopped": signal }), "stopped; every agent has ended").failed(stopped);
    answer.exit(exit_code(signal))
}

fn problem(all: bool) -> Option<Failure> {
    (!all).then(|| {
        Failure::new(ErrorCode::BugDemo, "some promised events did not happen")
            .hint("`data.checks` lists the missing ones")
    })
}

fn conclusion(checks: &[Check], seconds: f64) -> String {
    let missing: Vec<&str> = checks.iter().filter(|check| !check.shown).map(|check| check.what).collect();
    match missing.is_empty() {
        true => format!("\nAll events happened, in {seconds:.1} s.\n"),
        false => format!("\nThese events did not happen: {}.\n", missing.join("; ")),
    }
}

enum Ended {
    Failed(Box<Failure>),
    Signal(i32),
}

impl From<Failure> for Ended {
    fn from(failure: Failure) -> Self {
        Self::Failed(Box::new(failure))
    }
}

fn play(root: &Path, temporary: &Path, cast: Cast, ui: Ui) -> Result<(Stage, Box<Story>, Vec<Check>), Ended> {
    let queue = WakeQueue::open()?;
    let signal = queue.signal();
    let stage = Stage::build(root, temporary, cast, ui)?;
    match direct(&stage, queue)? {
        Outcome::Signal(signal) => Err(Ended::Signal(signal)),
        Outcome::Played(story) => {
            let mut checks = judge(&stage, &story)?;
            checks.push(attacked(temporary, &signal));
            match signal.load(Ordering::Relaxed) {
                0 => Ok((stage, story, checks)),
                signal => Err(Ended::Signal(signal)),
            }
        }
    }
}

/// Plays a few attacks of the red team, each on its own repository.
fn attacked(temporary: &Path, signal: &AtomicI32) -> Check {
    let quick: Vec<_> = ALL.iter().filter(|attack| attack.is_quick()).collect();
    let tried = play_all(&quick, &temporary.join("redteam"), signal, false, &|_| {});
    end_descendants();
    let through = tried.iter().find(|tried| !tried.verdict.holds());
    let found = match through {
        Some(tried) => format!("{}: {}", tried.id, tried.verdict.words().1),
        None => format!("{} of {} attacks: {}", tried.len(), ALL.len(), count(&tried)),
    };
    Check {
        name: "attacks",
        shown: through.is_none() && tried.len() == quick.len(),
        what: "attacks by an agent refused",
        found,
        shown_by: "`liza redteam` tries all; `liza redteam --list` describes each".to_owned(),
    }
}

/// Keeps the folder of a failed demo, so that a person can examine it.
fn kept_for_looking(failure: Failure, temporary: Temporary, kept: bool) -> Failure {
    if kept || failure.code.class() != Class::Bug {
        return failure;
    }
    let path = temporary.keep();
    let hint = failure.hint.clone().unwrap_or_default();
    failure.hint(format!(
        "{hint}{}the repository stays in {}",
        if hint.is_empty() { "" } else { "; " },
        path.display()
    ))
}

/// The board, the history of the branch, and the report.
fn ending(stage: &Stage, story: &Story, kept: bool) -> Result<String, Failure> {
    let mut text = format!("\nThe board (liza status --all):\n{}", stage.liza(&["status", "--all"])?);
    text.line("\nThe branch (git log --graph --oneline integration):");
    text.push_str(&stage.git(&["log", "--graph", "--oneline", "integration"])?);
    let report = story.report().unwrap_or_default();
    text.line(format!(
        "\nThe report: {report}{}",
        if kept { "" } else { " (deleted with the folder; its first lines)" }
    ));
    if !kept && let Ok(report) = std::fs::read_to_string(report) {
        let begins =
            report.lines().take_while(|line| !line.starts_with("## ")).filter(|line| !line.is_empty());
        text.extend(begins.map(|line| format!("    {line}\n")));
    }
    Ok(text)
}

fn table(checks: &[Check]) -> String {
    let mut text = "\nEvents, and the commands that show them:\n".to_owned();
    for check in checks {
        let word = if check.shown { "yes" } else { "NO " };
        text.line(format!("  {word}  {}  {}", pad_to(check.what, 40), check.found));
        text.line(format!("       {}  {}", pad_to("", 40), check.shown_by));
    }
    text
}

fn try_next(root: &Path, kept: bool) -> String {
    let mut text = "\nTry next:\n".to_owned();
    if kept {
        text.line(format!(
            "  cd {} && liza log      each change with its actor and time; agents/ has the agents' scripts",
            root.display()
        ));
    } else {
        text.line("  liza demo --keep DIR             keep the repository, to look at it afterwards");
    }
    text.line("  liza demo --speed 1 --coders 5   slower, with more coders");
    text.line("  liza init \"<goal>\"               in a repository of your own, then `liza run`");
    text
}
