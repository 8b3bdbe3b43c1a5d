//! Codex: one JSON object per line. What it calls a turn is the whole session; its tokens come at the end and are
//! those of the whole thread, so a later figure replaces the earlier ones.

use serde_json::Value;

use super::Reading;
use super::fields::{at, count, fresh, object, text};
use super::tally::{Seen, Turns};
use crate::provider::usage::{Tokens, Usage};

#[derive(Debug, Default)]
pub struct Codex {
    turns: Turns,
    items: Seen,
    failures: Seen,
}

impl Codex {
    fn item(&mut self, item: &Value, ended: bool, usage: &mut Usage) {
        let kind = text(item, &["type"]).or_else(|| text(item, &["item_type"])).unwrap_or_default();
        let (tool, arguments) = match kind {
            "command_execution" => ("shell".to_owned(), at(item, &["command"])),
            // It names files but not what was written: two changes of one file cannot be distinguished.
            "file_change" => (kind.to_owned(), None),
            "web_search" => (kind.to_owned(), at(item, &["query"])),
            "mcp_tool_call" => {
                let name = |key: &str| text(item, &[key]).unwrap_or("mcp");
                (format!("{}.{}", name("server"), name("tool")), at(item, &["arguments"]))
            }
            "agent_message" | "reasoning" => return self.turns.model(usage),
            // As an item it is a warning, such as about an unknown model; what ends a turn is a separate event.
            _ => return,
        };
        if self.items.first(text(item, &["id"])) {
            self.turns.model(usage);
            usage.called(&tool, arguments);
        }
        if ended {
            if text(item, &["status"]) == Some("failed") && self.failures.first(text(item, &["id"])) {
                let said = text(item, &["aggregated_output"]).or_else(|| text(item, &["error", "message"]));
                usage.call_failed(said);
            }
            self.turns.tool_answered();
        }
    }
}

impl Reading for Codex {
    fn line(&mut self, line: &[u8], usage: &mut Usage) {
        let Some(event) = object(line) else { return };
        let item = at(&event, &["item"]).unwrap_or(&Value::Null);
        match text(&event, &["type"]).unwrap_or_default() {
            "thread.started" => usage.in_session(text(&event, &["thread_id"])),
            "item.started" => self.item(item, false, usage),
            "item.completed" => self.item(item, true, usage),
            "turn.completed" => {
                let of = |key: &str| count(&event, &["usage", key]).unwrap_or(0);
                let cached = of("cached_input_tokens");
                // Output already includes the tokens of reasoning.
                let tokens =
                    Tokens { input: fresh(of("input_tokens"), cached), output: of("output_tokens"), cached };
                tokens.replace_of_thread(usage);
            }
            "error" => usage.failed(text(&event, &["message"])),
            "turn.failed" => {
                let why = text(&event, &["error", "message"]);
                // It repeats the error that ended the turn.
                if why.is_none() || why != usage.last_error.as_deref() {
                    usage.failed(why);
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::measured;
    use crate::policy::provider::OutputFormat;

    #[test]
    fn session_is_read_from_start_to_end() {
        let output = r#"{"type":"thread.started","thread_id":"0199a213-81c0-7800-8aa1-bbab2a035a53"}
{"type":"turn.started"}
{"type":"item.completed","item":{"id":"item_0","type":"reasoning","text":"**Looking**"}}
{"type":"item.started","item":{"id":"item_1","type":"command_execution","command":"bash -lc 'liza task show t'","aggregated_output":"","exit_code":null,"status":"in_progress"}}
{"type":"item.started","item":{"id":"item_2","type":"command_execution","command":"bash -lc ls","aggregated_output":"","exit_code":null,"status":"in_progress"}}
{"type":"item.completed","item":{"id":"item_1","type":"command_execution","command":"bash -lc 'liza task show t'","aggregated_output":"…","exit_code":0,"status":"completed"}}
{"type":"item.completed","item":{"id":"item_2","type":"command_execution","command":"bash -lc ls","aggregated_output":"docs\n","exit_code":1,"status":"failed"}}
{"type":"item.completed","item":{"id":"item_3","type":"file_change","changes":[{"path":"a.rs","kind":"update"}],"status":"completed"}}
{"type":"item.started","item":{"id":"item_4","type":"mcp_tool_call","server":"liza","tool":"task_submit","status":"in_progress"}}
{"type":"item.completed","item":{"id":"item_4","type":"mcp_tool_call","server":"liza","tool":"task_submit","status":"completed"}}
{"type":"item.completed","item":{"id":"item_5","type":"agent_message","text":"Done."}}
{"type":"turn.completed","usage":{"input_tokens":24763,"cached_input_tokens":24448,"output_tokens":122,"reasoning_output_tokens":64}}
"#;
        let used = measured(OutputFormat::CodexJsonl, output, None);
        assert_eq!((used.turns, used.tool_calls, used.errors), (4, 4, 0));
        assert_eq!((used.input_tokens, used.output_tokens, used.cached_tokens), (315, 122, 24_448));
        assert_eq!(used.last_tool.as_deref(), Some("liza.task_submit"));
        assert_eq!((used.last_call.as_deref(), used.failed_calls), (None, 1), "it reported no arguments");
        assert_eq!(used.session.as_deref(), Some("0199a213-81c0-7800-8aa1-bbab2a035a53"));
        let resumed = format!(
            "{output}{}",
            r#"{"type":"turn.completed","usage":{"input_tokens":30000,"cached_input_tokens":29000,"output_tokens":200}}"#
        );
        let used = measured(OutputFormat::CodexJsonl, &resumed, None);
        assert_eq!((used.input_tokens, used.output_tokens), (1000, 200), "the counter is that of the thread");
    }

    #[test]
    fn repeated_command_counts_but_edits_do_not() {
        let item = |id: u32, item: &str| {
            format!("{{\"type\":\"item.completed\",\"item\":{{\"id\":\"item_{id}\",{item}}}}}\n")
        };
        let make = r#""type":"command_execution","command":"bash -lc make","exit_code":2,"status":"failed""#;
        let mut output: String = (0..4).map(|id| item(id, make)).collect();
        let used = measured(OutputFormat::CodexJsonl, &output, None);
        assert_eq!((used.tool_calls, used.repeated_calls, used.failed_calls), (4, 4, 4));
        let edit = r#""type":"file_change","changes":[{"path":"a.rs","kind":"update"}],"status":"completed""#;
        output.extend((4..8).map(|id| item(id, edit)));
        let used = measured(OutputFormat::CodexJsonl, &output, None);
        assert_eq!((used.tool_calls, used.repeated_calls, used.last_call), (8, 0, None));
        let call = r#""type":"mcp_tool_call","server":"liza","tool":"inbox","arguments":{"wait":true},"status":"completed""#;
        output.extend((8..10).map(|id| item(id, call)));
        let used = measured(OutputFormat::CodexJsonl, &output, None);
        assert_eq!(used.repeated_calls, 2);
        assert!(used.last_call.is_some_and(|call| call.starts_with("liza.inbox#")));
    }

    #[test]
    fn error_and_its_failure_count_once() {
        let output = r#"{"type":"error","message":"unexpected status 401 Unauthorized"}
{"type":"turn.failed","error":{"message":"unexpected status 401 Unauthorized"}}"#;
        let used = measured(OutputFormat::CodexJsonl, output, None);
        assert_eq!(
            (used.errors, used.last_error.as_deref()),
            (1, Some("unexpected status 401 Unauthorized"))
        );
    }
}
