//! One act of oversight: the record and its messages, in one change of the board.

use crate::board::oversight::{Behaviour, EVIDENCE_CHARS, EVIDENCE_LINES};
use crate::flow::prelude::*;

/// An order about one agent, with its reason.
#[derive(Debug)]
pub struct Order {
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
    /// The message to the agent.
    pub text: String,
    /// The question to a person.
    pub question: Option<String>,
    pub bounds: Option<Bounds>,
}

/// The recorded intervention.
#[derive(Debug)]
pub struct Ordered {
    pub outcome: Intervened,
    pub revision: u64,
    /// None if a repeated request's record has left the board for the log.
    pub record: Option<Intervention>,
}

const NUDGE_PRIORITY: i64 = 50;
const HALT_PRIORITY: i64 = 100;
/// The limits of the rule: characters of a subject, bytes of a body.
const LONGEST_SUBJECT: usize = 200;
const LONGEST_BODY: usize = 8 * 1024;

pub fn issue(ctx: &Context, order: &Order) -> Result<Ordered> {
    // The overseer acts in its own name: `liza watch` of a person does not act as the person.
    let committed = match order.bounds {
        Some(_) if ctx.is_human() => ctx.commit_as_liza(intervene(order))?,
        _ => ctx.commit(intervene(order))?,
    };
    let id = &committed.outcome.id;
    let record = committed.board.rest.interventions.iter().find(|one| one.id == *id).cloned();
    let (outcome, revision) = committed.done();
    Ok(Ordered { outcome, revision, record })
}

/// Checks first, and changes nothing.
pub fn ask(ctx: &Context, board: &Board, order: &Order) -> Result<()> {
    ctx.ask(board, intervene(order))
}

fn intervene(order: &Order) -> Intervene {
    let evidence: Vec<String> = order
        .evidence
        .iter()
        .filter(|line| !line.trim().is_empty())
        .take(EVIDENCE_LINES)
        .map(|line| clipped(line, EVIDENCE_CHARS).into_owned())
        .collect();
    let messages = messages(order, &evidence);
    Intervene {
        agent: order.agent.clone(),
        incarnation: order.incarnation,
        task: order.task.clone(),
        epoch: order.epoch,
        behaviour: order.behaviour,
        action: order.action,
        severity: order.severity,
        confidence: order.confidence,
        evidence,
        bounds: order.bounds,
        messages,
    }
}

fn messages(order: &Order, evidence: &[String]) -> Vec<Draft> {
    let what = order.behaviour.as_str();
    let seen: String = evidence.iter().map(|line| format!("- {line}\n")).collect();
    let on = order.task.as_ref().map_or(String::new(), |task| format!(" on {task}"));
    let to_agent = |kind: MessageKind, priority: i64| {
        let text =
            (format!("{}: {what}", order.action.as_str()), format!("{}\nWhat was seen:\n{seen}", order.text));
        draft(order, Recipient::One(order.agent.clone()), kind, priority, text)
    };
    let to_person = Recipient::One(AgentId::human());
    match order.action {
        Action::Nudge => vec![to_agent(MessageKind::Nudge, NUDGE_PRIORITY)],
        Action::Halt => {
            // Only a person may replan for the planner.
            let to = if order.role == Role::planner() { to_person } else { Recipient::Role(Role::planner()) };
            let text = (
                format!("{} was halted{on}: {what}", order.agent),
                format!("What was seen:\n{seen}{}", consequence(order)),
            );
            let above = draft(order, to, MessageKind::Escalate, HALT_PRIORITY, text);
            vec![to_agent(MessageKind::Halt, HALT_PRIORITY), above]
        }
        Action::Escalate => {
            let question = order.question.as_deref().unwrap_or("What should liza do with this agent?");
            let text =
                (format!("{}{on}: {what}", order.agent), format!("{question}\nWhat was seen:\n{seen}"));
            vec![
                to_agent(MessageKind::Escalate, NUDGE_PRIORITY),
                draft(order, to_person, MessageKind::Escalate, HALT_PRIORITY, text),
            ]
        }
    }
}

/// The consequence of a halt, for the planner.
fn consequence(order: &Order) -> String {
    match &order.task {
        Some(task) if order.role.judges() => format!("The review of {task} is free for another reviewer."),
        Some(task) if order.behaviour.is_exhaustion() => {
            format!("Its work is kept, and a fresh session continues {task}.")
        }
        Some(task) => format!(
            "Its work is kept and {task} becomes BLOCKED, with questions: `liza task show {task}`, then \
             `liza task unblock {task} --answer …`, or split or replan it with `liza task rescope {task} …`."
        ),
        None => "Its session has ended.".to_owned(),
    }
}

fn draft(
    order: &Order,
    to: Recipient,
    kind: MessageKind,
    priority: i64,
    (subject, body): (String, String),
) -> Draft {
    let subject = clipped(&subject, LONGEST_SUBJECT).into_owned();
    Draft {
        payload: BTreeMap::from([
            ("behaviour".to_owned(), order.behaviour.as_str().to_owned()),
            ("action".to_owned(), order.action.as_str().to_owned()),
        ]),
        task_id: order.task.clone(),
        priority,
        ..Draft::new(to, kind, subject, fitting(body))
    }
}

/// Cuts the evidence to the size of a message; the journal has all of it.
fn fitting(mut text: String) -> String {
    if text.len() > LONGEST_BODY {
        let end =
            (0..=LONGEST_BODY - '…'.len_utf8()).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        text.truncate(end);
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(action: Action, role: Role, line: &str) -> Order {
        Order {
            agent: AgentId::new("coder-1").expect("an id"),
            incarnation: 1,
            role,
            task: TaskId::new("t1").ok(),
            epoch: Some(1),
            behaviour: Behaviour::InfiniteLoop,
            action,
            severity: Gravity::Critical,
            confidence: 0.9,
            evidence: vec![line.to_owned(); 30],
            text: "Stop it.".to_owned(),
            question: None,
            bounds: None,
        }
    }

    #[test]
    fn halt_messages_fit_their_limits() {
        let to = |action, role: Role| -> Vec<String> {
            let made = intervene(&order(action, role, &"ä".repeat(600)));
            assert_eq!((made.evidence.len(), made.evidence[0].chars().count()), (20, 500));
            assert!(made.messages.iter().all(|draft| draft.body.len() <= LONGEST_BODY));
            made.messages.iter().map(|draft| format!("{} {}", draft.kind.as_str(), draft.to)).collect()
        };
        assert_eq!(to(Action::Nudge, Role::coder()), ["nudge coder-1"]);
        assert_eq!(to(Action::Halt, Role::coder()), ["halt coder-1", "escalate role:planner"]);
        assert_eq!(to(Action::Halt, Role::planner()), ["halt coder-1", "escalate human"]);
        assert_eq!(to(Action::Escalate, Role::coder()), ["escalate coder-1", "escalate human"]);
    }
}
