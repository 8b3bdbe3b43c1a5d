//! Workstreams: each is planned first, by its own supervisor, and independent of the others.

use super::{PLAYBOOK, data, fresh, run, slices, streams};
use crate::support::HUMAN;
use crate::team::{events, named, out};

/// Two streams; each slice is one file.
fn two_streams(more: &str) -> String {
    format!(
        r#"{PLAYBOOK}
initial_planning() {{
  liza plan - <<'PLAN'
{}
PLAN
}}
plan_of() {{
  case "$1" in
  a) plan_json a '{}' ;;
  b) plan_json b '{}' ;;
  esac
}}
{more}
play
"#,
        streams(&["a", "b"]),
        slices(&["a1", "a2"]),
        slices(&["b1"]),
    )
}

#[test]
fn streams_proceed_while_another_plan_is_made() {
    let world = fresh(&two_streams(
        r#"
before_plan() {
  [ "$LIZA_TASK" = b-plan ] || return 0
  tries=0
  until [ "$(liza --json task show a1 2>/dev/null | sed 's/.*"status":"\([A-Z_]*\)".*/\1/')" = MERGED ]; do
    tries=$((tries + 1)); [ "$tries" -lt 600 ] || return 1
    sleep 0.1
  done
  liza --json task show b-plan | sed 's/.*"status":"\([A-Z_]*\)".*/\1/' > "$OUT/b-plan-meanwhile"
}
"#,
    ));
    let ran = run(&world, &["Write two parts", "--multi", "--risk", "medium"]);
    let all = format!("{}\n{}", ran.stdout, ran.stderr);
    let ran = ran.ok();
    assert_eq!(data(&ran)["outcome"], "complete", "{all}");
    // A slice of the first stream was merged before the second stream had a plan.
    assert_eq!(out(&world, "b-plan-meanwhile"), "WORKING\n", "{all}");
    for task in ["a-plan", "a1", "a2", "a-merge", "b-plan", "b1", "b-merge"] {
        assert_eq!(world.status_of(task), "MERGED", "{task}");
    }
    let merge = world.show("a-merge");
    assert_eq!(merge["depends_on"], serde_json::json!(["a1", "a2"]));
    assert_eq!((&merge["role"], &merge["slice_kind"]), (&"supervisor".into(), &"merge".into()));
    assert_eq!(merge["merge"]["nothing"], true, "{merge}");
    assert_eq!(merge["merge"]["by"], "code-reviewer-1", "{merge}");
    // Neither planner nor run has made commits: every commit is a coder's or liza's merge.
    let plan = world.show("a-plan");
    assert_eq!((&plan["kind"], &plan["timebox_minutes"]), (&"report".into(), &10.into()), "{plan}");
    let status = world.json(&HUMAN, &["status"]).ok().data();
    let stream = &status["workstreams"][0];
    assert_eq!(stream["slices"], serde_json::json!(["a1", "a2", "a-merge"]), "{stream}");
    assert!(stream["accepted"].is_string(), "{stream}");
    let accepted = events(&ran);
    assert_eq!(named(&accepted, "approved").iter().filter(|event| event["task"] == "a-plan").count(), 1);
    world.human(&["validate"]).ok();
    world.human(&["verify"]).ok();
    world.human(&["deliver", "--dry-run", "--to", "main"]).ok();
}

#[test]
fn slices_wait_for_their_accepted_plan() {
    let world = fresh(&two_streams(
        r#"
try() { name=$1; shift; "$@" > "$OUT/$name" 2>&1; echo "exit $?" >> "$OUT/$name"; }
initial_planning() {
  printf 'tasks:\n- {id: t, title: A task, spec_ref: goal, done_when: ["`true` exits 0"], scope: {in: [t.txt]}}\n' > "$OUT/tasks.yaml"
  try no-streams liza --json plan "$OUT/tasks.yaml"
  liza plan - <<'PLAN'
workstreams:
- {id: a, goal: The first part, ownership_paths: ["a*.txt", "tests/test_a*.sh"]}
PLAN
  printf 'workstreams:\n- {id: c, goal: The same again, ownership_paths: ["a1.txt"]}\n' > "$OUT/overlap.yaml"
  try overlap liza --json plan "$OUT/overlap.yaml"
  printf 'tasks:\n- {id: early, title: A task, spec_ref: goal, done_when: ["`true` exits 0"], workstream: a, scope: {in: [a9.txt]}}\n' > "$OUT/early.yaml"
  try early liza --json plan "$OUT/early.yaml"
  exit 0
}
supervisor() { sleep 600; }
"#,
    ));
    // Supervisors do not answer: the run ends as soon as the planner has tried everything.
    let running = crate::team::start_quickly(&world, &["--json", "run", "Write two parts", "--multi"]);
    crate::team::until("the planner has tried", || out(&world, "early").contains("\nexit "));
    let tried = |name: &str, code: &str| {
        let said = out(&world, name);
        assert!(said.contains(code) && said.ends_with("exit 1\n"), "{name}: {said}");
    };
    tried("no-streams", "refused.streams_needed");
    tried("overlap", "refused.paths_overlap");
    tried("early", "refused.plan_first");
    crate::team::signal(running.id(), "-TERM");
    running.wait_with_output().expect("it ends");
    // A person is refused as well, and a task for a supervisor exists.
    let early = [
        "task",
        "add",
        "--title",
        "Early",
        "--workstream",
        "a",
        "--spec",
        "goal",
        "--done",
        "`true` exits 0",
        "--in",
        "a8.txt",
        "--finalize",
    ];
    let ran = world.json(&HUMAN, &early);
    // The last commits of agents that end with the run may come meanwhile, so the board is not compared.
    assert_eq!((ran.exit, ran.code().as_str()), (1, "refused.plan_first"), "{}", ran.stdout);
    assert_eq!(world.show("a-plan")["role"], "supervisor");
    // A collapsed workstream accepts only reports.
    world.human(&["stream", "collapse", "a", "--reason", "it hangs together with another part"]).ok();
    world.refused(&HUMAN, &["stream", "collapse", "a", "--reason", "again"], 1, "refused.transition");
    world.refused(&HUMAN, &["stream", "collapse", "zz", "--reason", "no"], 1, "refused.unknown_record");
}

#[test]
fn bad_plan_goes_back_with_its_findings() {
    let world = fresh(
        &two_streams(
            r#"
plan_of() {
  if [ "$1" = a ] && [ ! -e "$OUT/sent-back" ]; then
    echo once > "$OUT/sent-back"
    plan_json a "$(echo "$A_SLICES" | sed 's/"timebox_minutes":8/"timebox_minutes":1/')"
    return
  fi
  [ "$1" != a ] || cp "$LIZA_PROMPT_FILE" "$OUT/second-prompt"
  case "$1" in a) plan_json a "$A_SLICES" ;; b) plan_json b "$B_SLICES" ;; esac
}
"#,
        )
        .replace(
            "initial_planning() {",
            &format!("A_SLICES='{}'; B_SLICES='{}'\ninitial_planning() {{", slices(&["a1"]), slices(&["b1"])),
        ),
    );
    let ran = run(&world, &["Write two parts", "--multi"]);
    assert_eq!(data(&ran)["outcome"], "complete", "{}\n{}", ran.stdout, ran.stderr);
    let plan = world.show("a-plan");
    assert_eq!(plan["review_cycles_total"], 1, "{plan}");
    let sent_back = events(&ran);
    let rejected = named(&sent_back, "rejected");
    assert!(rejected[0]["text"].as_str().unwrap().contains("micro_slice"), "{rejected:?}");
    assert!(out(&world, "second-prompt").contains("micro_slice"), "{}", out(&world, "second-prompt"));
}

#[test]
fn next_run_accepts_plan_of_killed_run() {
    let world = fresh(&two_streams(""));
    let mut env = crate::team::QUICK.to_vec();
    env.push(("LIZA_CRASH_AT", "plan.read"));
    let ran = world.liza_with(&HUMAN, &["--json", "run", "Write two parts", "--multi"], b"", &env);
    assert_ne!(ran.exit, 0, "{}", ran.stdout);
    let waiting: Vec<_> =
        ["a-plan", "b-plan"].iter().filter(|id| world.status_of(id) == "READY_FOR_REVIEW").collect();
    assert!(!waiting.is_empty(), "a plan waits");
    assert!(
        world.tasks().iter().all(|task| task["id"] != "a1" && task["id"] != "b1"),
        "no slice without its plan"
    );
    crate::team::until("the agents are gone", || crate::team::agents_of(&world).is_empty());
    let ran = run(&world, &[]);
    assert_eq!(data(&ran)["outcome"], "complete", "{}\n{}", ran.stdout, ran.stderr);
    assert_eq!((world.status_of("a1"), world.status_of("b1")), ("MERGED".to_owned(), "MERGED".to_owned()));
    world.human(&["validate"]).ok();
}
