//! After a crash of an agent's command: starts it again, gives up, or blocks its task.

use super::super::prelude::*;
use super::super::runner::{After, Left, Runner};
use super::super::session::Ended;
use super::failures::Trouble;
use crate::board::history::Event as Past;
use crate::policy::restart::{questions_after_crashes, task_is_to_blame};
use crate::text::list_words;

/// First words of the reason for releasing a crashing agent's task.
const CRASH_MARK: &str = "the agent crashed 3 times in 5 minutes";

impl Runner {
    /// What the runner does after a crash; none if it starts the agent again now.
    pub(super) fn after_crash(
        &mut self,
        assignment: &Assignment,
        ended: &Ended,
        task: Option<&TaskId>,
        trouble: &Trouble,
        words: &str,
    ) -> Option<After> {
        let after = self.crashes.note(self.began.elapsed());
        self.record_failure(trouble, words, task);
        let code = ended.words();
        let words = if words.starts_with(&code) { words.to_owned() } else { format!("{code}; {words}") };
        let gave_up = format!("{CRASH_MARK}, last with {words}");
        if let Some((task, why)) = task.and_then(|task| Some((task, self.to_blame(task)?))) {
            self.emit_failure(trouble, format!("{words}; its task is blocked"), Some(task));
            if self.redispatch_after_crashes(assignment, ended, &why).is_none() {
                self.block(assignment, why, questions_after_crashes(task));
            }
            let gives_up = after == AfterCrash::GiveUp;
            return Some(if gives_up { After::Leave(Left::GaveUp(gave_up)) } else { After::GoOn });
        }
        match after {
            AfterCrash::Restart(pause) => {
                let text = format!("{words}; started again in {} s", pause.as_secs());
                self.emit_failure(trouble, text, task);
                self.pause(task, pause).map(After::Leave)
            }
            AfterCrash::GiveUp => {
                self.emit_failure(trouble, format!("{words}; not started again"), task);
                // The next dispatch of a slice may use another provider.
                if let Some(after) = self.redispatch_after_crashes(assignment, ended, &gave_up) {
                    let other = self.config.roles.get(&self.role).is_some_and(|role| role.fallback.is_some());
                    return Some(if other { after } else { After::Leave(Left::GaveUp(gave_up)) });
                }
                self.release_after_crashes(assignment, &gave_up);
                Some(After::Leave(Left::GaveUp(gave_up)))
            }
        }
    }

    /// Why the task seems to cause the crashes, if it does.
    fn to_blame(&self, task: &TaskId) -> Option<String> {
        let board = self.board(Some(task)).ok()?;
        task_is_to_blame(&board, task, self.ctx.now.wall)
    }

    /// Blocks the task if it is the second agent to give up on it, however long ago the first one did.
    fn release_after_crashes(&mut self, assignment: &Assignment, why: &str) {
        let Assignment::Task { task, .. } = assignment else {
            return self.release_work(assignment, why);
        };
        let board = self.board(Some(task)).ok();
        let known = board.as_ref().and_then(|board| board.task(task));
        let history = known.map(|task| task.body().history.as_slice()).unwrap_or_default().iter();
        let others: Vec<String> = history
            .filter(|line| line.event == Past::Released && line.agent != self.agent)
            .filter(|line| line.detail.as_deref().is_some_and(|detail| detail.starts_with(CRASH_MARK)))
            .map(|line| line.agent.to_string())
            .collect();
        if others.is_empty() {
            return self.release_work(assignment, why);
        }
        let agents = list_words(others.iter().map(String::as_str).chain([self.agent.as_str()]));
        let why = format!("{agents} crashed on it repeatedly");
        self.block(assignment, why, questions_after_crashes(task));
    }
}
