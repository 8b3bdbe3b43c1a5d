//! Copilot: events on standard output, tokens in a separate file. The events report only the tokens of answers, so
//! without the file the input is unknown.

use serde_json::Value;

use super::Reading;
use super::fields::{at, count, fresh, object, text};
use super::tally::{Messages, Seen};
use crate::provider::usage::{Tokens, Usage};

#[derive(Debug, Default)]
pub struct Copilot {
    messages: Messages,
    calls: Seen,
    failures: Seen,
}

impl Reading for Copilot {
    fn line(&mut self, line: &[u8], usage: &mut Usage) {
        let Some(event) = object(line) else { return };
        let data = at(&event, &["data"]).unwrap_or(&Value::Null);
        match text(&event, &["type"]).unwrap_or_default() {
            "session.start" | "session.resume" => usage.in_session(text(data, &["sessionId"])),
            "assistant.message" => {
                usage.by_model(text(data, &["model"]));
                let output = count(data, &["outputTokens"]).unwrap_or(0);
                let tokens = Tokens { output, ..Tokens::default() };
                if self.messages.add_report(text(data, &["messageId"]), tokens, usage) {
                    usage.turns += 1;
                }
            }
            "tool.execution_start" if self.calls.first(text(data, &["toolCallId"])) => {
                usage.called(text(data, &["toolName"]).unwrap_or("tool"), at(data, &["arguments"]));
            }
            "tool.execution_complete"
                if at(data, &["success"]) == Some(&Value::Bool(false))
                    && self.failures.first(text(data, &["toolCallId"])) =>
            {
                let said = text(data, &["error", "message"]).or_else(|| text(data, &["result", "content"]));
                usage.call_failed(said);
            }
            "session.error" => usage.failed(text(data, &["message"])),
            "result" => usage.in_session(text(&event, &["sessionId"])),
            _ => {}
        }
    }

    fn usage_file(&mut self, bytes: &[u8], usage: &mut Usage) {
        let Some(file) = object(bytes.trim_ascii()) else { return };
        let Some(models) = at(&file, &["modelMetrics"]).and_then(Value::as_object) else { return };
        let sum = models.values().fold(Tokens::default(), |sum, model| {
            let of = |key: &str| count(model, &["usage", key]).unwrap_or(0);
            let cached = of("cacheReadTokens");
            Tokens {
                input: sum.input + fresh(of("inputTokens"), cached),
                output: sum.output + of("outputTokens"),
                cached: sum.cached + cached,
            }
        });
        sum.replace_of_thread(usage);
    }
}

#[cfg(test)]
mod tests {
    use super::super::measured;
    use crate::policy::provider::OutputFormat;

    const OUTPUT: &str = r#"{"type":"session.start","data":{"sessionId":"7d3b","version":1,"producer":"copilot-agent"},"id":"e0","timestamp":"2026-10-01T10:00:00Z","parentId":null}
{"type":"assistant.turn_start","data":{"turnId":"0"},"id":"e1","timestamp":"…","parentId":"e0"}
{"type":"assistant.message","data":{"messageId":"m1","content":"","toolRequests":[{"toolCallId":"t1","name":"bash","arguments":{"command":"liza status"},"type":"function"}],"outputTokens":90},"id":"e2","timestamp":"…","parentId":"e1"}
{"type":"tool.execution_start","data":{"toolCallId":"t1","toolName":"bash","arguments":{"command":"liza status"}},"id":"e3","timestamp":"…","parentId":"e2"}
{"type":"tool.execution_complete","data":{"toolCallId":"t1","success":false,"error":{"message":"exit 1"}},"id":"e4","timestamp":"…","parentId":"e3"}
{"type":"assistant.message","data":{"messageId":"m2","content":"Done.","toolRequests":[],"outputTokens":10},"id":"e5","timestamp":"…","parentId":"e4"}
{"type":"result","timestamp":"…","sessionId":"7d3b","exitCode":0,"usage":{"premiumRequests":1,"totalApiDurationMs":900,"sessionDurationMs":2000}}
"#;

    #[test]
    fn events_and_usage_file_are_combined() {
        let used = measured(OutputFormat::CopilotJson, OUTPUT, None);
        assert_eq!((used.turns, used.tool_calls, used.errors), (2, 1, 0));
        assert_eq!((used.input_tokens, used.output_tokens), (0, 100));
        assert_eq!((used.session.as_deref(), used.last_tool.as_deref()), (Some("7d3b"), Some("bash")));
        assert_eq!((used.repeated_calls, used.failed_calls), (1, 1));
        let again = OUTPUT.replace("\"t1\"", "\"t2\"");
        let used = measured(OutputFormat::CopilotJson, &format!("{OUTPUT}{again}"), None);
        assert_eq!((used.repeated_calls, used.failed_calls), (2, 2));
        assert!(used.last_call.is_some_and(|call| call.starts_with("bash#") && !call.contains("status")));
        let file = r#"{
  "totalPremiumRequests": 1,
  "modelMetrics": {
    "gpt-5": {"requests": {"count": 2, "cost": 1}, "usage": {"inputTokens": 21000, "outputTokens": 100, "cacheReadTokens": 19000, "cacheWriteTokens": 0}},
    "small": {"requests": {"count": 1, "cost": 0}, "usage": {"inputTokens": 300, "outputTokens": 5, "cacheReadTokens": 0, "cacheWriteTokens": 0}}
  }
}
"#;
        let used = measured(OutputFormat::CopilotJson, OUTPUT, Some(file));
        assert_eq!((used.input_tokens, used.output_tokens, used.cached_tokens), (2300, 105, 19_000));
        let used = measured(OutputFormat::CopilotJson, OUTPUT, Some("{\"modelMet"));
        assert_eq!(used.output_tokens, 100, "half a file changes nothing");
    }

    #[test]
    fn copilot_errors_are_named() {
        let failed = r#"{"type":"session.error","data":{"errorType":"authentication","message":"No authentication information found."}}"#;
        let used = measured(OutputFormat::CopilotJson, failed, None);
        assert_eq!(
            (used.errors, used.last_error.as_deref()),
            (1, Some("No authentication information found."))
        );
    }
}
