//! What a person was asked about an agent: what to type for yes and no, and what follows without an answer.

use super::{config::OverseerConfig, detection::Detection};
use crate::policy::prelude::*;

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
        let Detection { agent, task, behaviour, evidence, .. } = detection;
        Self::new(agent, task, *behaviour, evidence, now, config)
    }

    pub fn of_record(one: &Intervention, config: &OverseerConfig) -> Self {
        let question = Self::new(&one.agent, &one.task_id, one.behaviour, &one.evidence, one.time, config);
        Self { id: one.id.clone(), ..question }
    }

    fn new(
        agent: &AgentId,
        task: &Option<TaskId>,
        behaviour: Behaviour,
        evidence: &[String],
        asked: Wall,
        config: &OverseerConfig,
    ) -> Self {
        Self {
            id: String::new(),
            task: task.clone(),
            behaviour,
            seen: evidence.first().cloned().unwrap_or_default(),
            asked,
            due: asked.plus_seconds(config.answer_seconds),
            halts: config.halt_on_critical,
            yes: format!("liza overseer halt {agent} --reason {}", behaviour.as_str()),
            no: format!("liza overseer nudge {agent} --reason \"go on\""),
            agent: agent.clone(),
        }
    }

    /// The whole of it, for a person.
    pub fn text(&self) -> String {
        self.text_after("")
    }

    /// One question that is answered with yes or no, the command for both, and what follows without an answer; `nudged` says
    /// what was done before.
    pub(super) fn text_after(&self, nudged: &str) -> String {
        let Self { agent, seen, yes, no, .. } = self;
        let what = match &self.task {
            Some(task) => format!("Shall `{agent}` be halted and `{task}` taken from it?"),
            None => format!("Shall `{agent}` be halted?"),
        };
        let (behaviour, otherwise) = (self.behaviour.as_str(), self.otherwise());
        format!(
            "{what} It shows {behaviour} ({seen}){nudged}. Yes: `{yes}`. No: `{no}`, or `liza resume`. {otherwise}."
        )
    }

    /// What happens without an answer.
    pub fn otherwise(&self) -> String {
        let Self { agent, due, .. } = self;
        if self.halts {
            return format!("Without an answer `{agent}` is halted at {due} if it still does so");
        }
        format!(
            "Without an answer the question is asked again at {due}: `overseer.halt_on_critical` is false"
        )
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

/// As sure as a detector can be; only a person or an overseer who orders something is surer, and that distinguishes the two.
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
