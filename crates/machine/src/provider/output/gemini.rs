//! Gemini's stream-json. Tokens come with the result only, summed over the session and its models.

use super::Reading;
use super::fields::{at, count, fresh, object, text};
use super::tally::{Seen, Turns};
use crate::provider::usage::{Tokens, Usage};

#[derive(Debug, Default)]
pub struct Gemini {
    turns: Turns,
    calls: Seen,
    failures: Seen,
}

impl Reading for Gemini {
    fn line(&mut self, line: &[u8], usage: &mut Usage) {
        let Some(event) = object(line) else { return };
        match text(&event, &["type"]).unwrap_or_default() {
            "init" => {
                usage.in_session(text(&event, &["session_id"]));
                usage.by_model(text(&event, &["model"]));
            }
            "message" if text(&event, &["role"]) == Some("assistant") => self.turns.model(usage),
            "tool_use" => {
                self.turns.model(usage);
                if self.calls.first(text(&event, &["tool_id"])) {
                    let tool = text(&event, &["tool_name"]).unwrap_or("tool");
                    usage.called(tool, at(&event, &["parameters"]));
                }
            }
            "tool_result" => {
                self.turns.tool_answered();
                let failed = text(&event, &["status"]) == Some("error");
                if failed && self.failures.first(text(&event, &["tool_id"])) {
                    usage.call_failed(
                        text(&event, &["error", "message"]).or_else(|| text(&event, &["output"])),
                    );
                }
            }
            "error" if text(&event, &["severity"]) != Some("warning") => {
                usage.failed(text(&event, &["message"]));
            }
            "result" => {
                if text(&event, &["status"]) == Some("error") {
                    usage.failed(text(&event, &["error", "message"]));
                }
                let Some(stats) = at(&event, &["stats"]) else { return };
                let of = |key: &str| count(stats, &[key]).unwrap_or(0);
                let (input, cached) = (of("input_tokens"), of("cached"));
                let tokens = Tokens {
                    input: count(stats, &["input"]).unwrap_or_else(|| fresh(input, cached)),
                    // Tokens of thoughts are only in the total.
                    output: of("output_tokens").max(of("total_tokens").saturating_sub(input)),
                    cached,
                };
                tokens.replace(usage);
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
        let output = r#"{"type":"init","timestamp":"2026-10-01T10:00:00.000Z","session_id":"b1c9","model":"gemini-3-pro"}
{"type":"message","timestamp":"…","role":"user","content":"Do it."}
{"type":"message","timestamp":"…","role":"assistant","content":"I will ","delta":true}
{"type":"message","timestamp":"…","role":"assistant","content":"look.","delta":true}
{"type":"tool_use","timestamp":"…","tool_name":"run_shell_command","tool_id":"c1","parameters":{"command":"git log"}}
{"type":"tool_use","timestamp":"…","tool_name":"read_file","tool_id":"c2","parameters":{"file_path":"a"}}
{"type":"tool_result","timestamp":"…","tool_id":"c1","status":"success","output":"…"}
{"type":"tool_result","timestamp":"…","tool_id":"c2","status":"error","error":{"type":"file_not_found","message":"no"}}
{"type":"error","timestamp":"…","severity":"warning","message":"Loop detected"}
{"type":"message","timestamp":"…","role":"assistant","content":"Done.","delta":true}
{"type":"result","timestamp":"…","status":"success","stats":{"total_tokens":10400,"input_tokens":10000,"output_tokens":250,"cached":7000,"input":3000,"duration_ms":9000,"tool_calls":2,"models":{}}}
"#;
        let used = measured(OutputFormat::GeminiStream, output, None);
        assert_eq!((used.turns, used.tool_calls, used.errors), (2, 2, 0));
        assert_eq!((used.input_tokens, used.output_tokens, used.cached_tokens), (3000, 400, 7000));
        assert_eq!((used.session.as_deref(), used.last_tool.as_deref()), (Some("b1c9"), Some("read_file")));
        assert_eq!((used.repeated_calls, used.failed_calls), (1, 1));
        let same =
            r#"{"type":"tool_use","tool_name":"read_file","tool_id":"c3","parameters":{"file_path":"a"}}"#;
        let used = measured(OutputFormat::GeminiStream, &format!("{output}{same}"), None);
        assert_eq!(used.repeated_calls, 2);
        assert!(used.last_call.is_some_and(|call| call.starts_with("read_file#")));
        let failed = r#"{"type":"result","status":"error","error":{"type":"FatalAuthenticationError","message":"no key"},"stats":{"total_tokens":0}}"#;
        let used = measured(OutputFormat::GeminiStream, failed, None);
        assert_eq!((used.errors, used.last_error.as_deref()), (1, Some("no key")));
    }
}
