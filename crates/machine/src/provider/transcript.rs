//! A session for people to read: what the agent said, which tools it called with what result, and what failed, from
//! every provider's output. An agent's output is data: control characters are removed, and every text is cut.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::Value;

use super::output::fields::{at, count, list, object, text};
use super::output::said_by_tool;
use crate::policy::provider::OutputFormat;
use crate::text::{clipped, shown};

/// How much of one message of an agent is shown.
const MOST_SAID: usize = 4000;
/// How much of a call's arguments, and of an error, is shown.
const MOST_CALL: usize = 400;
/// How many lines and characters of a tool's result are shown.
const RESULT_LINES: usize = 12;
const RESULT_CHARS: usize = 1500;
/// How many calls are remembered, so that the end of one does not count as another call.
const MOST_CALLS: usize = 10_000;
/// Longer lines are skipped, as by the meter.
const LONGEST_LINE: usize = 1024 * 1024;
/// How much of a text that comes in pieces, or of a whole answer, is kept.
const MOST_ANSWERED: usize = 1024 * 1024;

/// One step of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "step")]
pub enum Step {
    /// A message of the agent.
    Said {
        text: String,
    },
    Called {
        tool: String,
        arguments: String,
    },
    /// A tool's result.
    Result {
        failed: bool,
        text: String,
    },
    /// The provider, not a tool, failed.
    Error {
        text: String,
    },
    /// Any other line of output.
    Printed {
        text: String,
    },
    /// The model's reasoning, if the provider reports it; shown like a message.
    #[serde(rename = "said")]
    Thought {
        text: String,
    },
}

impl Step {
    /// The step as text for people; its further lines are indented.
    pub fn words(&self) -> String {
        let indented = |text: &str| text.trim_end().replace('\n', "\n    ");
        match self {
            Self::Said { text } | Self::Thought { text } => format!("says    {}", indented(text)),
            Self::Called { tool, arguments } => format!("calls   {tool} {}", indented(arguments)),
            Self::Result { failed: false, text } if text.is_empty() => "    ok".to_owned(),
            Self::Result { failed: false, text } => format!("    {}", indented(text)),
            Self::Result { failed: true, text } => format!("FAILED  {}", indented(text)),
            Self::Error { text } => format!("ERROR   {}", indented(text)),
            Self::Printed { text } => text.clone(),
        }
    }
}

/// Reads an output line by line.
#[derive(Debug)]
pub struct Transcript {
    format: OutputFormat,
    calls: BTreeSet<String>,
    /// Text that comes in pieces and is not complete yet.
    pending: String,
}

impl Transcript {
    pub fn new(format: OutputFormat) -> Self {
        Self { format, calls: BTreeSet::new(), pending: String::new() }
    }

    pub fn line(&mut self, line: &[u8]) -> Vec<Step> {
        self.whole_line(line).into_iter().map(shortened).collect()
    }

    /// Returns what was started and not finished.
    pub fn finish(&mut self) -> Vec<Step> {
        self.after_pending(Vec::new()).into_iter().map(shortened).collect()
    }

    fn whole_line(&mut self, line: &[u8]) -> Vec<Step> {
        let line = line.trim_ascii();
        if line.is_empty() || line.len() > LONGEST_LINE {
            return Vec::new();
        }
        let plain = matches!(self.format, OutputFormat::Text | OutputFormat::AiderText);
        let Some(event) = object(line).filter(|_| !plain) else {
            let printed = Step::Printed { text: String::from_utf8_lossy(line).into_owned() };
            return self.after_pending(vec![printed]);
        };
        let steps = match self.format {
            OutputFormat::Text | OutputFormat::AiderText => Vec::new(),
            OutputFormat::ClaudeStream | OutputFormat::QwenStream => claude(&event),
            OutputFormat::CodexJsonl => self.codex(&event),
            OutputFormat::GeminiStream => return self.gemini(&event),
            OutputFormat::OpencodeJson => opencode(&event),
            OutputFormat::CopilotJson => copilot(&event),
            OutputFormat::KimiMessages => kimi(&event),
            OutputFormat::VibeMessages => vibe(&event),
            OutputFormat::AcpJsonl => return self.acp(&event),
        };
        self.after_pending(steps)
    }

    fn after_pending(&mut self, steps: Vec<Step>) -> Vec<Step> {
        let before = std::mem::take(&mut self.pending);
        said(Some(&before)).into_iter().chain(steps).collect()
    }

    fn is_new(&mut self, id: Option<&str>) -> bool {
        if self.calls.len() >= MOST_CALLS {
            self.calls.clear();
        }
        id.is_none_or(|id| self.calls.insert(clipped(id, 120).into_owned()))
    }

    fn codex(&mut self, event: &Value) -> Vec<Step> {
        let item = at(event, &["item"]).unwrap_or(&Value::Null);
        let ended = match text(event, &["type"]).unwrap_or_default() {
            "item.started" => false,
            "item.completed" => true,
            "error" => return error(text(event, &["message"])),
            "turn.failed" => return error(text(event, &["error", "message"])),
            _ => return Vec::new(),
        };
        let kind = text(item, &["type"]).or_else(|| text(item, &["item_type"])).unwrap_or_default();
        let (tool, arguments) = match kind {
            "agent_message" if ended => return said(text(item, &["text"])),
            "reasoning" if ended => {
                let thought = |text: &str| Step::Thought { text: text.to_owned() };
                return text(item, &["text"]).map(thought).into_iter().collect();
            }
            "error" => return error(text(item, &["message"])),
            "command_execution" => ("shell".to_owned(), text(item, &["command"]).map(str::to_owned)),
            "mcp_tool_call" => {
                let name = |key: &str| text(item, &[key]).unwrap_or("mcp");
                (
                    format!("{}.{}", name("server"), name("tool")),
                    at(item, &["arguments"]).map(Value::to_string),
                )
            }
            "file_change" => (kind.to_owned(), at(item, &["changes"]).map(Value::to_string)),
            "web_search" => (kind.to_owned(), text(item, &["query"]).map(str::to_owned)),
            _ => return Vec::new(),
        };
        let mut steps = Vec::new();
        if self.is_new(text(item, &["id"])) {
            steps.push(called(&tool, arguments.as_deref().unwrap_or_default()));
        }
        if ended {
            let failed = text(item, &["status"]) == Some("failed");
            let said = text(item, &["aggregated_output"]).or_else(|| text(item, &["error", "message"]));
            steps.push(result(failed, said.unwrap_or_default()));
        }
        steps
    }

    /// The Agent Client Protocol. A call is shown once its arguments are known, at the latest with its result.
    fn acp(&mut self, event: &Value) -> Vec<Step> {
        let update = at(event, &["params", "update"]).unwrap_or(&Value::Null);
        let steps = match text(update, &["sessionUpdate"]).unwrap_or_default() {
            "agent_message_chunk" => {
                if self.pending.len() < MOST_ANSWERED {
                    self.pending.push_str(text(update, &["content", "text"]).unwrap_or_default());
                }
                return Vec::new();
            }
            "tool_call_update" => {
                let status = text(update, &["status"]).unwrap_or_default();
                let id = text(update, &["toolCallId"]);
                let arguments = at(update, &["rawInput"])
                    .filter(|input| input.as_object().is_some_and(|map| !map.is_empty()));
                let ended = ["completed", "failed"].contains(&status);
                let mut steps = Vec::new();
                if (arguments.is_some() || ended) && self.is_new(id) {
                    let tool = text(update, &["kind"]).or_else(|| text(update, &["title"])).unwrap_or("tool");
                    steps.push(called(tool, &arguments.map(arguments_of).unwrap_or_default()));
                }
                if ended && self.is_new(id.map(|id| format!("{id} ended")).as_deref()) {
                    let exit = count(update, &["rawOutput", "metadata", "exit"]).unwrap_or(0);
                    let back = text(update, &["rawOutput", "error"])
                        .or_else(|| text(update, &["rawOutput", "output"]));
                    let shown =
                        list(update, &["content"]).iter().find_map(|part| text(part, &["content", "text"]));
                    steps.push(result(status == "failed" || exit > 0, back.or(shown).unwrap_or_default()));
                }
                if steps.is_empty() {
                    return Vec::new();
                }
                steps
            }
            _ => match text(event, &["error", "message"]) {
                Some(why) => error(Some(why)),
                None => return Vec::new(),
            },
        };
        self.after_pending(steps)
    }

    fn gemini(&mut self, event: &Value) -> Vec<Step> {
        let steps = match text(event, &["type"]).unwrap_or_default() {
            "message" if text(event, &["role"]) == Some("assistant") => {
                let piece = text(event, &["content"]).unwrap_or_default();
                if self.pending.len() < MOST_ANSWERED {
                    self.pending.push_str(piece);
                }
                if at(event, &["delta"]) == Some(&Value::Bool(true)) {
                    return Vec::new();
                }
                Vec::new()
            }
            "tool_use" => {
                let arguments = at(event, &["parameters"]).map(arguments_of).unwrap_or_default();
                vec![called(text(event, &["tool_name"]).unwrap_or("tool"), &arguments)]
            }
            "tool_result" => {
                let failed = text(event, &["status"]) == Some("error");
                let said = text(event, &["output"]).or_else(|| text(event, &["error", "message"]));
                vec![result(failed, said.unwrap_or_default())]
            }
            "error" => error(text(event, &["message"])),
            "result" => error(text(event, &["error", "message"])),
            _ => return Vec::new(),
        };
        self.after_pending(steps)
    }
}

fn vibe(event: &Value) -> Vec<Step> {
    match text(event, &["type"]).unwrap_or_default() {
        "message" if text(event, &["role"]) == Some("assistant") => {
            let parts = list(event, &["content"]).iter();
            parts.flat_map(|part| said(text(part, &["text"]))).collect()
        }
        "effect" => {
            let arguments = at(event, &["detail", "input"]).map(arguments_of).unwrap_or_default();
            let failed = at(event, &["state", "display", "success"]) == Some(&Value::Bool(false));
            let back = text(event, &["state", "error", "message"]);
            let back = back.or_else(|| text(event, &["state", "outputText"])).unwrap_or_default();
            let tool = text(event, &["detail", "toolName"]).unwrap_or("tool");
            vec![called(tool, &arguments), result(failed, back)]
        }
        "error" => error(text(event, &["message"]).or_else(|| text(event, &["error", "message"]))),
        _ => Vec::new(),
    }
}

fn claude(event: &Value) -> Vec<Step> {
    let parts = || list(event, &["message", "content"]).iter();
    match text(event, &["type"]).unwrap_or_default() {
        "assistant" => parts()
            .flat_map(|part| match text(part, &["type"]).unwrap_or_default() {
                "text" => said(text(part, &["text"])),
                "tool_use" => {
                    let arguments = at(part, &["input"]).map(arguments_of).unwrap_or_default();
                    vec![called(text(part, &["name"]).unwrap_or("tool"), &arguments)]
                }
                _ => Vec::new(),
            })
            .collect(),
        "user" => parts()
            .filter(|part| text(part, &["type"]) == Some("tool_result"))
            .map(|part| {
                let failed = at(part, &["is_error"]) == Some(&Value::Bool(true));
                result(failed, &said_by_tool(part).unwrap_or_default())
            })
            .collect(),
        "result" if at(event, &["is_error"]) == Some(&Value::Bool(true)) => {
            let why = text(event, &["result"]).or_else(|| text(event, &["error", "message"]));
            error(why.or_else(|| text(event, &["subtype"])))
        }
        _ => Vec::new(),
    }
}

fn opencode(event: &Value) -> Vec<Step> {
    match text(event, &["type"]).unwrap_or_default() {
        "text" => said(text(event, &["part", "text"])),
        "tool_use" => {
            let state = at(event, &["part", "state"]).unwrap_or(&Value::Null);
            let arguments = at(state, &["input"]).map(arguments_of).unwrap_or_default();
            let exit = count(state, &["metadata", "exit"]).unwrap_or(0);
            let failed = text(state, &["status"]) == Some("error") || exit > 0;
            let back = text(state, &["error"]).or_else(|| text(state, &["output"])).unwrap_or_default();
            vec![called(text(event, &["part", "tool"]).unwrap_or("tool"), &arguments), result(failed, back)]
        }
        "error" => {
            let why =
                text(event, &["error", "data", "message"]).or_else(|| text(event, &["error", "message"]));
            error(why.or_else(|| text(event, &["error", "name"])).or_else(|| text(event, &["message"])))
        }
        _ => Vec::new(),
    }
}

fn copilot(event: &Value) -> Vec<Step> {
    let data = at(event, &["data"]).unwrap_or(&Value::Null);
    match text(event, &["type"]).unwrap_or_default() {
        "assistant.message" => said(text(data, &["content"])),
        "tool.execution_start" => {
            let arguments = at(data, &["arguments"]).map(arguments_of).unwrap_or_default();
            vec![called(text(data, &["toolName"]).unwrap_or("tool"), &arguments)]
        }
        "tool.execution_complete" => {
            let failed = at(data, &["success"]) == Some(&Value::Bool(false));
            let back = text(data, &["error", "message"]).or_else(|| text(data, &["result", "content"]));
            vec![result(failed, back.unwrap_or_default())]
        }
        "session.error" => error(text(data, &["message"])),
        _ => Vec::new(),
    }
}

fn kimi(event: &Value) -> Vec<Step> {
    match text(event, &["role"]).unwrap_or_default() {
        "assistant" => {
            let content = text(event, &["content"]);
            let parts = list(event, &["content"]).iter().filter_map(|part| text(part, &["text"]));
            let calls = list(event, &["tool_calls"]).iter().map(|call| {
                let arguments = text(call, &["function", "arguments"]).unwrap_or_default();
                let read: Option<Value> = serde_json::from_str(arguments).ok();
                let arguments = read.as_ref().map_or_else(|| arguments.to_owned(), arguments_of);
                called(text(call, &["function", "name"]).unwrap_or("tool"), &arguments)
            });
            content.into_iter().chain(parts).flat_map(|text| said(Some(text))).chain(calls).collect()
        }
        "tool" => vec![result(false, &said_by_tool(event).unwrap_or_default())],
        "meta" if text(event, &["type"]).is_some_and(|kind| kind.contains("error")) => {
            error(text(event, &["content"]).or_else(|| text(event, &["message"])))
        }
        _ => Vec::new(),
    }
}

/// A command as it is; anything else as JSON.
fn arguments_of(value: &Value) -> String {
    let only = value.as_object().filter(|map| map.len() == 1).and_then(|map| map.values().next());
    match text(value, &["command"]).or_else(|| only.and_then(Value::as_str)).or_else(|| value.as_str()) {
        Some(command) => command.to_owned(),
        None => value.to_string(),
    }
}

fn said(what: Option<&str>) -> Vec<Step> {
    let what = what.unwrap_or_default().trim();
    if what.is_empty() { Vec::new() } else { vec![Step::Said { text: what.to_owned() }] }
}

fn called(tool: &str, arguments: &str) -> Step {
    Step::Called { tool: tool.to_owned(), arguments: arguments.to_owned() }
}

fn error(what: Option<&str>) -> Vec<Step> {
    what.map(|what| Step::Error { text: what.to_owned() }).into_iter().collect()
}

fn result(failed: bool, what: &str) -> Step {
    Step::Result { failed, text: what.to_owned() }
}

/// A step as shown: short, and without control characters.
fn shortened(step: Step) -> Step {
    match step {
        Step::Said { text } => Step::Said { text: cut(&text, MOST_SAID) },
        Step::Thought { text } => Step::Thought { text: cut(&text, MOST_SAID) },
        Step::Called { tool, arguments } => {
            Step::Called { tool: cut(&tool, 120), arguments: cut(&arguments, MOST_CALL) }
        }
        Step::Result { failed, text } => Step::Result { failed, text: first_lines(&text) },
        Step::Error { text } => Step::Error { text: cut(&text, MOST_CALL) },
        Step::Printed { text } => Step::Printed { text: cut(&text, MOST_CALL) },
    }
}

fn first_lines(what: &str) -> String {
    let what = what.trim_end();
    let total = what.lines().count();
    let mut kept: Vec<&str> = what.lines().take(RESULT_LINES).collect();
    let more = total.saturating_sub(kept.len());
    let note = format!("… {more} more lines");
    if more > 0 {
        kept.push(&note);
    }
    cut(&kept.join("\n"), RESULT_CHARS)
}

/// The agent's last message: its whole answer. Read as the output comes, with bounded memory.
#[derive(Debug)]
pub struct LastMessage {
    transcript: Transcript,
    line: Vec<u8>,
    text: String,
    /// The tools it called, by name.
    pub calls: Vec<String>,
}

impl LastMessage {
    pub fn new(format: OutputFormat) -> Self {
        Self { transcript: Transcript::new(format), line: Vec::new(), text: String::new(), calls: Vec::new() }
    }

    fn is_plain(&self) -> bool {
        matches!(self.transcript.format, OutputFormat::Text | OutputFormat::AiderText)
    }

    /// Takes the next piece of standard output; lines may be split anywhere.
    pub fn feed(&mut self, chunk: &[u8]) {
        for piece in chunk.split_inclusive(|byte| *byte == b'\n') {
            if self.line.len() + piece.len() <= LONGEST_LINE {
                self.line.extend_from_slice(piece);
            }
            if piece.ends_with(b"\n") {
                self.end_line();
            }
        }
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        if self.is_plain() {
            // Plain output is the answer.
            self.add(&String::from_utf8_lossy(&line));
            return;
        }
        let steps = self.transcript.whole_line(&line);
        self.take(steps);
    }

    fn add(&mut self, text: &str) {
        if self.text.len() + text.len() <= MOST_ANSWERED {
            self.text.push_str(text);
        }
    }

    /// Text after a tool call starts a new message.
    fn take(&mut self, steps: Vec<Step>) {
        for step in steps {
            match step {
                Step::Said { text } => {
                    let between = if self.text.is_empty() { "" } else { "\n\n" };
                    self.add(&format!("{between}{text}"));
                }
                Step::Called { tool, .. } => {
                    self.text.clear();
                    if self.calls.len() < MOST_CALLS {
                        self.calls.push(cut(&tool, 120));
                    }
                }
                Step::Result { .. } => self.text.clear(),
                Step::Error { .. } | Step::Printed { .. } | Step::Thought { .. } => {}
            }
        }
    }

    /// Returns the answer, once all output has come.
    pub fn finish(&mut self) -> String {
        self.end_line();
        let steps = self.transcript.after_pending(Vec::new());
        self.take(steps);
        std::mem::take(&mut self.text)
    }
}

fn cut(text: &str, most: usize) -> String {
    shown(&clipped(text, most)).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(format: OutputFormat, output: &str) -> Vec<String> {
        let mut transcript = Transcript::new(format);
        let mut all: Vec<Step> = output.lines().flat_map(|line| transcript.line(line.as_bytes())).collect();
        all.extend(transcript.finish());
        all.iter().map(Step::words).collect()
    }

    /// The recorded output of every command gives the same steps.
    #[test]
    fn every_format_shows_the_call_and_its_result() {
        macro_rules! output {
            ($name:literal) => {
                include_str!(concat!("../../../../tests/cli/fixtures/providers/", $name, ".out"))
            };
        }
        for (format, output) in [
            (OutputFormat::ClaudeStream, output!("claude")),
            (OutputFormat::CodexJsonl, output!("codex")),
            (OutputFormat::GeminiStream, output!("gemini")),
            (OutputFormat::OpencodeJson, output!("opencode")),
            (OutputFormat::QwenStream, output!("qwen")),
            (OutputFormat::CopilotJson, output!("copilot")),
            (OutputFormat::KimiMessages, output!("kimi")),
        ] {
            let shown = steps(format, output);
            let calls: Vec<&String> = shown.iter().filter(|step| step.starts_with("calls ")).collect();
            assert!(!calls.is_empty(), "{format:?}: {shown:#?}");
            assert!(shown.iter().any(|step| step.starts_with("    ")), "{format:?}: {shown:#?}");
            assert!(shown.iter().any(|step| step.starts_with("says ")), "{format:?}: {shown:#?}");
        }
        let aider = steps(OutputFormat::AiderText, output!("aider"));
        assert!(aider.iter().any(|line| line.starts_with("Applied edit")), "{aider:?}");
    }

    #[test]
    fn only_the_last_message_is_the_answer() {
        let long = format!("VERDICT {}", "x".repeat(MOST_SAID * 2));
        let said = |text: &str| {
            format!(
                "{{\"type\":\"assistant\",\"message\":{{\"content\":[{{\"type\":\"text\",\"text\":\"{text}\"}}]}}}}\n"
            )
        };
        let call = "{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"tool_use\",\"name\":\"Bash\",\"input\":{}}]}}\n";
        let output = [&said("before"), call, &said("one"), &said(&long)].concat();
        let answer = |format, output: &str| {
            let mut last = LastMessage::new(format);
            output.as_bytes().chunks(7).for_each(|chunk| last.feed(chunk));
            (last.finish(), last.calls)
        };
        let found = answer(OutputFormat::ClaudeStream, &output);
        assert_eq!(found, (format!("one\n\n{long}"), vec!["Bash".to_owned()]));
        let codex = "{\"type\":\"item.completed\",\"item\":{\"type\":\"agent_message\",\"text\":\"done\"}}\n{\"type\":\"item.completed\",\"item\":{\"type\":\"reasoning\",\"text\":\"hm\"}}\n";
        assert_eq!(answer(OutputFormat::CodexJsonl, codex).0, "done");
        assert_eq!(answer(OutputFormat::Text, "all\nof it").0, "all\nof it");
    }

    #[test]
    fn hostile_output_is_cut_and_cleaned() {
        let long = "x".repeat(100_000);
        let line = format!(
            "{{\"type\":\"assistant\",\"message\":{{\"content\":[{{\"type\":\"text\",\"text\":\"\\u001b[2J{long}\"}}]}}}}"
        );
        let shown = steps(OutputFormat::ClaudeStream, &line);
        assert!(shown[0].len() < 5000 && !shown[0].contains('\u{1b}'), "{}", shown[0].len());
        let shown = steps(OutputFormat::CodexJsonl, "\u{1b}]0;title\u{7} not JSON");
        assert!(!shown[0].contains('\u{1b}') && shown[0].contains("not JSON"), "{shown:?}");
        let many = "y\\n".repeat(50);
        let line = format!("{{\"role\":\"tool\",\"content\":\"{many}\"}}");
        assert!(steps(OutputFormat::KimiMessages, &line)[0].contains("38 more lines"));
    }
}
