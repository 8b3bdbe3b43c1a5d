//! The auditor reviews a routed goal that changes files before it is complete and before it is delivered.

use serde_json::json;

use super::{PLAYBOOK, data, fresh, routes, run, slices, streams};
use crate::reports::{add_report, result, submit};
use crate::support::{HUMAN, World};
use crate::team::out;

fn one_stream(more: &str) -> World {
    fresh(&format!(
        r#"{PLAYBOOK}
initial_planning() {{
  liza plan - <<'PLAN'
{}
PLAN
}}
plan_of() {{ plan_json a '{}'; }}
{more}
play
"#,
        streams(&["a"]),
        slices(&["a1"]),
    ))
}

fn verdicts(world: &World) -> Vec<String> {
    let last = routes(world).pop().expect("a route");
    let audits = last["audits"].as_array().cloned().unwrap_or_default();
    audits.iter().map(|audit| audit["verdict"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn auditor_gets_evidence_and_findings_are_planned() {
    let world = one_stream(
        r#"
verdict_of() {
  case "$(ls "$OUT" | grep -c '^audited')" in
  0) : > "$OUT/audited1"; audit_json NEEDS_EVIDENCE ',"evidence_requests":["how many files are there"]' ;;
  1) : > "$OUT/audited2"; audit_json BLOCK ',"findings":["a2 is missing"]' ;;
  *) : > "$OUT/audited3"; cp "$LIZA_PROMPT_FILE" "$OUT/last-audit"; audit_json APPROVE '' ;;
  esac
}
audit_block() {
  cp "$LIZA_PROMPT_FILE" "$OUT/planner-prompt"
  printf 'tasks:\n- {id: a2, title: The missing file, spec_ref: goal, done_when: ["`cat a2.txt` prints hello"], workstream: a, scope: {in: [a2.txt, tests/test_a2.sh]}, timebox_minutes: 8}\n' | liza plan - > "$OUT/planned" 2>&1
}
"#,
    );
    let ran = run(&world, &["Write one part", "--multi", "--mode", "write"]);
    assert_eq!(data(&ran)["outcome"], "complete", "{}\n{}", ran.stdout, ran.stderr);
    assert_eq!(verdicts(&world), ["NEEDS_EVIDENCE", "BLOCK", "APPROVE"]);
    // An operator brought the evidence, and a coder fixed the finding.
    let probe = world.show("audit-goal-2-1-probe-1");
    assert_eq!(
        (&probe["role"], &probe["kind"], &probe["slice_kind"]),
        (&"operator".into(), &"report".into(), &"probe".into())
    );
    assert_eq!(world.status_of("a2"), "MERGED", "{}", out(&world, "planned"));
    assert!(out(&world, "planner-prompt").contains("a2 is missing"));
    assert!(out(&world, "last-audit").contains("a2 is missing"), "the auditor knows what was said before");
    let text = world.human(&["status"]).ok().stdout;
    assert!(text.contains("audit 3: APPROVE"), "{text}");
    // The goal is over: commits of the person that a delivery brings along need no further audit.
    world.write("own.txt", "of the person\n");
    world.git(&["add", "own.txt"]);
    world.git(&["commit", "-qm", "own"]);
    world.human(&["deliver", "--to", "main"]).ok();
    assert_eq!(world.git(&["show", "main:own.txt"]), "of the person");
}

#[test]
fn long_request_and_lost_verdict_end_the_run() {
    let world = one_stream(
        r#"
verdict_of() {
  [ -e "$OUT/audited" ] && { audit_json APPROVE ''; return; }
  : > "$OUT/audited"
  audit_json NEEDS_EVIDENCE ",\"evidence_requests\":[\"$(head -c 70000 /dev/zero | tr '\0' x)\"]"
}
"#,
    );
    let ran = run(&world, &["Write one part", "--multi"]);
    assert_eq!(data(&ran)["outcome"], "complete", "{}\n{}", ran.stdout, ran.stderr);
    assert_eq!(verdicts(&world), ["NEEDS_EVIDENCE", "APPROVE"]);
    // A verdict that cannot be read any more is a person's business, and no reason for one more audit.
    let auditor = world.register("auditor", "auditor-9");
    add_report(&world, "look", "auditor", "review", &[]);
    let place = world.claim(&auditor, "look");
    let value = result(
        &world,
        "look",
        "review-result.auditor/1",
        "complete",
        json!({"verdict": "BLOCK", "findings": ["x"]}),
    );
    submit(&world, &auditor, &place, "look", &value).ok();
    for dir in [".liza/results", ".git/liza/results"] {
        std::fs::remove_dir_all(world.path(dir)).unwrap();
    }
    let ran = run(&world, &[]).exits(1);
    let cause = data(&ran)["causes"][0].clone();
    assert!(cause["why"].as_str().unwrap().contains("the result of `look` is gone"), "{cause}");
    assert!(!world.tasks().iter().any(|task| task["id"] == "audit-goal-2-3"), "{}", ran.stdout);
}

#[test]
fn fifth_blocked_audit_asks_a_person() {
    let world = one_stream(r#"verdict_of() { audit_json BLOCK ',"findings":["it is not good enough"]'; }"#);
    let ran = run(&world, &["Write one part", "--multi"]).exits(1);
    assert_eq!(data(&ran)["outcome"], "stuck", "{}", ran.stdout);
    assert_eq!(verdicts(&world), ["BLOCK"; 5], "{}", ran.stdout);
    let cause = data(&ran)["causes"][0].clone();
    assert_eq!((&cause["kind"], &cause["task"]), (&"person".into(), &"audit-goal-2-5".into()), "{cause}");
    world.refused(&HUMAN, &["deliver", "--to", "main"], 1, "refused.unaudited");
    world.refused(&HUMAN, &["deliver", "--dry-run", "--to", "main"], 1, "refused.unaudited");
    world.human(&["deliver", "--to", "main", "--unaudited", "I have read it"]).ok();
    let route = routes(&world).pop().unwrap();
    assert_eq!(route["waived"]["reason"], "I have read it", "{route}");
}

#[test]
fn read_only_run_is_audited_only_at_high_risk() {
    let script = r#"
initial_planning() {
  printf 'tasks:\n- {id: change, title: A change, spec_ref: goal, done_when: ["`true` exits 0"], workstream: a, scope: {in: [a9.txt]}}\n' > "$OUT/change.yaml"
  liza --json plan "$OUT/change.yaml" > "$OUT/change" 2>&1
  printf 'workstreams:\n- {id: a, goal: Look at it, ownership_paths: ["a*.txt"]}\n' | liza plan -
}
plan_of() { plan_json a '[{"slice_id":"look","agent_type":"operator","slice_kind":"probe","timebox_minutes":4,"task_contract":{"goal":"Count the files","acceptance":["a number of files is named"]}}]'; }
verdict_of() { audit_json APPROVE ''; }
"#;
    let world = one_stream(script);
    let ran = run(&world, &["Look at one part", "--multi", "--mode", "read_only"]);
    assert_eq!(data(&ran)["outcome"], "complete", "{}\n{}", ran.stdout, ran.stderr);
    assert_eq!(verdicts(&world), [""; 0]);
    assert!(out(&world, "change").contains("refused.read_only"), "{}", out(&world, "change"));
    assert_eq!(world.status_of("look"), "MERGED");
    let tasks: Vec<_> = world.tasks().iter().map(|task| task["id"].as_str().unwrap().to_owned()).collect();
    assert_eq!(tasks, ["a-plan", "look"], "nothing to bring together");
    let world = one_stream(script);
    let ran = run(&world, &["Look at one part", "--multi", "--mode", "read_only", "--risk", "high"]);
    assert_eq!(data(&ran)["outcome"], "complete", "{}\n{}", ran.stdout, ran.stderr);
    assert_eq!(verdicts(&world), ["APPROVE"]);
}
