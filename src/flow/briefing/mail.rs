//! What others wrote to the agent and it has not seen.

use super::{Desk, KIB};
use crate::flow::prelude::*;
use crate::prompt::{Block, Bound};

/// So many messages a prompt tells beside the orders, and so much of their text; the agent reads the rest itself.
const TOLD: usize = 20;
const TOLD_BYTES: usize = 48 * KIB;

impl Desk<'_> {
    /// Fills in what waits for the agent; gives back which of it is told.
    pub(super) fn mail(&mut self) -> Vec<String> {
        let mut waiting = self.board.unseen_by(self.request.agent);
        // What a session was told that came to nothing is told again.
        let again = self.board.rest.messages.iter();
        waiting.extend(again.filter(|message| {
            self.request.again.contains(&message.id) && message.seen_by.contains(self.request.agent)
        }));
        // Orders come first and are all told, however much else there is.
        waiting.sort_by_key(|message| !message.kind.is_order());
        let (mut block, mut others) = (Block::none(), 0);
        let mut told: Vec<String> = Vec::new();
        for message in &waiting {
            let next = letter(message);
            if !message.kind.is_order() {
                let fits = others < TOLD && block.as_str().len() + next.as_str().len() <= TOLD_BYTES;
                if !fits && !told.is_empty() {
                    break;
                }
                others += 1;
            }
            block = block.and(next);
            told.push(message.id.clone());
        }
        self.facts.block("messages", block);
        self.facts.plain("messages_left", &((waiting.len() - told.len()) as u64));
        told
    }
}

/// A message in a fence, with what liza knows of it above.
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
