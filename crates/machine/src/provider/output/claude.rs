//! Claude Code's stream-json, and Qwen's, which has the same shape but counts differently.
//!
//! A message comes once for each of its parts, every time with the tokens of the whole message so far; the result at
//! the end has the sums of the session.

use serde_json::Value;

use super::Reading;
use super::fields::{at, count, fresh, list, money, object, text};
use super::tally::{Messages, Seen};
use crate::provider::usage::{Tokens, Usage};

#[derive(Debug, Default)]
pub struct Claude {
    /// Whether `input_tokens` includes tokens read from a cache.
    cached_within_input: bool,
    messages: Messages,
    calls: Seen,
    answers: Seen,
    /// How many results came so far.
    results: usize,
    /// When a reached limit resets, in seconds since 1970.
    resets: Option<u64>,
}

impl Claude {
    pub fn cache_within_input() -> Self {
        Self { cached_within_input: true, ..Self::default() }
    }

    fn tokens(&self, usage: &Value) -> Tokens {
        let of = |key: &str| count(usage, &[key]).unwrap_or(0);
        let (input, cached) = (of("input_tokens"), of("cache_read_input_tokens"));
        Tokens {
            input: if self.cached_within_input {
                fresh(input, cached)
            } else {
                input + of("cache_creation_input_tokens")
            },
            output: of("output_tokens"),
            cached,
        }
    }

    fn message(&mut self, event: &Value, usage: &mut Usage) {
        let Some(message) = event.get("message") else { return };
        let tokens = at(message, &["usage"]).map(|reported| self.tokens(reported)).unwrap_or_default();
        let new = self.messages.add_report(text(message, &["id"]), tokens, usage);
        // A subagent has its own turns, which have no limit.
        if new && text(event, &["parent_tool_use_id"]).is_none() {
            usage.turns += 1;
        }
        for part in list(message, &["content"]) {
            if text(part, &["type"]) == Some("tool_use") && self.calls.first(text(part, &["id"])) {
                usage.called(text(part, &["name"]).unwrap_or("tool"), at(part, &["input"]));
            }
        }
    }

    /// Results of tools.
    fn answers(&mut self, event: &Value, usage: &mut Usage) {
        for part in list(event, &["message", "content"]) {
            let failed = at(part, &["is_error"]) == Some(&Value::Bool(true));
            if failed
                && text(part, &["type"]) == Some("tool_result")
                && self.answers.first(text(part, &["tool_use_id"]))
            {
                usage.call_failed(said_by_tool(part).as_deref());
            }
        }
    }

    fn result(&mut self, event: &Value, usage: &mut Usage) {
        // If the sums are those of the thread, this may be too.
        let of_thread = self.cached_within_input && usage.former.is_some();
        if let Some(turns) = count(event, &["num_turns"]).filter(|turns| *turns > 0 && !of_thread) {
            usage.turns = turns;
        }
        let of_session = at(event, &["usage"]).map(|reported| self.tokens(reported)).unwrap_or_default();
        // The figures by model include those of subagents, which `usage` leaves out. In a resumed session they are
        // sums of the whole thread; newer versions also report what came since the last result.
        let since = by_model(event, "model_usage_since_last_result");
        let whole = by_model(event, "modelUsage");
        let sum = [since, whole, of_session].into_iter().find(|sum| !sum.is_none()).unwrap_or_default();
        match self.cached_within_input {
            true => sum.replace_of_thread(usage),
            false if !since.is_none() && self.results > 0 => sum.add_to(usage),
            false => sum.replace(usage),
        }
        let cost_since = cost_by_model(event).filter(|_| !since.is_none());
        if let Some(cost) = cost_since.or_else(|| money(event, &["total_cost_usd"])) {
            let before = usage.cost_usd.filter(|_| cost_since.is_some() && self.results > 0).unwrap_or(0.0);
            usage.cost_usd = Some(before + cost);
        }
        self.results += 1;
        let subtype = text(event, &["subtype"]).unwrap_or_default();
        if subtype.starts_with("error_max") {
            usage.capped = true;
        } else if subtype.starts_with("error") || at(event, &["is_error"]) == Some(&Value::Bool(true)) {
            let why = text(event, &["result"]).or_else(|| text(event, &["error", "message"]));
            // The text names only the hour of the reset.
            let resets = self.resets.map(|at| format!(" (resets at {at})")).unwrap_or_default();
            let why = why.or(Some(subtype)).filter(|why| !why.is_empty()).map(|why| format!("{why}{resets}"));
            usage.failed(why.as_deref());
        }
    }
}

/// A text, or the texts of a list of parts.
pub fn said_by_tool(part: &Value) -> Option<String> {
    if let Some(said) = text(part, &["content"]) {
        return Some(said.to_owned());
    }
    let texts: Vec<&str> = list(part, &["content"]).iter().filter_map(|one| text(one, &["text"])).collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

fn cost_by_model(event: &Value) -> Option<f64> {
    let models = at(event, &["model_usage_since_last_result"]).and_then(Value::as_object)?;
    models.values().map(|model| money(model, &["costUSD"])).sum()
}

fn by_model(event: &Value, field: &str) -> Tokens {
    let models = at(event, &[field]).and_then(Value::as_object);
    models.into_iter().flat_map(|models| models.values()).fold(Tokens::default(), |sum, model| {
        let of = |key: &str| count(model, &[key]).unwrap_or(0);
        Tokens {
            input: sum.input + of("inputTokens") + of("cacheCreationInputTokens"),
            output: sum.output + of("outputTokens"),
            cached: sum.cached + of("cacheReadInputTokens"),
        }
    })
}

impl Reading for Claude {
    fn line(&mut self, line: &[u8], usage: &mut Usage) {
        let Some(event) = object(line) else { return };
        let kind = text(&event, &["type"]).unwrap_or_default();
        if ["system", "assistant", "result"].contains(&kind) {
            usage.in_session(text(&event, &["session_id"]));
        }
        match kind {
            "system" => usage.by_model(text(&event, &["model"])),
            "assistant" => self.message(&event, usage),
            "user" => self.answers(&event, usage),
            "result" => self.result(&event, usage),
            "rate_limit_event" if text(&event, &["rate_limit_info", "status"]) == Some("rejected") => {
                self.resets = count(&event, &["rate_limit_info", "resetsAt"]);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::measured;
    use crate::policy::provider::OutputFormat;

    const CLAUDE: &str = r#"{"type":"system","subtype":"init","cwd":"/r/.worktrees/t","session_id":"5f0c2a4e-11d2-4b8e-9a3d-0d6f9f2f7f10","tools":["Bash","Edit"],"mcp_servers":[],"model":"claude-sonnet-4-5","permissionMode":"acceptEdits","apiKeySource":"none"}
{"type":"assistant","message":{"id":"msg_01","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"text","text":"I look first."}],"stop_reason":null,"usage":{"input_tokens":4,"cache_creation_input_tokens":5200,"cache_read_input_tokens":11000,"output_tokens":2}},"parent_tool_use_id":null,"session_id":"5f0c2a4e-11d2-4b8e-9a3d-0d6f9f2f7f10"}
{"type":"assistant","message":{"id":"msg_01","type":"message","role":"assistant","content":[{"type":"tool_use","id":"toolu_01","name":"Bash","input":{"command":"git status"}}],"usage":{"input_tokens":4,"cache_creation_input_tokens":5200,"cache_read_input_tokens":11000,"output_tokens":60}},"parent_tool_use_id":null,"session_id":"5f0c2a4e-11d2-4b8e-9a3d-0d6f9f2f7f10"}
{"type":"user","message":{"role":"user","content":[{"tool_use_id":"toolu_01","type":"tool_result","content":"fatal: no","is_error":true}]},"parent_tool_use_id":null,"session_id":"5f0c2a4e-11d2-4b8e-9a3d-0d6f9f2f7f10"}
{"type":"assistant","message":{"id":"msg_02","type":"message","role":"assistant","content":[{"type":"tool_use","id":"toolu_02","name":"Edit","input":{}}],"usage":{"input_tokens":6,"cache_creation_input_tokens":300,"cache_read_input_tokens":16200,"output_tokens":40}},"parent_tool_use_id":null,"session_id":"5f0c2a4e-11d2-4b8e-9a3d-0d6f9f2f7f10"}
"#;

    #[test]
    fn parts_of_one_message_are_counted_once() {
        let used = measured(OutputFormat::ClaudeStream, CLAUDE, None);
        assert_eq!((used.turns, used.tool_calls, used.errors), (2, 2, 0));
        assert_eq!((used.input_tokens, used.output_tokens, used.cached_tokens), (5510, 100, 27_200));
        assert_eq!(used.last_tool.as_deref(), Some("Edit"));
        assert_eq!(used.session.as_deref(), Some("5f0c2a4e-11d2-4b8e-9a3d-0d6f9f2f7f10"));
        assert_eq!((used.cost_usd, used.tokens()), (None, 5610));
        assert_eq!(
            (used.failed_calls, used.repeated_calls),
            (1, 1),
            "a red test is no failure of the provider"
        );
    }

    #[test]
    fn result_overrides_earlier_figures() {
        let result = r#"{"type":"result","subtype":"success","is_error":false,"duration_ms":8123,"num_turns":3,"result":"Done.","session_id":"5f0c2a4e","total_cost_usd":0.0875,"usage":{"input_tokens":10,"cache_creation_input_tokens":5500,"cache_read_input_tokens":27200,"output_tokens":180}}"#;
        let used = measured(OutputFormat::ClaudeStream, &format!("{CLAUDE}{result}"), None);
        assert_eq!((used.turns, used.input_tokens, used.output_tokens), (3, 5510, 180));
        assert_eq!((used.cost_usd, used.errors, used.capped), (Some(0.0875), 0, false));
        let since = result.replace(
            "\"usage\"",
            r#""modelUsage":{"big":{"inputTokens":9000,"outputTokens":900,"costUSD":0.9}},"model_usage_since_last_result":{"big":{"inputTokens":30,"outputTokens":7,"costUSD":0.02}},"usage""#,
        );
        let used = measured(OutputFormat::ClaudeStream, &format!("{CLAUDE}{since}"), None);
        assert_eq!((used.input_tokens, used.output_tokens, used.cost_usd), (30, 7, Some(0.02)), "resumed");
        let limit = r#"{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1794974033,"rateLimitType":"five_hour"}}
{"type":"result","subtype":"success","is_error":true,"num_turns":1,"result":"You've hit your limit · resets 3:53am (UTC)"}"#;
        let used = measured(OutputFormat::ClaudeStream, limit, None);
        let said = "You've hit your limit · resets 3:53am (UTC) (resets at 1794974033)";
        assert_eq!((used.errors, used.last_error.as_deref()), (1, Some(said)));
        let models = r#"{"type":"result","subtype":"success","is_error":false,"num_turns":3,"usage":{"input_tokens":10,"output_tokens":180},"modelUsage":{"big":{"inputTokens":10,"outputTokens":180,"cacheReadInputTokens":27200,"cacheCreationInputTokens":5500,"costUSD":0.08},"small":{"inputTokens":90,"outputTokens":20,"cacheReadInputTokens":0,"cacheCreationInputTokens":0,"costUSD":0.01}}}"#;
        let used = measured(OutputFormat::ClaudeStream, &format!("{CLAUDE}{models}"), None);
        assert_eq!((used.input_tokens, used.output_tokens, used.cached_tokens), (5600, 200, 27_200));
    }

    #[test]
    fn repeated_call_is_counted_each_time() {
        let call = |id: u32, command: &str| {
            format!(
                r#"{{"type":"assistant","message":{{"id":"msg_{id}","role":"assistant","content":[{{"type":"tool_use","id":"t{id}","name":"Bash","input":{{"command":"{command}"}}}}]}},"parent_tool_use_id":null}}
{{"type":"user","message":{{"role":"user","content":[{{"tool_use_id":"t{id}","type":"tool_result","content":"no","is_error":true}}]}}}}
"#
            )
        };
        let output: String =
            [call(1, "ls"), call(2, "make"), call(3, "make"), call(3, "make"), call(4, "make")].concat();
        for format in [OutputFormat::ClaudeStream, OutputFormat::QwenStream] {
            let used = measured(format, &output, None);
            assert_eq!((used.tool_calls, used.repeated_calls, used.failed_calls), (4, 3, 4));
            assert!(used.last_call.is_some_and(|call| call.starts_with("Bash#") && !call.contains("make")));
        }
    }

    #[test]
    fn failures_and_limits_are_distinguished() {
        let failed = r#"{"type":"result","subtype":"success","is_error":true,"num_turns":1,"result":"API Error: 529 overloaded"}"#;
        let used = measured(OutputFormat::ClaudeStream, failed, None);
        assert_eq!((used.errors, used.last_error.as_deref()), (1, Some("API Error: 529 overloaded")));
        let capped = r#"{"type":"result","subtype":"error_max_turns","is_error":true,"num_turns":51}"#;
        let used = measured(OutputFormat::ClaudeStream, capped, None);
        assert_eq!((used.errors, used.capped, used.turns), (0, true, 51));
    }

    #[test]
    fn qwen_input_includes_cache_reads() {
        let output = r#"{"type":"system","subtype":"init","uuid":"u","session_id":"q-1","cwd":"/r","tools":[],"model":"qwen3-coder-plus","permission_mode":"yolo"}
{"type":"assistant","uuid":"a1","session_id":"q-1","parent_tool_use_id":null,"message":{"id":"a1","type":"message","role":"assistant","content":[{"type":"tool_use","id":"c1","name":"run_shell_command","input":{"command":"liza status"}}],"usage":{"input_tokens":9000,"output_tokens":50,"cache_read_input_tokens":8000,"total_tokens":9050}}}
{"type":"user","session_id":"q-1","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","is_error":false,"content":"ok"}]}}
{"type":"assistant","uuid":"a2","session_id":"q-1","parent_tool_use_id":null,"message":{"id":"a2","type":"message","role":"assistant","content":[{"type":"text","text":"Done."}],"usage":{"input_tokens":9100,"output_tokens":20,"cache_read_input_tokens":9000,"total_tokens":9120}}}
"#;
        let used = measured(OutputFormat::QwenStream, output, None);
        assert_eq!((used.turns, used.tool_calls), (2, 1));
        assert_eq!((used.input_tokens, used.output_tokens, used.cached_tokens), (1100, 70, 17_000));
        let result = r#"{"type":"result","subtype":"success","session_id":"q-1","is_error":false,"num_turns":2,"result":"Done.","usage":{"input_tokens":18100,"output_tokens":75,"cache_read_input_tokens":17000,"total_tokens":18175}}"#;
        let used = measured(OutputFormat::QwenStream, &format!("{output}{result}"), None);
        assert_eq!((used.input_tokens, used.output_tokens, used.cached_tokens), (1100, 75, 17_000));
        assert_eq!(used.session.as_deref(), Some("q-1"));
    }
}
