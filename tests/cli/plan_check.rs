//! `plan --check`: errors of a plan, advice, and the resulting order.

use serde_json::{Value, json};

use crate::support::{HUMAN, Ran, World};

#[track_caller]
fn checked(world: &World, plan: &str) -> Ran {
    let before = world.bytes();
    let ran = world.json_stdin(&HUMAN, &["plan", "-", "--check"], plan);
    assert!(world.bytes() == before, "a check changes nothing");
    ran
}

fn task(id: &str, more: &str) -> String {
    format!("  - {{id: {id}, title: Do {id}, spec_ref: specs/vision.md, {more}}}\n")
}

/// Without the checks of paths against the repository, which are tested in defaults_and_typos.rs.
fn codes(data: &Value) -> Vec<(String, String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    data["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|finding| {
            !["tests_out_of_scope", "parent_missing"].iter().any(|code| finding["code"] == *code)
        })
        .map(|finding| {
            assert!(!text(&finding["message"]).is_empty() && !text(&finding["hint"]).is_empty(), "{finding}");
            (text(&finding["severity"]), text(&finding["code"]), text(&finding["task"]))
        })
        .collect()
}

fn row(severity: &str, code: &str, task: &str) -> (String, String, String) {
    (severity.to_owned(), code.to_owned(), task.to_owned())
}

#[test]
fn plan_check_shows_groups_and_critical_path() {
    let world = World::new();
    let good = "done_when: [\"`sh run.sh` prints `ok`\"], timebox_minutes: 8";
    let plan = format!(
        "tasks:\n{}{}{}",
        task("a", &format!("{good}, scope: {{in: [a/, tests/test_a.sh]}}")),
        task("b", &format!("{good}, scope: {{in: [b/, tests/test_b.sh]}}, depends_on: [a]")),
        task("c", &format!("{good}, scope: {{in: [c/, tests/test_c.sh]}}")),
    );
    let data = checked(&world, &plan).ok().data();
    assert_eq!(data["findings"], json!([]));
    assert_eq!(data["groups"], json!([["a", "c"], ["b"]]));
    assert_eq!(data["critical_path"], json!({ "tasks": ["a", "b"], "minutes": 16 }));
    assert_eq!(data["split"]["justified"], true);
    let shown = world.liza_with(&HUMAN, &["plan", "-", "--check"], plan.as_bytes(), &[]).ok().stdout;
    assert!(shown.contains("critical path (16 minutes): a → b"), "{shown}");
    // Size and time are stored with the task.
    world.json_stdin(&HUMAN, &["plan", "-"], &plan).ok();
    assert_eq!(world.show("a")["timebox_minutes"], 8);
}

#[test]
fn plan_check_lists_all_errors_at_once() {
    let world = World::new();
    let fine = "done_when: [prints 1]";
    let plan = format!(
        "tasks:\n{}{}{}{}{}",
        task("a", &format!("{fine}, scope: {{in: [a/]}}, depends_on: [b]")),
        task("b", &format!("{fine}, scope: {{in: [b/]}}, depends_on: [a]")),
        task("bare", "scope: {in: [c/]}"),
        task("ghostly", &format!("{fine}, scope: {{in: [d/]}}, depends_on: [ghost]")),
        task("long", &format!("{fine}, scope: {{in: [e/]}}, timebox_minutes: 30")),
    );
    let ran = checked(&world, &plan).exits(1);
    assert_eq!(ran.code(), "refused.limit", "the code is that of the refusal: {}", ran.stdout);
    let found = codes(&ran.json()["data"]);
    let mut errors: Vec<_> = found.into_iter().filter(|(severity, ..)| severity == "error").collect();
    errors.sort();
    assert_eq!(
        errors,
        [
            row("error", "criteria_missing", "bare"),
            row("error", "cycle", ""),
            row("error", "dangling_reference", "ghostly"),
            row("error", "timebox_over_cap", "long"),
        ]
    );
    let ran = world.liza_with(&HUMAN, &["plan", "-", "--check"], plan.as_bytes(), &[]).exits(1);
    for part in ["error: a → b → a", "bare has no done_when", "waits for ghost", "at most 12", "hint: "] {
        assert!(ran.stdout.contains(part), "{part} in {}", ran.stdout);
    }
    let refused = world.json_stdin(&HUMAN, &["plan", "-"], &plan).exits(1);
    assert_eq!(refused.code(), "refused.limit", "{}", refused.stdout);
    assert!(world.tasks().is_empty());
}

#[test]
fn plan_check_separates_warnings_from_errors() {
    let world = World::new();
    let plan = format!(
        "tasks:\n{}{}{}{}{}{}",
        task("vague", "done_when: [the code is clean], scope: {in: [src/]}"),
        task("meets", "done_when: [prints 1], scope: {in: [src/x.rs]}"),
        task("large", "done_when: [prints 1], scope: {in: [l/]}, expected_files: 6, expected_lines: 501"),
        task("tiny", "done_when: [prints 1], scope: {in: [t/]}, timebox_minutes: 1"),
        task(
            "probe",
            "done_when: [prints 1], role: operator, kind: report, slice_kind: probe, timebox_minutes: 9",
        ),
        task("tests", "done_when: [prints 1], scope: {in: [u/]}").replace("Do tests", "Add tests for all"),
    );
    let data = checked(&world, &plan).ok().data();
    assert_eq!(
        codes(&data),
        [
            row("warning", "vague_criterion", "vague"),
            row("warning", "too_many_files", "large"),
            row("warning", "too_many_lines", "large"),
            row("warning", "micro_slice", "tiny"),
            row("warning", "tests_alone", "tests"),
            row("advice", "timebox_band", "probe"),
            row("advice", "paths_overlap", ""),
        ]
    );
    assert_eq!(data["waits"][0]["tasks"], json!(["vague", "meets"]));
    // Splitting a single file into many tasks gets the advice to make one task.
    let one = "done_when: [prints 1], scope: {in: [one.rs]}";
    let plan = format!("tasks:\n{}{}", task("x", one), task("y", &format!("{one}, depends_on: [x]")));
    let data = checked(&world, &plan).ok().data();
    assert_eq!(codes(&data), [row("warning", "same_place", "")]);
    assert_eq!(data["split"]["justified"], false);
}

#[test]
fn task_add_accepts_size_and_time_flags() {
    let world = World::new();
    let add = |id: &str, minutes: &str| {
        let start = ["task", "add", "--id", id, "--title", "T", "--timebox", minutes];
        world.json(&HUMAN, &[&start[..], &["--expected-files", "2", "--expected-lines", "120"]].concat())
    };
    add("fits", "12").ok();
    let shown = world.show("fits");
    assert_eq!(
        (&shown["expected_files"], &shown["expected_lines"], &shown["timebox_minutes"]),
        (&json!(2), &json!(120), &json!(12))
    );
    assert_eq!(add("long", "13").exits(1).code(), "refused.limit");
    assert_eq!(add("none", "0").exits(1).code(), "refused.value");
    world.sound();
}
