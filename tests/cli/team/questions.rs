//! Agents that the overseer asks a person about: the run says that it waits, and an unanswered question has a consequence.

use serde_json::json;

use super::overseer::{NO_LIMITS, STANDS_STILL, actions, interventions_for, overseen};
use super::*;

/// The same call again and again; after about a second an idle child process stays.
const HANGS: &str = r#"
case "$LIZA_ROLE" in
  coder)
    echo draft > t1.txt
    i=0
    while :; do
      i=$((i+2)); says $i 10 Bash "make test"; says $((i+1)) 10 Bash "make test"; sleep 0.02
      if [ $i = 60 ]; then sleep 600 > /dev/null 2>&1 & fi
    done ;;
esac
"#;

const TEAM: [&str; 6] = ["--json", "run", "--team", "coder", "--team", "code_reviewer"];

#[test]
fn looping_agent_with_idle_child_is_halted() {
    let world = overseen(HANGS, "nudge_cooldown_seconds: 600, answer_seconds: 1", NO_LIMITS);
    add(&world, "t1");
    let ran = quickly(&world, &TEAM).exits(1);
    let done = interventions_for(&world, "coder-1");
    assert_eq!(actions(&done), [("nudge", "infinite_loop"), ("halt", "infinite_loop")], "{}", ran.stdout);
    assert_eq!(world.row("t1")["status"], "BLOCKED");
    assert_eq!(world.git(&["show", "refs/liza/wip/t1/1:t1.txt"]), "draft");
    assert!(agents_of(&world).is_empty());
    world.sound();
}

const ASKS: &str = "stagnation_token_threshold: 20, nudge_cooldown_seconds: 600, answer_seconds: 1";

#[test]
fn unanswered_question_halts_and_run_says_it_waits() {
    let world = overseen(STANDS_STILL, ASKS, NO_LIMITS);
    add(&world, "t1");
    let ran = quickly(&world, &TEAM).exits(1);
    let done = interventions_for(&world, "coder-1");
    let stuck = [("nudge", "stagnation"), ("escalate", "stagnation"), ("halt", "stagnation")];
    assert_eq!(actions(&done), stuck, "{}", ran.stdout);
    let all = events(&ran);
    let asked = named(&all, "question");
    assert_eq!(asked.len(), 1, "{}", ran.stdout);
    let question = &asked[0]["question"];
    assert_eq!((&asked[0]["agent"], &asked[0]["task"]), (&json!("coder-1"), &json!("t1")));
    assert_eq!((&question["id"], &question["asked"]), (&done[1]["id"], &done[1]["time"]), "{question}");
    assert_eq!((&question["behaviour"], &question["halts"]), (&json!("stagnation"), &json!(true)));
    assert_eq!(question["yes"], "liza overseer halt coder-1 --reason stagnation");
    assert_eq!(question["no"], "liza overseer nudge coder-1 --reason \"go on\"");
    let text = asked[0]["text"].as_str().unwrap();
    assert!(text.starts_with("waits for an answer: Shall `coder-1` be halted"), "{text}");
    assert!(text.contains(&format!("is halted at {}", question["due"].as_str().unwrap())), "{text}");
    assert_eq!(named(&all, "halted").len(), 1, "{}", ran.stdout);
    let reason = world.show("t1")["blocked_reason"].as_str().unwrap().to_owned();
    assert!(reason.contains("a person was asked at ") && reason.contains("gave no answer"), "{reason}");
    assert!(world.read(".liza/ESCALATION").contains("is halted at"), "the file tells it too");
    world.sound();
}

#[test]
fn resume_answers_question_and_agent_finishes() {
    let minute = ASKS.replace("answer_seconds: 1", "answer_seconds: 60");
    let world = overseen(&format!("{STANDS_STILL}\n{EVERY_ROLE}"), &minute, NO_LIMITS);
    add(&world, "t1");
    let runner = start(&world, &["--json", "agent", "run", "--role", "coder", "--once"]);
    until("a person is asked", || {
        world.human(&["watch", "--once"]).ok();
        world.path(".liza/ESCALATION").exists()
    });
    let asked = world.json(&HUMAN, &["overseer"]).ok().data()["questions"][0].clone();
    assert_eq!((&asked["agent"], &asked["task"]), (&json!("coder-1"), &json!("t1")), "{asked}");
    let answer = world.json(&HUMAN, &["resume"]).ok().data();
    assert_eq!(answer["answered"], json!([asked["id"]]), "{answer}");
    assert!(!world.path(".liza/ESCALATION").exists());
    assert_eq!(world.json(&HUMAN, &["overseer"]).ok().data()["questions"], json!([]));
    // The time for an answer passes.
    for later in [61, 120, 600] {
        until("it still does the same", || {
            let data = world.json(&HUMAN, &["overseer", "--explain", "coder-1"]).ok().data();
            data["detections"][0]["behaviour"] == "stagnation"
        });
        world.later(later, &HUMAN, &["watch", "--once"]).ok();
    }
    std::fs::write(world.home().join("out/go"), "").unwrap();
    let ran = Ran::of(runner.wait_with_output().expect("it ends"));
    assert_eq!(ran.exit, 0, "{}", ran.stdout);
    assert_eq!(world.row("t1")["status"], "READY_FOR_REVIEW", "{}", ran.stdout);
    let done = interventions_for(&world, "coder-1");
    let stuck = [("nudge", "stagnation"), ("escalate", "stagnation"), ("nudge", "stagnation")];
    assert_eq!(actions(&done), stuck, "{done:?}");
}

#[test]
fn question_is_repeated_if_halts_are_off() {
    let world = overseen(
        &format!("{STANDS_STILL}\n{EVERY_ROLE}"),
        &format!("{ASKS}, halt_on_critical: false"),
        NO_LIMITS,
    );
    add(&world, "t1");
    let child = start(&world, &TEAM);
    let asked =
        || actions(&interventions_for(&world, "coder-1")).iter().filter(|one| one.0 == "escalate").count();
    until("it is asked again", || asked() >= 2);
    // A nudge is the answer, and no further question comes.
    let text = world.human(&["overseer", "nudge", "coder-1", "--reason", "go on"]).ok().stdout;
    assert!(text.contains("is answered: no, the agent continues"), "{text}");
    std::fs::write(world.home().join("out/go"), "").unwrap();
    let ran = Ran::of(child.wait_with_output().expect("it ends"));
    assert_eq!(ran.exit, 0, "{}", ran.stdout);
    assert_eq!(world.row("t1")["status"], "MERGED");
    let done = interventions_for(&world, "coder-1");
    assert_eq!(actions(&done).last(), Some(&("nudge", "reported")), "{done:?}");
    let all = events(&ran);
    let texts: Vec<&str> =
        named(&all, "question").iter().filter_map(|event| event["text"].as_str()).collect();
    assert!(texts.iter().all(|text| text.contains("the question is asked again at")), "{texts:?}");
    assert!(texts.len() >= 2, "{}", ran.stdout);
    assert!(ran.stdout.contains("no longer waits for an answer about coder-1"), "{}", ran.stdout);
}
