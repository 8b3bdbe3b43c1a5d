//! Questions to a person about an agent: the commands for yes and no, and what happens without an answer.

use super::{config::OverseerConfig, detection::Detection};
use crate::policy::prelude::*;

/// A question that waits for a person's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// The intervention that asked; empty until it is recorded.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub id: String,
    pub agent: AgentId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    pub behaviour: Behaviour,
    /// The first line of the evidence.
    pub seen: String,
    pub asked: Wall,
    /// When the halt follows, or the question is repeated.
    pub due: Wall,
    /// Whether a halt follows.
    pub halts: bool,
    /// The command for yes.
    pub yes: String,
    /// The command for no.
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

    /// The whole question, for a person.
    pub fn text(&self) -> String {
        self.text_after("")
    }

    /// A question to answer with yes or no, both commands, and what happens without an answer; `nudged` says how often
    /// the agent was nudged.
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

/// Whether this is a person's answer that the agent may continue: a nudge by a person.
pub fn is_answer(one: &Intervention) -> bool {
    one.action == Action::Nudge && is_by_hand(one) && one.by.is_human()
}

/// Whether it answers this earlier question. After twice the answer time the question was settled otherwise, and the
/// nudge is about another matter.
pub(super) fn answers(one: &Intervention, asked: &Intervention, config: &OverseerConfig) -> bool {
    let seconds = i64::try_from(config.answer_seconds).unwrap_or(i64::MAX);
    is_answer(one) && one.time.since(asked.time) < seconds.saturating_mul(2)
}

/// The highest confidence of a detector; only orders of a person or an overseer have more, which distinguishes the two.
pub const SUREST_DETECTION: f64 = 0.99;

/// Whether a person or an overseer agent ordered it: snapshots need not show the reason.
pub fn is_by_hand(one: &Intervention) -> bool {
    one.confidence > SUREST_DETECTION
}

/// The questions that wait for an answer, oldest first: for each agent and behaviour the latest, while the claim
/// stands.
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

/// The question before this halt, if no person answered it in time.
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

/// Whether the agent still has the same incarnation and claim.
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
