//! The test and sweep commands of a person: bounded, logged, and confined like gates.

use super::Lab;
use crate::experiment::Ended;
use crate::flow::capture::write_log;
use crate::flow::interruption;
use crate::flow::prelude::*;
use crate::flow::shell::{self, Done, Job, by_shell, execute};
use crate::policy::gate::GateCommand;

/// What a command is told about its run.
pub struct Asked<'a> {
    pub command: &'a GateCommand,
    pub worktree: &'a Path,
    /// From the root of the worktree.
    pub cwd: Option<&'a str>,
    pub timeout: Duration,
    pub log: &'a Path,
    pub temporary: &'a Path,
    pub run_id: &'a str,
    pub slot: u32,
}

pub struct Said {
    pub ended: Ended,
    /// Why it counts as failed; none if it exited with 0.
    pub problem: Option<String>,
    pub interrupted: bool,
}

pub fn run(lab: &Lab, asked: &Asked<'_>) -> Said {
    let dir = asked.worktree.join(asked.cwd.unwrap_or_default());
    let mut env = lab.command_environment();
    for (name, value) in [
        ("TMPDIR", asked.temporary.as_os_str().to_owned()),
        ("LIZA_EXPERIMENT_RUN", asked.run_id.into()),
        ("LIZA_EXPERIMENT_SLOT", asked.slot.to_string().into()),
    ] {
        env.retain(|(known, _)| known != name);
        env.push((name.into(), value));
    }
    let (argv, words): (Vec<OsString>, String) = match asked.command {
        GateCommand::Shell(text) => (by_shell(text), text.clone()),
        GateCommand::Argv(words) => (words.iter().map(OsString::from).collect(), words.join(" ")),
    };
    let job = Job::new(argv, &dir, env, asked.timeout);
    let (held_for, ceiling) = (Some(lab.machine.home()), Some(lab.worktrees.as_path()));
    let job = Job { held_for, ceiling, secrets: &lab.secrets, ..job };
    let done = execute(&job, &|| interruption::signal().is_some());
    let _ = write_log(asked.log, &lab.redacted(&words), &[&done.output]);
    judged(&done, asked.timeout)
}

fn judged(done: &Done, timeout: Duration) -> Said {
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
    Said { ended, problem, interrupted: done.ended == shell::Ended::Stopped }
}
