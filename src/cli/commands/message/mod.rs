mod compose;
mod inbox;
mod list;
mod reply;
mod request_handoff;
mod send;
mod thread;

use crate::cli::prelude::*;
use crate::flow::mail::Conversation;
use crate::text::indent;

commands! {
    /// Send messages to agents and people, and read yours
    ///
    /// Example: liza message inbox
    pub enum MessageCommand {
        Send(send::SendArgs),
        Reply(reply::ReplyArgs),
        RequestHandoff(request_handoff::HandoffArgs),
        Inbox(inbox::InboxArgs),
        Thread(thread::ThreadArgs),
        List(list::ListArgs),
    }
}

fn shown(conversation: &Conversation) -> Answer {
    let mut text = String::new();
    if conversation.left_out > 0 {
        text.line(format!("({} older ones are left out; -n N shows more)", conversation.left_out));
    }
    conversation.messages.iter().for_each(|message| text.push_str(&words(message)));
    if text.is_empty() {
        text.push_str("no messages");
    }
    let data = json!({ "messages": conversation.messages, "left_out": conversation.left_out });
    Answer::new(data, text).at(conversation.revision)
}

/// A message as text; its body is indented, so that it cannot imitate liza's own lines.
fn words(message: &Message) -> String {
    let task = message.task_id.as_ref().map_or(String::new(), |task| format!(" on {task}"));
    let Message { from, to, time, .. } = message;
    let (id, kind) = (shown_line(&message.id), message.kind.as_str());
    let mut text = format!("{id} {kind} from {from} to {to}{task}, {time}\n");
    let mut notes = Vec::new();
    if let Some(original) = &message.in_reply_to {
        notes.push(format!("in reply to {}", shown_line(original)));
    }
    if let Some(answer) = &message.answered_by {
        notes.push(format!("answered by {}", shown_line(answer)));
    } else if message.requires_response {
        let by = message.respond_by.map_or(String::new(), |due| format!(" by {due}"));
        notes.push(format!("wants an answer{by}"));
    }
    if message.priority != 0 {
        notes.push(format!("priority {}", message.priority));
    }
    if !notes.is_empty() {
        text.line(format!("  ({})", notes.join(", ")));
    }
    text.line(format!("  {}", shown_line(&message.subject)));
    if !message.body.trim().is_empty() {
        text.line(indent(message.body.trim(), 4));
    }
    for (key, value) in &message.payload {
        text.line(format!("    {}={}", shown_line(key), shown_line(value)));
    }
    text
}
