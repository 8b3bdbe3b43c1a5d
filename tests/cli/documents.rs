//! Promises of the specification about roles, reviews and graphs, tried as a reader would.

use serde_json::{Value, json};

use crate::support::{HUMAN, World};

/// The specification's example, with a parent, a test and a review added.
fn tree() -> Value {
    json!({"subcontracts": [
        {"id": "SC-000", "parent_id": null, "assigned_role": "scaffolder", "title": "Authentication",
         "execution_mode": "sequential", "expected_outputs": {"files_created": ["docs/auth.md"]},
         "acceptance_criteria": ["`cat docs/auth.md` lists login and logout"]},
        {"id": "SC-001", "parent_id": "SC-000", "assigned_role": "scaffolder", "title": "Implement user authentication module",
         "description": "Create auth.sh with login, logout, session management",
         "inputs": {"spec": "see the vision", "dependencies": ["SC-000"]},
         "expected_outputs": {"files_created": ["src/auth.sh"], "tests_passing": ["tests/test_auth.sh"]},
         "acceptance_criteria": ["`sh tests/test_auth.sh` exits 0", "Reviewer approves"], "blocks": ["SC-002"]},
        {"id": "SC-002", "parent_id": "SC-000", "assigned_role": "test_engineer", "title": "Negative tests",
         "expected_outputs": {"files_created": ["tests/test_auth_errors.sh"]},
         "acceptance_criteria": ["`sh tests/test_auth_errors.sh` prints 3 refusals"]},
        {"id": "SC-003", "assigned_role": "reviewer", "title": "Review", "depends_on": ["SC-001"],
         "acceptance_criteria": ["No secret is logged"]},
    ]})
}

#[test]
fn subcontracts_are_planned_completed_and_shown() {
    let world = World::new();
    let added = world.json_stdin(&HUMAN, &["plan", "-"], &tree().to_string()).ok();
    assert_eq!(added.data()["status"], "DRAFT");
    assert_eq!(added.data()["lacking"]["SC-001"], json!(["spec_ref"]));
    assert!(added.stderr.contains("SC-003 is a review and becomes no task"), "{}", added.stderr);
    for id in ["SC-000", "SC-001", "SC-002"] {
        world.human(&["task", "edit", id, "--spec", "specs/vision.md"]).ok();
    }
    world.human(&["task", "finalize", "--all"]).ok();
    let child = world.show("SC-001");
    assert_eq!((&child["parent"], &child["depends_on"]), (&json!("SC-000"), &json!(["SC-000"])));
    assert_eq!(child["checklist"], json!(["No secret is logged"]));
    assert_eq!(world.show("SC-002")["depends_on"], json!(["SC-001"]), "it is blocked by SC-001");
    assert_eq!(world.show("SC-000")["children"], json!(["SC-001", "SC-002"]));
    let text = world.human(&["task", "show", "SC-000"]).ok().stdout;
    assert!(text.contains("children:\n  - SC-001\n  - SC-002\n"), "{text}");
    assert!(world.human(&["task", "show", "SC-001"]).ok().stdout.contains("parent:    SC-000"));
    let graph = world.json(&HUMAN, &["graph"]).ok().data();
    assert_eq!(
        (&graph["nodes"][0]["children"], &graph["nodes"][1]["parent"]),
        (&json!(["SC-001", "SC-002"]), &json!("SC-000"))
    );
    assert!(world.human(&["graph"]).ok().stdout.contains("part of SC-000"));

    // The results of merged tasks are inputs of the dependent ones.
    let (coder, reviewer) =
        (world.register("coder", "coder-1"), world.register("code_reviewer", "reviewer-1"));
    let worktree = world.claim(&coder, "SC-000");
    world.checkpoint(&coder, "SC-000", &["docs/auth.md"]);
    world.write_and_commit(&worktree, &[("docs/auth.md", "login\nlogout\n")]);
    let commit = world.json(&coder, &["task", "submit", "SC-000"]).ok().data()["review_commit"].clone();
    world.approve(&reviewer, "SC-000", commit.as_str().unwrap());
    world.json(&reviewer, &["merge", "SC-000"]).ok();
    assert_eq!(world.show("SC-001")["inputs_from"], json!({"SC-000": ["docs/auth.md"]}));
    let text = world.human(&["task", "show", "SC-001"]).ok().stdout;
    assert!(text.contains("inputs from SC-000:\n  - docs/auth.md\n"), "{text}");
    assert!(world.planner_prompt().contains("SC-000: merged as"), "the planner sees what was produced");
    world.sound();
}

#[test]
fn unknown_parent_is_refused() {
    let world = World::new();
    let add = ["task", "add", "--id", "t1", "--title", "t", "--parent", "ghost"];
    let error = world.refused(&HUMAN, &add, 1, "refused.dependency_missing");
    assert!(
        error["message"].as_str().unwrap().contains("names the parent `ghost`, which does not exist"),
        "{error}"
    );
    let plan =
        r#"{"subcontracts":[{"id":"a","parent_id":"ghost","acceptance_criteria":["`true` exits 0"]}]}"#;
    let checked = world.json_stdin(&HUMAN, &["plan", "-", "--check"], plan).exits(1);
    assert!(checked.stdout.contains("dangling_reference"), "{}", checked.stdout);
    world.json_stdin(&HUMAN, &["plan", "-"], plan).exits(1);
    world.human(&["task", "add", "--id", "ghost", "--title", "there now"]).ok();
    world.human(&add).ok();
}

#[test]
fn tags_do_not_lift_the_cap_of_a_coder() {
    let world = World::new();
    let add = |id: &str, more: &[&str]| {
        let words = ["task", "add", "--id", id, "--title", "t", "--timebox", "20", "--tag", "merge"];
        world.json(&HUMAN, &[&words[..], more].concat())
    };
    let refused = add("t1", &[]).exits(1);
    assert_eq!(refused.code(), "refused.limit");
    let hint = refused.json()["error"]["hint"].to_string();
    assert!(hint.contains("--role supervisor --slice-kind merge"), "{hint}");
    add("t2", &["--role", "supervisor"]).ok();
}

#[test]
fn document_style_feedback_reaches_the_coder() {
    let world = World::new();
    let (coder, reviewer) =
        (world.register("coder", "coder-1"), world.register("code_reviewer", "reviewer-1"));
    let commit = world.submitted(&coder, "t1", "auth.sh", "echo 1\n");
    world.json(&reviewer, &["review", "claim", "t1"]).ok();
    let feedback = |verdict: &str, tests_passed: bool| {
        json!({
            "verdict": verdict, "commit": commit, "summary": "SQL injection",
            "issues": if verdict == "approve" { json!([]) } else { json!([{
                "severity": "critical", "file_path": "auth.sh", "line_start": 42, "line_end": 57,
                "issue": "SQL injection vulnerability", "suggestion": "Use parameterized queries",
                "code_before": null, "code_after": "query(?)",
            }]) },
            "strengths": ["Clear naming"], "approval_conditions": ["Fix the injection"],
            "iteration": 1, "files_reviewed": ["auth.sh"], "tests_passed": tests_passed, "lint_passed": true,
        })
        .to_string()
    };
    let approve =
        world.json_stdin(&reviewer, &["review", "approve", "t1", "--from", "-"], &feedback("approve", false));
    assert_eq!(approve.exits(1).code(), "refused.issues_open");
    world
        .json_stdin(
            &reviewer,
            &["review", "reject", "t1", "--from", "-"],
            &feedback("request_changes", false),
        )
        .ok();
    let feedback_text = world.liza(&coder, &["task", "show", "t1", "--feedback"]).ok().stdout;
    assert!(
        feedback_text.contains("[i1] must fix critical auth.sh:42-57: SQL injection vulnerability"),
        "{feedback_text}"
    );
    assert!(
        feedback_text.contains("query(?)")
            && feedback_text.contains("condition for approval: Fix the injection"),
        "{feedback_text}"
    );
    // The same by flag.
    world.claim(&coder, "t1");
    let thread = world.json(&HUMAN, &["message", "list", "--task", "t1"]).ok().data();
    let rows: Vec<(&str, &str)> = thread["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["id"].as_str().unwrap(), row["type"].as_str().unwrap()))
        .collect();
    assert_eq!(rows, [("submission-1", "submit_for_review"), ("verdict-1", "review_feedback")], "{thread}");
    assert_eq!(thread["messages"][1]["in_reply_to"], "submission-1");
    assert_eq!(
        (&thread["messages"][1]["to"], &thread["messages"][1]["body"]),
        (&json!("coder-1"), &json!("SQL injection"))
    );
    let ask = [
        "message",
        "send",
        "--to",
        "reviewer-1",
        "--type",
        "submit_for_review",
        "--task",
        "t1",
        "--subject",
        "again",
    ];
    world.liza(&coder, &ask).ok();
    let text = world.human(&["message", "list", "--task", "t1"]).ok().stdout;
    let places: Vec<usize> =
        ["submission-1", "verdict-1", "message-1"].iter().map(|id| text.find(id).expect(id)).collect();
    assert!(places.is_sorted(), "{text}");
}

#[test]
fn handoff_lists_changed_files_and_warnings() {
    let world = World::new();
    let (coder, reviewer) =
        (world.register("coder", "coder-1"), world.register("code_reviewer", "reviewer-1"));
    world.task("t1", &["a.sh", "tests/test_a.sh"]);
    let worktree = world.claim(&coder, "t1");
    world.checkpoint(&coder, "t1", &["a.sh", "tests/test_a.sh"]);
    world.write_and_commit(&worktree, &[("a.sh", "echo 1\n")]);
    std::fs::write(worktree.join("tests-notes.txt"), "half").unwrap();
    let other = world.register("coder", "coder-2");
    world.merge_task(&other, &reviewer, "t2", "b.sh", "echo 2\n");
    let planner = world.register("planner", "planner-1");
    let ask = [
        "message",
        "send",
        "--to",
        "coder-1",
        "--type",
        "request_input",
        "--task",
        "t1",
        "--subject",
        "which shell?",
        "--requires-response",
    ];
    world.liza(&planner, &ask).ok();
    world.liza(&coder, &["task", "handoff", "t1", "--summary", "half done", "--next", "write the test"]).ok();
    let package =
        world.json(&HUMAN, &["task", "show", "t1", "--feedback"]).ok().data()["handoff"]["package"].clone();
    assert_eq!(package["files_changed"], json!(["a.sh"]));
    assert!(package["commits"][0].as_str().unwrap().ends_with(" work"), "{package}");
    assert_eq!(package["test_results"], json!(["liza has run no test on this work yet"]));
    assert!(
        package["open_messages"][0].as_str().unwrap().contains("request_input from planner-1: which shell?"),
        "{package}"
    );
    let warnings = package["warnings"].to_string();
    assert!(warnings.contains("that the branch lacks: `liza task sync t1`"), "{warnings}");
    assert!(warnings.contains("uncommitted: 1 file; kept as refs/liza/wip/t1/1"), "{warnings}");
    let feedback_text = world.human(&["task", "show", "t1", "--feedback"]).ok().stdout;
    assert!(
        feedback_text.contains("files changed:\n  - a.sh\n") && feedback_text.contains("warnings:"),
        "{feedback_text}"
    );
    world.sound();
}

#[test]
fn review_show_names_gates_that_run_only_at_merge() {
    let world = World::new();
    world.write("liza.yaml", "gates:\n- {name: tests, command: \"sh tests/test_t1.sh\"}\n- {name: lint, command: \"true\", optional: true}\n");
    let (coder, reviewer) =
        (world.register("coder", "coder-1"), world.register("code_reviewer", "reviewer-1"));
    world.submitted(&coder, "t1", "a.sh", "echo 1\n");
    world.json(&reviewer, &["review", "claim", "t1"]).ok();
    let text = world.liza(&reviewer, &["review", "show", "t1", "--no-diff"]).ok().stdout;
    let waits = "tests: not run on this tree yet; liza runs it before an approval and at the merge. `liza gate run t1` runs it now";
    assert!(text.contains(waits), "{text}");
    world.liza(&reviewer, &["gate", "run", "t1"]).ok();
    let text = world.liza(&reviewer, &["review", "show", "t1", "--no-diff"]).ok().stdout;
    assert!(text.contains("  tests: pass; log .liza/runs/t1/"), "{text}");
    assert!(text.contains("  lint (optional): pass"), "{text}");
    let data = world.json(&reviewer, &["review", "show", "t1"]).ok().data();
    assert_eq!(data["gate_results"][0]["outcome"]["status"], "pass", "{data}");
}

#[test]
fn coverage_of_changed_lines_lists_untested_items() {
    let world = World::bare_repo();
    world.write("src/old.sh", "old() { :; }\nold2() { :; }\n");
    world.commit_all("old");
    world.human(&["init", "Coverage"]).ok();
    // A hand-made report: old code is covered badly, new code by half.
    let report = "SF:$PWD/src/old.sh\\nDA:1,0\\nDA:2,0\\nend_of_record\\nSF:$PWD/src/new.sh\\nFN:1,fresh\\nFNDA:1,fresh\\nFN:2,forgotten\\nFNDA:0,forgotten\\nDA:1,1\\nDA:2,0\\nend_of_record\\n";
    let gate = |least: &str| {
        format!(
            "gates:\n- name: coverage\n  command: 'printf \"{report}\" > lcov.info'\n  adapter: coverage\n  report: lcov.info\n  of: changed\n{least}"
        )
    };
    world.write("liza.yaml", &gate(""));
    let coder = world.register("coder", "coder-1");
    world.submitted(&coder, "t1", "src/new.sh", "fresh() { :; }\nforgotten() { :; }\n");
    let red = world.json(&HUMAN, &["gate", "run", "t1"]).exits(7).json();
    let said = &red["data"]["gates"]["coverage"];
    let said = if said.is_null() { &red["data"]["results"][0] } else { said };
    let reason = said["reason"].as_str().unwrap_or_default();
    assert_eq!(
        reason, "coverage of new and changed lines is 50.0 % (1 of 2), at least 80 % is required",
        "{red}"
    );
    assert_eq!(said["failing"], json!(["src/new.sh:2"]), "{red}");
    let untested = json!(["src/new.sh:2 forgotten", "tests/test_t1.sh (the report does not name it)"]);
    assert_eq!(said["untested"], untested, "{red}");
    world.write("liza.yaml", &gate("  at_least: 50\n"));
    world.human(&["gate", "run", "t1"]).ok();
    let shown = world.human(&["review", "show", "t1", "--no-diff"]).ok().stdout;
    assert!(shown.contains("no test reaches src/new.sh:2 forgotten"), "{shown}");
}
