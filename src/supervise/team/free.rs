//! Reuses a runner that has done its piece of work, so that the next piece needs no new start and registration.

use super::super::prelude::*;
use super::TeamRun;
use super::runner_process::TaskState;
use crate::policy::run::Start;
use crate::store::files::FileIdentity;

/// How long a runner without work is kept while others work.
const KEPT: Duration = Duration::from_secs(5);

impl TeamRun<'_> {
    /// Records that a runner's piece of work is done.
    pub(super) fn freed(&mut self, agent: &AgentId) {
        let Some(mut running) = self.runners.remove(agent) else { return };
        self.judge(&running, None);
        running.free();
        self.runners.insert(agent.clone(), running);
    }

    /// Gives the work to a free runner of the agent. A runner with outdated settings is dismissed instead; its seat stays taken
    /// until it has ended.
    pub(super) fn hand_over(&mut self, start: &Start, task_before: Option<TaskState>) -> bool {
        let settings = settings(self.ctx);
        let Some(running) = self.runners.get_mut(&start.agent) else { return false };
        if running.settings == settings {
            running.hand(start.clone(), task_before);
        } else {
            running.dismiss();
        }
        true
    }

    /// Dismisses idle runners: all of them if no other runner works. Returns whether any runner is left.
    pub(super) fn dismiss_free(&mut self, others_work: bool) -> bool {
        for running in self.runners.values_mut() {
            if running.free_since.is_some_and(|since| !others_work || since.elapsed() >= KEPT) {
                running.dismiss();
            }
        }
        !self.runners.is_empty()
    }
}

/// The identity of liza.yaml.
pub(super) fn settings(ctx: &Context) -> Option<FileIdentity> {
    FileIdentity::at(&ctx.root().join("liza.yaml")).ok()
}
