//! Reports a bug by the test that shows it: liza takes the test from the caller's checkout, puts it on top of
//! integration as a commit object, and runs it there. Changes no checkout.

use super::gates::ask_one;
use super::ownership::BUG_REFS;
use super::prelude::*;
use crate::board::task::Scope;
use crate::git::private::leads_inside;
use crate::git::{commit, repo};
use crate::policy::gate::GateCommand;

/// How many of the test's last output lines go into the task.
const SHOWN_LINES: usize = 30;
const SHOWN_BYTES: usize = 4000;
const LARGEST_LOG: u64 = 16 * 1024 * 1024;
const MOST_BUGS: u32 = 100_000;

pub struct BugReport {
    pub title: String,
    pub description: String,
    /// The files of the test, relative to the top of the caller's checkout.
    pub tests: Vec<String>,
    pub command: String,
    pub inside: Vec<PathPattern>,
    pub spec: Option<String>,
    pub risk: Risk,
    pub timeout: Option<u64>,
}

/// Makes a task from a test that fails on integration. `dir` is the caller's directory.
pub fn report(ctx: &Context, dir: &Path, report: &BugReport) -> Result<(BugReported, u64)> {
    if let Some(answer) = ctx.answered()? {
        return Ok(answer);
    }
    let snapshot = ctx.read(&Needs::Nothing)?;
    let board = &snapshot.board;
    may_report(ctx, board)?;
    ctx.integration_in_place(board)?;
    ctx.check_disk()?;
    let top = checkout_of(ctx, dir)?;
    check_tests(ctx, &top, &report.tests)?;
    let head = integration_head(ctx, board)?;
    let commit = with_tests(ctx, &top, &head, report)?;
    let outcome = ask_one(ctx, &commit, &as_gate(report))?;
    shows_a_bug(&outcome)?;
    publish(ctx, board, &head, &commit, report, &outcome)
}

/// Checked before any test is run.
fn may_report(ctx: &Context, board: &Board) -> Result<()> {
    let world = World::default();
    let call = Call::new(board.identify(&ctx.credentials)?, &ctx.now, &world);
    Ok(check_reporter(board, &call)?)
}

/// The caller's checkout: the person's own or a worktree of this repository.
fn checkout_of(ctx: &Context, dir: &Path) -> Result<PathBuf> {
    let outside = || {
        Failure::usage(format!("{} is in no checkout of this repository", dir.display()))
            .hint("go to the worktree that contains the test, then run the command again")
    };
    let found = repo::discover(dir).map_err(|_| outside())?;
    if found.repo.common_dir != ctx.repo.common_dir {
        return Err(outside());
    }
    Ok(found.linked.map_or(found.repo.root, |linked| linked.path))
}

fn check_tests(ctx: &Context, top: &Path, tests: &[String]) -> Result<()> {
    let config = ctx.project_config()?;
    if tests.is_empty() {
        return Err(Failure::usage("no test is named").hint("--test PATH, for each file of the test"));
    }
    for test in tests {
        let path =
            RepoPath::new(test).map_err(|why| Failure::usage(format!("--test {}: {why}", quoted(test))))?;
        let is_file = top.join(path.as_str()).symlink_metadata().is_ok_and(|meta| meta.is_file());
        if !is_file || !leads_inside(top, Path::new(path.as_str())) {
            return Err(Failure::usage(format!(
                "--test {} is not a file in {}",
                quoted(test),
                quoted(&top.display().to_string())
            ))
            .hint("paths are relative to the top of your current checkout"));
        }
        if config.tests_among([path.as_str()]).is_empty() {
            return Err(failure!(Code::Value, "{} is not a test file", quoted(test))
                .hint("`tests:` in liza.yaml has the patterns of test files"));
        }
    }
    Ok(())
}

/// Integration with the files of the test, as a commit on no branch.
fn with_tests(ctx: &Context, top: &Path, head: &CommitId, report: &BugReport) -> Result<CommitId> {
    let tree = content::tree_with(top, head, &report.tests)?;
    let who = commit::identity(ctx.root())?.at(ctx.now.wall.0);
    let message = format!("Failing test: {}\n", report.title.lines().next().unwrap_or_default());
    commit_by(ctx, &who, &tree, std::slice::from_ref(head), &message)
}

fn as_gate(report: &BugReport) -> Gate {
    Gate { timeout: report.timeout, ..Gate::new("bug", GateCommand::Shell(report.command.clone())) }
}

/// Makes the ref of the commit, then the task. The ref reserves the number.
fn publish(
    ctx: &Context,
    board: &Board,
    head: &CommitId,
    commit: &CommitId,
    report: &BugReport,
    outcome: &GateOutcome,
) -> Result<(BugReported, u64)> {
    let (id, refname) = free_name(ctx, board, commit)?;
    crash::point("bug.pinned");
    let task = as_task(ctx, board, &id, &refname, head, report, outcome)?;
    let what = ReportBug {
        pins: ctx.pin_specs(std::slice::from_ref(&task))?.pins,
        task,
        commit: commit.clone(),
        command: report.command.clone(),
        outcome: outcome.clone(),
    };
    match ctx.commit(what) {
        Ok(done) => Ok(done.done()),
        Err(failure) => {
            let _ = refs::delete_if_at(&ctx.repo, &refname, commit);
            Err(failure)
        }
    }
}

fn free_name(ctx: &Context, board: &Board, commit: &CommitId) -> Result<(TaskId, String)> {
    for number in 1..MOST_BUGS {
        let id = TaskId::new(&format!("bug-{number}")).map_err(|why| Failure::usage(why.to_string()))?;
        if board.task_alike(&id).is_some() || ctx.store.archived_task(&id)?.is_some() {
            continue;
        }
        let refname = format!("{BUG_REFS}{id}");
        match refs::update(&ctx.repo, &refname, commit, Expected::Absent) {
            Ok(()) => return Ok((id, refname)),
            Err(RefError::Taken { .. } | RefError::Moved { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(Failure::new(Code::IdTaken, "could not generate an unused id for the bug"))
}

fn as_task(
    ctx: &Context,
    board: &Board,
    id: &TaskId,
    refname: &str,
    head: &CommitId,
    report: &BugReport,
    outcome: &GateOutcome,
) -> Result<NewTask> {
    let tests = report.tests.iter().map(|test| {
        PathPattern::new(test).map_err(|why| Failure::usage(format!("--test {}: {why}", quoted(test))))
    });
    let mut inside = report.inside.clone();
    for test in tests.collect::<Result<Vec<_>, _>>()? {
        if !inside.contains(&test) {
            inside.push(test);
        }
    }
    Ok(NewTask {
        title: report.title.clone(),
        description: described(ctx, refname, head, report, outcome),
        spec_ref: report.spec.clone().or_else(|| Some(board.rest.goal.spec_ref.clone())),
        done_when: vec![format!("{} passes", report.command)],
        scope: Scope { inside, outside: Vec::new() },
        risk: report.risk,
        tags: vec!["bug".to_owned()],
        inputs: vec![refname.to_owned()],
        ..NewTask::blank(id.clone())
    })
}

fn described(
    ctx: &Context,
    refname: &str,
    head: &CommitId,
    report: &BugReport,
    outcome: &GateOutcome,
) -> String {
    let paths: Vec<String> = report.tests.iter().map(|test| in_shell(test)).collect();
    let mut text = report.description.trim().to_owned();
    if !text.is_empty() {
        text.push_str("\n\n");
    }
    text.push_str(&format!(
        "A failing test shows it: `{}` on integration at {} with the test on top{}.\n\
         Take the test over after your checkpoint: `git checkout {refname} -- {}`\n",
        report.command,
        head.short(),
        outcome.reason.as_ref().map_or(String::new(), |why| format!(" ({why})")),
        paths.join(" ")
    ));
    let log = outcome.log.as_ref().map(|log| ctx.root().join(log));
    if let Some((bytes, _)) = log.and_then(|log| read_whole(&log, LARGEST_LOG).ok()) {
        text.push_str(&format!("\nThe end of its output:\n{}\n", end_of(&String::from_utf8_lossy(&bytes))));
    }
    text
}

/// A path as one word of a command line.
fn in_shell(path: &str) -> String {
    let plain = path.chars().all(|c| c.is_ascii_alphanumeric() || "-_./".contains(c));
    if plain { path.to_owned() } else { format!("'{}'", path.replace('\'', "'\\''")) }
}

fn end_of(text: &str) -> String {
    let lines: Vec<&str> = text.trim_end().lines().collect();
    let end = lines[lines.len().saturating_sub(SHOWN_LINES)..].join("\n");
    let from = (end.len().saturating_sub(SHOWN_BYTES)..=end.len()).find(|at| end.is_char_boundary(*at));
    end[from.unwrap_or(0)..].to_owned()
}
