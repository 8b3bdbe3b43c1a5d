//! Failures that providers report in their own words: not logged in, no quota, tools denied.

use super::*;

/// Scripted agents that print what the built-in provider of this name prints.
fn played_like(world: &World, base: &str, more: &str) {
    let script = world.home().join("agent.sh");
    world.write(
        "liza.yaml",
        &format!(
            "version: 1\nprovider: {base}\nproviders:\n  {base}:\n    command: [sh, '{}']\n  steady:\n    command: [sh, '{0}']\n\
             run: {{ grace_seconds: 1 }}\n{more}",
            script.display()
        ),
    );
}

const UNAUTHORIZED: &str = r#"
echo x >> $OUT/sessions
echo '{"type":"thread.started","thread_id":"t-1"}'
echo '{"type":"error","message":"unexpected status 401 Unauthorized: Missing bearer or basic authentication in header"}'
echo '{"type":"turn.failed","error":{"message":"unexpected status 401 Unauthorized: Missing bearer or basic authentication in header"}}'
exit 1
"#;

#[test]
fn login_failure_stops_the_provider_at_once() {
    let world = World::new();
    play(&world, UNAUTHORIZED);
    played_like(&world, "codex", "");
    add(&world, "t1");
    add(&world, "t2");
    let ran = quickly(&world, &["--json", "run", "--team", "coder=2", "--window", "1"]).exits(1);
    assert_eq!(out(&world, "sessions").lines().count(), 1, "{}", ran.stdout);
    let failed = events(&ran);
    let crashed = named(&failed, "crashed");
    assert_eq!(crashed[0]["failure"]["class"], "login", "{}", ran.stdout);
    let data = answer(&ran)["data"].clone();
    for stopped in data["stopped"].as_array().expect("agents that stopped") {
        let why = stopped["why"].as_str().expect("a reason");
        assert!(
            why.contains("not logged in") && why.contains("401") && why.contains("`codex login`"),
            "{why}"
        );
    }
    assert_eq!(data["stopped"].as_array().map(Vec::len), Some(2), "{data}");
    // The failure does not count against the task, which other agents may claim.
    assert_eq!(world.row("t1")["status"], "IDLE");
    let status = world.json(&HUMAN, &["status"]).ok().data();
    assert_eq!(status["failing"][0]["class"], "login", "{status}");
    let shown = world.human(&["status"]).ok().stdout;
    assert!(
        shown.contains("(login): codex is not logged in") && shown.contains("liza agent log coder-1"),
        "{shown}"
    );
    world.sound();
}

#[test]
fn quota_pauses_its_provider_and_others_work() {
    let world = World::new();
    play(
        &world,
        &format!(
            "if [ \"$LIZA_AGENT_ID\" = coder-1 ] && [ ! -e $OUT/paid ]; then touch $OUT/paid\n\
             echo \"{{\\\"type\\\":\\\"error\\\",\\\"message\\\":\\\"You've hit your usage limit. Try again in 2 seconds.\\\"}}\"; exit 1; fi\n\
             echo \"$LIZA_AGENT_ID $LIZA_TASK\" >> $OUT/sessions\n{EVERY_ROLE}"
        ),
    );
    played_like(
        &world,
        "codex",
        "team:\n  - { role: coder, count: 1 }\n  - { role: coder, count: 1, provider: steady }\n  - { role: code_reviewer, count: 1, provider: steady }\n",
    );
    add(&world, "t1");
    add(&world, "t2");
    let ran = quickly(&world, &["--json", "run"]);
    assert_eq!(ran.exit, 0, "{}\n{}", ran.stdout, ran.stderr);
    let all = events(&ran);
    let parked = &named(&all, "crashed")[0]["failure"];
    assert_eq!((parked["class"].as_str(), parked["provider"].as_str()), (Some("quota"), Some("codex")));
    assert!(parked["until"].is_string(), "{parked}");
    let waiting = named(&all, "waiting");
    assert!(
        waiting
            .iter()
            .any(|event| event["text"].as_str().unwrap().contains("no agent of codex starts until"))
    );
    assert!(out(&world, "sessions").contains("coder-2"), "{}", out(&world, "sessions"));
    for id in ["t1", "t2"] {
        assert_eq!(world.row(id)["status"], "MERGED");
    }
    world.sound();
}

const DENIED: &str = r#"
echo x >> $OUT/sessions
echo '{"type":"system","subtype":"init","session_id":"s-1"}'
for n in 1 2 3 4 5 6; do
  echo "{\"type\":\"assistant\",\"message\":{\"id\":\"m$n\",\"content\":[{\"type\":\"tool_use\",\"id\":\"c$n\",\"name\":\"Bash\",\"input\":{\"command\":\"liza $n\"}}]}}"
  echo "{\"type\":\"user\",\"message\":{\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"c$n\",\"is_error\":true,\"content\":\"Claude requested permissions to use Bash, but you haven't granted it yet.\"}]}}"
done
echo '{"type":"result","subtype":"success","is_error":false,"num_turns":7,"result":"I could not do anything.","session_id":"s-1"}'
"#;

#[test]
fn denied_tools_stop_the_agent_at_once() {
    let world = World::new();
    play(&world, DENIED);
    played_like(&world, "claude", "");
    add(&world, "t1");
    let ran = agent_run(&world, &["--role", "coder", "--once"]).exits(1);
    assert_eq!(out(&world, "sessions").lines().count(), 1, "{}", ran.stdout);
    let error = answer(&ran)["error"]["message"].as_str().unwrap_or_default().to_owned();
    assert!(error.contains("6 of 6 tool calls failed: Claude requested permissions"), "{error}");
    assert!(error.contains("`permissions` of `claude` in liza.yaml"), "{error}");
    assert_eq!(world.row("t1")["status"], "IDLE");
}

#[test]
fn rate_limit_is_not_counted_as_crash() {
    let world = World::new();
    play(
        &world,
        &format!(
            "if [ ! -e $OUT/once ]; then touch $OUT/once; echo 'error: 429 Too Many Requests' >&2; exit 1; fi\n\
             if [ ! -e $OUT/twice ]; then touch $OUT/twice; printf 'panicked at 7 of 1b4295f\\nhint: HTTP 429? run it again\\n' >&2; exit 9; fi\n{EVERY_ROLE}"
        ),
    );
    played_like(&world, "mine", "");
    add(&world, "t1");
    let ran =
        world.liza_with(&HUMAN, &["--json", "agent", "run", "--role", "coder", "--once"], b"", &QUICK).ok();
    let all = events(&ran);
    let crashed = named(&all, "crashed");
    let class = |at: usize| crashed[at]["failure"]["class"].as_str().unwrap_or_default();
    assert_eq!((class(0), class(1)), ("rate_limit", "crash"), "{}", ran.stdout);
    assert!(
        crashed[1]["text"].as_str().unwrap().starts_with("exit 9: panicked at 7 of 1b4295f; started again")
    );
    assert_eq!(world.row("t1")["status"], "READY_FOR_REVIEW");
}

/// Each session reports the tokens of its whole thread: 1000 more every time.
const THREAD: &str = r#"
echo x >> $OUT/sessions; n=$(wc -l < $OUT/sessions)
echo "$*" >> $OUT/args
echo '{"type":"thread.started","thread_id":"t-1"}'
echo "{\"type\":\"turn.completed\",\"usage\":{\"input_tokens\":$((n * 1000)),\"cached_input_tokens\":$((n * 100)),\"output_tokens\":$((n * 10))}}"
[ $n = 3 ] || { touch file$n; exit 0; }
rm -f file1 file2; good_coder
"#;

#[test]
fn resumed_thread_counts_its_tokens_once() {
    let world = World::new();
    play(&world, THREAD);
    let script = world.home().join("agent.sh");
    world.write(
        "liza.yaml",
        &format!(
            "version: 1\nprovider: codex\nproviders:\n  codex:\n    command: [sh, '{}', [resume, '{{session}}']]\n",
            script.display()
        ),
    );
    add(&world, "t1");
    agent_run(&world, &["--role", "coder", "--once"]).ok();
    assert_eq!(out(&world, "args").lines().collect::<Vec<_>>(), ["", "resume t-1", "resume t-1"]);
    let spent = world.show("t1")["spent"].clone();
    assert_eq!(
        (&spent["input_tokens"], &spent["cached_tokens"], &spent["output_tokens"]),
        (&2700.into(), &300.into(), &30.into()),
        "{spent}"
    );
}

/// Like Codex in a read-only sandbox: reading works, `liza` does not.
const READ_ONLY: &str = r#"
echo x >> $OUT/sessions
echo '{"type":"item.completed","item":{"id":"1","type":"command_execution","command":"cat a","aggregated_output":"a","exit_code":0,"status":"completed"}}'
echo '{"type":"item.completed","item":{"id":"2","type":"command_execution","command":"liza task checkpoint","aggregated_output":"error: cannot use it: Read-only file system","exit_code":1,"status":"failed"}}'
echo '{"type":"turn.completed","usage":{"input_tokens":10,"cached_input_tokens":0,"output_tokens":1}}'
"#;

#[test]
fn partly_denied_tools_stop_the_second_session() {
    let world = World::new();
    play(&world, READ_ONLY);
    played_like(&world, "codex", "");
    add(&world, "t1");
    let ran = agent_run(&world, &["--role", "coder", "--once"]).exits(1);
    assert_eq!(out(&world, "sessions").lines().count(), 2, "{}", ran.stdout);
    let error = answer(&ran)["error"]["message"].as_str().unwrap_or_default().to_owned();
    assert!(error.contains("1 of 2 tool calls failed: error: cannot use it: Read-only"), "{error}");
}
