//! What work has cost, as far as the providers say.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
    /// In US dollars, where the provider says.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cost_usd: f64,
    /// How long its sessions took together.
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

    /// What counts against a cap: cached input is not counted.
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
}
