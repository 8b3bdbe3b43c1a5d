//! The cost of agent sessions, as their runners report it, and the caps that stop new work.

use super::prelude::*;

logged! {
    pub struct RecordUsage {
        pub task: Option<TaskId>,
        pub kind: SessionKind,
        /// The round of the task when the session began: the session may end after the verdict.
        pub round: Option<u32>,
        pub spent: Spent,
    }
}

outcome!(UsageRecorded { agent: AgentId, tokens: u64 });

impl Verb for RecordUsage {
    const OPERATION: Option<Operation> = None;
    type Outcome = UsageRecorded;

    fn check(&self, _: &Board, call: &Call) -> Result<(), Refusal> {
        if call.by.is_human() {
            return Err(refusal!(
                Code::Identity,
                "only an agent reports sessions, and this command has no agent identity"
            )
            .hint("set LIZA_AGENT_ID and LIZA_AGENT_TOKEN_FILE as `liza agent register` printed them"));
        }
        if !(self.spent.cost_usd.is_finite() && self.spent.cost_usd >= 0.0) {
            return Err(refusal!(Code::Value, "the cost of a session is not a number"));
        }
        Ok(())
    }

    fn change(&self, board: &mut Board, call: &Call) -> Self::Outcome {
        board.rest.spent.add(&self.spent);
        if self.task.is_none() {
            board.rest.spent_planning.add(&self.spent);
        }
        if let Actor::Agent { id, .. } = &call.by
            && let Some(agent) = board.rest.agents.get_mut(id)
        {
            agent.spent.add(&self.spent);
        }
        if let Some(task) = self.task.as_ref().and_then(|task| board.task_mut(task)) {
            let (head, body) = task.parts_mut();
            body.spent.add(&self.spent);
            let number = self.round.unwrap_or(head.review_cycles_total + 1);
            let rounds = &mut body.spent_rounds;
            let at = rounds.iter().position(|round| round.round == number).unwrap_or_else(|| {
                rounds.push(RoundSpent { round: number, ..RoundSpent::default() });
                rounds.len() - 1
            });
            match self.kind {
                SessionKind::Review => rounds[at].review.add(&self.spent),
                SessionKind::Work | SessionKind::Plan => rounds[at].work.add(&self.spent),
            }
        }
        UsageRecorded { agent: call.by.id(), tokens: self.spent.tokens() }
    }

    fn needs(&self, board: &Board) -> Needs {
        match &self.task {
            Some(task) if board.task(task).is_some() => Needs::task(task),
            _ => Needs::Nothing,
        }
    }
}

logged! {
    /// A run with a cap begins: earlier spending does not count for it.
    pub struct BeginRun {
        pub owner: Process,
    }
}

outcome!(RunBegun { tokens_before: u64 });

impl Verb for BeginRun {
    const OPERATION: Option<Operation> = None;
    type Outcome = RunBegun;

    fn check(&self, _: &Board, call: &Call) -> Result<(), Refusal> {
        human_only(call, "run the team")
    }

    fn change(&self, board: &mut Board, call: &Call) -> Self::Outcome {
        let spent_before = board.rest.spent;
        board.rest.run = Some(RunMark { owner: self.owner.clone(), time: call.now.wall, spent_before });
        RunBegun { tokens_before: spent_before.tokens() }
    }
}

/// Refuses to start work when a cap is reached. People are not capped.
pub fn check_caps(caps: &Caps, board: &Board, call: &Call, task: Option<&Task>) -> Result<(), Refusal> {
    let Actor::Agent { id, .. } = &call.by else { return Ok(()) };
    let Some(reached) = caps.reached(board, task, Some(id)) else { return Ok(()) };
    Err(refusal!(Code::Spend, "{}, so liza starts no more work", reached.describe())
        .hint(format!("a person may raise `{}` in liza.yaml; take other work until then", reached.setting))
        .detail("setting", reached.setting)
        .detail("subject", reached.subject.as_str())
        .detail("used", reached.used)
        .detail("cap", reached.cap))
}
