//! How a piece of work is ended for an agent that does not end it itself.

use std::time::Duration;

use crate::board::history::Event as Past;
use crate::board::oversight::Intervention;
use crate::board::rules::{Block, HandOff, RecordCrash, Release, ReleaseReview};
use crate::board::{TaskId, Transition};
use crate::flow::briefing::Assignment;
use crate::flow::leftovers::Leftovers;
use crate::policy::halting;
use crate::text::clipped;

use super::super::event::{Event, Kind};
use super::super::output::CAP_MARK;
use super::super::runner::{After, Runner, said};
use super::super::session::Ended;
use super::{CRASH_MARK, LIMIT_HANDOFFS, LIMIT_MARK, left_words};

/// The log has all of the evidence.
const LONGEST_REASON: usize = 2000;

impl Runner {
    /// A limit is reached and the agent did not hand off: its runner does.
    pub(super) fn end_at_limit(
        &mut self,
        assignment: &Assignment,
        why: &str,
        left: Option<&Leftovers>,
    ) -> After {
        // That is no fault of the task, and nobody takes it up until somebody raises the cap.
        let capped = why.starts_with(CAP_MARK);
        match assignment {
            Assignment::Task { task, epoch } => {
                let handoffs = self.board(None).map_or(0, |board| {
                    let of_limit = board.rest.handoff.iter().filter(|handoff| {
                        &handoff.task_id == task && handoff.summary.starts_with(LIMIT_MARK)
                    });
                    of_limit.count()
                });
                let mark = if capped { "" } else { LIMIT_MARK };
                let summary = format!(
                    "{mark}{why}; {}",
                    left.map_or("nothing is known of its worktree".to_owned(), left_words)
                );
                if !capped && handoffs + 1 >= LIMIT_HANDOFFS {
                    let block = Block {
                        task: task.clone(),
                        epoch: Some(*epoch),
                        reason: format!("a limit was reached {LIMIT_HANDOFFS} times; last {summary}"),
                        questions: vec![format!(
                            "Should `{task}` be cut into smaller tasks, or the limits of the role {} be raised?",
                            self.role
                        )],
                    };
                    return self.end_claim(task, block.into());
                }
                let handoff = HandOff {
                    task: task.clone(),
                    epoch: Some(*epoch),
                    summary,
                    next_action: "read the diff of the branch, go on from there, and submit".to_owned(),
                    to_role: None,
                };
                self.end_claim(task, handoff.into())
            }
            Assignment::Review { task } if capped => {
                self.not_now(format!("review {task}"));
                self.end_claim(task, ReleaseReview { task: task.clone() }.into())
            }
            Assignment::Review { task } => {
                let times = self.cut_reviews.entry(task.clone()).or_default();
                *times += 1;
                if *times >= LIMIT_HANDOFFS {
                    let why = format!("reviews of it reached a limit {LIMIT_HANDOFFS} times; last: {why}");
                    return self.give_up_on(assignment, why);
                }
                self.not_now(format!("review {task}"));
                self.end_claim(task, ReleaseReview { task: task.clone() }.into())
            }
            Assignment::Plan { wakes } => {
                self.planned(wakes);
                After::GoOn
            }
        }
    }

    /// Somebody put an end to it. Whoever only ran out of tokens or time is followed by a fresh session; anything else
    /// needs an answer first.
    pub(super) fn halted(
        &mut self,
        assignment: &Assignment,
        halt: &Intervention,
        left: Option<&Leftovers>,
    ) -> After {
        let why = clipped(&halting::reason(halt), LONGEST_REASON).into_owned();
        if halt.behaviour.is_exhaustion() {
            return self.end_at_limit(assignment, &why, left);
        }
        match assignment {
            Assignment::Task { task, epoch } => {
                let left = left.map_or("nothing is known of its worktree".to_owned(), left_words);
                let block = Block {
                    task: task.clone(),
                    epoch: Some(*epoch),
                    reason: format!("{why}; {left}"),
                    questions: halting::questions(halt, task),
                };
                self.end_claim(task, block.into())
            }
            Assignment::Review { task } => {
                // Somebody else's turn, if there is anybody.
                let rest = Duration::from_secs(self.config.overseer.nudge_cooldown_seconds);
                self.rest_from(format!("review {task}"), rest);
                self.end_claim(task, ReleaseReview { task: task.clone() }.into())
            }
            Assignment::Plan { wakes } => {
                self.planned(wakes);
                After::GoOn
            }
        }
    }

    /// Session after session came to nothing: somebody has to look at it.
    pub(super) fn give_up_on(&mut self, assignment: &Assignment, why: String) -> After {
        let question = "What does it need to go on? Its output is under `.liza/runs`.".to_owned();
        match assignment {
            Assignment::Task { task, epoch } => {
                let block =
                    Block { task: task.clone(), epoch: Some(*epoch), reason: why, questions: vec![question] };
                self.end_claim(task, block.into())
            }
            Assignment::Review { task } => {
                let block = Block { task: task.clone(), epoch: None, reason: why, questions: vec![question] };
                self.end_claim(task, block.into())
            }
            Assignment::Plan { wakes } => {
                self.planned(wakes);
                After::GoOn
            }
        }
    }

    /// For the breaker, which sees the crashes of all agents. The runner goes on whether or not it can be put on record.
    pub(super) fn record_crash(&self, ended: &Ended, task: Option<&TaskId>) {
        let error = ended.usage.last_error.as_deref().map_or(String::new(), |error| format!(": {error}"));
        let crash = RecordCrash { task: task.cloned(), text: format!("{}{error}", ended.words()) };
        if let Err(failure) = self.ctx.commit(crash) {
            self.tell(Event::new(Kind::Notice, format!("the crash is not on record: {}", said(&failure))));
        }
    }

    /// What brought two agents down would bring down the next: somebody has to look at it first.
    pub(super) fn let_go_after_crashes(&self, assignment: &Assignment, why: &str) {
        let Assignment::Task { task, epoch } = assignment else {
            return self.let_go(assignment, why);
        };
        let others: Vec<String> = self.board(Some(task)).map_or(Vec::new(), |board| {
            let history = board.task(task).map(|task| task.body().history.clone()).unwrap_or_default();
            history
                .iter()
                .filter(|line| line.event == Past::Released && line.agent != self.agent)
                .filter(|line| line.detail.as_deref().is_some_and(|detail| detail.starts_with(CRASH_MARK)))
                .map(|line| line.agent.to_string())
                .collect()
        });
        if others.is_empty() {
            return self.let_go(assignment, why);
        }
        let block = Block {
            task: task.clone(),
            epoch: Some(*epoch),
            reason: format!("{} and {} crashed on it again and again", others.join(", "), self.agent),
            questions: vec!["What is it about this task? Their output is under `.liza/runs`.".to_owned()],
        };
        self.end_claim(task, block.into());
    }

    /// The agent is given up; others go on with what it leaves.
    pub(super) fn let_go(&self, assignment: &Assignment, why: &str) {
        let what: Transition = match assignment {
            Assignment::Task { task, epoch } => {
                Release { task: task.clone(), epoch: Some(*epoch), reason: why.to_owned() }.into()
            }
            Assignment::Review { task } => ReleaseReview { task: task.clone() }.into(),
            Assignment::Plan { .. } => return,
        };
        if let Err(failure) = self.ctx.commit(what) {
            self.tell(Event::new(Kind::Notice, format!("it could not be let go: {}", said(&failure))));
        }
    }

    pub(super) fn end_claim(&self, task: &TaskId, what: Transition) -> After {
        let kind = match &what {
            Transition::Block(_) => Kind::Blocked,
            Transition::HandOff(_) => Kind::HandedOff,
            _ => Kind::Released,
        };
        let text = match &what {
            Transition::Block(block) => block.reason.clone(),
            Transition::HandOff(handoff) => handoff.summary.clone(),
            _ => String::new(),
        };
        let event = match self.ctx.commit(what) {
            Ok(_) => Event::new(kind, text),
            Err(failure) => Event::new(Kind::Notice, format!("it could not be ended: {}", said(&failure))),
        };
        self.tell(event.task(task));
        After::GoOn
    }

    /// Something an agent must be told is not there: nothing is guessed.
    pub(super) fn incomplete(&mut self, assignment: &Assignment, missing: &[String]) -> After {
        let text = format!("the agent cannot be told what it needs; missing: {}", missing.join("; "));
        self.tell(Event::new(Kind::Notice, text.clone()));
        match assignment {
            Assignment::Task { task, epoch } => {
                let block = Block {
                    task: task.clone(),
                    epoch: Some(*epoch),
                    reason: text,
                    questions: vec!["Can what is missing be supplied?".to_owned()],
                };
                self.end_claim(task, block.into())
            }
            Assignment::Review { task } => {
                let block = Block {
                    task: task.clone(),
                    epoch: None,
                    reason: text,
                    questions: vec!["Can what is missing be supplied?".to_owned()],
                };
                self.end_claim(task, block.into())
            }
            Assignment::Plan { wakes } => {
                self.planned(wakes);
                After::GoOn
            }
        }
    }
}
