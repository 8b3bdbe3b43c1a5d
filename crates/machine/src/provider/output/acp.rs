//! The Agent Client Protocol as `acpx` prints it: every message of client and agent, one per line. Tokens come with
//! the answer to the prompt; some agents report only those of the model's last answer.

use super::Reading;
use super::fields::{at, count, money, object, text};
use super::tally::{Seen, Turns};
use crate::provider::usage::{Tokens, Usage};

#[derive(Debug, Default)]
pub struct Acp {
    calls: Seen,
    ended: Seen,
    turns: Turns,
}

impl Reading for Acp {
    fn line(&mut self, line: &[u8], usage: &mut Usage) {
        let Some(message) = object(line) else { return };
        usage.in_session(
            text(&message, &["result", "sessionId"]).or_else(|| text(&message, &["params", "sessionId"])),
        );
        if let Some(why) = text(&message, &["error", "message"]) {
            let more = text(&message, &["error", "data", "details"]);
            usage.failed(Some(more.unwrap_or(why)));
        }
        if let Some(reported) = at(&message, &["result", "usage"]) {
            let of = |key: &str| count(reported, &[key]).unwrap_or(0);
            Tokens {
                input: of("inputTokens") + of("cachedWriteTokens"),
                output: of("outputTokens") + of("thoughtTokens"),
                cached: of("cachedReadTokens"),
            }
            .add_to(usage);
        }
        let Some(update) = at(&message, &["params", "update"]) else { return };
        let id = text(update, &["toolCallId"]);
        match text(update, &["sessionUpdate"]).unwrap_or_default() {
            "agent_message_chunk" | "agent_thought_chunk" => self.turns.model(usage),
            "tool_call" if self.calls.first(id) => {
                self.turns.model(usage);
                // The arguments come later, in pieces.
                let tool = text(update, &["title"]).or_else(|| text(update, &["kind"]));
                usage.called(tool.unwrap_or("tool"), None);
            }
            "tool_call_update" => {
                let status = text(update, &["status"]).unwrap_or_default();
                if ["completed", "failed"].contains(&status) && self.ended.first(id) {
                    let exit = count(update, &["rawOutput", "metadata", "exit"]).unwrap_or(0);
                    if status == "failed" || exit > 0 {
                        let why = text(update, &["rawOutput", "error"]);
                        usage.call_failed(why.or_else(|| text(update, &["rawOutput", "output"])));
                    }
                    self.turns.tool_answered();
                }
            }
            "usage_update" => {
                if let Some(cost) = money(update, &["cost", "amount"]) {
                    usage.cost_usd = Some(cost);
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
    fn session_updates_are_counted_once() {
        let output = r#"{"jsonrpc":"2.0","id":1,"result":{"sessionId":"ses_1","configOptions":[]}}
{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"ses_1","prompt":[{"type":"text","text":"Do it."}]}}
{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"ses_1","update":{"sessionUpdate":"tool_call","toolCallId":"call_2","title":"bash","kind":"execute","status":"pending","rawInput":{}}}}
{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"ses_1","update":{"sessionUpdate":"tool_call_update","toolCallId":"call_2","status":"in_progress","rawInput":{"command":"ls /none"}}}}
{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"ses_1","update":{"sessionUpdate":"tool_call_update","toolCallId":"call_2","status":"completed","rawOutput":{"output":"ls: no","metadata":{"exit":2}}}}}
{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"ses_1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Do"}}}}
{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"ses_1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"ne."}}}}
{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"ses_1","update":{"sessionUpdate":"usage_update","used":1000,"size":200000,"cost":{"amount":0.25,"currency":"USD"}}}}
{"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn","usage":{"inputTokens":800,"outputTokens":40,"totalTokens":1050,"thoughtTokens":10,"cachedReadTokens":200}}}
"#;
        let used = measured(OutputFormat::AcpJsonl, output, None);
        assert_eq!((used.turns, used.tool_calls, used.failed_calls, used.errors), (2, 1, 1, 0));
        assert_eq!((used.input_tokens, used.output_tokens, used.cached_tokens), (800, 50, 200));
        assert_eq!((used.session.as_deref(), used.cost_usd), (Some("ses_1"), Some(0.25)));
        let failed = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"ACP agent exited","data":{"acpxCode":"RUNTIME"}}}"#;
        let used = measured(OutputFormat::AcpJsonl, failed, None);
        assert_eq!((used.errors, used.last_error.as_deref()), (1, Some("ACP agent exited")));
    }
}
