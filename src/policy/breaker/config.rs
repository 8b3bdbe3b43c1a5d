//! `breaker:` in liza.yaml.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BreakerConfig {
    pub enabled: bool,
}

impl Default for BreakerConfig {
    fn default() -> Self {
        Self { enabled: true }
    }
}
