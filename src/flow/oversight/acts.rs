//! One act of oversight: the record and the words that go with it, in one change of the board.

use std::collections::BTreeMap;

use crate::board::oversight::{Action, Behaviour, EVIDENCE_CHARS, EVIDENCE_LINES, Gravity};
use crate::board::records::{MessageKind, Recipient};
use crate::board::rules::{Bounds, Draft, Intervene};
use crate::board::{AgentId, Role, TaskId};
use crate::text::clipped;

use super::super::context::Context;
use super::super::failure::Failure;

/// What is to be done about whom, and why.
#[derive(Debug, Clone, PartialEq)]
pub struct Word {
    pub agent: AgentId,
    pub incarnation: u64,
    pub role: Role,
    pub task: Option<TaskId>,
    pub epoch: Option<u64>,
    pub behaviour: Behaviour,
    pub action: Action,
    pub severity: Gravity,
    pub confidence: f64,
    pub evidence: Vec<String>,
    /// What the agent is told.
    pub text: String,
    /// What a person is asked.
    pub question: Option<String>,
    pub bounds: Option<Bounds>,
}

/// What was put on record.
#[derive(Debug, Clone, PartialEq)]
pub struct Ordered {
    pub data: serde_json::Value,
    pub revision: u64,
}

impl Ordered {
    pub fn id(&self) -> &str {
        self.data["id"].as_str().unwrap_or_default()
    }
}

const NUDGE_PRIORITY: i64 = 50;
const HALT_PRIORITY: i64 = 100;
/// Below what the rule allows.
const LONGEST_SUBJECT: usize = 200;
const LONGEST_BODY: usize = 15_000;

pub fn order(ctx: &Context, word: &Word) -> Result<Ordered, Failure> {
    let committed = ctx.commit(intervene(word))?;
    Ok(Ordered { revision: committed.board.revision, data: committed.outcome })
}

fn intervene(word: &Word) -> Intervene {
    let evidence: Vec<String> = word
        .evidence
        .iter()
        .filter(|line| !line.trim().is_empty())
        .take(EVIDENCE_LINES)
        .map(|line| clipped(line, EVIDENCE_CHARS).into_owned())
        .collect();
    let messages = messages(word, &evidence);
    Intervene {
        agent: word.agent.clone(),
        incarnation: word.incarnation,
        task: word.task.clone(),
        epoch: word.epoch,
        behaviour: word.behaviour,
        action: word.action,
        severity: word.severity,
        confidence: word.confidence,
        evidence,
        bounds: word.bounds,
        messages,
    }
}

fn messages(word: &Word, evidence: &[String]) -> Vec<Draft> {
    let what = word.behaviour.as_str();
    let seen: String = evidence.iter().map(|line| format!("\n- {line}")).collect();
    let on = word.task.as_ref().map_or(String::new(), |task| format!(" on {task}"));
    let to_agent = |kind: MessageKind, priority: i64| {
        let said = (format!("{}: {what}", kind.as_str()), format!("{}\n\nSeen:{seen}", word.text));
        draft(word, Recipient::One(word.agent.clone()), kind, priority, said)
    };
    let above = |to: Recipient, subject: String| {
        let question = word.question.as_deref().unwrap_or("What should be done about it?");
        draft(word, to, MessageKind::Escalate, HALT_PRIORITY, (subject, format!("{question}\n\nSeen:{seen}")))
    };
    match word.action {
        Action::Nudge => vec![to_agent(MessageKind::Nudge, NUDGE_PRIORITY)],
        Action::Halt => {
            // Nobody plans for the planner but a person.
            let to = if word.role == Role::planner() {
                Recipient::One(AgentId::human())
            } else {
                Recipient::Role(Role::planner())
            };
            let subject = format!("{} was halted{on}: {what}", word.agent);
            vec![to_agent(MessageKind::Halt, HALT_PRIORITY), above(to, subject)]
        }
        Action::Escalate => {
            let subject = format!("{}{on}: {what}; a person is asked", word.agent);
            vec![above(Recipient::One(AgentId::human()), subject)]
        }
    }
}

fn draft(
    word: &Word,
    to: Recipient,
    kind: MessageKind,
    priority: i64,
    (subject, body): (String, String),
) -> Draft {
    Draft {
        to,
        kind,
        subject: clipped(&subject, LONGEST_SUBJECT).into_owned(),
        body: clipped(&body, LONGEST_BODY).into_owned(),
        payload: BTreeMap::from([
            ("behaviour".to_owned(), word.behaviour.as_str().to_owned()),
            ("action".to_owned(), word.action.as_str().to_owned()),
        ]),
        task_id: word.task.clone(),
        in_reply_to: None,
        priority,
        requires_response: false,
        respond_by: None,
    }
}
