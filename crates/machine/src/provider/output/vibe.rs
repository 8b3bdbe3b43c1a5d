//! Mistral Vibe: entries of its session, one per line. A tool's call and its result are one entry. It does not report
//! tokens.

use serde_json::Value;

use super::fields::{at, object, text};
use super::{Reading, tally::Seen, tally::Turns};
use crate::provider::usage::Usage;

#[derive(Debug, Default)]
pub struct Vibe {
    entries: Seen,
    turns: Turns,
}

impl Reading for Vibe {
    fn line(&mut self, line: &[u8], usage: &mut Usage) {
        let Some(entry) = object(line) else { return };
        usage.in_session(text(&entry, &["sessionId"]));
        match text(&entry, &["type"]).unwrap_or_default() {
            "message" if text(&entry, &["role"]) == Some("assistant") => self.turns.model(usage),
            "effect" if self.entries.first(text(&entry, &["id"])) => {
                self.turns.model(usage);
                let tool = text(&entry, &["detail", "toolName"]).unwrap_or("tool");
                usage.called(tool, at(&entry, &["detail", "input"]));
                if at(&entry, &["state", "display", "success"]) == Some(&Value::Bool(false)) {
                    let why = text(&entry, &["state", "error", "message"]);
                    usage.call_failed(why.or_else(|| text(&entry, &["state", "outputText"])));
                }
                self.turns.tool_answered();
            }
            "error" => {
                let why = text(&entry, &["message"]).or_else(|| text(&entry, &["error", "message"]));
                usage.failed(why);
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
    fn effect_is_a_call_with_its_result() {
        let output = r#"{"id":"user-1","sessionId":"5c47465f","type":"message","role":"user","content":[{"type":"text","text":"Do it."}]}
{"id":"effect-1","sessionId":"5c47465f","type":"effect","title":"file_system.bash","detail":{"toolName":"file_system.bash","kind":"shell","input":{"command":"ls /none"}},"state":{"status":"completed","outputText":"ls: no such file","display":{"success":false}}}
{"id":"effect-2","sessionId":"5c47465f","type":"effect","title":"file_system.bash","detail":{"toolName":"file_system.bash","kind":"shell","input":{"command":"ls"}},"state":{"status":"completed","outputText":"a","display":{"success":true}}}
{"id":"assistant-1","sessionId":"5c47465f","type":"message","role":"assistant","content":[{"type":"text","text":"Done."}]}
"#;
        let used = measured(OutputFormat::VibeMessages, output, None);
        assert_eq!((used.turns, used.tool_calls, used.failed_calls, used.tokens()), (3, 2, 1, 0));
        assert_eq!(used.last_failure.as_deref(), Some("ls: no such file"));
        assert_eq!(
            (used.session.as_deref(), used.last_tool.as_deref()),
            (Some("5c47465f"), Some("file_system.bash"))
        );
    }
}
