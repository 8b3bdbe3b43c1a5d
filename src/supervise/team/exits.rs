//! The end of a runner: the run judges what it achieved, releases its work, and lets its agent rest or stops it.

use super::super::prelude::*;
use super::super::runner::failure_text;
use super::TeamRun;
use super::runner_process::{RunnerProcess, TaskState, exit_words};
use crate::flow::sessions;

/// How many more times a planner is started for an occasion after its session was cut off.
const WOKEN_AGAIN: u32 = 2;
/// After this many starts that did not change a task, the run starts no agent for it.
const FUTILE_STARTS: u32 = 3;

impl TeamRun<'_> {
    /// Handles the end of a runner.
    pub(super) fn handle_exit(&mut self, agent: &AgentId) {
        let Some(mut running) = self.runners.remove(agent) else { return };
        // Kill the rest of the runner's process group before its number can be reused.
        running.kill();
        let status = running.reap();
        let runners = self.runner_pids();
        self.orphans.end(&runners);
        let code = status.and_then(|status| status.code());
        let failure = running.failure.take();
        self.judge(&running, failure.as_ref());
        if code != Some(0) || running.limited || running.parked {
            self.return_occasions(&running.start.woken);
        }
        if code == Some(0) || code == Some(5) || self.stopping.is_some() {
            return;
        }
        let (error, mut message) =
            failure.unwrap_or_else(|| (None, format!("its runner {}", exit_words(status))));
        let mut log = sessions::last(self.ctx, Some(agent.as_str()))
            .ok()
            .map(|kept| format!("`liza agent log {}` shows its last session", kept.agent));
        if let Some(own) = running.log().filter(|_| error != Some(ErrorCode::RefusedCrashLoop)) {
            let log_line = format!("the output of its runner is in {}", own.display());
            message = format!("{message}; {log_line}");
            log = Some(log_line);
        }
        // A runner that was killed has not released its work.
        self.free_work_of(agent, &message);
        let is_final =
            |error: ErrorCode| error == ErrorCode::RefusedCrashLoop || error.class() == Class::Usage;
        if error.is_some_and(is_final) {
            self.stop_seat(agent, message, log);
        } else {
            self.rest(agent, message, log);
        }
    }

    /// Judges the result of a piece of work.
    pub(super) fn judge(&mut self, running: &RunnerProcess, failure: Option<&(Option<ErrorCode>, String)>) {
        if !running.parked {
            self.note_futility(running, failure);
        }
        if running.halted && running.start.role.judges() {
            // Another reviewer should take the review.
            self.resting_until.insert(running.start.agent.clone(), Instant::now() + self.halted_rest);
        }
    }

    /// Makes occasions pending again: the planner may not have handled them.
    fn return_occasions(&mut self, woken: &[String]) {
        for key in woken {
            let times = self.given_back.entry(key.clone()).or_default();
            if *times < WOKEN_AGAIN {
                *times += 1;
                self.team.handled.remove(key);
            }
        }
    }

    /// Stops starting this agent.
    pub(super) fn stop_seat(&mut self, agent: &AgentId, why: String, log: Option<String>) {
        let mut text = why.clone();
        if let Some(log) = log {
            if !why.contains(&log) {
                text = format!("{why}; {log}");
            }
            self.team.logs.insert(agent.clone(), log);
        }
        self.team.out.insert(agent.clone(), why);
        self.emit(Event::new(Kind::Stopped, text).agent(agent));
    }

    /// Counts starts that did not change their task: the next start waits, and after too many there is none.
    fn note_futility(&mut self, running: &RunnerProcess, failure: Option<&(Option<ErrorCode>, String)>) {
        let (Some(task), Some(task_before)) = (&running.start.task, running.task_before) else { return };
        let Ok(snapshot) = self.ctx.read(&Needs::Nothing) else { return };
        if TaskState::of(&snapshot.board, task) != Some(task_before) {
            return;
        }
        let (_, times) = self.futile.entry(task.clone()).or_insert((task_before, 0));
        *times += 1;
        let is_enough = *times >= FUTILE_STARTS;
        self.resting_until.insert(running.start.agent.clone(), Instant::now() + back_off());
        if is_enough {
            let why = match (failure, running.notice.as_str()) {
                (Some((_, message)), _) => message.clone(),
                (None, "") => format!("{} started for it and did not claim it", running.start.agent),
                (None, notice) => notice.to_owned(),
            };
            self.team.futile.insert(task.clone(), why);
        }
    }

    /// Releases the agent's task: another agent continues from its commits.
    fn free_work_of(&mut self, agent: &AgentId, why: &str) {
        let Ok(snapshot) = self.ctx.read(&Needs::Nothing) else { return };
        for task in &snapshot.board.tasks {
            let held = |lease: &Option<Lease>| lease.as_ref().is_some_and(|lease| &lease.agent == agent);
            let what: Transition = if task.status == Status::Working && held(&task.lease) {
                let kept = leftovers::gather(self.ctx, &task.id).ok().and_then(|left| left.kept_as);
                let kept = kept.map(|kept| format!("; its uncommitted work is kept as {kept}"));
                let reason = format!("{why}{}", kept.unwrap_or_default());
                Release { task: task.id.clone(), epoch: Some(task.epoch), reason }.into()
            } else if task.judged_by().is_some() && held(&task.review_lease) {
                ReleaseReview { task: task.id.clone() }.into()
            } else {
                continue;
            };
            let event = match self.ctx.commit_any(what) {
                Ok(_) => Event::new(Kind::Released, why),
                Err(failure) => Event::notice(failure_text(&failure)),
            };
            self.emit(event.agent(agent).task(&task.id));
        }
    }

    /// Lets a failed agent rest before its next start; after too many failures, stops it.
    pub(super) fn rest(&mut self, agent: &AgentId, why: String, log: Option<String>) {
        let crashes = self.crashes.entry(agent.clone()).or_insert_with(|| Crashes::pausing(back_off()));
        match crashes.note(self.began.elapsed()) {
            AfterCrash::Restart(pause) => {
                self.resting_until.insert(agent.clone(), Instant::now() + pause);
                let text = format!("{why}; started again in {} s", pause.as_secs());
                self.emit(Event::new(Kind::Crashed, text).agent(agent));
            }
            AfterCrash::GiveUp => {
                self.stop_seat(agent, format!("it failed 3 times in 5 minutes; last: {why}"), log);
            }
        }
    }
}
