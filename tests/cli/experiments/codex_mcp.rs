//! Codex through MCP, against a server that behaves as `codex mcp-server` did.

use super::Bench;

/// Speaks the protocol of Codex 0.150: announces its session, asks for approvals, and reads `decision` of the answer.
const SERVER: &str = r#"
import json, os, sys
def say(message): sys.stdout.write(json.dumps(message) + "\n"); sys.stdout.flush()
def ask(params):
    say({"jsonrpc": "2.0", "id": 900, "method": "elicitation/create", "params": params})
    answer = json.loads(sys.stdin.readline())["result"]
    return answer["action"], answer["decision"]
for line in sys.stdin:
    message = json.loads(line)
    method, id = message.get("method"), message.get("id")
    if method == "initialize":
        assert "elicitation" in message["params"]["capabilities"]
        say({"jsonrpc": "2.0", "id": id, "result": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "codex", "version": "0.150.0"}}})
    elif method == "tools/list":
        say({"jsonrpc": "2.0", "id": id, "result": {"tools": [{"name": "codex"}, {"name": "codex-reply"}]}})
    elif method == "tools/call":
        arguments = message["params"]["arguments"]
        say({"jsonrpc": "2.0", "method": "codex/event", "params": {"msg": {"type": "session_configured", "rollout_path": "/home/x/rollout-1.jsonl", "sandbox_policy": {"mode": arguments["sandbox"]}}}})
        inside = ask({"message": "apply?", "codex_elicitation": "patch-approval", "codex_cwd": arguments["cwd"], "codex_changes": {os.path.join(arguments["cwd"], "param"): {}}})
        outside = ask({"message": "apply?", "codex_elicitation": "patch-approval", "codex_cwd": arguments["cwd"], "codex_changes": {"/etc/passwd": {}}})
        if inside == ("accept", "approved"): open(os.path.join(arguments["cwd"], "param"), "w").write("13\n")
        say({"jsonrpc": "2.0", "id": id, "result": {"content": [{"type": "text", "text": "inside %s, outside %s" % (inside[1], outside[1])}]}})
"#;

fn settings(bench: &Bench, command: &str) {
    bench.settings(&format!("  codex_mcp: {{command: {command}}}\n"));
    let text = bench
        .world
        .read("liza.yaml")
        .replace("coder: {provider: coder}", "coder: {provider: codex_mcp, model: big}");
    bench.world.write("liza.yaml", &text);
}

#[test]
fn codex_approvals_apply_only_in_the_worktree() {
    if !std::path::Path::new("/usr/bin/python3").exists()
        && std::env::var_os("PATH")
            .is_none_or(|paths| !std::env::split_paths(&paths).any(|dir| dir.join("python3").exists()))
    {
        eprintln!("skipped: python3 is not installed");
        return;
    }
    let bench = Bench::new();
    let server = bench.world.home().join("server.py");
    std::fs::write(&server, SERVER).expect("written");
    settings(&bench, &format!("[python3, {}]", server.display()));
    let summary = bench.tried("x");
    assert_eq!(
        (&summary["status"], &summary["score"]["value"]),
        (&"scored".into(), &13.0.into()),
        "{summary}"
    );
    assert_eq!(bench.artifact("one", "coder_output_round_1.txt"), "inside approved, outside denied");
    let transcript = bench.artifact("one", "codex_mcp_transcript.jsonl");
    for event in [
        "mcp_server_start",
        "mcp_list_tools",
        "tool_call",
        "elicitation_request",
        "elicitation_response",
        "codex_event",
        "tool_result",
        "mcp_server_stop",
    ] {
        assert!(transcript.contains(&format!("\"event\":\"{event}\"")), "{event}: {transcript}");
    }
    assert!(summary["remarks"].to_string().contains("model is not used"), "{summary}");
    let shown = bench.world.human(&["experiment", "show", "one"]).ok().stdout;
    assert!(shown.contains("/home/x/rollout-1.jsonl"), "{shown}");
}

#[test]
fn codex_without_mcp_server_error_names_the_fix() {
    let bench = Bench::new();
    settings(&bench, "[sh, -c, 'echo unknown command mcp-server >&2; exit 2']");
    let summary = bench.tried("x");
    assert_eq!(summary["status"], "coder_failed", "{summary}");
    assert!(summary["error"].to_string().contains("set `provider: codex`"), "{summary}");
}
