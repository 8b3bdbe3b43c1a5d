//! Runs one gate: its command, repeated where allowed, and the adapter that reads its result.

use super::attention::Attention;
use super::environment::{Handed, Source, handed_over};
use super::gate_worktree::{Disturbed, GateWorktree};
use super::{Question, reuse};
use crate::board::gates::Counted;
use crate::flow::capture::{Captured, write_log};
use crate::flow::prelude::*;
use crate::flow::shell::{self, Done, Ended, Job, RETRIES, RETRY_AFTER};
use crate::gate::changed::ChangedLines;
use crate::gate::{AdapterResult, FinishedCommand};
use crate::git::private::leads_inside;
use crate::policy::gate::{AdapterKind, CoverageOf, GateCommand, expected};
use crate::provider::{Redactor, secrets};
use crate::store::files::make_private_dirs;

const LARGEST_REPORT: u64 = 32 * 1024 * 1024;
/// How many tries keep their output in the log: the first one and the last ones.
const TRIES_IN_LOG: usize = 4;
/// How many files changed by a gate are listed.
const NAMED: usize = 5;

/// What all gates of one question share.
pub struct Shared<'a> {
    ctx: &'a Context,
    question: &'a Question<'a>,
    tree: &'a CommitId,
    board: &'a Board,
    keep: &'a [String],
    source: Source,
    secrets: Vec<Secret>,
    /// Acquired by the first gate that has to run.
    worktree: Option<GateWorktree<'a>>,
}

/// One gate, and the circumstances it runs in.
pub struct Asking<'g> {
    gate: &'g Gate,
    expected: Option<String>,
    /// The new and changed lines and their base, for a gate that judges only those.
    changed: Option<(CommitId, ChangedLines)>,
    environment: Handed,
    log: PathBuf,
    /// Cache key for this gate and tree.
    pub key: String,
}

impl Asking<'_> {
    /// Whether its result here is the same as in the runner's environment.
    pub fn is_whole(&self) -> bool {
        self.environment.withheld.is_empty()
    }
}

impl<'a> Shared<'a> {
    pub fn new(
        ctx: &'a Context,
        question: &'a Question<'a>,
        tree: &'a CommitId,
        board: &'a Board,
        keep: &'a [String],
    ) -> Self {
        let source = Source::of(ctx, board);
        let token = std::env::var_os("LIZA_AGENT_TOKEN_FILE")
            .and_then(|path| read_whole(Path::new(&path), 4096).ok())
            .map(|(token, _)| ("agent token", token));
        let own: Vec<(OsString, OsString)> = std::env::vars_os().collect();
        let all = source.variables.iter().chain(&own).map(|(name, value)| (name, value));
        let secrets = secrets(all, token);
        Self { ctx, question, tree, board, keep, source, secrets, worktree: None }
    }

    /// Whether gates can run in this process, or why not.
    pub fn can_run_here(&mut self) -> Result<()> {
        self.worktree().map(|_| ())
    }

    fn worktree(&mut self) -> Result<&mut GateWorktree<'a>> {
        if self.worktree.is_none() {
            self.worktree = Some(GateWorktree::take(self.ctx, self.question.commit, self.keep)?);
        }
        let none = || Failure::new(ErrorCode::BugGates, "there is no worktree for the gates");
        self.worktree.as_mut().ok_or_else(none)
    }
}

impl<'g> Asking<'g> {
    pub fn of(shared: &Shared<'_>, gate: &'g Gate) -> Result<Self> {
        let expected = expected(shared.board, gate, shared.question.task).map(str::to_owned);
        let commit = shared.question.commit.as_str();
        let environment = handed_over(gate, commit, &shared.source);
        let changed = match gate.of {
            Some(CoverageOf::Changed) => Some(changed_lines(shared)?),
            _ => None,
        };
        let compared_with = changed.as_ref().map(|(base, _)| base.as_str());
        let compared_with = compared_with.or(expected.as_deref());
        let prepared = crate::flow::prepare::weight(shared.ctx, &shared.ctx.project_config()?.worktrees);
        let weight = environment.with_weight();
        let key = reuse::key_of(shared.tree, gate, compared_with, &weight, prepared.as_deref());
        Ok(Self { gate, expected, changed, environment, log: log_of(shared, gate)?, key })
    }
}

/// The lines that the commit adds or changes since its merge base with integration; for a commit of integration, since its
/// predecessor.
fn changed_lines(shared: &Shared<'_>) -> Result<(CommitId, ChangedLines)> {
    let (query, commit) = (shared.ctx.query()?, shared.question.commit);
    let integration = query.head_of_branch(&shared.board.config().integration_branch)?;
    let base = match &integration {
        Some(integration) => query.merge_base(integration, commit)?,
        None => None,
    };
    let base = match base.filter(|base| base != commit) {
        Some(base) => base,
        None => query.parents_of(commit)?.into_iter().next().unwrap_or_else(|| commit.clone()),
    };
    let paths = query.changed_paths(&base, commit)?;
    let paths: Vec<&str> = paths.iter().map(|changed| changed.path.as_str()).collect();
    let mut lines = ChangedLines::new();
    for file in query.drift(&base, commit, &paths)?.files {
        let Some(path) = file.to else { continue };
        let ranges = file.hunks.iter().filter(|hunk| hunk.new_lines > 0).map(|hunk| {
            let first = u64::from(hunk.new_start);
            (first, first + u64::from(hunk.new_lines) - 1)
        });
        lines.insert(path, ranges.collect());
    }
    Ok((base, lines))
}

/// The path of its log: in the round of its task, or named after its tree.
fn log_of(shared: &Shared<'_>, gate: &Gate) -> Result<PathBuf> {
    let machine = &shared.ctx.machine;
    let named = shared.question.task.and_then(|task| Some((task, shared.board.task(task)?)));
    let (dir, file) = match named {
        Some((id, task)) => {
            let moment = serde_json::to_value(shared.question.moment).unwrap_or_default();
            let moment = moment.as_str().unwrap_or_default().replace('_', "-");
            (machine.round(id, task.epoch, task.iteration), format!("gate-{moment}-{}.log", gate.name))
        }
        None => {
            let tree = super::record::short(shared.tree);
            (machine.gates().join("logs"), format!("{tree}-{}.log", gate.name))
        }
    };
    make_private_dirs(machine.home(), &dir)?;
    Ok(dir.join(file))
}

/// A command as a person would type it.
pub fn command_line(command: &GateCommand) -> String {
    match command {
        GateCommand::Shell(text) => shown_line(text).into_owned(),
        GateCommand::Argv(words) => {
            let plain = |word: &str| {
                !word.is_empty()
                    && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c))
            };
            let quoted = |word: &String| match plain(word) {
                true => word.clone(),
                false => format!("'{}'", word.replace('\'', "'\\''")),
            };
            let words: Vec<String> = words.iter().map(quoted).collect();
            shown_line(&words.join(" ")).into_owned()
        }
    }
}

fn argv(command: &GateCommand) -> Vec<OsString> {
    match command {
        GateCommand::Shell(text) => shell::by_shell(text),
        GateCommand::Argv(words) => words.iter().map(OsString::from).collect(),
    }
}

/// Runs it until it gives a result, as often as allowed.
pub fn ask(shared: &mut Shared<'_>, asking: &Asking<'_>, attention: &Attention<'_>) -> Result<GateOutcome> {
    let gate = asking.gate;
    let timeout = Duration::from_secs(gate.timeout.unwrap_or(Gate::DEFAULT_TIMEOUT));
    let root = shared.ctx.root().to_owned();
    let mut outputs: Vec<Captured> = Vec::new();
    let (mut tries, mut transient, mut fails, mut duration) = (0, 0, 0, Duration::ZERO);
    let mut outcome = loop {
        let path = match prepare(shared, asking) {
            Ok(path) => path,
            Err(why) => {
                // git receives the signal too, and then the signal is the reason.
                attention.check()?;
                break not_run(gate, why);
            }
        };
        attention.check()?;
        let job = Job {
            held_for: Some(shared.ctx.machine.home()),
            ceiling: Some(shared.ctx.machine.worktrees()),
            secrets: &shared.secrets,
            apart: true,
            ..Job::new(argv(&gate.command), &path, asking.environment.variables.clone(), timeout)
        };
        let done = shell::execute(&job, &|| attention.is_called());
        if done.ended == Ended::Stopped {
            attention.check()?;
        }
        tries += 1;
        duration += done.duration;
        let again = matches!(done.ended, Ended::Killed(_)) || matches!(done.ended, Ended::Exited(129..));
        let outcome = read_outcome(shared, asking, &done, timeout)?;
        outputs.push(done.output);
        if outputs.len() > TRIES_IN_LOG {
            outputs.remove(1);
        }
        // No result about the tree, or not yet.
        if again && transient < RETRIES {
            transient += 1;
            pause(attention)?;
            continue;
        }
        if outcome.status == GateStatus::Fail && fails < gate.flaky_retries {
            fails += 1;
            continue;
        }
        break outcome;
    };
    outcome.tries = tries.max(1);
    outcome.flaky = fails > 0 && outcome.status == GateStatus::Pass;
    outcome.duration_ms = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    if outputs.is_empty() {
        return Ok(outcome);
    }
    let outputs: Vec<&Captured> = outputs.iter().collect();
    match write_log(shared.ctx.machine.home(), &asking.log, &command_line(&gate.command), &outputs) {
        Ok(()) => {
            let log = asking.log.strip_prefix(&root).unwrap_or(&asking.log);
            outcome.log = Some(log.display().to_string());
        }
        // A pass without a readable log does not count.
        Err(error) => {
            outcome.status = GateStatus::CouldNotRun;
            outcome.reason = Some(format!("its log {} cannot be written: {error}", asking.log.display()));
        }
    }
    Ok(outcome)
}

/// Waits before another try, unless the gate is to end.
fn pause(attention: &Attention<'_>) -> Result<()> {
    let until = Instant::now() + RETRY_AFTER;
    while Instant::now() < until {
        attention.check()?;
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// The directory to run it in, or why it cannot run.
fn prepare(shared: &mut Shared<'_>, asking: &Asking<'_>) -> Result<PathBuf, String> {
    let in_words = |failure: Failure| one_line(&failure.message);
    let worktree = shared.worktree().map_err(in_words)?;
    let path = worktree.ready().map_err(in_words)?.to_owned();
    if let Some(report) = asking.gate.report.as_ref().filter(|report| worktree.is_tracked(report)) {
        return Err(format!(
            "its report `{report}` is a file that git tracks, so its content proves nothing about this run"
        ));
    }
    // The files left by the previous gate are gone by now.
    shared.ctx.check_disk().map_err(in_words)?;
    if let Some(report) = &asking.gate.report {
        // A report from before this run proves nothing.
        let file = report_in(&path, report)?;
        match fs::remove_file(&file) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(format!("its former report `{report}` cannot be removed: {error}"));
            }
            _ => {}
        }
    }
    Ok(path)
}

/// Git's messages are long and give advice; here the cause is enough.
fn one_line(message: &str) -> String {
    let advice = |line: &&str| line.trim().is_empty() || line.trim_start().starts_with("hint:");
    let mut lines = message.lines().filter(|line| !advice(line));
    let first = lines.next().unwrap_or_default();
    match lines.find(|line| line.starts_with("fatal:") || line.starts_with("error:")) {
        Some(cause) if !first.contains("fatal:") => format!("{}: {}", shown_line(first), shown_line(cause)),
        _ => shown_line(first).into_owned(),
    }
}

fn report_in(tree: &Path, report: &str) -> Result<PathBuf, String> {
    match leads_inside(tree, Path::new(report)) {
        true => Ok(tree.join(report)),
        false => Err(format!("its report `{report}` is not a file inside of the tree")),
    }
}

fn not_run(gate: &Gate, why: String) -> GateOutcome {
    GateOutcome { reason: Some(why), ..GateOutcome::new(&gate.name, GateStatus::CouldNotRun) }
}

/// The result of one run.
fn read_outcome(
    shared: &mut Shared<'_>,
    asking: &Asking<'_>,
    done: &Done,
    timeout: Duration,
) -> Result<GateOutcome> {
    let gate = asking.gate;
    let why = match &done.ended {
        Ended::Exited(code @ (126 | 127)) => {
            let missing = if *code == 127 { "was not found" } else { "could not be started" };
            Some(format!("its command {missing} (exit {code})"))
        }
        Ended::Exited(_) => None,
        Ended::Killed(signal) => Some(format!("it was killed by signal {signal}")),
        Ended::TimedOut => Some(shell::out_of_time(timeout)),
        Ended::Stopped => Some("it was interrupted".to_owned()),
        Ended::NotStarted(why) | Ended::Lost(why) => Some(why.clone()),
    };
    // The report is read before the tree is restored.
    let path = shared.worktree()?.path.clone();
    let report = match &gate.report {
        Some(report) => read_report(&path, report, &shared.secrets),
        None => Ok(None),
    };
    let disturbed = shared.worktree()?.disturbed()?;
    if let Some(disturbed) = disturbed {
        return Ok(not_run(gate, disturbance(&disturbed)));
    }
    let (exit, report) = match (why, report, &done.ended) {
        (Some(why), ..) | (None, Err(why), _) => return Ok(not_run(gate, why)),
        (None, Ok(report), Ended::Exited(exit)) => (*exit, report),
        (None, Ok(_), _) => return Ok(not_run(gate, "it did not finish".to_owned())),
    };
    let (output, stdout) = (done.output.kept(), done.stdout.kept());
    let ran = FinishedCommand {
        exit,
        output: &output,
        stdout: &stdout,
        cut: done.output.dropped > 0 || done.stdout.dropped > 0,
        report: report.as_deref(),
        expected: asking.expected.as_deref(),
        changed: asking.changed.as_ref().map(|(_, lines)| lines),
    };
    let AdapterResult { status, total, passed, hash, reason, failing, untested } =
        crate::gate::judge(gate, &ran);
    let counted = match gate.adapter {
        AdapterKind::Coverage => Some(Counted::Lines),
        AdapterKind::Diag => Some(Counted::Findings),
        _ => None,
    };
    let outcome = GateOutcome::new(&gate.name, status);
    Ok(GateOutcome { total, passed, hash, reason, failing, untested, counted, ..outcome })
}

fn read_report(tree: &Path, report: &str, secrets: &[Secret]) -> Result<Option<Vec<u8>>, String> {
    let file = report_in(tree, report)?;
    if !file.exists() {
        return Ok(None);
    }
    let (bytes, _) = read_whole(&file, LARGEST_REPORT)
        .map_err(|error| format!("its report `{report}` cannot be read: {error}"))?;
    let mut redactor = Redactor::of(secrets);
    let mut clean = redactor.feed(&bytes);
    clean.extend(redactor.finish());
    Ok(Some(clean))
}

fn disturbance(disturbed: &Disturbed) -> String {
    let named = |all: &[String]| list_words(all.iter().take(NAMED).map(|one| shown_line(one).into_owned()));
    match disturbed {
        Disturbed::Gone => "the gate removed its working directory, or made it unusable".to_owned(),
        Disturbed::Settings(names) => format!(
            "the gate changed settings of the repository: {}; check them before you use git here again",
            named(names)
        ),
        Disturbed::HeadMoved(to) => format!("the gate moved the tree under test to {}", to.short()),
        Disturbed::Changed(files) => {
            let more = match files.len().saturating_sub(NAMED) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            format!("the gate changed files of the tree under test: {}{more}", named(files))
        }
    }
}
