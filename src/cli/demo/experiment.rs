//! The demo of experiments: five ideas for a small forecast, each planned, implemented, reviewed, tested and measured, and checks
//! that the reports of `liza experiment` are true. There is no board. The agents are the scripts in
//! templates/demo/experiment/agents.

use std::io::{BufRead, BufReader};
use std::sync::mpsc::{RecvTimeoutError, channel};

use serde::Deserialize;

use super::checks::Check;
use super::stage::isolated;
use crate::cli::prelude::*;
use crate::experiment::{Outcome, Score, Summary, Verdict, artifacts};
use crate::flow::experiment::Progress;
use crate::flow::interruption::{self, Interruption};
use crate::host::{Program, Streams, start_thread, this_program};
use crate::supervise::ChildAnswer;

/// The name of a file, and its text.
const FILES: [(&str, &str); 11] = [
    ("predict.sh", include_str!("../../../templates/demo/experiment/predict.sh")),
    ("forecast.sh", include_str!("../../../templates/demo/experiment/forecast.sh")),
    ("sweep.sh", include_str!("../../../templates/demo/experiment/sweep.sh")),
    ("tests/run.sh", include_str!("../../../templates/demo/experiment/tests/run.sh")),
    ("data/numbers.txt", include_str!("../../../templates/demo/experiment/data/numbers.txt")),
    ("ideas.md", include_str!("../../../templates/demo/experiment/ideas.md")),
    ("liza.yaml", include_str!("../../../templates/demo/experiment/liza.yaml")),
    (".gitignore", include_str!("../../../templates/demo/experiment/gitignore")),
    ("agents/planner.sh", include_str!("../../../templates/demo/experiment/agents/planner.sh")),
    ("agents/coder.sh", include_str!("../../../templates/demo/experiment/agents/coder.sh")),
    ("agents/reviewer.sh", include_str!("../../../templates/demo/experiment/agents/reviewer.sh")),
];
/// A secret in the agents' environment; no artifact may contain it.
const KEY: &str = "demo-key-7c1f94be";
const PAGE: &str = "report.html";
const TICK: Duration = Duration::from_millis(50);

/// How the demo of experiments ended.
pub enum Played {
    /// The checks, and the leaderboard.
    Whole(Vec<Check>, String),
    Signal(i32),
}

/// The repository of the experiments, and a separate home directory.
struct Bench {
    root: PathBuf,
    home: PathBuf,
    scratch: PathBuf,
    ui: Ui,
}

#[derive(Default, Deserialize)]
struct Listed {
    runs: Vec<Run>,
}

#[derive(Deserialize)]
struct Run {
    #[serde(flatten)]
    summary: Summary,
    dir: PathBuf,
}

impl Run {
    fn artifact(&self, name: &str) -> String {
        std::fs::read_to_string(self.dir.join(name)).unwrap_or_default()
    }
}

pub fn try_ideas(root: &Path, temporary: &Path, ui: Ui) -> Result<Played, Failure> {
    let bench = Bench::build(root, temporary, ui)?;
    let head = bench.git(&["rev-parse", "HEAD"])?;
    ui.narrate("\n# `liza experiment run`: each idea in its own worktree.");
    if let Some(signal) = bench.run()? {
        return Ok(Played::Signal(signal));
    }
    ui.narrate("\n# `liza experiment report --format html`: one page with charts.");
    bench.liza(&["experiment", "report", "--format", "html", "--out", PAGE])?;
    let checks = bench.judge(head.trim())?;
    Ok(Played::Whole(checks, bench.liza(&["experiment", "report"])?))
}

impl Bench {
    fn build(root: &Path, temporary: &Path, ui: Ui) -> Result<Self, Failure> {
        let (home, scratch) = (temporary.join("home"), temporary.join("tmp"));
        for dir in [root, &home, &scratch] {
            std::fs::create_dir_all(dir).map_err(|error| Failure::io("make", dir, &error))?;
        }
        let root = root.canonicalize().map_err(|error| Failure::io("find", root, &error))?;
        let bench = Self { root, home, scratch, ui };
        for (name, text) in FILES {
            bench.write(name, text)?;
        }
        bench.write(".env", &format!("DEMO_KEY={KEY}\n"))?;
        bench.git(&["init", "--quiet", "--template=", "--initial-branch=main", "."])?;
        for (name, value) in [
            ("user.name", "Demo"),
            ("user.email", "demo@localhost"),
            ("commit.gpgsign", "false"),
            ("core.autocrlf", "false"),
        ] {
            bench.git(&["config", name, value])?;
        }
        // The baseline: the program's score without any idea.
        bench.ran("sh", &["-c", "sh sweep.sh && mv results.csv baseline.csv"])?;
        bench.git(&["add", "--all"])?;
        bench.git(&[
            "commit",
            "--quiet",
            "--no-verify",
            "-m",
            "a forecast, its measurement, and five ideas",
        ])?;
        Ok(bench)
    }

    fn write(&self, name: &str, text: &str) -> Result<(), Failure> {
        let path = self.root.join(name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).map_err(|error| Failure::io("make", parent, &error))?;
        }
        std::fs::write(&path, text).map_err(|error| Failure::io("write", &path, &error))
    }

    fn isolated(&self, program: Program) -> Program {
        isolated(program, &self.root, &self.home, &self.scratch)
    }

    /// Runs a program in the repository and returns its output; it must succeed.
    fn ran(&self, program: &str, args: &[&str]) -> Result<String, Failure> {
        let name =
            std::path::Path::new(program).file_name().unwrap_or_default().to_string_lossy().into_owned();
        let output = self.isolated(Program::new(program)).args(args).output().map_err(|error| {
            Failure::new(ErrorCode::IoFailed, format!("{name} cannot be run: {error}"))
                .hint("the demo needs git 2.38 or newer, and sh")
        })?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        Err(Failure::new(ErrorCode::BugDemo, format!("`{name} {}` failed: {why}", args.join(" "))))
    }

    fn git(&self, args: &[&str]) -> Result<String, Failure> {
        self.ran("git", args)
    }

    fn liza(&self, args: &[&str]) -> Result<String, Failure> {
        self.ran(&this_program().to_string_lossy(), args)
    }

    /// Tries all ideas and narrates the events. Returns the signal that interrupted the run, if any.
    fn run(&self) -> Result<Option<i32>, Failure> {
        let listening = Interruption::listen();
        let failed = |error: std::io::Error| {
            Failure::new(ErrorCode::IoFailed, format!("`liza experiment run` cannot be started: {error}"))
        };
        let program = self.isolated(Program::held(this_program())).args(["--json", "experiment", "run"]);
        let mut child = program.streams(Streams::OutputOnly).start().map_err(failed)?;
        let (sender, lines) = channel();
        let out = child.stdout.take();
        let reading = start_thread(move || {
            for line in out.into_iter().flat_map(|out| BufReader::new(out).lines()).map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        if let Err(error) = reading {
            child.end();
            return Err(failed(error));
        }
        let mut forwarded = false;
        loop {
            match lines.recv_timeout(TICK) {
                Ok(line) => {
                    if let Ok(progress) = serde_json::from_str::<Progress>(&line) {
                        self.ui.narrate(&format!("    {}  {}", pad_to(&progress.idea, 26), progress.what));
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if listening.signal().is_some() && !forwarded {
                forwarded = true;
                child.signal(rustix::process::Signal::INT);
            }
        }
        let _ = child.wait();
        Ok(interruption::signal())
    }

    /// Checks the events against artifacts, refs and the program itself.
    fn judge(&self, head: &str) -> Result<Vec<Check>, Failure> {
        let answer: ChildAnswer<Listed> =
            serde_json::from_str(&self.liza(&["--json", "experiment", "list"])?).unwrap_or_default();
        let runs = answer.data.map(|listed| listed.runs).unwrap_or_default();
        let of = |idea: &str| {
            let found = runs.iter().find(|run| run.summary.idea == idea);
            found.ok_or_else(|| Failure::new(ErrorCode::BugDemo, format!("the idea `{idea}` was not tried")))
        };
        Ok(vec![
            all_ended(&runs),
            fixed(of("ignore-outliers")?),
            red(of("only-count-changes")?),
            worse(of("trust-the-oldest-number")?),
            self.better([of("follow-the-trend")?, of("weigh-newer-numbers-more")?])?,
            self.untouched(head)?,
            self.secret()?,
            self.page(&runs),
        ])
    }

    /// Better by their summaries, and by a second measurement of their changes.
    fn better(&self, runs: [&Run; 2]) -> Result<Check, Failure> {
        let checkout = self.scratch.join("measured");
        let text = checkout.display().to_string();
        self.git(&["worktree", "add", "--quiet", "--detach", &text, "HEAD"])?;
        let mut shown = true;
        let mut found = Vec::new();
        for run in runs {
            let score = run.summary.score;
            let kept = run.summary.kept_as.as_deref().unwrap_or("HEAD");
            self.git(&["-C", &text, "checkout", "--quiet", "--detach", kept])?;
            let sweep = self.isolated(Program::new("sh")).arg("sweep.sh").dir(&checkout).output();
            let sweep = sweep
                .map_err(|error| Failure::new(ErrorCode::IoFailed, format!("sh cannot be run: {error}")))?;
            let least = least_of(&String::from_utf8_lossy(&sweep.stdout));
            shown &= score.is_some_and(|score| score.better == Some(true) && Some(score.value) == least);
            found.push(format!("{} {}", run.summary.idea, score.map_or("none".to_owned(), shown_score)));
        }
        self.git(&["worktree", "remove", "--force", &text])?;
        Ok(Check {
            name: "better",
            shown,
            what: "two ideas better than the baseline",
            found: format!("{}; measured again with the same result", found.join(", ")),
            shown_by: "git worktree list is short again; git show refs/liza/experiments/RUN".to_owned(),
        })
    }

    fn untouched(&self, head: &str) -> Result<Check, Failure> {
        let changed = self.git(&["status", "--porcelain"])?;
        let changed: Vec<&str> = changed.lines().filter(|line| !line.ends_with(PAGE)).collect();
        let worktrees = self.git(&["worktree", "list"])?.lines().count();
        let now = self.git(&["rev-parse", "HEAD"])?;
        Ok(Check {
            name: "untouched",
            shown: changed.is_empty() && worktrees == 1 && now.trim() == head,
            what: "the person's checkout unchanged",
            found: format!(
                "{} changed, {} left",
                plural(changed.len(), "file"),
                plural(worktrees - 1, "worktree")
            ),
            shown_by: "git status; git worktree list".to_owned(),
        })
    }

    fn secret(&self) -> Result<Check, Failure> {
        let given = format!("{} characters", KEY.len());
        let (mut given_to_coder, mut leaked, mut files) = (false, Vec::new(), 0);
        let mut open = vec![self.root.join("agentic_experimentation")];
        while let Some(dir) = open.pop() {
            for path in crate::store::files::paths_in(&dir) {
                if path.is_dir() {
                    open.push(path);
                    continue;
                }
                let text = std::fs::read(&path).map_err(|error| Failure::io("read", &path, &error))?;
                let text = String::from_utf8_lossy(&text).into_owned();
                files += 1;
                given_to_coder |= text.contains(&given);
                if text.contains(KEY) {
                    leaked.push(path.display().to_string());
                }
            }
        }
        Ok(Check {
            name: "secret",
            shown: given_to_coder && leaked.is_empty(),
            what: "a secret of .env for agents only",
            found: format!(
                "each coder had it in its environment; {} of {files} artifacts contain it",
                leaked.len()
            ),
            shown_by: "grep -r demo-key agentic_experimentation".to_owned(),
        })
    }

    fn page(&self, runs: &[Run]) -> Check {
        let page = std::fs::read_to_string(self.root.join(PAGE)).unwrap_or_default();
        let all = runs.iter().all(|run| page.contains(&run.summary.run_id));
        Check {
            name: "report",
            shown: all && page.contains("Best: follow-the-trend") && page.matches("<svg").count() >= 4,
            what: "a report with charts, the best first",
            found: format!("{} bytes, {} charts", page.len(), page.matches("<svg viewBox").count()),
            shown_by: PAGE.to_owned(),
        }
    }
}

fn all_ended(runs: &[Run]) -> Check {
    let ended = runs.iter().filter(|run| run.summary.status.is_judged()).count();
    let whole = runs.iter().all(|run| {
        let names = [artifacts::IDEA, artifacts::PLANNER_PROMPT, artifacts::PLAN, artifacts::AGENTS_TRACE];
        names.iter().all(|name| !run.artifact(name).is_empty())
            && !run.artifact(&artifacts::diff(1)).is_empty()
    });
    Check {
        name: "ideas",
        shown: ended == 5 && runs.len() == 5 && whole,
        what: "five ideas tried",
        found: format!("{ended} of {}, each with its prompts, answers, diffs and logs", runs.len()),
        shown_by: "agentic_experimentation/experiments".to_owned(),
    }
}

fn fixed(run: &Run) -> Check {
    use crate::experiment::verdict;
    let (first, second) = (run.artifact(&artifacts::review(1)), run.artifact(&artifacts::review(2)));
    let rejected = verdict(&first) == Some(Verdict::Reject) && verdict(&second) == Some(Verdict::Approve);
    let tampered = run.artifact(&artifacts::diff(1)).contains("data/numbers.txt");
    let clean = !run.artifact(&artifacts::diff(2)).contains("data/numbers.txt");
    let asked_to_restore = run.artifact(&artifacts::coder_fix_prompt(2)).contains("Put them back");
    Check {
        name: "fixed",
        shown: rejected && tampered && clean && asked_to_restore && run.summary.status == Outcome::Scored,
        what: "one idea rejected, then fixed",
        found: "its coder had shortened the measured data; round 2 restored the data".to_owned(),
        shown_by: format!("{}/{}", short(run), artifacts::review(1)),
    }
}

fn red(run: &Run) -> Check {
    let failed = run.summary.status == Outcome::TestsFailed && run.summary.score.is_none();
    let why = run.artifact(artifacts::TESTS_LOG);
    let why = why.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or_default().to_owned();
    Check {
        name: "tests",
        shown: failed && run.artifact(artifacts::SWEEP_LOG).is_empty(),
        what: "one idea stopped by its tests",
        found: format!("{why}; the idea was not measured"),
        shown_by: format!("{}/{}", short(run), artifacts::TESTS_LOG),
    }
}

fn worse(run: &Run) -> Check {
    let score = run.summary.score;
    Check {
        name: "worse",
        shown: run.summary.status == Outcome::Scored
            && score.is_some_and(|score| score.better == Some(false)),
        what: "one idea worse than the baseline",
        found: score.map_or("no score".to_owned(), shown_score),
        shown_by: format!("{}/{}", short(run), artifacts::SUMMARY),
    }
}

fn shown_score(score: Score) -> String {
    let against = score.baseline.map_or(String::new(), |baseline| format!(", baseline {baseline}"));
    format!("off by {}{against}", score.value)
}

fn short(run: &Run) -> String {
    format!("experiments/{}", run.summary.run_id)
}

/// The lowest value of the second column.
fn least_of(csv: &str) -> Option<f64> {
    let values = csv.lines().filter_map(|line| line.split_once(',')?.1.trim().parse::<f64>().ok());
    values.reduce(f64::min)
}
