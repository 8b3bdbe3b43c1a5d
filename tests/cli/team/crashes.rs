//! Who is at fault for crashes: the agent, its task, or a cause that agents share.

use serde_json::json;

use super::*;

/// Every crash has its own exit code, so that no two crashes look alike.
const CRASHES: &str = "echo x >> $OUT/crashes; exit $(wc -l < $OUT/crashes)";

#[test]
fn task_that_crashes_two_agents_is_blocked() {
    let script = format!("case $LIZA_ROLE:$LIZA_TASK in coder:t1) {CRASHES} ;; esac\n{EVERY_ROLE}");
    let world = scripted(&script);
    add(&world, "t1");
    add(&world, "t2");
    let ran = quickly(&world, &["--json", "run", "--team", "coder=2", "--team", "code_reviewer"]).exits(1);
    assert_eq!(world.row("t2")["status"], "MERGED", "{}", ran.stdout);
    let task = world.show("t1");
    assert_eq!(task["status"], "BLOCKED", "{task}");
    let reason = task["blocked_reason"].as_str().unwrap();
    assert!(reason.starts_with("4 crashes on it by coder-1 and coder-2, last: exit 4"), "{reason}");
    assert!((1..=3).contains(&task["blocked_questions"].as_array().unwrap().len()), "{task}");
    assert_eq!(task["failed_by"].as_array().map_or(0, Vec::len), 0, "a crash is no failed attempt");
    assert_eq!(named(&events(&ran), "crashed").len(), 4, "{}", ran.stdout);
    // The agent that crashed three times stopped, the other did not, and the breaker does not trip.
    let stopped = answer(&ran)["data"]["stopped"].clone();
    assert_eq!((stopped.as_array().map(Vec::len), &stopped[0]["agent"]), (Some(1), &json!("coder-1")));
    world.human(&["watch", "--once"]).ok();
    let trips = world.json(&HUMAN, &["breaker", "history"]).ok().data()["trips"].clone();
    assert_eq!(trips, json!([]), "{trips}");
    assert_eq!(world.json(&HUMAN, &["status"]).ok().data()["switch"], Value::Null);
    world.sound();
}
