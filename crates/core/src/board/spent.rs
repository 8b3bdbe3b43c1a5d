//! The cost of work, as far as providers report it.

use super::prelude::*;

#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spent {
    #[serde(default)]
    pub sessions: u64,
    #[serde(default)]
    pub turns: u64,
    #[serde(default)]
    pub tool_calls: u64,
    #[serde(default)]
    pub input_tokens: u64,
    #[serde(default)]
    pub output_tokens: u64,
    #[serde(default)]
    pub cached_tokens: u64,
    /// In US dollars, if the provider reports its price.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cost_usd: f64,
    /// The total time of the sessions.
    #[serde(default)]
    pub seconds: u64,
}

fn is_zero(cost: &f64) -> bool {
    *cost == 0.0
}

impl Spent {
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// The tokens that count against a cap: cached input does not.
    pub fn tokens(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }

    pub fn add(&mut self, more: &Self) {
        self.sessions = self.sessions.saturating_add(more.sessions);
        self.turns = self.turns.saturating_add(more.turns);
        self.tool_calls = self.tool_calls.saturating_add(more.tool_calls);
        self.input_tokens = self.input_tokens.saturating_add(more.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(more.output_tokens);
        self.cached_tokens = self.cached_tokens.saturating_add(more.cached_tokens);
        self.cost_usd += more.cost_usd;
        self.seconds = self.seconds.saturating_add(more.seconds);
    }

    /// What was spent since `before`. A value that is lower now (a revision was restored) counts as 0.
    pub fn since(&self, before: &Self) -> Self {
        Self {
            sessions: self.sessions.saturating_sub(before.sessions),
            turns: self.turns.saturating_sub(before.turns),
            tool_calls: self.tool_calls.saturating_sub(before.tool_calls),
            input_tokens: self.input_tokens.saturating_sub(before.input_tokens),
            output_tokens: self.output_tokens.saturating_sub(before.output_tokens),
            cached_tokens: self.cached_tokens.saturating_sub(before.cached_tokens),
            cost_usd: (self.cost_usd - before.cost_usd).max(0.0),
            seconds: self.seconds.saturating_sub(before.seconds),
        }
    }

    /// In a few words: `1200 tokens, 0.35 USD`.
    pub fn words(&self) -> String {
        let cost = if self.cost_usd > 0.0 { format!(", {:.2} USD", self.cost_usd) } else { String::new() };
        format!("{} tokens{cost}", self.tokens())
    }
}

/// The purpose of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SessionKind {
    Work,
    Review,
    Plan,
}

/// The cost of one round of a task: of the work until the submission, and of the review.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RoundSpent {
    /// The number that the review of this round has or would have.
    pub round: u32,
    #[serde(default, skip_serializing_if = "Spent::is_nothing")]
    pub work: Spent,
    #[serde(default, skip_serializing_if = "Spent::is_nothing")]
    pub review: Spent,
}
