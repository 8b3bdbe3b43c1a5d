//! Messages to the agent that it has not seen.

use super::{Desk, KIB};
use crate::flow::prelude::*;
use crate::prompt::{Block, Bound};

/// How many messages a prompt shows beside the orders, and how much of their text; the agent reads the rest itself.
const SHOWN: usize = 20;
const SHOWN_BYTES: usize = 48 * KIB;

impl Desk<'_> {
    /// Fills in the waiting messages; returns the ids of those shown.
    pub(super) fn mail(&mut self) -> Vec<String> {
        let mut waiting = self.board.unseen_by(self.request.agent);
        // Messages shown to a failed session are shown again.
        let again = self.board.rest.messages.iter();
        waiting.extend(again.filter(|message| {
            self.request.again.contains(&message.id) && message.seen_by.contains(self.request.agent)
        }));
        // Orders come first and are all shown.
        waiting.sort_by_key(|message| !message.kind.is_order());
        let (mut block, mut others) = (Block::none(), 0);
        let mut shown: Vec<String> = Vec::new();
        for message in &waiting {
            let next = letter(message);
            if !message.kind.is_order() {
                let fits = others < SHOWN && block.as_str().len() + next.as_str().len() <= SHOWN_BYTES;
                if !fits && !shown.is_empty() {
                    break;
                }
                others += 1;
            }
            block = block.and(next);
            shown.push(message.id.clone());
        }
        self.facts.block("messages", block);
        self.facts.plain("messages_left", &((waiting.len() - shown.len()) as u64));
        shown
    }
}

/// A message in a fence, below liza's own header.
pub(super) fn letter(message: &Message) -> Block {
    let Message { kind, from, to, time, .. } = message;
    let (id, kind) = (shown_line(&message.id), kind.as_str());
    let on = message.task_id.as_ref().map_or(String::new(), |task| format!(", on {task}"));
    let mut text = format!("{id} {kind} from {from} to {to}, {time}{on}\n");
    if message.is_unanswered() {
        let by = message.respond_by.map_or(String::new(), |due| format!(" by {due}"));
        text.push_str(&format!("an answer is expected{by}\n"));
    }
    text.push_str(&format!("subject: {}\n", shown_line(&message.subject)));
    for (key, value) in &message.payload {
        text.push_str(&format!("{}: {}\n", shown_line(key), indent(value.trim(), 4).trim_start()));
    }
    if !message.body.trim().is_empty() {
        text.push_str(&format!("\n{}\n", message.body.trim()));
    }
    let whole = Bound::new(16 * KIB, format!("`liza message thread {}`", shown_line(&message.id)));
    Block::new(&format!("{}, a message", message.from), &text, &whole)
}
