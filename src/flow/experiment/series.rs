//! All ideas of a call: which are still to be tried, how many at once, and what became of them.

use std::sync::{Mutex, PoisonError, mpsc};

use super::phases::Run;
use super::{Lab, agent, runs, worktree};
use crate::experiment::prompts::RepoFile;
use crate::experiment::{Idea, Outcome, Summary};
use crate::flow::interruption::{self, Interruption};
use crate::flow::prelude::*;
use crate::store::files::make_private_dir;

const LARGEST_LIST: u64 = 64 * 1024;
const LARGEST_REPO_FILE: u64 = 128 * 1024;
const MOST_REPO_FILES: usize = 100;

pub struct Options {
    pub ideas: Vec<Idea>,
    /// Only these; they are tried also if they were before.
    pub only: Vec<String>,
    pub parallel: u32,
    pub keep_worktrees: bool,
    pub base_on_working_tree: bool,
}

/// Where a run is now.
#[derive(Debug, Clone, Serialize)]
pub struct Progress {
    pub run_id: String,
    pub idea: String,
    pub what: String,
}

/// What became of a call.
#[derive(Debug, Serialize)]
pub struct Series {
    pub runs: Vec<Summary>,
    /// Ideas that had come to an end before.
    pub skipped: Vec<String>,
    /// Ideas that were not begun.
    pub left: Vec<String>,
    #[serde(skip)]
    pub switch: Option<SwitchKind>,
    #[serde(skip)]
    pub signal: Option<i32>,
}

impl Series {
    /// Whether every idea ran to an end, whatever its verdict.
    pub fn is_complete(&self) -> bool {
        self.left.is_empty() && self.runs.iter().all(|summary| summary.status.is_judged())
    }
}

/// Which ideas a call would try, and which had come to an end before.
pub fn choose(lab: &Lab, options: &Options) -> Result<(Vec<Idea>, Vec<String>)> {
    if let Some(unknown) = options.only.iter().find(|id| !options.ideas.iter().any(|idea| idea.id == **id)) {
        let known: Vec<&str> = options.ideas.iter().map(|idea| idea.id.as_str()).take(20).collect();
        return Err(failure!(Code::Value, "there is no idea `{}`", shown_line(unknown))
            .hint(format!("the ideas are {}", list_words(known))));
    }
    let done = runs::all(lab)?;
    let ended = |idea: &Idea| {
        done.iter().any(|kept| kept.summary.status.is_judged() && kept.summary.idea == idea.id && kept.idea_is(&lab.redacted(&idea.text)))
    };
    let (mut chosen, mut skipped) = (Vec::new(), Vec::new());
    for idea in &options.ideas {
        if !options.only.is_empty() {
            if options.only.contains(&idea.id) {
                chosen.push(idea.clone());
            }
        } else if ended(idea) {
            skipped.push(idea.id.clone());
        } else {
            chosen.push(idea.clone());
        }
    }
    Ok((chosen, skipped))
}

pub fn run(ctx: &Context, lab: &Lab, options: &Options, tell: &dyn Fn(Progress)) -> Result<Series> {
    agent::check(lab)?;
    let (chosen, skipped) = choose(lab, options)?;
    let mut series = Series { runs: Vec::new(), skipped, left: Vec::new(), switch: lab.switch(), signal: None };
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
    let base = worktree::base(lab, &head, options.base_on_working_tree || lab.config().base_on_working_tree)?;
    let queue = Mutex::new(chosen.into_iter().collect::<std::collections::VecDeque<Idea>>());
    let ended = Mutex::new(Vec::new());
    let (sender, receiver) = mpsc::channel::<Progress>();
    let keep = options.keep_worktrees || lab.config().keep_worktrees;
    std::thread::scope(|scope| -> Result<()> {
        for slot in 1..=options.parallel.max(1) {
            let (sender, queue, ended, base, repo_files) = (sender.clone(), &queue, &ended, &base, &repo_files);
            let worker = move || {
                let tell = |progress: Progress| {
                    let _ = sender.send(progress);
                };
                while interruption::signal().is_none() && lab.switch().is_none() {
                    let idea = queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
                    let Some(idea) = idea else { break };
                    let summary = one(lab, &idea, slot, keep, base, repo_files, &tell);
                    ended.lock().unwrap_or_else(PoisonError::into_inner).push(summary);
                }
            };
            std::thread::Builder::new().spawn_scoped(scope, worker).map_err(|error| {
                failure!(ErrorCode::IoFailed, "no thread can be started for a run: {error}")
            })?;
        }
        drop(sender);
        for progress in receiver {
            tell(progress);
        }
        Ok(())
    })?;
    series.runs = ended.into_inner().unwrap_or_else(PoisonError::into_inner);
    series.left = queue.into_inner().unwrap_or_else(PoisonError::into_inner).into_iter().map(|idea| idea.id).collect();
    (series.switch, series.signal) = (lab.switch(), interruption::signal());
    Ok(series)
}

/// Tries one idea. Whatever goes wrong before its directory is there is told as its end.
fn one(
    lab: &Lab,
    idea: &Idea,
    slot: u32,
    keep_worktree: bool,
    base: &CommitId,
    repo_files: &[RepoFile],
    tell: &dyn Fn(Progress),
) -> Summary {
    let started = host::now().wall;
    let mut summary = Summary {
        run_id: run_id(started, &idea.id),
        idea: idea.id.clone(),
        title: lab.redacted(&idea.title),
        status: Outcome::Running,
        phase: "start".to_owned(),
        started,
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
        agents: ["planner", "coder", "reviewer"]
            .iter()
            .filter_map(|step| Some(format!("{step}: {}", agent::provider_of(lab, step).ok()?)))
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
    let run = Run { lab, idea, slot, keep_worktree, base: base.clone(), dir, worktree, repo_files, tell, summary };
    let summary = run.carry_out();
    let (run_id, idea) = (summary.run_id.clone(), summary.idea.clone());
    let why = summary.error.as_ref().map_or(String::new(), |why| format!(": {}", shown_line(why)));
    tell(Progress { run_id, idea, what: format!("{}{why}", summary.status) });
    summary
}

/// `<UTC>-<idea>-<4 hex>`.
fn run_id(now: Wall, idea: &str) -> String {
    let stamp: String = now.to_string().chars().filter(|c| !"-:".contains(*c)).collect();
    let random = host::secret().unwrap_or_default();
    format!("{stamp}-{idea}-{}", random.get(..4).unwrap_or("0000"))
}

/// What the planner is shown of the repository: the files that a list names, by path or pattern.
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
    let wanted = listed.filter(|path| RepoPath::new(path).is_ok_and(|path| crate::board::inside(&path, &patterns)));
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
