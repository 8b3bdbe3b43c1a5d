//! Ends a piece of work for an agent that does not end it itself.

use super::super::output::CAP_MARK;
use super::super::prelude::*;
use super::super::runner::{After, Runner, failure_text};
use super::{LIMIT_HANDOFFS, LIMIT_MARK, left_words};
use crate::board::rules::{Block, Edition, HandOff, LIMIT_QUESTIONS, Limit};
use crate::director::Problem;
use crate::text::clipped;

/// The longest reason on the board; the journal has all evidence.
const LONGEST_REASON: usize = 2000;

impl Runner {
    /// Hands off for an agent that reached a limit and did not hand off itself.
    pub(super) fn end_at_limit(
        &mut self,
        assignment: &Assignment,
        why: &str,
        left: Option<&Leftovers>,
    ) -> After {
        // The task is not at fault; no agent takes it until a person raises the cap.
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
                let summary = format!("{mark}{why}; {}", words_of(left));
                if !capped && handoffs + 1 >= LIMIT_HANDOFFS {
                    let reason = format!("a limit was reached {LIMIT_HANDOFFS} times; last {summary}");
                    let question = format!(
                        "Should `{task}` be split into smaller tasks, or the limits of the role {} be raised?",
                        self.role
                    );
                    return self.block(assignment, reason, vec![question]);
                }
                let handoff = HandOff {
                    task: task.clone(),
                    epoch: Some(*epoch),
                    summary,
                    next_action: "read the diff of the branch, go on from there, and submit".to_owned(),
                    to_role: None,
                    package: None,
                    edition: Edition::NOW,
                };
                self.end_claim(task, crate::flow::handoff::with_facts(&self.ctx, handoff).into())
            }
            Assignment::Review { task } => {
                let times = self.cut_reviews.entry(task.clone()).or_default();
                *times += usize::from(!capped);
                if !capped && *times >= LIMIT_HANDOFFS {
                    let why = format!("reviews of it reached a limit {LIMIT_HANDOFFS} times; last: {why}");
                    return self.give_up_on(assignment, why);
                }
                self.release_review(task, tick())
            }
            Assignment::Plan { wakes } => self.planned(wakes),
        }
    }

    /// Ends the work of an agent that asks for a restart too often.
    pub(super) fn end_of_restarts(&mut self, assignment: &Assignment, restarts: u32) -> Option<After> {
        let most = self.board(None).ok()?.config().max_handoffs;
        if restarts < most {
            return None;
        }
        let questions = LIMIT_QUESTIONS.map(str::to_owned).to_vec();
        Some(self.block(assignment, Limit::Handoffs(most).reason(), questions))
    }

    /// Releases the review for other agents; this agent does not take it again during `rest`.
    fn release_review(&mut self, task: &TaskId, rest: Duration) -> After {
        self.rest_from(format!("review {task}"), rest);
        self.end_claim(task, ReleaseReview { task: task.clone() }.into())
    }

    /// The overseer or a person halted the agent. If it only ran out of tokens or time, a fresh session follows; anything
    /// else needs an answer first.
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
            Assignment::Task { task, .. } => {
                let reason = format!("{why}; {}", words_of(left));
                self.block(assignment, reason, halting::questions(halt, task))
            }
            // Another reviewer may take it.
            Assignment::Review { task } => {
                self.release_review(task, Duration::from_secs(self.config.overseer.nudge_cooldown_seconds))
            }
            Assignment::Plan { wakes } => self.planned(wakes),
        }
    }

    /// Blocks the work after several sessions without any change: the planner or a person decides.
    pub(super) fn give_up_on(&mut self, assignment: &Assignment, why: String) -> After {
        let of = assignment.task().map_or_else(|| self.agent.to_string(), TaskId::to_string);
        let question =
            format!("What does the task need to proceed? `liza agent log {of}` shows its last session.");
        self.block(assignment, why, vec![question])
    }

    /// Blocks the task; for a planner, its occasions count as handled.
    pub(super) fn block(&mut self, assignment: &Assignment, reason: String, questions: Vec<String>) -> After {
        let (task, epoch) = match assignment {
            Assignment::Task { task, epoch } => (task, Some(*epoch)),
            Assignment::Review { task } => (task, None),
            Assignment::Plan { wakes } => return self.planned(wakes),
        };
        self.end_claim(
            task,
            Block { task: task.clone(), epoch, reason, questions, from_first_claim: true }.into(),
        )
    }

    /// Releases the work for other agents.
    pub(super) fn release_work(&self, assignment: &Assignment, why: &str) {
        let what: Transition = match assignment {
            Assignment::Task { task, epoch } => {
                Release { task: task.clone(), epoch: Some(*epoch), reason: why.to_owned() }.into()
            }
            Assignment::Review { task } => ReleaseReview { task: task.clone() }.into(),
            Assignment::Plan { .. } => return,
        };
        if let Err(failure) = self.ctx.commit_any(what) {
            self.emit(Event::notice(format!("could not release it: {}", failure_text(&failure))));
        }
    }

    pub(super) fn end_claim(&self, task: &TaskId, what: Transition) -> After {
        let done = match &what {
            Transition::Block(block) => Event::new(Kind::Blocked, block.reason.clone()),
            Transition::HandOff(handoff) => Event::new(Kind::HandedOff, handoff.summary.clone()),
            _ => Event::new(Kind::Released, ""),
        };
        let event = match self.ctx.commit_any(what) {
            Ok(_) => done,
            Err(failure) => Event::notice(format!("could not end the claim: {}", failure_text(&failure))),
        };
        self.emit(event.task(task));
        After::GoOn
    }

    /// Blocks a slice whose dispatch breaks a rule, without starting an agent.
    pub(super) fn invalid_dispatch(&mut self, assignment: &Assignment, problems: &[Problem]) -> After {
        let text = format!("dispatch error: {}", crate::director::reading::listed(problems));
        self.emit(Event::notice(text.clone()));
        self.block(assignment, text, vec!["How should the slice be planned instead?".to_owned()])
    }

    /// Information that the prompt needs is missing: liza does not guess it.
    pub(super) fn incomplete(&mut self, assignment: &Assignment, missing: &[String]) -> After {
        let text = format!("the prompt is incomplete; missing: {}", missing.join("; "));
        self.emit(Event::notice(text.clone()));
        self.block(assignment, text, vec!["Can a person supply the missing information?".to_owned()])
    }
}

fn words_of(left: Option<&Leftovers>) -> String {
    left.map_or("its worktree could not be examined".to_owned(), left_words)
}
