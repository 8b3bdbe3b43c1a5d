//! Tasks of kind report by hand: a probe is added, claimed, ended with its JSON, shown, and given to dependent tasks.

use std::path::Path;

use serde_json::{Value, json};

use crate::support::{HUMAN, Who, World};

/// A claimable report for this role.
pub fn add_report(world: &World, id: &str, role: &str, slice: &str, more: &[&str]) {
    let mut args =
        vec!["task", "add", "--id", id, "--title", "Measure the build", "--kind", "report", "--role", role];
    args.extend([
        "--slice-kind",
        slice,
        "--spec",
        "specs/vision.md",
        "--done",
        "the figure is known",
        "--finalize",
    ]);
    args.extend(more);
    world.human(&args).ok();
}

/// A valid result of this task, with more fields.
pub fn result(world: &World, id: &str, schema: &str, status: &str, more: Value) -> Value {
    let ssot = world.show(id)["ssot_id"].clone();
    let mut value = json!({
        "schema": schema, "ssot_id": ssot, "slice_id": id, "status": status, "summary": "the build takes 12 s",
        "evidence": [{"kind": "command", "ref": "make", "exit": 0}],
    });
    for (key, one) in more.as_object().into_iter().flatten() {
        value[key] = one.clone();
    }
    value
}

/// A task of kind report whose agent has submitted a complete result.
pub fn deliver(world: &World, id: &str, role: &str, slice: &str) {
    let agent = world.register(role, &format!("{role}-1"));
    add_report(world, id, role, slice, &[]);
    let place = world.claim(&agent, id);
    let value = match role {
        "supervisor" => plan(world, id),
        _ => result(
            world,
            id,
            "worker-result.operator/1",
            "complete",
            json!({"measurements": {"build_seconds": 12}}),
        ),
    };
    submit(world, &agent, &place, id, &value).ok();
}

pub fn submit(world: &World, who: &Who, dir: &Path, id: &str, value: &Value) -> crate::support::Ran {
    let file = world.home().join("result.json");
    std::fs::write(&file, value.to_string()).expect("written");
    world.liza_in(who, dir, &["--json", "task", "submit", id, "--result", &file.display().to_string()])
}

#[test]
fn probe_by_hand_ends_merged_and_is_shown() {
    let world = World::new();
    let operator = world.register("operator", "operator-1");
    add_report(&world, "probe", "operator", "probe", &["--timebox", "3"]);
    world.task_with("after", &["after.txt", "tests/test_after.sh"], &["--depends", "probe"]);
    let claimed = world.liza(&operator, &["task", "claim", "probe"]).ok().stdout;
    assert!(claimed.contains("next: liza task submit probe --result FILE ("), "{claimed}");
    let place = world.root.join(".worktrees/probe");
    // Files that git does not know are listed, and nothing else may differ.
    std::fs::write(place.join("notes.txt"), "12 s").expect("written");
    let value = result(
        &world,
        "probe",
        "worker-result.operator/1",
        "complete",
        json!({"measurements": {"build_seconds": 12}}),
    );
    std::fs::write(place.join("README.md"), "changed").expect("written");
    let refused = submit(&world, &operator, &place, "probe", &value).exits(1);
    assert_eq!(refused.code(), "refused.worktree_dirty");
    world.git_in(&place, &["checkout", "-q", "README.md"]);
    let done = submit(&world, &operator, &place, "probe", &value).ok().data();
    assert_eq!((&done["status"], &done["untracked"]), (&json!("MERGED"), &json!(["notes.txt"])));
    let task = world.show("probe");
    assert_eq!(task["merge"]["nothing"], true);
    assert_eq!(task["result"]["digest"], done["digest"]);
    let shown = world.json(&HUMAN, &["result", "show", "probe"]).ok().data();
    assert_eq!(shown["value"]["measurements"]["build_seconds"], 12);
    let raw = world.human(&["result", "show", "probe", "--raw"]).ok().stdout;
    assert_eq!(raw.trim(), value.to_string());
    assert!(world.path(".liza/results/probe.1.json").exists());
    // The next agent's prompt contains the result.
    let coder = world.register("coder", "coder-1");
    world.claim(&coder, "after");
    let prompt = world.coder_prompt("coder-1", "after");
    assert!(prompt.contains("build_seconds"), "{prompt}");
    world.human(&["verify"]).ok();
    world.sound();
}

#[test]
fn bad_results_are_refused_with_their_field_and_kept() {
    let world = World::new();
    let operator = world.register("operator", "operator-1");
    add_report(&world, "probe", "operator", "probe", &[]);
    let place = world.claim(&operator, "probe");
    let good = result(&world, "probe", "worker-result.operator/1", "complete", json!({}));
    let mut nested = json!(1);
    for _ in 0..40 {
        nested = json!([nested]);
    }
    for (field, more) in [
        ("extra", json!({"extra": 1})),
        ("slice_id", json!({"slice_id": "other"})),
        ("ssot_id", json!({"ssot_id": "scenario-000000000000"})),
        ("schema", json!({"schema": "worker-result.coder/1"})),
        ("blocked_reason", json!({"status": "blocked"})),
        ("(message)", json!({"measurements": {"deep": nested}})),
        ("(message)", json!({"findings": ["x".repeat(600_000)]})),
    ] {
        let mut bad = good.clone();
        for (key, one) in more.as_object().into_iter().flatten() {
            bad[key] = one.clone();
        }
        let ran = submit(&world, &operator, &place, "probe", &bad).exits(1);
        assert_eq!(ran.json()["error"]["code"], "refused.result", "{field}");
        let details = &ran.json()["error"]["details"];
        assert_eq!(details["field"], field, "{}", ran.stdout);
        let kept = std::fs::read(details["kept"].as_str().expect("a path")).expect("it is kept");
        assert_eq!(kept, serde_json::to_vec(&bad).unwrap(), "{field}");
        let hint = ran.json()["error"]["hint"].as_str().unwrap_or_default().to_owned();
        assert!(hint.contains("`liza schema worker-result-operator`"), "{hint}");
    }
    let kept = std::fs::read_dir(world.path(".liza/runs/probe/1-1")).expect("a directory").count();
    assert_eq!(kept, 7);
    assert_eq!(world.status_of("probe"), "WORKING");
    // A result with the epoch of an old attempt is refused.
    world.human(&["task", "release", "probe", "--reason", "another one"]).ok();
    world.claim(&operator, "probe");
    std::fs::write(world.home().join("result.json"), good.to_string()).expect("written");
    let late = world.json_env(
        &operator,
        &["task", "submit", "probe", "--result", &world.home().join("result.json").display().to_string()],
        &[("LIZA_CLAIM", "probe:1")],
    );
    assert!(late.exit != 0);
    assert_eq!(late.json()["error"]["code"], "stale.epoch", "{}", late.stdout);
    let round = late.json()["error"]["details"]["kept"].as_str().expect("it is kept").to_owned();
    assert!(round.contains("/runs/probe/3-"), "{round}");
    // Nor is it lost where the worktree is gone.
    let place = world.path(".worktrees/probe");
    std::fs::rename(&place, world.home().join("away")).expect("moved");
    let good = world.home().join("result.json").display().to_string();
    let ran = world.json(&operator, &["task", "submit", "probe", "--result", &good]);
    assert!(ran.exit != 0 && ran.json()["error"]["details"]["kept"].is_string(), "{}", ran.stdout);
    std::fs::rename(world.home().join("away"), &place).expect("moved back");
    // Both partial: a second try, and then a question.
    for status in ["IDLE", "BLOCKED"] {
        if world.status_of("probe") == "IDLE" {
            world.claim(&operator, "probe");
        }
        let place = world.path(
            world.show("probe")["attempts"].as_array().unwrap().last().unwrap()["worktree"].as_str().unwrap(),
        );
        let part = result(&world, "probe", "worker-result.operator/1", "partial", json!({}));
        let done = submit(&world, &operator, &place, "probe", &part).ok().data();
        assert_eq!(done["status"], status);
    }
    assert!(world.show("probe")["blocked_reason"].as_str().unwrap().contains("attempt 2"));
}

fn plan(world: &World, id: &str) -> Value {
    let slice = json!({
        "slice_id": "w-a", "agent_type": "coder_spark", "slice_kind": "work", "timebox_minutes": 8,
        "ownership_paths": ["src/a/"], "allowed_paths": ["src/"],
        "task_contract": {"goal": "greet", "acceptance": ["prints Hello"]},
    });
    let plan = json!({"workstream": "w", "timebox_minutes": 8, "ownership_paths": ["src/"], "allowed_paths": ["src/"], "slices": [slice]});
    result(world, id, "worker-result.supervisor/1", "complete", json!({"dispatch_plan": plan}))
}

#[test]
fn plan_result_waits_for_acceptance_by_another() {
    let world = World::new();
    let supervisor = world.register_roles(&["supervisor", "planner"], "supervisor-1");
    let reviewer = world.register("code_reviewer", "reviewer-1");
    add_report(&world, "w-plan", "supervisor", "work", &[]);
    let place = world.claim(&supervisor, "w-plan");
    let mut bad = plan(&world, "w-plan");
    bad["dispatch_plan"]["slices"][0]["timebox_minutes"] = json!(13);
    let ran = submit(&world, &supervisor, &place, "w-plan", &bad).exits(1);
    assert_eq!(ran.json()["error"]["details"]["field"], "dispatch_plan.slices[0].timebox_minutes");
    submit(&world, &supervisor, &place, "w-plan", &plan(&world, "w-plan")).ok();
    assert_eq!(world.status_of("w-plan"), "READY_FOR_REVIEW");
    let text = world.human(&["status"]).ok().stdout;
    assert!(text.contains("plan w-plan of supervisor-1 waits for acceptance"), "{text}");
    assert!(text.contains("`liza result accept w-plan`"), "{text}");
    // No code reviewer is offered it.
    assert_eq!(world.json(&reviewer, &["next", "--role", "code_reviewer"]).ok().data(), Value::Null);
    world.refused(&reviewer, &["review", "claim", "w-plan"], 1, "refused.kind_mismatch");
    world.tier0(&supervisor, &["result", "accept", "w-plan"], "tier0.self_approval");
    let args = ["result", "reject", "w-plan", "--reason", "too vague", "--finding", "name the file"];
    world.human(&args).ok();
    assert_eq!(world.status_of("w-plan"), "REJECTED");
    let place = world.claim(&supervisor, "w-plan");
    submit(&world, &supervisor, &place, "w-plan", &plan(&world, "w-plan")).ok();
    world.human(&["result", "accept", "w-plan"]).ok();
    let task = world.show("w-plan");
    assert_eq!((&task["status"], &task["merge"]["by"]), (&json!("MERGED"), &json!("human")));
    world.human(&["verify"]).ok();
}

#[test]
fn lost_results_are_restored_from_their_copies() {
    let world = World::new();
    let operator = world.register("operator", "operator-1");
    add_report(&world, "probe", "operator", "probe", &[]);
    let place = world.claim(&operator, "probe");
    let value = result(&world, "probe", "worker-result.operator/1", "complete", json!({}));
    submit(&world, &operator, &place, "probe", &value).ok();
    let file = world.path(".liza/results/probe.1.json");
    for damage in ["gone", "changed"] {
        match damage {
            "gone" => std::fs::remove_file(&file).expect("removed"),
            _ => std::fs::write(&file, "{}").expect("written"),
        }
        let found = world.json(&HUMAN, &["doctor"]).exits(1).stdout;
        assert!(found.contains("results.lost"), "{damage}: {found}");
        world.human(&["doctor", "--fix"]).ok();
        assert_eq!(std::fs::read_to_string(&file).expect("restored"), value.to_string(), "{damage}");
    }
    world.human(&["archive", "--all"]);
    world.human(&["result", "show", "probe"]).ok();
    world.human(&["verify"]).ok();
    world.human(&["gc"]).ok();
}

#[test]
fn examples_validate_against_the_published_schemas() {
    let world = World::new();
    let script = r#"
import json, sys
try:
    import jsonschema
except ImportError:
    sys.exit(77)
for name in ["task-dispatch", "worker-result-supervisor", "worker-result-operator", "worker-result-coder", "review-result-auditor"]:
    schema = json.load(open(f"{sys.argv[1]}/{name}.schema.json"))
    check = jsonschema.validators.validator_for(schema)
    check.check_schema(schema)
    example = json.load(open(f"{sys.argv[2]}/{name}.json"))
    check(schema).validate(example)
    for change in [{"unknown_field": 1}, {"schema": "other/1"}]:
        if check(schema).is_valid({**example, **change}):
            sys.exit(f"{name}: {change} is valid")
    if name != "task-dispatch" and check(schema).is_valid({**example, "status": "blocked", "blocked_reason": None}):
        sys.exit(f"{name}: blocked without a reason is valid")
"#;
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/fixtures/director");
    use crate::support::process::Bounded as _;
    let mut python = std::process::Command::new("python3");
    python.arg("-c").arg(script).arg(world.path(".liza/schema")).arg(examples);
    let Ok(output) = python.finish() else { return crate::support::skip("python3 is not installed") };
    match output.status.code() {
        Some(77) => crate::support::skip("the Python package jsonschema is not installed"),
        code => assert_eq!(code, Some(0), "{}", String::from_utf8_lossy(&output.stderr)),
    }
}

#[test]
fn killed_submit_loses_no_result() {
    for (point, status) in [("result.staged", "WORKING"), ("result.committed", "MERGED")] {
        let world = World::new();
        let operator = world.register("operator", "operator-1");
        add_report(&world, "probe", "operator", "probe", &[]);
        let place = world.claim(&operator, "probe");
        let value = result(&world, "probe", "worker-result.operator/1", "complete", json!({}));
        let file = world.home().join("result.json");
        std::fs::write(&file, value.to_string()).expect("written");
        let args = ["task", "submit", "probe", "--result", &file.display().to_string()];
        let killed = world.liza_with(&operator, &args, b"", &[("LIZA_CRASH_AT", point)]);
        assert!(killed.exit != 0, "{point}");
        assert_eq!(world.status_of("probe"), status, "{point}");
        if status == "WORKING" {
            submit(&world, &operator, &place, "probe", &value).ok();
        }
        let raw = world.human(&["result", "show", "probe", "--raw"]).ok().stdout;
        assert_eq!(raw.trim(), value.to_string(), "{point}");
        world.human(&["doctor", "--fix"]);
        world.human(&["verify"]).ok();
    }
}
