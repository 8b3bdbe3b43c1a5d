//! OpenCode: one JSON object per line. Tokens and costs come with every step, for that step alone.

use serde_json::Value;

use super::fields::{at, count, money, object, text};
use super::{Reading, tally::Seen};
use crate::provider::usage::{Tokens, Usage};

#[derive(Debug, Default)]
pub struct Opencode {
    calls: Seen,
    steps: Seen,
}

impl Reading for Opencode {
    fn line(&mut self, line: &[u8], usage: &mut Usage) {
        let Some(event) = object(line) else { return };
        usage.in_session(text(&event, &["sessionID"]));
        match text(&event, &["type"]).unwrap_or_default() {
            "tool_use" if self.calls.first(text(&event, &["part", "callID"])) => {
                let state = at(&event, &["part", "state"]).unwrap_or(&Value::Null);
                usage.called(text(&event, &["part", "tool"]).unwrap_or("tool"), at(state, &["input"]));
                let exit = count(state, &["metadata", "exit"]).unwrap_or(0);
                if text(state, &["status"]) == Some("error") || exit > 0 {
                    usage.call_failed(text(state, &["error"]).or_else(|| text(state, &["output"])));
                }
            }
            "step_finish" if self.steps.first(text(&event, &["part", "id"])) => {
                let of = |path: &[&str]| count(&event, &[&["part", "tokens"], path].concat()).unwrap_or(0);
                let (input, output, reasoning) = (of(&["input"]), of(&["output"]), of(&["reasoning"]));
                let (cached, written) = (of(&["cache", "read"]), of(&["cache", "write"]));
                // Some versions count reasoning within output; the total shows whether.
                let within = of(&["total"]) == input + output + cached + written;
                Tokens {
                    input: input + written,
                    output: if within { output } else { output + reasoning },
                    cached,
                }
                .add_to(usage);
                usage.turns += 1;
                if let Some(cost) = money(&event, &["part", "cost"]) {
                    usage.cost_usd = Some(usage.cost_usd.unwrap_or(0.0) + cost);
                }
            }
            "error" => {
                let why = text(&event, &["error", "data", "message"])
                    .or_else(|| text(&event, &["error", "message"]))
                    .or_else(|| text(&event, &["error", "name"]))
                    .or_else(|| text(&event, &["message"]));
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
    fn steps_are_added_up() {
        let output = r#"{"type":"step_start","timestamp":1767036059338,"sessionID":"ses_494719016ffe85dk","part":{"id":"prt_1","sessionID":"ses_494719016ffe85dk","messageID":"msg_1","type":"step-start"}}
{"type":"tool_use","timestamp":1767036061199,"sessionID":"ses_494719016ffe85dk","part":{"id":"prt_2","type":"tool","callID":"call_1","tool":"bash","state":{"status":"completed","input":{"command":"liza status"},"output":"…","metadata":{"exit":0}}}}
{"type":"step_finish","timestamp":1767036061210,"sessionID":"ses_494719016ffe85dk","part":{"id":"prt_3","type":"step-finish","reason":"tool-calls","cost":0.001,"tokens":{"total":22443,"input":22,"output":100,"reasoning":21,"cache":{"read":21800,"write":500}}}}
{"type":"text","timestamp":1767036064268,"sessionID":"ses_494719016ffe85dk","part":{"id":"prt_4","type":"text","text":"Done."}}
{"type":"step_finish","timestamp":1767036064273,"sessionID":"ses_494719016ffe85dk","part":{"id":"prt_5","type":"step-finish","reason":"stop","cost":0.0005,"tokens":{"total":160,"input":60,"output":50,"reasoning":10,"cache":{"read":50,"write":0}}}}
"#;
        let used = measured(OutputFormat::OpencodeJson, output, None);
        assert_eq!((used.turns, used.tool_calls, used.errors), (2, 1, 0));
        assert_eq!((used.input_tokens, used.output_tokens, used.cached_tokens), (582, 171, 21_850));
        assert!((used.cost_usd.expect("a cost") - 0.0015).abs() < 1e-12);
        assert_eq!(
            (used.session.as_deref(), used.last_tool.as_deref()),
            (Some("ses_494719016ffe85dk"), Some("bash"))
        );
        let again = output.replace("call_1", "call_2").replace("\"exit\":0", "\"exit\":1");
        let twice = measured(OutputFormat::OpencodeJson, &format!("{output}{again}"), None);
        assert_eq!((twice.repeated_calls, twice.failed_calls), (2, 1));
        assert!(twice.last_call.is_some_and(|call| call.starts_with("bash#") && !call.contains("liza")));
        let failed = r#"{"type":"error","timestamp":1,"sessionID":"ses_1","error":{"name":"APIError","data":{"message":"Rate limit exceeded"}}}"#;
        let used = measured(OutputFormat::OpencodeJson, failed, None);
        assert_eq!((used.errors, used.last_error.as_deref()), (1, Some("Rate limit exceeded")));
    }
}
