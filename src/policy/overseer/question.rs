//! What a person was asked about an agent: what to type for yes and no, and what follows without an answer.

use serde::{Deserialize, Serialize};

use crate::board::oversight::{Action, Behaviour, Intervention};
use crate::board::{AgentId, Board, TaskId, Wall};

use super::config::OverseerConfig;
use super::detection::Detection;
use super::words;

/// A question that waits for a person's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// The intervention that asked it; empty while it is not on record.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub id: String,
    pub agent: AgentId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    pub behaviour: Behaviour,
    /// The first line of the evidence.
    pub seen: String,
    pub asked: Wall,
    /// When the halt follows, or the question is asked again.
    pub due: Wall,
    /// Whether it is the halt that follows.
    pub halts: bool,
    /// What to type for yes.
    pub yes: String,
    /// What to type for no.
    pub no: String,
}

impl Question {
    pub(super) fn about(detection: &Detection, now: Wall, config: &OverseerConfig) -> Self {
        let seen = detection.evidence.first().cloned().unwrap_or_default();
        Self::new(detection.agent.clone(), detection.task.clone(), detection.behaviour, seen, now, config)
    }

    pub fn of_record(one: &Intervention, config: &OverseerConfig) -> Self {
        let seen = one.evidence.first().cloned().unwrap_or_default();
        let question =
            Self::new(one.agent.clone(), one.task_id.clone(), one.behaviour, seen, one.time, config);
        Self { id: one.id.clone(), ..question }
    }

    fn new(
        agent: AgentId,
        task: Option<TaskId>,
        behaviour: Behaviour,
        seen: String,
        asked: Wall,
        config: &OverseerConfig,
    ) -> Self {
        Self {
            id: String::new(),
            task,
            behaviour,
            seen,
            asked,
            due: asked.plus_seconds(config.answer_seconds),
            halts: config.halt_on_critical,
            yes: format!("liza overseer halt {agent} --reason {}", behaviour.as_str()),
            no: format!("liza overseer nudge {agent} --reason \"go on\""),
            agent,
        }
    }

    /// The whole of it, for a person.
    pub fn text(&self) -> String {
        words::question(self, None)
    }

    /// What happens without an answer.
    pub fn otherwise(&self) -> String {
        words::otherwise(self)
    }
}

/// Whether a person, asked about an agent, may have said by this that it may go on: a nudge by hand.
pub fn is_answer(one: &Intervention) -> bool {
    one.action == Action::Nudge && is_by_hand(one) && one.by.is_human()
}

/// Whether it answers this question, which came before it. By twice the time for an answer the question was settled
/// otherwise, and the nudge is about something else.
pub(super) fn answers(one: &Intervention, asked: &Intervention, config: &OverseerConfig) -> bool {
    let seconds = i64::try_from(config.answer_seconds).unwrap_or(i64::MAX);
    is_answer(one) && one.time.since(asked.time) < seconds.saturating_mul(2)
}

/// As sure as a detector can be; only a person or an overseer who orders something is surer, and that tells the two apart.
pub const SUREST_DETECTION: f64 = 0.99;

/// Whether a person, or an agent that oversees, has ordered it: nothing is to be seen of their reasons.
pub fn is_by_hand(one: &Intervention) -> bool {
    one.confidence > SUREST_DETECTION
}

/// The questions that wait for an answer, the oldest first: of one agent and behaviour the latest, while the claim stands.
pub fn open_questions(board: &Board, config: &OverseerConfig) -> Vec<Question> {
    let all = &board.rest.interventions;
    let is_open = |at: usize, asked: &Intervention| {
        let later = || all[at + 1..].iter().filter(|one| is_about_same(asked, one));
        asked.action == Action::Escalate
            && claim_stands(board, asked)
            && !later().any(|one| one.action == Action::Halt || answers(one, asked, config))
            && !later().any(|one| one.action == Action::Escalate && one.behaviour == asked.behaviour)
    };
    let open = all.iter().enumerate().filter(|(at, one)| is_open(*at, one));
    open.map(|(_, one)| Question::of_record(one, config)).collect()
}

/// The question that this halt follows, if no person answered it in time.
pub fn unanswered_before<'b>(
    board: &'b Board,
    halt: &Intervention,
    config: &OverseerConfig,
) -> Option<&'b Intervention> {
    let all = &board.rest.interventions;
    let earlier = || all.iter().filter(|one| is_about_same(halt, one) && one.number() < halt.number());
    let asked = earlier().rfind(|one| one.action == Action::Escalate && one.behaviour == halt.behaviour)?;
    let answered = earlier().any(|one| one.number() > asked.number() && answers(one, asked, config));
    let seconds = i64::try_from(config.answer_seconds).unwrap_or(i64::MAX);
    (!answered && halt.time.since(asked.time) >= seconds).then_some(asked)
}

fn is_about_same(one: &Intervention, other: &Intervention) -> bool {
    other.concerns(&one.agent, one.incarnation, one.task_id.as_ref())
}

/// Whether the agent is the one that was meant, and still holds what it held.
pub fn claim_stands(board: &Board, one: &Intervention) -> bool {
    let current = board
        .agent(&one.agent)
        .is_some_and(|agent| agent.is_active() && agent.incarnation == one.incarnation);
    current
        && one.task_id.as_ref().is_none_or(|id| {
            board.task(id).is_some_and(|task| {
                let mut leases = [&task.lease, &task.review_lease].into_iter().flatten();
                one.epoch.is_none_or(|epoch| epoch == task.epoch)
                    && leases.any(|lease| lease.agent == one.agent && lease.incarnation == one.incarnation)
            })
        })
}
