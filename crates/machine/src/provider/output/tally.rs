//! Counting things that are reported more than once.

use std::collections::VecDeque;

use super::super::usage::{Tokens, Usage};

/// Reports of one thing come close together; this many things are remembered.
const REMEMBERED: usize = 128;

/// The ids that came recently.
#[derive(Debug, Default)]
pub struct Seen {
    ids: VecDeque<String>,
}

impl Seen {
    /// Whether this id is new. A missing id always counts as new.
    pub fn first(&mut self, id: Option<&str>) -> bool {
        let Some(id) = id else { return true };
        if self.ids.iter().any(|known| known == id) {
            return false;
        }
        if self.ids.len() == REMEMBERED {
            self.ids.pop_front();
        }
        self.ids.push_back(id.to_owned());
        true
    }
}

impl Tokens {
    /// The increase over the former figure of the same thread. A smaller figure is not a sum of the thread.
    fn beyond(self, former: Self) -> Self {
        let grown =
            self.input >= former.input && self.output >= former.output && self.cached >= former.cached;
        match grown {
            true => Self {
                input: self.input - former.input,
                output: self.output - former.output,
                cached: self.cached - former.cached,
            },
            false => self,
        }
    }

    /// The same for counters of a whole thread, which continue where a former session ended.
    pub fn replace_of_thread(self, usage: &mut Usage) {
        if self.is_none() {
            return;
        }
        let former = usage.former.as_ref().filter(|(session, _)| usage.session.as_ref() == Some(session));
        let own = former.map_or(self, |(_, former)| self.beyond(*former));
        usage.thread = Some(self);
        usage.input_tokens = own.input;
        usage.output_tokens = own.output;
        usage.cached_tokens = own.cached;
    }

    pub fn is_none(self) -> bool {
        self == Self::default()
    }

    pub fn add_to(self, usage: &mut Usage) {
        usage.input_tokens += self.input;
        usage.output_tokens += self.output;
        usage.cached_tokens += self.cached;
    }

    /// For counters that grow: a later non-zero figure replaces the earlier ones.
    pub fn replace(self, usage: &mut Usage) {
        if !self.is_none() {
            usage.input_tokens = self.input;
            usage.output_tokens = self.output;
            usage.cached_tokens = self.cached;
        }
    }
}

/// Messages whose tokens are reported again with every part of them.
#[derive(Debug, Default)]
pub struct Messages {
    known: VecDeque<(String, Tokens)>,
}

impl Messages {
    /// Adds what is new; returns whether the message is new.
    pub fn add_report(&mut self, id: Option<&str>, tokens: Tokens, usage: &mut Usage) -> bool {
        let Some(id) = id else {
            tokens.add_to(usage);
            return true;
        };
        if let Some((_, before)) = self.known.iter_mut().find(|(known, _)| known == id) {
            let grown = |now: u64, before: &mut u64| {
                let more = now.saturating_sub(*before);
                *before += more;
                more
            };
            Tokens {
                input: grown(tokens.input, &mut before.input),
                output: grown(tokens.output, &mut before.output),
                cached: grown(tokens.cached, &mut before.cached),
            }
            .add_to(usage);
            return false;
        }
        if self.known.len() == REMEMBERED {
            self.known.pop_front();
        }
        self.known.push_back((id.to_owned(), tokens));
        tokens.add_to(usage);
        true
    }
}

/// Whether the model is answering: everything it says and calls until a tool answers is one turn.
#[derive(Debug, Default)]
pub struct Turns {
    answering: bool,
}

impl Turns {
    pub fn model(&mut self, usage: &mut Usage) {
        if !self.answering {
            usage.turns += 1;
        }
        self.answering = true;
    }

    pub fn tool_answered(&mut self) {
        self.answering = false;
    }
}
