//! Questions about agents that a person has not answered, and the answer that `liza resume` gives.

use super::{Order, issue, live_observations};
use crate::board::Class;
use crate::flow::prelude::*;
use crate::policy::overseer::{Question, open_questions};

/// The unanswered questions about sessions that still run.
pub fn waiting(ctx: &Context, board: &Board, config: &OverseerConfig) -> Vec<Question> {
    let of_session = |question: &Question| {
        let ring = live_observations(ctx, board, &question.agent);
        ring.is_some_and(|ring| {
            let last = ring.session().last();
            last.is_some_and(|last| last.task == question.task && last.started_at <= question.asked)
        })
    };
    open_questions(board, config).into_iter().filter(of_session).collect()
}

/// Answers these questions with "no": the agents continue, and each gets a message about it.
pub fn allow_to_continue(ctx: &Context, board: &Board, questions: &[Question]) -> Result<()> {
    for question in questions {
        let Some(known) = board.agent(&question.agent) else { continue };
        let role = known.roles.first().cloned().unwrap_or_else(Role::coder);
        let order = Order {
            agent: question.agent.clone(),
            incarnation: known.incarnation,
            role,
            task: question.task.clone(),
            epoch: question.task.as_ref().and_then(|task| board.task(task)).map(|task| task.epoch),
            behaviour: question.behaviour,
            action: Action::Nudge,
            severity: Gravity::Warning,
            confidence: 1.0,
            evidence: vec![format!("a person was asked ({}) and lets the agent continue", question.id)],
            text: "A person was asked about you and lets you continue.".to_owned(),
            question: None,
            bounds: None,
        };
        match issue(ctx, &order) {
            Ok(_) => {}
            // The claim has ended meanwhile, and the question with it.
            Err(failure)
                if failure.code.class() == Class::Refused || failure.code.class() == Class::Stale => {}
            Err(failure) => return Err(failure),
        }
    }
    Ok(())
}
