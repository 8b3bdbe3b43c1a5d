//! Codex as an MCP server (`codex mcp-server`, up to Codex 0.154): one `codex` call a round, as JSON-RPC lines.
//!
//! What Codex wants to have approved is accepted only inside the run's worktree. Everything that is said goes to
//! `codex_mcp_transcript.jsonl`.

use std::io::{BufRead, BufReader, Write};
use std::sync::mpsc::{self, RecvTimeoutError};

use super::agent::{Answer, Call, limits};
use super::{Lab, trace};
use crate::experiment::artifacts;
use crate::flow::interruption;
use crate::flow::prelude::*;
use crate::host::{Child, Program, Streams, start_thread};
use crate::provider::{Usage, environment};

const PROTOCOL: &str = "2025-06-18";
/// How long it may take to answer what needs no model.
const HANDSHAKE: Duration = Duration::from_secs(60);
const TICK: Duration = Duration::from_millis(50);
const LONGEST_LINE: u64 = 16 * 1024 * 1024;
/// Texts of the protocol are cut to this length in the transcript.
const MOST_KEPT: usize = 64 * 1024;

const GONE: &str = "`codex mcp-server` is gone from Codex 0.155 on; set `provider: codex` for the coder, or use an older Codex";

struct Server<'a> {
    lab: &'a Lab,
    child: Child,
    lines: mpsc::Receiver<Value>,
    transcript: PathBuf,
    worktree: &'a Path,
    next: u64,
    deadline: Option<Instant>,
}

enum End {
    Answer(Value),
    Failed(String),
    Interrupted,
}

pub fn call(lab: &Lab, call: &Call<'_>, prompt: &str) -> Result<Answer> {
    let began = Instant::now();
    let answer = |text: String, failed: Option<String>, interrupted: bool| Answer {
        text,
        usage: Usage { turns: 1, ..Usage::default() },
        seconds: began.elapsed().as_secs_f64(),
        failed,
        interrupted,
    };
    let mut server = match Server::start(lab, call) {
        Ok(server) => server,
        Err(why) => return Ok(answer(String::new(), Some(why), false)),
    };
    let end = server.session(prompt);
    server.stop();
    Ok(match end {
        End::Answer(result) => {
            let failed = (result["isError"] == Value::Bool(true))
                .then(|| format!("the coder (codex_mcp) failed: {}", text_of(&result)));
            answer(text_of(&result), failed, false)
        }
        End::Failed(why) => answer(String::new(), Some(why), false),
        End::Interrupted => answer(String::new(), Some("it was interrupted".to_owned()), true),
    })
}

impl<'a> Server<'a> {
    fn start(lab: &'a Lab, call: &Call<'a>) -> Result<Self, String> {
        let command = &lab.config().codex_mcp.command;
        let (program, args) =
            command.split_first().ok_or("`experiment.codex_mcp.command` names no program")?;
        let entry = Catalog::new(&lab.project).entry("codex").cloned().unwrap_or_default();
        let mut env = environment(&entry, std::env::vars_os());
        env.extend(lab.variables.iter().cloned());
        host::adopt_orphans();
        let started = Program::held_for_gate(lab.machine.home(), program).args(args).dir(call.worktree);
        let started = started.only_env(env).own_group().streams(Streams::OutputOnly).keeping_stdin().start();
        let mut child = started.map_err(|error| format!("`{program}` cannot be started: {error}"))?;
        let (sender, lines) = mpsc::channel();
        let out = child.stdout.take().ok_or("its output cannot be read")?;
        let reading = start_thread(move || {
            let mut reader = BufReader::new(out);
            let mut line = Vec::new();
            loop {
                line.clear();
                match reader.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line) {
                    Ok(0) | Err(_) => break,
                    // Whatever is no message of the protocol is passed over.
                    Ok(_) => {
                        if let Ok(message) = serde_json::from_slice::<Value>(&line)
                            && sender.send(message).is_err()
                        {
                            break;
                        }
                    }
                }
            }
        });
        if let Err(error) = reading {
            child.end();
            return Err(format!("it cannot be listened to: {error}"));
        }
        let deadline =
            limits(lab, call.step).wall_seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
        let transcript = call.run_dir.join(artifacts::CODEX_TRANSCRIPT);
        let server = Self { lab, child, lines, transcript, worktree: call.worktree, next: 1, deadline };
        server.note("mcp_server_start", json!({ "command": command, "round": call.round }));
        Ok(server)
    }

    fn stop(&mut self) {
        drop(self.child.stdin.take());
        self.child.end();
        self.note("mcp_server_stop", json!({}));
    }

    /// Writes an event down, without secrets and without floods.
    fn note(&self, event: &str, fields: Value) {
        let mut entry = json!({ "time": host::now().wall, "event": event });
        if let (Some(entry), Value::Object(fields)) = (entry.as_object_mut(), fields) {
            entry.extend(fields);
        }
        let text = self.lab.redacted(&crate::wire::to_json_line(&entry));
        let entry: Value = serde_json::from_str(&text).unwrap_or_else(|_| json!({ "event": event }));
        trace::append(&self.transcript, &shortened(entry));
    }

    fn send(&mut self, message: &Value) -> Result<(), String> {
        let line = format!("{}\n", crate::wire::to_json_line(message));
        let stdin = self.child.stdin.as_mut().ok_or("its input is closed")?;
        stdin
            .write_all(line.as_bytes())
            .and_then(|()| stdin.flush())
            .map_err(|error| format!("{GONE} (it stopped reading: {error})"))
    }

    /// Sends a request and deals with everything until its answer comes.
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
            if interruption::signal().is_some() {
                return End::Interrupted;
            }
            let over =
                |deadline: Option<Instant>| deadline.is_some_and(|deadline| Instant::now() >= deadline);
            if over(until) {
                return End::Failed(format!("no answer to `{method}`; {GONE}"));
            }
            if over(self.deadline) {
                return End::Failed("its time is over".to_owned());
            }
            let message = match self.lines.recv_timeout(TICK) {
                Ok(message) => message,
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => {
                    return End::Failed(format!("it ended without an answer to `{method}`; {GONE}"));
                }
            };
            if message.get("method").is_none() && message["id"] == json!(id) {
                return match message.get("error") {
                    Some(error) => End::Failed(format!(
                        "`{method}` was refused: {}",
                        shown_line(error["message"].as_str().unwrap_or("no reason given"))
                    )),
                    None => End::Answer(message["result"].clone()),
                };
            }
            if let Err(why) = self.deal_with(&message) {
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
            End::Answer(tools) => tools,
            other => return other,
        };
        let names: Vec<&str> = tools["tools"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|tool| tool["name"].as_str())
            .collect();
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

    /// What comes beside the answer: questions are answered, events are noted.
    fn deal_with(&mut self, message: &Value) -> Result<(), String> {
        let method = message["method"].as_str().unwrap_or_default();
        let params = &message["params"];
        match (method, message.get("id")) {
            ("elicitation/create", Some(id)) => {
                self.note("elicitation_request", json!({ "params": params.clone() }));
                let result = match outside(params, self.worktree) {
                    None => json!({ "action": "accept", "content": {}, "decision": "approved" }),
                    Some(path) => {
                        self.note("elicitation_declined", json!({ "outside": path }));
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
                let event = &params["msg"];
                let kind = event["type"].as_str().unwrap_or("event").to_owned();
                let mut fields = json!({ "msg_type": kind });
                // The rest is Codex's own log, at rollout_path.
                if kind == "session_configured" {
                    fields["rollout_path"] = event["rollout_path"].clone();
                    fields["sandbox_policy"] = event.get("sandbox_policy").cloned().unwrap_or_default();
                    fields["model"] = event["model"].clone();
                }
                self.note("codex_event", fields);
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// The first path of a question that leads out of the worktree. A question that names no place is answered by the
/// sandbox that Codex itself keeps.
fn outside(params: &Value, worktree: &Path) -> Option<String> {
    let cwd = params["codex_cwd"].as_str();
    let changes = params["codex_changes"]
        .as_object()
        .into_iter()
        .flat_map(|changes| changes.keys().map(String::as_str));
    let grant = params["codex_grant_root"].as_str();
    let paths = cwd.into_iter().chain(changes).chain(grant);
    paths.map(Path::new).find(|path| !is_inside(path, worktree)).map(|path| path.display().to_string())
}

/// Whether a path stays in the worktree, with every link on the way followed.
fn is_inside(path: &Path, worktree: &Path) -> bool {
    let whole = if path.is_absolute() { path.to_owned() } else { worktree.join(path) };
    if whole.components().any(|part| part == std::path::Component::ParentDir) {
        return false;
    }
    let Ok(home) = worktree.canonicalize() else { return false };
    // A new file is where its nearest directory is.
    let existing = whole.ancestors().find_map(|above| above.canonicalize().ok());
    existing.is_some_and(|real| real.starts_with(&home))
}

fn text_of(result: &Value) -> String {
    let parts = result["content"].as_array().into_iter().flatten().filter_map(|part| part["text"].as_str());
    parts.collect::<Vec<_>>().join("\n")
}

/// A value whose long texts are cut.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_places_inside_the_worktree_are_approved() {
        let dir = tempfile::tempdir().expect("a directory");
        let home = dir.path().join("wt");
        fs::create_dir_all(home.join("src")).expect("made");
        std::os::unix::fs::symlink("/etc", home.join("link")).expect("made");
        let inside = |params: Value| outside(&params, &home).is_none();
        assert!(inside(json!({ "codex_cwd": home, "codex_changes": { "src/new.rs": {} } })));
        assert!(inside(json!({ "codex_changes": { home.join("a/b/c").to_str().unwrap(): {} } })));
        assert!(inside(json!({ "message": "may I?" })));
        for params in [
            json!({ "codex_cwd": "/" }),
            json!({ "codex_cwd": dir.path() }),
            json!({ "codex_changes": { "../x": {} } }),
            json!({ "codex_changes": { "src/a": {}, "link/passwd": {} } }),
            json!({ "codex_grant_root": "/home" }),
        ] {
            assert!(!inside(params.clone()), "{params}");
        }
    }
}
