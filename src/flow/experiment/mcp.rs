//! Codex as an MCP server (`codex mcp-server`, up to Codex 0.154): one `codex` call a round, as JSON-RPC lines.
//!
//! liza approves requests of Codex only inside the run's worktree. All messages go to `codex_mcp_transcript.jsonl`.

mod protocol;

use std::io::{BufRead, BufReader, Write};
use std::sync::mpsc::{self, RecvTimeoutError};

use self::protocol::{Event, Message, Question, ToolList, ToolResult};
use super::agent::{Answer, Call, agent_environment, limits};
use super::{Lab, trace};
use crate::experiment::artifacts;
use crate::flow::prelude::*;
use crate::flow::shell::leaving_nothing;
use crate::host::{Child, Program, Streams, start_thread};
use crate::provider::Usage;

pub use self::protocol::Configured;

const PROTOCOL: &str = "2025-06-18";
/// The time limit for answers that need no model.
const HANDSHAKE: Duration = Duration::from_secs(60);
const TICK: Duration = Duration::from_millis(50);
const LONGEST_LINE: u64 = 16 * 1024 * 1024;
/// Texts of the protocol are cut to this length in the transcript.
const MOST_KEPT: usize = 64 * 1024;

const GONE: &str = "`codex mcp-server` is gone from Codex 0.155 on; set `provider: codex` for the coder, or use an older Codex";

struct Server<'a> {
    lab: &'a Lab,
    child: Child,
    /// To a writer thread: a server that does not read must not block this process.
    lines_in: mpsc::Sender<String>,
    lines_out: mpsc::Receiver<Message>,
    transcript: PathBuf,
    worktree: &'a Path,
    next: u64,
    deadline: Option<Instant>,
    usage: Usage,
    /// The tools that Codex used.
    tools: Vec<String>,
}

enum End {
    Answer(Value),
    Failed(String),
    /// Ended by a signal or ABORT.
    Stopped(&'static str),
}

/// One round. Returns the answer and the tools that were used.
pub fn call(lab: &Lab, call: &Call<'_>, prompt: &str) -> (Answer, Vec<String>) {
    leaving_nothing(|| session(lab, call, prompt))
}

fn session(lab: &Lab, call: &Call<'_>, prompt: &str) -> (Answer, Vec<String>) {
    let began = Instant::now();
    let mut server = match Server::start(lab, call) {
        Ok(server) => server,
        Err(why) => return (Answer::none(why), Vec::new()),
    };
    let end = server.session(prompt);
    server.stop();
    let (text, failed, stopped) = match end {
        End::Answer(result) => {
            let result: ToolResult = serde_json::from_value(result).unwrap_or_default();
            let text = result.text();
            let failed =
                result.is_error.then(|| format!("the coder (codex_mcp) failed: {}", shown_line(&text)));
            (text, failed, None)
        }
        End::Failed(why) => (String::new(), Some(why), None),
        End::Stopped(why) => (String::new(), Some(why.to_owned()), Some(why)),
    };
    let answer =
        Answer { text, usage: server.usage, seconds: began.elapsed().as_secs_f64(), failed, stopped };
    (answer, server.tools)
}

impl<'a> Server<'a> {
    fn start(lab: &'a Lab, call: &Call<'a>) -> Result<Self, String> {
        let command = &lab.config().codex_mcp.command;
        let (program, args) =
            command.split_first().ok_or("`experiment.codex_mcp.command` names no program")?;
        let entry = Catalog::new(&lab.project).entry("codex").cloned().unwrap_or_default();
        let env = agent_environment(lab, &entry, &BTreeMap::new(), call);
        let started = Program::held_for_gate(lab.machine.home(), program).args(args).dir(call.worktree);
        let started = started.only_env(env).own_group().streams(Streams::OutputOnly).keeping_stdin().start();
        let mut child = started.map_err(|error| format!("`{program}` cannot be started: {error}"))?;
        let (lines_in, lines_out) = match talk(&mut child) {
            Ok(lines) => lines,
            Err(error) => {
                child.end();
                return Err(format!("cannot communicate with `{program}`: {error}"));
            }
        };
        let deadline =
            limits(lab, call.step).wall_seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
        let transcript = call.run_dir.join(artifacts::CODEX_TRANSCRIPT);
        let (worktree, usage) = (call.worktree, Usage::default());
        let server = Self {
            lab,
            child,
            lines_in,
            lines_out,
            transcript,
            worktree,
            next: 1,
            deadline,
            usage,
            tools: Vec::new(),
        };
        server.note("mcp_server_start", json!({ "command": command, "round": call.round }));
        Ok(server)
    }

    fn stop(&mut self) {
        self.child.end();
        self.note("mcp_server_stop", json!({}));
    }

    /// Adds an event to the transcript, without secrets and with long texts cut.
    fn note(&self, event: &str, fields: Value) {
        let mut entry = json!({ "time": host::now().wall, "event": event });
        if let (Some(entry), Value::Object(fields)) = (entry.as_object_mut(), fields) {
            entry.extend(fields);
        }
        trace::append(self.lab, &self.transcript, &shortened(entry));
    }

    fn send(&mut self, message: &Value) -> Result<(), String> {
        let line = format!("{}\n", crate::wire::to_json_line(message));
        self.lines_in.send(line).map_err(|_| format!("{GONE} (it stopped reading)"))
    }

    /// Sends a request and handles all other messages until its answer arrives.
    fn ask(&mut self, method: &str, params: Value, patience: Option<Duration>) -> End {
        let id = self.next;
        self.next += 1;
        if let Err(why) =
            self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
        {
            return End::Failed(why);
        }
        let until = patience.map(|patience| Instant::now() + patience);
        loop {
            if let Some(why) = self.lab.must_end() {
                return End::Stopped(why);
            }
            let over =
                |deadline: Option<Instant>| deadline.is_some_and(|deadline| Instant::now() >= deadline);
            if over(until) {
                return End::Failed(format!("no answer to `{method}`; {GONE}"));
            }
            if over(self.deadline) {
                return End::Failed("its time is over".to_owned());
            }
            let message = match self.lines_out.recv_timeout(TICK) {
                Ok(message) => message,
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => {
                    return End::Failed(format!("it ended without an answer to `{method}`; {GONE}"));
                }
            };
            if message.method.is_none() && message.id == Some(json!(id)) {
                return match message.error {
                    Some(error) => {
                        End::Failed(format!("`{method}` was refused: {}", shown_line(&error.message)))
                    }
                    None => End::Answer(message.result),
                };
            }
            if let Err(why) = self.deal_with(message) {
                return End::Failed(why);
            }
        }
    }

    fn session(&mut self, prompt: &str) -> End {
        let client = json!({
            "protocolVersion": PROTOCOL, "capabilities": { "elicitation": {} },
            "clientInfo": { "name": "liza", "version": env!("CARGO_PKG_VERSION") },
        });
        match self.ask("initialize", client, Some(HANDSHAKE)) {
            End::Answer(_) => {}
            other => return other,
        }
        if let Err(why) = self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })) {
            return End::Failed(why);
        }
        let tools = match self.ask("tools/list", json!({}), Some(HANDSHAKE)) {
            End::Answer(tools) => serde_json::from_value::<ToolList>(tools).unwrap_or_default(),
            other => return other,
        };
        let names: Vec<&str> = tools.tools.iter().map(|tool| tool.name.as_str()).collect();
        self.note("mcp_list_tools", json!({ "tools": names }));
        if !names.contains(&"codex") {
            return End::Failed(format!("the server has no tool `codex`, only {}", list_words(&names)));
        }
        let config = &self.lab.config().codex_mcp;
        let arguments = json!({
            "prompt": prompt, "cwd": self.worktree, "sandbox": config.sandbox, "approval-policy": config.approval_policy,
        });
        self.note("tool_call", json!({ "tool": "codex", "arguments": arguments.clone() }));
        let end = self.ask("tools/call", json!({ "name": "codex", "arguments": arguments }), None);
        if let End::Answer(result) = &end {
            self.note("tool_result", json!({ "tool": "codex", "result": result.clone() }));
        }
        end
    }

    /// Handles a message that is not the awaited answer: answers questions, records events.
    fn deal_with(&mut self, message: Message) -> Result<(), String> {
        let method = message.method.unwrap_or_default();
        match (method.as_str(), message.id) {
            ("elicitation/create", Some(id)) => {
                self.note("elicitation_request", json!({ "params": message.params.clone() }));
                // A request that liza cannot parse is declined.
                let question = serde_json::from_value::<Question>(message.params).ok();
                let result = match question
                    .ok_or("unreadable".to_owned())
                    .and_then(|question| question.stays_inside(self.worktree))
                {
                    Ok(()) => json!({ "action": "accept", "content": {}, "decision": "approved" }),
                    Err(outside) => {
                        self.note("elicitation_declined", json!({ "outside": outside }));
                        json!({ "action": "decline", "decision": "denied" })
                    }
                };
                self.note("elicitation_response", json!({ "result": result.clone() }));
                self.send(&json!({ "jsonrpc": "2.0", "id": id, "result": result }))
            }
            ("ping", Some(id)) => self.send(&json!({ "jsonrpc": "2.0", "id": id, "result": {} })),
            (_, Some(id)) if !method.is_empty() => {
                let error = json!({ "code": -32601, "message": format!("liza does not know `{method}`") });
                self.send(&json!({ "jsonrpc": "2.0", "id": id, "error": error }))
            }
            ("codex/event", None) => {
                if let Ok(event) = serde_json::from_value::<Event>(message.params) {
                    event.msg.count(&mut self.usage);
                    self.tools.extend(event.msg.tool().map(str::to_owned));
                    // Other events are in Codex's own log, at rollout_path.
                    self.note("codex_event", event.msg.noted());
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// Starts the threads that write to the server and read from it, line by line.
fn talk(child: &mut Child) -> std::io::Result<(mpsc::Sender<String>, mpsc::Receiver<Message>)> {
    let gone = || std::io::Error::other("it has no pipes");
    let (mut stdin, out) = (child.stdin.take().ok_or_else(gone)?, child.stdout.take().ok_or_else(gone)?);
    let (lines_in, to_write) = mpsc::channel::<String>();
    let (read, lines_out) = mpsc::channel();
    start_thread(move || {
        while let Ok(line) = to_write.recv() {
            if stdin.write_all(line.as_bytes()).and_then(|()| stdin.flush()).is_err() {
                break;
            }
        }
    })?;
    start_thread(move || {
        let mut reader = BufReader::new(out);
        let mut line = Vec::new();
        loop {
            line.clear();
            match reader.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => break,
                // Lines that are no protocol messages are skipped.
                Ok(_) => {
                    if let Ok(message) = serde_json::from_slice::<Message>(&line)
                        && read.send(message).is_err()
                    {
                        break;
                    }
                }
            }
        }
    })?;
    Ok((lines_in, lines_out))
}

/// The value with long texts cut.
fn shortened(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(clipped(&text, MOST_KEPT).into_owned()),
        Value::Array(items) => Value::Array(items.into_iter().map(shortened).collect()),
        Value::Object(map) => {
            Value::Object(map.into_iter().map(|(key, value)| (key, shortened(value))).collect())
        }
        other => other,
    }
}
