//! Interventions against an agent that makes no progress. The messages and the record of the reason are one change.

use super::message::post;
use super::prelude::*;

/// One to the agent, one to the planner and one to a person: an intervention writes to no other recipient.
const MOST_MESSAGES: usize = 3;
const LONGEST_SUBJECT: usize = 200;
/// In bytes, as for any message.
const LONGEST_BODY: usize = 8 * 1024;

logged! {
    pub struct Intervene {
        pub agent: AgentId,
        /// The incarnation that was observed: the intervention does not apply to a later one.
        pub incarnation: u64,
        pub task: Option<TaskId>,
        pub epoch: Option<u64>,
        pub behaviour: Behaviour,
        pub action: Action,
        pub severity: Gravity,
        pub confidence: f64,
        always pub evidence: Vec<String>,
        /// The limits for interventions by liza or an overseer; a person has none.
        pub bounds: Option<Bounds>,
        /// The messages: to the agent, and to the planner if the agent is halted.
        pub messages: Vec<Draft>,
    }

    /// How often liza may intervene for one agent and one task. Checked here again, because two watchers that run at
    /// the same time come to the same decision.
    #[derive(Copy, Eq)]
    pub struct Bounds {
        pub cooldown_seconds: u64,
        pub max_nudges: u32,
        /// A question is not repeated within this time; without it, the cooldown applies to questions too.
        pub answer_seconds: Option<u64>,
        /// The number of the last intervention for this agent and work that the decision considered: a person may have
        /// answered meanwhile.
        pub decided_after: Option<u64>,
        /// The limit of nudges counts for all work of the agent; otherwise for this task.
        pub all_work: bool,
    }
}

impl Intervene {
    fn is_whole(&self) -> Result<(), Refusal> {
        let wrong = |what: String| {
            Err(Refusal::new(Code::Value, what)
                .hint(format!(
                    "1 to {EVIDENCE_LINES} lines of evidence, each of at most {EVIDENCE_CHARS} characters, say what was seen"
                )))
        };
        if self.evidence.is_empty() || self.evidence.iter().any(|line| line.trim().is_empty()) {
            return wrong("an intervention needs evidence".to_owned());
        }
        if self.evidence.len() > EVIDENCE_LINES {
            return wrong(format!("the evidence has {} lines", self.evidence.len()));
        }
        if let Some(line) = self.evidence.iter().find(|line| line.chars().count() > EVIDENCE_CHARS) {
            return wrong(format!("a line of the evidence has {} characters", line.chars().count()));
        }
        if !(0.0..=1.0).contains(&self.confidence) {
            return wrong(format!("the confidence is {}; it goes from 0 to 1", self.confidence));
        }
        let addressed = |draft: &Draft| match &draft.to {
            Recipient::One(id) => id == &self.agent || id.is_human(),
            Recipient::Role(role) => role == &Role::planner(),
        };
        let long = |draft: &Draft| {
            draft.subject.chars().count() > LONGEST_SUBJECT || draft.body.len() > LONGEST_BODY
        };
        if self.messages.len() > MOST_MESSAGES
            || self.messages.iter().any(|draft| !addressed(draft) || long(draft))
        {
            return wrong(
                "an intervention writes only short messages to the agent, the planner and a person"
                    .to_owned(),
            );
        }
        Ok(())
    }

    /// An observation applies only to the claim it was made on.
    fn claim_stands(&self, board: &Board) -> Result<(), Refusal> {
        let Some(id) = &self.task else { return Ok(()) };
        let task = find(board, id)?;
        let held = [&task.lease, &task.review_lease]
            .into_iter()
            .flatten()
            .any(|lease| lease.agent == self.agent && lease.incarnation == self.incarnation);
        if held && self.epoch.is_none_or(|epoch| epoch == task.epoch) {
            return Ok(());
        }
        Err(refusal!(Code::Epoch, "`{}` no longer holds `{id}` by the claim that was observed", self.agent)
            .hint("look again: `liza overseer`")
            .detail("task", id.as_str())
            .detail("epoch", task.epoch))
    }

    fn is_bounded(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        let past = || {
            let all = board.rest.interventions.iter();
            all.filter(|one| one.concerns(&self.agent, self.incarnation, self.task.as_ref()))
        };
        let again = "wait until the last intervention has had time to work; `liza overseer` shows it";
        let working = |task: &TaskId| board.task(task).is_some_and(|task| task.status == Status::Working);
        // A runner may ignore the order of a detector, but it obeys an order of a person or an agent.
        let outdone = |one: &Intervention| self.bounds.is_none() && one.confidence < self.confidence;
        // A halt that no runner obeyed does not prevent the next halt for ever.
        let has_its_time = |one: &Intervention| {
            let age = call.now.wall.since(one.time);
            self.bounds.is_none_or(|bounds| u64::try_from(age).is_ok_and(|age| age < bounds.cooldown_seconds))
        };
        if self.action == Action::Halt
            && self.task.as_ref().is_some_and(working)
            && past().any(|one| {
                one.action == Action::Halt && one.epoch == self.epoch && !outdone(one) && has_its_time(one)
            })
        {
            return Err(refusal!(Code::Limit, "`{}` is being halted already", self.agent).hint(again));
        }
        let Some(bounds) = self.bounds else { return Ok(()) };
        if bounds.decided_after.is_some_and(|last| past().any(|one| one.number() > last)) {
            return Err(refusal!(
                Code::Limit,
                "another intervention for `{}` was recorded meanwhile",
                self.agent
            )
            .hint(again));
        }
        let cooldown = match (self.action, bounds.answer_seconds) {
            (Action::Escalate, Some(seconds)) => seconds,
            _ => bounds.cooldown_seconds,
        };
        let cooldown = i64::try_from(cooldown).unwrap_or(i64::MAX);
        let recent = past().find(|one| {
            one.behaviour == self.behaviour
                && one.action.strength() >= self.action.strength()
                && (0..cooldown).contains(&call.now.wall.since(one.time))
        });
        if let Some(recent) = recent {
            return Err(refusal!(
                Code::Limit,
                "`{}` had a {} for {} at {}, less than {cooldown} s ago",
                self.agent,
                recent.action.as_str(),
                recent.behaviour.as_str(),
                recent.time
            )
            .hint(again));
        }
        let counts = |one: &&Intervention| {
            let here = one.task_id == self.task || bounds.all_work;
            here && one.is_about(&self.agent, self.incarnation) && one.action == Action::Nudge
        };
        let nudges = board.rest.interventions.iter().filter(counts).count();
        if self.action == Action::Nudge && nudges >= bounds.max_nudges as usize {
            return Err(Refusal::new(
                Code::Limit,
                format!("`{}` was nudged {nudges} times; one more would not help", self.agent),
            )
            .hint("halt it: `liza overseer halt AGENT --reason …`, or ask a person"));
        }
        Ok(())
    }
}

outcome!(Intervened { id: String, agent: AgentId, task: Option<TaskId>, action: Action, behaviour: Behaviour, messages: Vec<String> });

impl Verb for Intervene {
    const OPERATION: Option<Operation> = Some(Operation::Oversee);
    type Outcome = Intervened;

    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        // Liza's own interventions must have bounds.
        let by_itself = call.by.is_liza() && self.bounds.is_some();
        if !by_itself && !call.by.has_role(board, &Role::overseer()) {
            return Err(refusal!(Code::Role, "`{}` does not oversee", call.by.id())
                .hint("tell the planner: `liza message send --to role:planner …`"));
        }
        match board.agent(&self.agent) {
            Some(agent) if agent.incarnation == self.incarnation && agent.is_active() => {}
            Some(_) => {
                return Err(Refusal::new(
                    Code::Transition,
                    format!("`{}` was registered again or retired since it was observed", self.agent),
                )
                .hint("look again: `liza overseer`"));
            }
            None => {
                return Err(refusal!(Code::UnknownAgent, "there is no agent `{}` on this board", self.agent)
                    .hint(board.hint_for_agent(&self.agent)));
            }
        }
        self.is_whole()?;
        self.claim_stands(board)?;
        self.is_bounded(board, call)
    }

    fn change(&self, board: &mut Board, call: &Call) -> Self::Outcome {
        let past = &mut board.rest.interventions;
        let id = next_id("intervention", past.iter().map(|one| one.id.as_str()));
        past.push(Intervention {
            id: id.clone(),
            time: call.now.wall,
            agent: self.agent.clone(),
            incarnation: self.incarnation,
            task_id: self.task.clone(),
            epoch: self.epoch,
            behaviour: self.behaviour,
            action: self.action,
            severity: self.severity,
            confidence: self.confidence,
            evidence: self.evidence.clone(),
            by: call.by.id(),
        });
        let too_many = past.len().saturating_sub(INTERVENTIONS_KEPT);
        past.drain(..too_many);
        let from = self.speaker(&call.by);
        let messages: Vec<String> =
            self.messages.iter().map(|draft| post(board, call, from.clone(), draft)).collect();
        Intervened {
            id,
            agent: self.agent.clone(),
            task: self.task.clone(),
            action: self.action,
            behaviour: self.behaviour,
            messages,
        }
    }

    fn drafts(&self) -> &[Draft] {
        &self.messages
    }

    /// The sender of the messages: liza writes as the overseer.
    fn speaker(&self, by: &Actor) -> AgentId {
        if by.is_liza() { AgentId::automatic_overseer() } else { by.id() }
    }
}

/// Whether the claim on this task was halted because of its agent's mistake. Running out of tokens or time is not a
/// mistake.
pub fn was_halted(interventions: &[Intervention], task: &Head) -> bool {
    let Some(lease) = &task.lease else { return false };
    interventions.iter().any(|one| {
        one.action == Action::Halt
            && !one.behaviour.is_exhaustion()
            && one.epoch == Some(task.epoch)
            && one.concerns(&lease.agent, lease.incarnation, Some(&task.id))
    })
}
