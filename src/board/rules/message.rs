//! Messages: who may write to whom, and what is kept of it. The log keeps every one; the board keeps those that somebody
//! may still have to read, and the last of the others.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::board::call::Call;
use crate::board::grants::{Operation, default_recipients, may_message};
use crate::board::ids::{AgentId, Role, TaskId};
use crate::board::records::{Message, MessageKind, Recipient, message_number, next_number};
use crate::board::refusal::{Code, Refusal};
use crate::board::state::Board;
use crate::board::time::Wall;
use crate::board::transition::{Needs, Rule};

use super::common::{LONGEST_TITLE, find, plans, text_given};

/// How many messages the board keeps that nobody has to read any more.
pub const READ_KEPT: usize = 100;
/// How much text they may have together.
const READ_BYTES: usize = 128 * 1024;
/// How many questions that were seen and never answered.
const QUESTIONS_KEPT: usize = 200;

/// Longest body of a message, and longest payload; what is longer belongs into a file.
pub const LONGEST_BODY: usize = 8 * 1024;
const MOST_PAIRS: usize = 20;
/// How urgent a message may be said to be, either way.
const PRIORITY: std::ops::RangeInclusive<i64> = -100..=100;

/// What may wait for one receiver, and what the board holds of all: it is read by every command.
const UNSEEN: Room = Room { messages: 100, bytes: 128 * 1024 };
const ALL: Room = Room { messages: 1_000, bytes: 1024 * 1024 };

struct Room {
    messages: usize,
    bytes: usize,
}

impl Room {
    /// Whether one more of this size does not fit beside these.
    fn is_full<'m>(&self, held: impl Iterator<Item = &'m Message>, size: usize) -> bool {
        let (count, bytes) = held.fold((0, 0), |(count, bytes), message| (count + 1, bytes + message.size()));
        count >= self.messages || bytes + size > self.bytes
    }
}

/// A message before it has a number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Draft {
    pub to: Recipient,
    #[serde(rename = "type")]
    pub kind: MessageKind,
    pub subject: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub body: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub payload: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_reply_to: Option<String>,
    #[serde(default)]
    pub priority: i64,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub requires_response: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub respond_by: Option<Wall>,
}

impl Draft {
    fn size(&self) -> usize {
        let payload: usize = self.payload.iter().map(|(key, value)| key.len() + value.len()).sum();
        self.subject.len() + self.body.len() + payload
    }

    /// One line to be read in a list, a body and a payload of a bounded size.
    fn check_text(&self) -> Result<(), Refusal> {
        text_given("the subject", &self.subject)?;
        if self.subject.chars().count() > LONGEST_TITLE || self.subject.chars().any(char::is_control) {
            return Refusal::new(
                Code::Value,
                format!("a subject is one line of at most {LONGEST_TITLE} characters"),
            )
            .hint("say the rest in --body, which may come from `@file` or `-`")
            .detail("field", "subject")
            .err();
        }
        let payload: usize = self.payload.iter().map(|(key, value)| key.len() + value.len()).sum();
        for (field, bytes) in [("body", self.body.len()), ("payload", payload)] {
            if bytes > LONGEST_BODY {
                return Refusal::new(
                    Code::Limit,
                    format!("the {field} is {bytes} bytes long; the limit is {LONGEST_BODY}"),
                )
                .hint("put the long form into a file of the repository and name it")
                .detail("field", field)
                .err();
            }
        }
        if self.payload.len() > MOST_PAIRS {
            return Refusal::new(Code::Limit, format!("a payload has at most {MOST_PAIRS} pairs"))
                .hint("put the rest into the body")
                .detail("field", "payload")
                .err();
        }
        if self.payload.keys().any(|key| key.trim().is_empty() || key.chars().any(char::is_control)) {
            return Refusal::new(Code::Value, "a key of the payload is a word")
                .hint("--payload KEY=VALUE")
                .detail("field", "payload")
                .err();
        }
        if !PRIORITY.contains(&self.priority) {
            return Refusal::new(
                Code::Value,
                format!("a priority lies between {} and {}", PRIORITY.start(), PRIORITY.end()),
            )
            .hint("0 is usual; 50 is a nudge, 100 is a halt")
            .err();
        }
        if self.respond_by.is_some() && !self.requires_response {
            return Refusal::new(Code::Incomplete, "a message that needs no answer has no time for one")
                .hint("--requires-response with --within")
                .err();
        }
        Ok(())
    }
}

/// Why there is no room for it, if there is none.
fn crowded(board: &Board, draft: &Draft) -> Option<&'static str> {
    let waiting = board.rest.messages.iter().filter(|message| message.to == draft.to);
    if UNSEEN.is_full(waiting.filter(|message| board.is_unseen(message)), draft.size()) {
        return Some("has not read what was sent before");
    }
    ALL.is_full(board.rest.messages.iter(), draft.size())
        .then_some("cannot be sent more: the board holds as many messages as it may")
}

/// Puts a message on the board and returns its id. Whether it may be sent was checked before; where there is no room, it
/// takes the place of the oldest of its kind from the same sender that its receiver has not seen.
///
/// A rule that calls this says so with `Rule::drafts`.
pub fn post(board: &mut Board, call: &Call, from: AgentId, draft: &Draft) -> String {
    let number = next_number("message", board.rest.messages.iter().map(|message| message.id.as_str()));
    let id = format!("message-{number}");
    let asked =
        board.rest.messages.iter().position(|message| Some(&message.id) == draft.in_reply_to.as_ref());
    if let Some(at) = asked
        && board.rest.messages[at].is_unanswered()
        && board.is_for(&board.rest.messages[at], &from)
    {
        board.rest.messages[at].answered_by = Some(id.clone());
    }
    if crowded(board, draft).is_some() {
        let alike = |message: &Message| {
            message.from == from
                && message.kind == draft.kind
                && message.to == draft.to
                && board.is_unseen(message)
        };
        if let Some(oldest) = board.rest.messages.iter().position(alike) {
            board.rest.messages.remove(oldest);
        }
    }
    board.rest.messages.push(Message {
        id: id.clone(),
        time: call.now.wall,
        from,
        to: draft.to.clone(),
        kind: draft.kind,
        subject: draft.subject.clone(),
        body: draft.body.clone(),
        payload: draft.payload.clone(),
        task_id: draft.task_id.clone(),
        in_reply_to: draft.in_reply_to.clone(),
        priority: draft.priority,
        requires_response: draft.requires_response,
        respond_by: draft.respond_by,
        answered_by: None,
        seen_by: Vec::new(),
    });
    let_go_of_read(board);
    id
}

/// Takes the oldest of those off the board that nobody waits for; the log has them. The newest stays whatever it is: its
/// number must not be given twice.
fn let_go_of_read(board: &mut Board) {
    let (mut read, mut bytes, mut questions) = (0, 0, 0);
    let mut keep: Vec<bool> = Vec::with_capacity(board.rest.messages.len());
    for message in board.rest.messages.iter().rev() {
        let kept = if keep.is_empty() || board.is_unseen(message) {
            true
        } else if message.is_unanswered() {
            questions += 1;
            questions <= QUESTIONS_KEPT
        } else {
            read += 1;
            bytes += message.size();
            read <= READ_KEPT && bytes <= READ_BYTES
        };
        keep.push(kept);
    }
    board.rest.messages.retain(|_| keep.pop().unwrap_or(true));
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SendMessage {
    pub message: Draft,
}

impl Rule for SendMessage {
    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        let draft = &self.message;
        draft.check_text()?;
        if let Some(task) = &draft.task_id {
            find(board, task)?;
        }
        if let Some(asked) = &draft.in_reply_to {
            // One that has left the board may still be replied to.
            let last = board.rest.messages.iter().map(Message::number).max().unwrap_or(0);
            if !message_number(asked).is_some_and(|number| (1..=last).contains(&number)) {
                return Refusal::new(Code::UnknownRecord, format!("there is no message `{asked}`"))
                    .hint("`liza message inbox` and `liza message list` show them")
                    .err();
            }
        }
        check_kind(board, call, draft.kind)?;
        check_pair(board, call, draft)?;
        // A control message finds its place.
        match crowded(board, draft).filter(|_| !draft.kind.is_control()) {
            None => Ok(()),
            Some(why) => Refusal::new(Code::Limit, format!("{} {why}", draft.to))
                .hint("wait for an answer; `liza message list` shows what waits")
                .detail("to", draft.to.to_string())
                .err(),
        }
    }

    fn change(&self, board: &mut Board, call: &Call) -> Value {
        let id = post(board, call, call.by.id(), &self.message);
        json!({ "id": id, "to": self.message.to })
    }

    fn needs(&self, _: &Board) -> Needs {
        Needs::Nothing
    }

    fn drafts(&self) -> &[Draft] {
        std::slice::from_ref(&self.message)
    }
}

/// Some things are only for some to say.
fn check_kind(board: &Board, call: &Call, kind: MessageKind) -> Result<(), Refusal> {
    let (may, who) = match kind {
        MessageKind::Nudge | MessageKind::Halt | MessageKind::Resume => {
            (call.by.has_role(board, &Role::overseer()), "people and overseers")
        }
        MessageKind::ReviewFeedback | MessageKind::ReviewApproved => {
            let reviews = call.by.has_any_role(board, &[Role::code_reviewer(), Role::red_team()]);
            let denied = |id: &AgentId| {
                board.agent(id).is_some_and(|agent| agent.grants.denied.contains(&Operation::Review))
            };
            (reviews && !denied(&call.by.id()), "those who may review")
        }
        MessageKind::TaskAssignment => {
            return plans(board, call, "assign tasks");
        }
        _ => return Ok(()),
    };
    if may {
        return Ok(());
    }
    Refusal::new(
        Code::Role,
        format!("`{}` may not send a {}: that is for {who}", call.by.id(), kind.as_str()),
    )
    .hint("ask for what you need: --type request_input, or --type escalate if somebody has to decide")
    .err()
}

/// What anybody may write to a person.
const TO_PEOPLE: [MessageKind; 3] =
    [MessageKind::Escalate, MessageKind::RequestInput, MessageKind::RequestClarification];

/// Whether this sender may write to this receiver.
fn check_pair(board: &Board, call: &Call, draft: &Draft) -> Result<(), Refusal> {
    if let Recipient::One(id) = &draft.to
        && !id.is_human()
        && board.agent(id).is_none()
    {
        return Refusal::new(Code::UnknownAgent, format!("there is no agent `{id}` on this board"))
            .hint("`liza agent list` shows them; --to role:ROLE reaches everybody of a role")
            .err();
    }
    if call.by.is_human() || is_answer(board, call, draft) {
        return Ok(());
    }
    let leads = call.by.has_any_role(board, &[Role::planner(), Role::overseer()]);
    let allowed = match &draft.to {
        Recipient::One(id) if id.is_human() => leads || TO_PEOPLE.contains(&draft.kind),
        Recipient::One(id) if id.is_same(&call.by.id()) => false,
        Recipient::One(id) => board
            .agent(id)
            .is_some_and(|agent| agent.roles.iter().any(|role| may_message(board, &call.by, role))),
        Recipient::Role(role) => may_message(board, &call.by, role),
    };
    if allowed {
        return Ok(());
    }
    let roles = reachable(board, &call.by.id());
    let people: Vec<&str> = TO_PEOPLE.iter().map(|kind| kind.as_str()).collect();
    let people = if leads { "`human`".to_owned() } else { format!("`human` with {}", people.join(", ")) };
    let hint = if roles.is_empty() {
        format!("you may write to {people}")
    } else {
        format!("you may write to agents of the roles {} (--to role:ROLE), and to {people}", roles.join(", "))
    };
    Refusal::new(
        Code::Role,
        format!("`{}` may not send a {} to {}", call.by.id(), draft.kind.as_str(), draft.to),
    )
    .hint(hint)
    .detail("may_message", roles)
    .err()
}

/// Whether it answers a question, or a word of a person, that was sent to whoever writes now.
fn is_answer(board: &Board, call: &Call, draft: &Draft) -> bool {
    board.rest.messages.iter().any(|message| {
        Some(&message.id) == draft.in_reply_to.as_ref()
            && (message.requires_response || message.from.is_human())
            && board.is_for(message, &call.by.id())
            && draft.to == Recipient::One(message.from.clone())
    })
}

/// The roles an agent may write to.
fn reachable(board: &Board, id: &AgentId) -> Vec<String> {
    let Some(agent) = board.agent(id) else { return Vec::new() };
    let mut roles: Vec<String> = match &agent.grants.may_message {
        Some(roles) => roles.iter().map(Role::to_string).collect(),
        None => agent
            .roles
            .iter()
            .flat_map(|role| default_recipients(role.as_str()))
            .map(|role| (*role).to_owned())
            .collect(),
    };
    roles.sort();
    roles.dedup();
    roles
}

/// Whoever acts has been shown these. Only what was sent to it is marked; the rest is nobody's business.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeeMessages {
    pub ids: Vec<String>,
}

impl Rule for SeeMessages {
    fn check(&self, _: &Board, _: &Call) -> Result<(), Refusal> {
        if self.ids.len() <= ALL.messages {
            return Ok(());
        }
        Refusal::new(Code::Limit, format!("at most {} messages are marked at once", ALL.messages)).err()
    }

    fn change(&self, board: &mut Board, call: &Call) -> Value {
        let by = call.by.id();
        let seen: Vec<usize> = board
            .rest
            .messages
            .iter()
            .enumerate()
            .filter(|(_, message)| {
                self.ids.contains(&message.id) && board.is_for(message, &by) && !message.seen_by.contains(&by)
            })
            .map(|(at, _)| at)
            .collect();
        let mut ids = Vec::with_capacity(seen.len());
        for at in seen {
            let message = &mut board.rest.messages[at];
            message.seen_by.push(by.clone());
            ids.push(message.id.clone());
        }
        let_go_of_read(board);
        json!({ "seen": ids })
    }

    fn needs(&self, _: &Board) -> Needs {
        Needs::Nothing
    }
}
