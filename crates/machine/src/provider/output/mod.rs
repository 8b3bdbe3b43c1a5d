//! One small reader for each kind of output. Readers skip what they do not know.

mod acp;
mod aider;
mod claude;
mod codex;
mod copilot;
pub mod fields;
mod gemini;
mod kimi;
mod opencode;
mod tally;
mod vibe;

use std::fmt::Debug;

use crate::policy::provider::OutputFormat;

use super::usage::Usage;

pub use claude::said_by_tool;

/// Reads one line after the other.
pub trait Reading: Debug + Send {
    /// A line without its end, not empty.
    fn line(&mut self, line: &[u8], usage: &mut Usage);

    /// The content of the file that the program was given for its usage.
    fn usage_file(&mut self, _bytes: &[u8], _usage: &mut Usage) {}
}

pub fn reader(format: OutputFormat) -> Box<dyn Reading> {
    match format {
        OutputFormat::Text => Box::new(Text),
        OutputFormat::ClaudeStream => Box::new(claude::Claude::default()),
        OutputFormat::QwenStream => Box::new(claude::Claude::cache_within_input()),
        OutputFormat::CodexJsonl => Box::new(codex::Codex::default()),
        OutputFormat::GeminiStream => Box::new(gemini::Gemini::default()),
        OutputFormat::OpencodeJson => Box::new(opencode::Opencode::default()),
        OutputFormat::CopilotJson => Box::new(copilot::Copilot::default()),
        OutputFormat::KimiMessages => Box::new(kimi::Kimi),
        OutputFormat::AiderText => Box::new(aider::Aider),
        OutputFormat::VibeMessages => Box::new(vibe::Vibe::default()),
        OutputFormat::AcpJsonl => Box::new(acp::Acp::default()),
    }
}

/// Reports nothing.
#[derive(Debug)]
struct Text;

impl Reading for Text {
    fn line(&mut self, _line: &[u8], _usage: &mut Usage) {}
}

/// For tests: reads a whole output and returns its usage.
#[cfg(test)]
fn measured(format: OutputFormat, output: &str, usage_file: Option<&str>) -> Usage {
    use crate::policy::provider::ProviderEntry;
    let mut meter = super::Meter::new(&ProviderEntry { output: Some(format), ..ProviderEntry::default() });
    meter.feed(output.as_bytes());
    meter.finish(usage_file.map(str::as_bytes));
    meter.usage().clone()
}
