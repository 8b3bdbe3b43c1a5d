//! Traces of a run: one JSON object a line.

use std::io::Write;

use crate::experiment::artifacts;
use crate::flow::prelude::*;
use crate::provider::Usage;

/// Adds a line to a file of lines; a trace that cannot be written ends no run.
pub fn append(path: &Path, value: &Value) {
    let opened = fs::OpenOptions::new().append(true).create(true).open(path);
    let line = format!("{}\n", crate::wire::to_json_line(value));
    if let Ok(mut file) = opened {
        let _ = file.write_all(line.as_bytes());
    }
}

/// One call of an agent.
pub struct Span<'a> {
    pub step: &'a str,
    pub round: u32,
    pub start: Wall,
    pub end: Wall,
    pub provider: &'a str,
    pub model: Option<&'a str>,
    pub usage: &'a Usage,
    /// Artifacts it read and wrote.
    pub files: Vec<String>,
    pub tools: &'a [String],
    pub error: Option<&'a str>,
}

pub fn span(run_dir: &Path, span: &Span<'_>) {
    let usage = json!({
        "turns": span.usage.turns, "tool_calls": span.usage.tool_calls, "input_tokens": span.usage.input_tokens,
        "output_tokens": span.usage.output_tokens, "cached_tokens": span.usage.cached_tokens, "cost_usd": span.usage.cost_usd,
    });
    let mut value = json!({
        "step": span.step, "round": span.round, "start": span.start, "end": span.end, "provider": span.provider,
        "model": span.usage.model.as_deref().or(span.model), "usage": usage, "files": span.files, "tools": span.tools,
    });
    if let Some(error) = span.error {
        value["error"] = json!(error);
    }
    append(&run_dir.join(artifacts::AGENTS_TRACE), &value);
}
