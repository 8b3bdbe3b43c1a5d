//! What work may cost: `spend:` in liza.yaml.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A cap; what is not said is not capped.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Cap {
    pub tokens: Option<u64>,
    /// In US dollars, where the provider says what it costs.
    pub usd: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SpendConfig {
    pub task: Cap,
    pub agent: Cap,
    /// One `liza run`.
    pub run: Cap,
}
