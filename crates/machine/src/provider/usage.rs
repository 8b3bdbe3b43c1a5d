//! What an agent's output reports about its work.

use serde::{Deserialize, Serialize};

use crate::policy::provider::ProviderEntry;

use super::output::{self, Reading};

/// Longer lines are skipped: no token report is that long, and a flood must not be kept.
const LONGEST_LINE: usize = 1024 * 1024;

/// What a session has used so far, as far as its provider reports it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Answers of the model.
    pub turns: u64,
    pub tool_calls: u64,
    /// Without tokens read from a cache, with tokens written to one.
    pub input_tokens: u64,
    /// With the model's reasoning.
    pub output_tokens: u64,
    /// Input read from a cache.
    pub cached_tokens: u64,
    pub cost_usd: Option<f64>,
    pub session: Option<String>,
    /// The model, if the provider names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    pub last_tool: Option<String>,
    /// Tool and digest of the last call, without its arguments; none if they are unknown.
    #[serde(default)]
    pub last_call: Option<String>,
    /// How often in a row this call was made.
    #[serde(default)]
    pub repeated_calls: u64,
    /// Failed tool calls: a red test, a missing file. Ordinary work, unless there is nothing else.
    #[serde(default)]
    pub failed_calls: u64,
    /// The message of the last failed call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<String>,
    /// Failures of the provider, not of the agent's tools.
    pub errors: u64,
    #[serde(default)]
    pub last_error: Option<String>,
    /// Whether the provider stopped it at one of its own limits.
    #[serde(default)]
    pub capped: bool,
    /// The provider's sums for the whole thread, if it reports no others.
    #[serde(skip)]
    pub thread: Option<Tokens>,
    /// The sums of the thread that this session continues, with the thread's name.
    #[serde(skip)]
    pub former: Option<(String, Tokens)>,
}

/// Tokens of a message, a session or a thread.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tokens {
    pub input: u64,
    pub output: u64,
    pub cached: u64,
}

impl Usage {
    pub fn tokens(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }
}

/// Reads a session's output as it comes. Feed it the redactor's output: names and messages end up in reports.
#[derive(Debug)]
pub struct Meter {
    usage: Usage,
    format: Box<dyn Reading>,
    line: Vec<u8>,
    /// The present line is too long and is skipped.
    skipping: bool,
}

impl Default for Meter {
    fn default() -> Self {
        Self::new(&ProviderEntry::default())
    }
}

impl Meter {
    pub fn new(entry: &ProviderEntry) -> Self {
        Self {
            usage: Usage::default(),
            format: output::reader(entry.output.unwrap_or_default()),
            line: Vec::new(),
            skipping: false,
        }
    }

    /// A session that continues this thread, of which the provider has already reported these sums.
    pub fn going_on(mut self, former: Option<(String, Tokens)>) -> Self {
        self.usage.former = former;
        self
    }

    /// Takes the next piece of standard output; lines may be split anywhere.
    pub fn feed(&mut self, chunk: &[u8]) {
        let mut rest = chunk;
        while let Some(end) = memchr::memchr(b'\n', rest) {
            self.take(&rest[..end]);
            self.end_line();
            rest = &rest[end + 1..];
        }
        self.take(rest);
    }

    /// Ends the reading, with the content of the usage file if there is one.
    pub fn finish(&mut self, usage_file: Option<&[u8]>) {
        self.end_line();
        if let Some(bytes) = usage_file {
            self.format.usage_file(bytes, &mut self.usage);
        }
    }

    pub fn usage(&self) -> &Usage {
        &self.usage
    }

    fn take(&mut self, part: &[u8]) {
        if self.skipping || self.line.len() + part.len() > LONGEST_LINE {
            self.skipping = true;
            self.line.clear();
        } else {
            self.line.extend_from_slice(part);
        }
    }

    fn end_line(&mut self) {
        let line = self.line.trim_ascii();
        if !self.skipping && !line.is_empty() {
            self.format.line(line, &mut self.usage);
        }
        self.line.clear();
        self.skipping = false;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::policy::provider::OutputFormat;

    const FORMATS: [OutputFormat; 11] = [
        OutputFormat::Text,
        OutputFormat::ClaudeStream,
        OutputFormat::CodexJsonl,
        OutputFormat::GeminiStream,
        OutputFormat::OpencodeJson,
        OutputFormat::QwenStream,
        OutputFormat::CopilotJson,
        OutputFormat::KimiMessages,
        OutputFormat::AiderText,
        OutputFormat::VibeMessages,
        OutputFormat::AcpJsonl,
    ];

    fn meter(format: OutputFormat) -> Meter {
        Meter::new(&ProviderEntry { output: Some(format), ..ProviderEntry::default() })
    }

    #[test]
    fn endless_line_is_not_kept() {
        for format in FORMATS {
            let mut meter = meter(format);
            let chunk = vec![b'{'; 64 * 1024];
            for _ in 0..256 {
                meter.feed(&chunk);
                assert!(meter.line.len() <= LONGEST_LINE);
            }
            meter.feed(b"\n{\"role\":\"assistant\",\"content\":\"x\"}\n");
            let turns = u64::from(format == OutputFormat::KimiMessages);
            assert_eq!(meter.usage().turns, turns, "{format:?}: reading goes on with the next line");
        }
    }

    /// Keys and values that the readers look for, combined at random.
    fn shaped() -> impl Strategy<Value = serde_json::Value> {
        use serde_json::Value;
        let word = proptest::sample::select(vec![
            "assistant",
            "result",
            "system",
            "init",
            "step_finish",
            "tool_use",
            "turn.completed",
            "item.started",
            "item.completed",
            "agent_message",
            "command_execution",
            "tool.execution_start",
            "tool.execution_complete",
            "tool_result",
            "user",
            "failed",
            "session.start",
            "error",
            "x",
        ]);
        let leaf = prop_oneof![
            word.prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            any::<bool>().prop_map(Value::from),
            Just(Value::Null),
        ];
        let key = proptest::sample::select(vec![
            "type",
            "role",
            "subtype",
            "message",
            "usage",
            "id",
            "item",
            "part",
            "tokens",
            "cache",
            "read",
            "input",
            "output",
            "input_tokens",
            "output_tokens",
            "cached_input_tokens",
            "cache_read_input_tokens",
            "total_tokens",
            "total_cost_usd",
            "cost",
            "stats",
            "data",
            "content",
            "name",
            "tool_calls",
            "tool_use_id",
            "function",
            "arguments",
            "parameters",
            "status",
            "success",
            "state",
            "num_turns",
            "is_error",
            "modelUsage",
            "modelMetrics",
            "session_id",
            "error",
        ]);
        leaf.prop_recursive(4, 32, 6, move |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::vec((key.clone(), inner), 0..6)
                    .prop_map(|pairs| pairs.into_iter().map(|(k, v)| (k.to_owned(), v)).collect::<Value>()),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        #[test]
        fn no_bytes_make_a_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            for format in FORMATS {
                let mut meter = meter(format);
                meter.feed(&bytes);
                meter.finish(Some(&bytes));
            }
        }

        #[test]
        fn no_shape_or_chunking_makes_a_reader_panic(
            values in proptest::collection::vec(shaped(), 1..8),
            size in 1usize..40,
        ) {
            let text: String = values.iter().map(|value| format!("{value}\n")).collect();
            for format in FORMATS {
                let (mut whole, mut cut) = (meter(format), meter(format));
                whole.feed(text.as_bytes());
                text.as_bytes().chunks(size).for_each(|chunk| cut.feed(chunk));
                for meter in [&mut whole, &mut cut] {
                    meter.finish(values[0].to_string().as_bytes().into());
                }
                prop_assert_eq!(whole.usage(), cut.usage());
                prop_assert!(whole.usage().cost_usd.is_none_or(|cost| cost.is_finite() && cost >= 0.0));
                let _ = whole.usage().tokens();
            }
        }
    }
}
