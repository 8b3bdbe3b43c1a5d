//! Traces of a run: one JSON object a line.

use std::io::Write;

use super::Lab;
use crate::experiment::{Step, artifacts};
use crate::flow::prelude::*;
use crate::provider::Usage;

/// Adds a line to a file of lines, without secrets; a trace that cannot be written ends no run.
pub fn append(lab: &Lab, path: &Path, entry: &impl Serialize) {
    let value = lab.redacted_json(serde_json::to_value(entry).unwrap_or_default());
    let opened = crate::store::lock::open_no_follow(path, fs::OpenOptions::new().append(true).create(true));
    let line = format!("{}\n", crate::wire::to_json_line(&value));
    if let Ok(mut file) = opened {
        let _ = file.write_all(line.as_bytes());
    }
}

/// One call of an agent.
#[derive(Serialize)]
pub struct Span<'a> {
    pub step: Step,
    pub round: u32,
    pub start: Wall,
    pub end: Wall,
    pub provider: &'a str,
    pub model: Option<&'a str>,
    pub usage: Used,
    /// Artifacts it read and wrote.
    pub files: [&'a str; 2],
    pub tools: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<&'a str>,
}

#[derive(Serialize)]
pub struct Used {
    turns: u64,
    tool_calls: u64,
    input_tokens: u64,
    output_tokens: u64,
    cached_tokens: u64,
    cost_usd: Option<f64>,
}

impl From<&Usage> for Used {
    fn from(usage: &Usage) -> Self {
        Self {
            turns: usage.turns,
            tool_calls: usage.tool_calls,
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
            cached_tokens: usage.cached_tokens,
            cost_usd: usage.cost_usd,
        }
    }
}

pub fn span(lab: &Lab, run_dir: &Path, span: &Span<'_>) {
    append(lab, &run_dir.join(artifacts::AGENTS_TRACE), span);
}
