//! Kimi: messages by role, one per line. It does not report tokens.

use super::Reading;
use super::fields::{at, list, object, text};
use crate::provider::usage::Usage;

#[derive(Debug)]
pub struct Kimi;

impl Reading for Kimi {
    fn line(&mut self, line: &[u8], usage: &mut Usage) {
        let Some(message) = object(line) else { return };
        match text(&message, &["role"]).unwrap_or_default() {
            "assistant" => {
                usage.turns += 1;
                for call in list(&message, &["tool_calls"]) {
                    let tool = text(call, &["function", "name"]).unwrap_or("tool");
                    usage.called(tool, at(call, &["function", "arguments"]));
                }
            }
            "meta" => {
                usage.in_session(text(&message, &["session_id"]));
                if text(&message, &["type"]).is_some_and(|kind| kind.contains("error")) {
                    usage.failed(text(&message, &["content"]).or_else(|| text(&message, &["message"])));
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
    fn messages_and_their_calls_are_counted() {
        let output = r#"{"role":"assistant","content":"I look.","tool_calls":[{"type":"function","id":"tc_1","function":{"name":"Shell","arguments":"{\"command\":\"ls\"}"}},{"type":"function","id":"tc_2","function":{"name":"ReadFile","arguments":"{}"}}]}
{"role":"tool","tool_call_id":"tc_1","content":"a.py"}
{"role":"tool","tool_call_id":"tc_2","content":[{"type":"text","text":"x"}]}
{"role":"assistant","content":"Done."}
{"role":"meta","type":"session.resume_hint","session_id":"session_f4472906","content":"To resume this session: kimi -r session_f4472906"}
"#;
        let used = measured(OutputFormat::KimiMessages, output, None);
        assert_eq!((used.turns, used.tool_calls, used.tokens(), used.errors), (2, 2, 0, 0));
        assert_eq!(
            (used.session.as_deref(), used.last_tool.as_deref()),
            (Some("session_f4472906"), Some("ReadFile"))
        );
        assert_eq!(used.repeated_calls, 1);
        let same = r#"{"role":"assistant","tool_calls":[{"id":"tc_3","function":{"name":"ReadFile","arguments":"{}"}}]}"#;
        let used = measured(OutputFormat::KimiMessages, &format!("{output}{same}"), None);
        assert_eq!(used.repeated_calls, 2);
        assert!(used.last_call.is_some_and(|call| call.starts_with("ReadFile#")));
    }
}
