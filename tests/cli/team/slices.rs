//! Slices below a runner: the dispatch, the one JSON value that answers it, and the retries for other answers.

use serde_json::json;

use super::*;
use crate::reports::add_report;

/// Reads scenario and slice from the dispatch, as an agent would, and prints a valid result.
const ANSWER: &str = r#"
n=$(($(cat $OUT/count 2>/dev/null || echo 0) + 1)); echo $n > $OUT/count
cp "$LIZA_PROMPT_FILE" $OUT/message$n
ssot=$(sed -n 's/^ *"ssot_id": "\(.*\)",*$/\1/p' $OUT/message1)
good() { printf '{"schema":"worker-result.operator/1","ssot_id":"%s","slice_id":"%s","status":"%s","summary":"it is 12 s","measurements":{"s":12}}' "$ssot" "$LIZA_TASK" "${1:-complete}"; }
"#;

fn operators(script: &str) -> World {
    let world = scripted(&format!("{ANSWER}\n{script}"));
    add_report(&world, "probe", "operator", "probe", &["--timebox", "1"]);
    world
}

fn run_operator(world: &World, more: &[(&str, &str)]) -> Ran {
    let mut env = QUICK.to_vec();
    env.extend(more);
    world.liza_with(&HUMAN, &["--json", "agent", "run", "--role", "operator", "--once"], b"", &env)
}

#[test]
fn last_message_answers_the_dispatch() {
    let world = operators("good");
    let ran = run_operator(&world, &[]).ok();
    let task = world.show("probe");
    assert_eq!(task["status"], "MERGED", "{}", ran.stdout);
    let sent = world.json(&HUMAN, &["dispatch", "show", "probe"]).ok().data()["dispatch"].clone();
    assert_eq!(sent["schema"], "task-dispatch/1");
    assert_eq!((&sent["agent_type"], &sent["slice_kind"]), (&json!("operator"), &json!("probe")));
    assert_eq!((&sent["timebox_minutes"], &sent["attempt"]), (&json!(1), &json!(1)));
    assert_eq!(sent["result_schema"], "worker-result.operator/1");
    assert_eq!(sent["ssot_id"], task["ssot_id"]);
    assert!(sent["instructions"].as_str().unwrap().contains("exactly one JSON value"), "{sent}");
    // The agent is sent exactly this JSON.
    let raw = world.human(&["dispatch", "show", "probe"]).ok().stdout;
    assert_eq!(raw.trim(), out(&world, "message1").trim());
    let shown = world.json(&HUMAN, &["result", "show", "probe"]).ok().data();
    assert_eq!(shown["value"]["measurements"]["s"], 12);
    world.human(&["verify"]).ok();
}

#[test]
fn invalid_results_end_blocked_with_both_outputs() {
    for (name, print) in [
        ("fence", "echo '```json'; good; echo; echo '```'"),
        ("prose", "echo Done!"),
        ("two", "good; echo; good"),
        ("half", "good | head -c 60"),
        ("slice", "good | sed s/probe/other/"),
        ("silent", ":"),
    ] {
        let world = operators(print);
        run_operator(&world, &[]).ok();
        assert_eq!(world.status_of("probe"), "IDLE", "{name}");
        assert_eq!(world.show("probe")["previous"]["cause"], "bad_output", "{name}");
        run_operator(&world, &[]).ok();
        let task = world.show("probe");
        assert_eq!(task["status"], "BLOCKED", "{name}");
        assert!(task["blocked_reason"].as_str().unwrap().contains("attempt 2"), "{name}: {task}");
        let evidence = task["previous"]["evidence"].as_array().expect("evidence");
        assert_eq!(evidence.iter().filter(|one| one["kind"] == "output").count(), 2, "{name}: {task}");
        let second: Value = serde_json::from_str(&out(&world, "message2")).expect("a dispatch");
        assert_eq!((&second["attempt"], &second["slice_id"]), (&json!(2), &json!("probe")), "{name}");
        assert!(second["previous"]["reason"].is_string(), "{name}");
        assert_eq!(runs(&world, "probe", "refused-result-1.txt").len(), 2, "{name}");
        // This provider resumes no session, so that rung was skipped: two sessions, and the record says why.
        assert!(task["blocked_reason"].as_str().unwrap().contains("cannot be resumed"), "{name}: {task}");
        assert_eq!(runs(&world, "probe", ".prompt.md").len(), 2, "{name}");
    }
}

#[test]
fn session_is_resumed_and_asked_for_raw_json() {
    // Acts as a provider with sessions, and answers correctly only when resumed.
    let world = operators(
        r#"
case "$*" in
  *--resume*) text=$(good | sed 's/"/\\"/g') ;;
  *) text='Done!' ;;
esac
printf '{"type":"system","subtype":"init","session_id":"s-1"}\n'
printf '{"type":"assistant","message":{"content":[{"type":"text","text":"%s"}]},"session_id":"s-1"}\n' "$text"
printf '{"type":"result","subtype":"success","is_error":false,"result":"%s","session_id":"s-1"}\n' "$text""#,
    );
    let script = world.home().join("agent.sh");
    world.write(
        "liza.yaml",
        &format!(
            "version: 1\nprovider: scripted\nproviders:\n  scripted:\n    command: [sh, '{}', [--resume, '{{session}}']]\n    output: claude_stream\n",
            script.display()
        ),
    );
    let ran = run_operator(&world, &[]).ok();
    assert_eq!(world.status_of("probe"), "MERGED", "{}", ran.stdout);
    let ask = out(&world, "message2");
    assert!(ask.contains("exactly one JSON value") && ask.contains("Done!"), "{ask}");
    assert_eq!(runs(&world, "probe", ".dispatch.json").len(), 1);
}

#[test]
fn silent_worker_is_stopped_at_its_timebox() {
    let world = operators("sleep 600 & wait");
    let short = [("LIZA_TEST_MINUTE_MS", "400")];
    let first = run_operator(&world, &short).ok();
    let asked = named(&events(&first), "limit").len();
    assert_eq!((asked, world.status_of("probe").as_str()), (1, "IDLE"), "{}", first.stdout);
    let task = world.show("probe");
    assert_eq!(task["previous"]["cause"], "timebox");
    // The planner is informed.
    let wakes = world.json(&HUMAN, &["inbox"]).ok().stdout;
    assert!(wakes.contains("retry_loop"), "{wakes}");
    run_operator(&world, &short).ok();
    let task = world.show("probe");
    assert_eq!(task["status"], "BLOCKED");
    assert!(task["blocked_reason"].as_str().unwrap().contains("timebox of 1 minutes"), "{task}");
    assert_eq!(agents_of(&world), Vec::<u32>::new());
}

#[test]
fn blocked_and_partial_answers_reach_the_board() {
    let world = operators(r#"good blocked | sed 's/}$/,"blocked_reason":"no network"}/'"#);
    run_operator(&world, &[]).ok();
    let task = world.show("probe");
    assert_eq!((&task["status"], &task["blocked_reason"]), (&json!("BLOCKED"), &json!("no network")));
    let world = operators("good partial");
    run_operator(&world, &[]).ok();
    assert_eq!(world.show("probe")["previous"]["cause"], "partial");
}

/// The role's provider is the failing script; its fallback answers correctly.
fn with_fallback(world: &World) {
    let (first, second) = (world.home().join("agent.sh"), world.home().join("other.sh"));
    let text = format!("OUT='{}'\n{ANSWER}\ngood\n", world.home().join("out").display());
    std::fs::write(&second, text).expect("written");
    world.write(
        "liza.yaml",
        &format!(
            "version: 1\nproviders:\n  one:\n    command: [sh, '{}']\n  two:\n    command: [sh, '{}']\nroles:\n  operator: {{ provider: one, fallback: two }}\n",
            first.display(),
            second.display()
        ),
    );
}

#[test]
fn fallback_plays_the_second_attempt() {
    for (script, cause) in [("echo Done!", "bad_output"), ("echo broken >&2; exit 3", "crash")] {
        let world = operators(script);
        with_fallback(&world);
        run_operator(&world, &[]).ok();
        let previous = world.show("probe")["previous"].clone();
        assert_eq!(previous["cause"], cause, "{previous}");
        if cause == "crash" {
            assert_eq!(previous["evidence"][0]["exit"], 3, "{previous}");
        }
        let ran = run_operator(&world, &[]).ok();
        assert_eq!(world.status_of("probe"), "MERGED", "{}", ran.stdout);
        let sent = world.json(&HUMAN, &["dispatch", "show", "probe"]).ok().data()["dispatch"].clone();
        assert_eq!((&sent["provider"], &sent["attempt"]), (&json!("two"), &json!(2)));
        assert!(ran.stdout.contains("fallback provider two"), "{}", ran.stdout);
    }
}

#[test]
fn crash_loops_without_a_fallback_end_blocked() {
    let world = operators("exit 3");
    run_operator(&world, &[]).exits(1);
    assert_eq!(world.show("probe")["previous"]["cause"], "crash");
    run_operator(&world, &[]);
    let task = world.show("probe");
    assert_eq!(task["status"], "BLOCKED", "{task}");
    assert_eq!(task["previous"]["evidence"].as_array().map(Vec::len), Some(2));
}
