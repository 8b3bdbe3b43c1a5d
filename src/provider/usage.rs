//! What an agent's output tells about its work.

use serde::{Deserialize, Serialize};

use crate::policy::provider::ProviderEntry;

/// What a session has used so far, as far as its provider says.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Usage {
    pub turns: u64,
    pub tool_calls: u64,
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub cached_tokens: u64,
    pub cost_usd: Option<f64>,
    pub session: Option<String>,
    pub last_tool: Option<String>,
    pub errors: u64,
}

impl Usage {
    pub fn tokens(&self) -> u64 {
        self.input_tokens + self.output_tokens
    }
}

/// Reads a session's output as it comes.
#[derive(Debug, Default)]
pub struct Meter {
    usage: Usage,
}

impl Meter {
    pub fn new(_entry: &ProviderEntry) -> Self {
        Self::default()
    }

    /// The next piece of standard output; lines may be cut anywhere.
    pub fn feed(&mut self, _chunk: &[u8]) {}

    /// The end, with what stands in the usage file if there is one.
    pub fn finish(&mut self, _usage_file: Option<&[u8]>) {}

    pub fn usage(&self) -> &Usage {
        &self.usage
    }
}
