//! The end of a run: asks runners to end, asks again, then kills them, each after its grace time.

use super::super::prelude::*;
use super::runner_process::{RunnerProcess, Wake};
use super::{Outcome, TeamRun};

impl TeamRun<'_> {
    /// Kills runners whose grace time is over. Returns whether the run stops waiting for them.
    pub(super) fn kill_what_stays(&self) -> bool {
        let Some(at) = self.kill_at.filter(|at| Instant::now() >= *at) else { return false };
        self.runners.values().for_each(RunnerProcess::kill);
        Instant::now() >= at + at_once()
    }

    /// The first signal asks all runners to end; after the second the run waits only briefly, after the third not at all.
    pub(super) fn stop(&mut self, signal: i32) {
        self.signals += 1;
        self.stopping = Some(Outcome::Signal(signal));
        self.runners.values().for_each(RunnerProcess::ask_to_end);
        self.kill_at = match self.signals {
            1 => None,
            2 => Some(Instant::now() + at_once()),
            _ => self.kill_at.map(|at| at.min(Instant::now())),
        };
        if !self.runners.is_empty() {
            self.emit(Event::notice(match self.signals {
                1 => "stopping: agents save their work and end; a second Ctrl-C ends them at once",
                _ => "ending all agents at once; their work is kept",
            }));
        }
    }

    /// Waits until all runners have ended; a signal shortens the wait.
    fn wait_for_runners(&mut self, patience: Duration) {
        let deadline = Instant::now() + patience;
        loop {
            self.runners.retain(|_, running| !running.is_over());
            if self.runners.is_empty() || Instant::now() >= deadline {
                return;
            }
            if let Ok(Wake::Signal(_)) = self.rx.recv_timeout(Duration::from_millis(20)) {
                return;
            }
        }
    }
}

impl Drop for TeamRun<'_> {
    /// At the end of a run, for whatever reason, its agents get their grace time, unless they had it already.
    fn drop(&mut self) {
        if self.runners.is_empty() {
            return;
        }
        let patience = if self.kill_at.is_some() { Duration::ZERO } else { 2 * self.grace + at_once() };
        self.runners.values().for_each(RunnerProcess::ask_to_end);
        self.wait_for_runners(patience);
        self.runners.values().for_each(RunnerProcess::kill);
        self.wait_for_runners(Duration::from_secs(1));
        let runners = self.runner_pids();
        self.orphans.end_all(&runners);
    }
}
