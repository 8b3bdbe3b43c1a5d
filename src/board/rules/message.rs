//! Messages: who may write to whom, and what is kept of it. The log keeps every one; the board keeps those that somebody
//! may still have to read, and the last of the others.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::board::call::Call;
use crate::board::grants::may_message;
use crate::board::ids::{AgentId, TaskId};
use crate::board::records::{Message, MessageKind, Recipient, next_number};
use crate::board::refusal::{Code, Refusal};
use crate::board::state::Board;
use crate::board::time::Wall;
use crate::board::transition::{Needs, Rule};

use super::common::{find, text_given};

/// How many messages the board keeps that nobody has to read any more.
pub const READ_KEPT: usize = 100;

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

/// Puts a message on the board and returns its id. Whether it may be sent was checked before.
pub fn post(board: &mut Board, call: &Call, from: AgentId, draft: &Draft) -> String {
    let messages = &mut board.rest.messages;
    let id =
        format!("message-{}", next_number("message", messages.iter().map(|message| message.id.as_str())));
    if let Some(asked) = &draft.in_reply_to
        && let Some(question) = messages.iter_mut().find(|message| &message.id == asked)
        && question.requires_response
        && question.answered_by.is_none()
    {
        question.answered_by = Some(id.clone());
    }
    messages.push(Message {
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
    id
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SendMessage {
    pub message: Draft,
}

impl Rule for SendMessage {
    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        text_given("the subject", &self.message.subject)?;
        if let Some(task) = &self.message.task_id {
            find(board, task)?;
        }
        let roles = match &self.message.to {
            Recipient::One(id) if id.is_human() => return Ok(()),
            Recipient::One(id) => match board.agent(id) {
                Some(agent) => agent.roles.clone(),
                None => {
                    return Refusal::new(
                        Code::UnknownAgent,
                        format!("there is no agent `{id}` on this board"),
                    )
                    .hint("`liza agent list` shows them")
                    .err();
                }
            },
            Recipient::Role(role) => vec![role.clone()],
        };
        if roles.iter().any(|role| may_message(board, &call.by, role)) {
            return Ok(());
        }
        Refusal::new(Code::Role, format!("`{}` may not write to {}", call.by.id(), self.message.to))
            .hint("write to the planner: --to role:planner; `liza roles` shows who may write to whom")
            .err()
    }

    fn change(&self, board: &mut Board, call: &Call) -> Value {
        let id = post(board, call, call.by.id(), &self.message);
        json!({ "id": id, "to": self.message.to })
    }

    fn needs(&self, _: &Board) -> Needs {
        Needs::Nothing
    }
}
