//! The test and sweep commands of a person: bounded, logged, and confined like gates.

use super::Lab;
use super::lab::BY_SIGNAL;
use crate::experiment::Ended;
use crate::flow::capture::write_log;
use crate::flow::prelude::*;
use crate::flow::shell::{self, Done, Job, by_shell, execute};
use crate::policy::gate::GateCommand;

/// A command, and the facts about its run that it gets.
pub struct CommandRequest<'a> {
    pub command: &'a GateCommand,
    pub worktree: &'a Path,
    /// Relative to the root of the worktree.
    pub cwd: Option<&'a str>,
    pub timeout: Duration,
    pub log: &'a Path,
    pub temporary: &'a Path,
    pub run_id: &'a str,
    pub slot: u32,
}

pub struct CommandOutcome {
    pub ended: Ended,
    /// Why it counts as failed; none if it exited with 0.
    pub problem: Option<String>,
    /// Why it was ended early: a signal, or ABORT.
    pub stopped: Option<&'static str>,
}

pub fn run(lab: &Lab, request: &CommandRequest<'_>) -> CommandOutcome {
    let dir = request.worktree.join(request.cwd.unwrap_or_default());
    let mut env = lab.command_environment();
    for (name, value) in [
        ("TMPDIR", request.temporary.as_os_str().to_owned()),
        ("LIZA_EXPERIMENT_RUN", request.run_id.into()),
        ("LIZA_EXPERIMENT_SLOT", request.slot.to_string().into()),
    ] {
        env.retain(|(known, _)| known != name);
        env.push((name.into(), value));
    }
    let (argv, words): (Vec<OsString>, String) = match request.command {
        GateCommand::Shell(text) => (by_shell(text), text.clone()),
        GateCommand::Argv(words) => (words.iter().map(OsString::from).collect(), words.join(" ")),
    };
    let job = Job::new(argv, &dir, env, request.timeout);
    let (held_for, ceiling) = (Some(lab.machine.home()), Some(lab.worktrees.as_path()));
    let job = Job { held_for, ceiling, secrets: &lab.secrets, ..job };
    let done = execute(&job, &|| lab.must_end().is_some());
    let _ = write_log(&lab.runs, request.log, &lab.redacted(&words), &[&done.output]);
    let stopped = if done.ended == shell::Ended::Stopped { lab.must_end().or(Some(BY_SIGNAL)) } else { None };
    outcome_of(&done, request.timeout, stopped)
}

fn outcome_of(done: &Done, timeout: Duration, stopped: Option<&'static str>) -> CommandOutcome {
    let (exit_code, problem) = match &done.ended {
        shell::Ended::Exited(0) => (Some(0), None),
        shell::Ended::Exited(code) => (Some(*code), Some(format!("exit {code}"))),
        shell::Ended::Killed(signal) => {
            (Some(128 + signal), Some(format!("it was killed by signal {signal}")))
        }
        shell::Ended::TimedOut => (None, Some(shell::out_of_time(timeout))),
        shell::Ended::Stopped => (None, Some("it was interrupted".to_owned())),
        shell::Ended::NotStarted(why) | shell::Ended::Lost(why) => (None, Some(why.clone())),
    };
    let ended = Ended { exit_code, seconds: done.duration.as_secs_f64() };
    CommandOutcome { ended, problem, stopped }
}
