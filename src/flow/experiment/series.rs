//! All ideas of a call: selects them, runs several at once, and collects the results.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader};
use std::sync::mpsc;

use super::lab::Progress;
use super::phases::{Run, START};
use super::{Lab, agent, runs, worktree};
use crate::experiment::prompts::RepoFile;
use crate::experiment::{Idea, Outcome, Step, Summary};
use crate::flow::interruption::{self, Interruption};
use crate::flow::prelude::*;
use crate::host::{Program, Streams};
use crate::store::files::make_private_dir;

/// How often signals and switches are checked.
const TICK: Duration = Duration::from_millis(50);
const LARGEST_LIST: u64 = 64 * 1024;
const LARGEST_REPO_FILE: u64 = 128 * 1024;
const MOST_REPO_FILES: usize = 100;

pub struct Options {
    pub ideas: Vec<Idea>,
    /// Only these ideas, even if they were tried before.
    pub only: Vec<String>,
    /// All ideas, even if they were tried before.
    pub again: bool,
    pub parallel: u32,
    pub keep_worktrees: bool,
    pub base_on_working_tree: bool,
    /// Values for a parallel process from its starter.
    pub given: Option<(u32, CommitId)>,
    /// The path of the ideas, for parallel processes.
    pub source: PathBuf,
}

/// The result of a call.
#[derive(Debug, Serialize)]
pub struct Series {
    pub runs: Vec<Summary>,
    /// Ideas that were tried before.
    pub skipped: Vec<String>,
    /// Ideas that were not started.
    pub left: Vec<String>,
    #[serde(skip)]
    pub switch: Option<SwitchKind>,
    #[serde(skip)]
    pub signal: Option<i32>,
}

impl Series {
    /// Whether every idea was tried, whatever its verdict.
    pub fn is_complete(&self) -> bool {
        self.left.is_empty() && self.runs.iter().all(|summary| summary.status.is_judged())
    }
}

/// The ideas that a call would try, and those that were tried before.
pub fn choose(lab: &Lab, options: &Options) -> Result<(Vec<Idea>, Vec<String>)> {
    if let Some(unknown) = options.only.iter().find(|id| !options.ideas.iter().any(|idea| idea.id == **id)) {
        let known: Vec<&str> = options.ideas.iter().map(|idea| idea.id.as_str()).take(20).collect();
        return Err(failure!(Code::Value, "there is no idea `{}`", shown_line(unknown))
            .hint(format!("the ideas are {}", list_words(known))));
    }
    let done = runs::all(lab)?;
    let ended = |idea: &Idea| {
        done.iter().any(|kept| {
            kept.summary.status.is_judged()
                && kept.summary.idea == idea.id
                && kept.idea_is(&lab.redacted(&idea.text))
        })
    };
    let (mut chosen, mut skipped) = (Vec::new(), Vec::new());
    for idea in &options.ideas {
        if !options.only.is_empty() {
            if options.only.contains(&idea.id) {
                chosen.push(idea.clone());
            }
        } else if !options.again && ended(idea) {
            skipped.push(idea.id.clone());
        } else {
            chosen.push(idea.clone());
        }
    }
    Ok((chosen, skipped))
}

pub fn run(ctx: &Context, lab: &Lab, options: &Options, report: &dyn Fn(Progress)) -> Result<Series> {
    agent::check(lab)?;
    let (chosen, skipped) = choose(lab, options)?;
    let mut series =
        Series { runs: Vec::new(), skipped, left: Vec::new(), switch: lab.switch(), signal: None };
    if series.switch.is_some() {
        series.left = chosen.into_iter().map(|idea| idea.id).collect();
        return Ok(series);
    }
    let head = ctx.query()?.head_commit()?.ok_or_else(|| {
        Failure::new(ErrorCode::GitNoCommit, "this repository has no commit yet")
            .hint("make a first commit, then run the command again")
    })?;
    let repo_files = repo_files(lab)?;
    lab.prepare()?;
    let _listening = Interruption::listen();
    let base = match &options.given {
        Some((_, base)) => base.clone(),
        None => {
            worktree::base(lab, &head, options.base_on_working_tree || lab.config().base_on_working_tree)?
        }
    };
    let keep = options.keep_worktrees || lab.config().keep_worktrees;
    let mut queue: VecDeque<Idea> = chosen.into();
    if options.parallel > 1 && queue.len() > 1 {
        series.runs = run_parallel(lab, options, &base, keep, &mut queue, report);
    } else {
        let slot = options.given.as_ref().map_or(1, |(slot, _)| *slot);
        while interruption::signal().is_none() && lab.switch().is_none() {
            let Some(idea) = queue.pop_front() else { break };
            series.runs.push(run_one(lab, &idea, slot, keep, &base, &repo_files, report));
        }
    }
    series.left = queue.into_iter().map(|idea| idea.id).collect();
    (series.switch, series.signal) = (lab.switch(), interruption::signal());
    Ok(series)
}

/// The last line of a parallel process: the usual JSON answer of a command.
#[derive(Deserialize)]
struct ChildAnswer {
    #[serde(rename = "liza")]
    _version: u32,
    #[serde(default)]
    data: Option<ChildData>,
    #[serde(default)]
    error: Option<ChildError>,
}

#[derive(Deserialize)]
struct ChildError {
    message: String,
}

#[derive(Deserialize)]
struct ChildData {
    #[serde(default)]
    runs: Vec<Summary>,
}

/// A message of a parallel process.
enum SeriesEvent {
    Progress(Progress),
    Ended {
        slot: u32,
        /// The run it reported.
        run_id: Option<String>,
        run: Option<Box<Summary>>,
        /// The error that it reported.
        why: Option<String>,
    },
}

/// Runs several ideas at once, each in its own process: a process ends all its orphaned children after a command, so two runs in one
/// process would end each other's children.
fn run_parallel(
    lab: &Lab,
    options: &Options,
    base: &CommitId,
    keep: bool,
    queue: &mut VecDeque<Idea>,
    report_progress: &dyn Fn(Progress),
) -> Vec<Summary> {
    let (sender, receiver) = mpsc::channel();
    let mut working: BTreeMap<u32, (Idea, host::Child)> = BTreeMap::new();
    let mut ended = Vec::new();
    let mut forwarded = false;
    let mut left = VecDeque::new();
    let report = |idea: &Idea, what: String| {
        report_progress(Progress { run_id: String::new(), idea: idea.id.clone(), what })
    };
    loop {
        let stopped = interruption::signal().is_some();
        if stopped && !forwarded {
            forwarded = true;
            working.values().for_each(|(_, child)| child.signal(rustix::process::Signal::INT));
        }
        while !stopped && lab.switch().is_none() && (working.len() as u64) < u64::from(options.parallel) {
            let Some(idea) = queue.pop_front() else { break };
            let slot = (1..).find(|slot| !working.contains_key(slot)).unwrap_or(1);
            match start(options, &idea, slot, base, keep, &sender) {
                Ok(child) => drop(working.insert(slot, (idea, child))),
                Err(failure) => {
                    report(&idea, failure.message);
                    left.push_back(idea);
                }
            }
        }
        if working.is_empty() {
            queue.append(&mut left);
            return ended;
        }
        match receiver.recv_timeout(TICK) {
            Ok(SeriesEvent::Progress(progress)) => report_progress(progress),
            Ok(SeriesEvent::Ended { slot, run_id, run, why }) => {
                let Some((idea, mut child)) = working.remove(&slot) else { continue };
                let _ = child.wait();
                // A process that died has left its run without a final summary.
                let found = || {
                    let all = runs::all(lab).ok()?;
                    all.into_iter().find(|kept| Some(&kept.summary.run_id) == run_id.as_ref())
                };
                match run.map(|run| *run).or_else(|| found().map(|kept| kept.summary)) {
                    Some(run) => ended.push(run),
                    None => {
                        report(
                            &idea,
                            why.unwrap_or_else(|| "its process ended before the run started".to_owned()),
                        );
                        left.push_back(idea);
                    }
                }
            }
            Err(_) => {}
        }
    }
}

/// Starts this program for one idea, and reads its output.
fn start(
    options: &Options,
    idea: &Idea,
    slot: u32,
    base: &CommitId,
    keep: bool,
    sender: &mpsc::Sender<SeriesEvent>,
) -> Result<host::Child> {
    let program =
        Program::held(host::this_program()).args(["--json", "experiment", "run"]).arg(&options.source);
    let program = program.args(["--only", &idea.id, "--slot", &slot.to_string(), "--base", base.as_str()]);
    let program = if keep { program.arg("--keep-worktrees") } else { program };
    let failed =
        |error: std::io::Error| failure!(ErrorCode::IoFailed, "no process can be started for a run: {error}");
    let mut child = program.own_group().streams(Streams::OutputOnly).start().map_err(failed)?;
    let Some(out) = child.stdout.take() else { return Ok(child) };
    let sender = sender.clone();
    let listening = host::start_thread(move || {
        let (mut run_id, mut run, mut why) = (None, None, None);
        for line in BufReader::new(out).lines().map_while(std::result::Result::ok) {
            let Ok(value) = serde_json::from_str::<Value>(&line) else { continue };
            if let Ok(answer) = serde_json::from_value::<ChildAnswer>(value.clone()) {
                run = answer.data.and_then(|data| data.runs.into_iter().next()).map(Box::new);
                why = answer.error.map(|error| error.message);
            } else if let Ok(progress) = serde_json::from_value::<Progress>(value) {
                run_id = Some(progress.run_id.clone());
                let _ = sender.send(SeriesEvent::Progress(progress));
            }
        }
        let _ = sender.send(SeriesEvent::Ended { slot, run_id, run, why });
    });
    match listening {
        Ok(_) => Ok(child),
        Err(error) => {
            child.end();
            Err(failed(error))
        }
    }
}

/// Tries one idea. A failure before its directory exists is reported as the end of the idea.
fn run_one(
    lab: &Lab,
    idea: &Idea,
    slot: u32,
    keep_worktree: bool,
    base: &CommitId,
    repo_files: &[RepoFile],
    report: &dyn Fn(Progress),
) -> Summary {
    let (now, started_nanos) = host::now_exactly();
    let started = now.wall;
    let mut summary = Summary {
        run_id: run_id(started, &idea.id),
        idea: idea.id.clone(),
        title: lab.redacted(&idea.title),
        status: Outcome::Running,
        phase: START.to_owned(),
        started,
        started_nanos,
        ended: None,
        base_commit: base.clone(),
        plan: None,
        rounds: 0,
        review: None,
        tests: None,
        sweep: None,
        score: None,
        tokens: 0,
        cost: None,
        kept_as: None,
        error: None,
        remarks: Vec::new(),
        phases: Vec::new(),
        agents: Step::ALL
            .iter()
            .filter_map(|step| Some(format!("{step}: {}", agent::provider_of(lab, *step).ok()?)))
            .collect(),
    };
    let dir = lab.runs.join(&summary.run_id);
    let locked = make_private_dir(&dir).map_err(Failure::from).and_then(|()| runs::lock(&dir));
    let _lock = match locked {
        Ok(lock) => lock,
        Err(failure) => {
            summary.status = Outcome::Error;
            summary.error = Some(failure.message);
            return summary;
        }
    };
    let worktree = lab.worktrees.join(&summary.run_id);
    let run = Run {
        lab,
        idea,
        slot,
        keep_worktree,
        base: base.clone(),
        dir,
        worktree,
        repo_files,
        report,
        summary,
    };
    let summary = run.carry_out();
    let (run_id, idea) = (summary.run_id.clone(), summary.idea.clone());
    let why = summary.error.as_ref().map_or(String::new(), |why| format!(": {}", shown_line(why)));
    report(Progress { run_id, idea, what: format!("{}{why}", summary.status) });
    summary
}

/// `<UTC>-<idea>-<4 hex>`.
fn run_id(now: Wall, idea: &str) -> String {
    let stamp: String = now.to_string().chars().filter(|c| !"-:".contains(*c)).collect();
    let random = host::secret().unwrap_or_default();
    format!("{stamp}-{idea}-{}", random.get(..4).unwrap_or("0000"))
}

/// The repository files for the planner's prompt: a list names them by path or pattern.
fn repo_files(lab: &Lab) -> Result<Vec<RepoFile>> {
    let Some(name) = &lab.config().planner_repo_files else { return Ok(Vec::new()) };
    let path = lab.root().join(name);
    let (bytes, _) = read_whole(&path, LARGEST_LIST).map_err(|error| Failure::io("read", &path, &error))?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut patterns = Vec::new();
    for line in lines {
        let pattern = PathPattern::new(line)
            .map_err(|why| failure!(Code::Value, "{name}: `{}`: {why}", shown_line(line)))?;
        patterns.push(pattern);
    }
    let tracked = Git::reading(lab.root(), "ls-files").args(["-z"]).run()?;
    let listed = tracked.split(|byte| *byte == 0).filter_map(|path| std::str::from_utf8(path).ok());
    let wanted =
        listed.filter(|path| RepoPath::new(path).is_ok_and(|path| crate::board::inside(&path, &patterns)));
    let mut found = Vec::new();
    for path in wanted.take(MOST_REPO_FILES) {
        if let Ok((bytes, _)) = read_whole(&lab.root().join(path), LARGEST_REPO_FILE)
            && let Ok(text) = String::from_utf8(bytes)
        {
            found.push(RepoFile { path: path.to_owned(), text });
        }
    }
    Ok(found)
}
