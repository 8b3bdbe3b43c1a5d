//! The reviewer's checklist: every item of the task and of its risk is answered, one by one.

use serde_json::{Value, json};

use crate::support::{HUMAN, Who, World};

const LEVELS: &str = "version: 1\nchecklists:\n  low: [\"names are clear?\"]\n  high: [\"no secret in the log?\", \"inputs are bounded?\"]\n";

struct Scene {
    world: World,
    reviewer: Who,
    commit: String,
}

/// `t1`, of high risk and with its own item, is under review.
fn scene() -> Scene {
    let world = World::new();
    world.write("liza.yaml", LEVELS);
    let coder = world.register("coder", "coder-1");
    let reviewer = world.register("code_reviewer", "reviewer-1");
    world.task_with("t1", &["a.sh", "tests/test_t1.sh"], &["--risk", "high", "--check", "no race on start?"]);
    let commit = world.submit_work(&coder, "t1", "a.sh", "echo a\n");
    world.liza(&reviewer, &["review", "claim", "t1"]).ok();
    Scene { world, reviewer, commit }
}

impl Scene {
    fn verdict<'a>(&'a self, verb: &'a str, more: &[&'a str]) -> Vec<&'a str> {
        let mut args = vec!["review", verb, "t1", "--commit", &self.commit];
        args.extend(more);
        args
    }
}

#[test]
fn checklist_items_are_numbered_and_answered() {
    let scene = scene();
    let Scene { world, reviewer, .. } = &scene;
    let data = world.json(reviewer, &["review", "show", "t1", "--no-diff"]).ok().data();
    let items: Vec<&Value> = data["checklist"].as_array().unwrap().iter().map(|item| &item["item"]).collect();
    assert_eq!(items, ["no race on start?", "no secret in the log?", "inputs are bounded?"], "{data}");
    assert_eq!(data["checklist"][2]["n"], 3);
    for text in [
        world.liza(reviewer, &["review", "show", "t1", "--no-diff"]).ok().stdout,
        world.liza(reviewer, &["task", "show", "t1"]).ok().stdout,
    ] {
        assert!(text.contains("1. no race on start?") && text.contains("3. inputs are bounded?"), "{text}");
        assert!(!text.contains("names are clear?"), "another level asks that: {text}");
    }
    let error = world.refused(
        reviewer,
        &scene.verdict("approve", &["--answer", "1=yes"]),
        1,
        "refused.feedback_incomplete",
    );
    assert!(error["message"].as_str().unwrap().contains("2. no secret in the log?; 3. inputs"), "{error}");
    assert!(error["hint"].as_str().unwrap().contains("--answer \"3="), "{error}");
    let reject = ["--reason", "it leaks", "--issue", "major:a.sh:1:it leaks"];
    world.refused(reviewer, &scene.verdict("reject", &reject), 1, "refused.feedback_incomplete");

    let no = ["--answer", "1=yes", "--answer", "2=no: prints $TOKEN", "--answer", "3=yes"];
    let error = world.refused(reviewer, &scene.verdict("approve", &no), 1, "refused.issues_open");
    assert!(error["message"].as_str().unwrap().contains("no secret in the log?"), "{error}");
    let bare = ["--answer", "1=yes", "--answer", "2=yes", "--answer", "3=n/a"];
    world.refused(reviewer, &scene.verdict("approve", &bare), 1, "refused.feedback_incomplete");
    let twice = ["--answer", "1=yes", "--answer", "1=yes"];
    world.refused(reviewer, &scene.verdict("approve", &twice), 1, "refused.value");
    world.refused(reviewer, &scene.verdict("approve", &["--answer", "9=yes"]), 1, "refused.unknown_record");
    for nonsense in ["1", "1=perhaps", "one=yes", "=yes"] {
        let ran = world.json(reviewer, &scene.verdict("approve", &["--answer", nonsense]));
        assert_eq!((ran.exit, ran.code().as_str()), (2, "usage.argument"), "{nonsense}");
    }
    let good = ["--answer", "1=yes", "--answer", "2=yes", "--answer", "3=n/a: it takes none: really"];
    world.liza(reviewer, &scene.verdict("approve", &good)).ok();
    let review = &world.show("t1")["reviews"][0];
    let kept = json!([
        { "item": "no race on start?", "answer": "yes" },
        { "item": "no secret in the log?", "answer": "yes" },
        { "item": "inputs are bounded?", "answer": "n/a", "note": "it takes none: really" },
    ]);
    assert_eq!(review["checklist"], kept, "{review}");
    world.sound();
}

#[test]
fn feedback_answers_items_by_number_or_text() {
    let scene = scene();
    let Scene { world, reviewer, commit } = &scene;
    let feedback = json!({
        "verdict": "request_changes", "commit": commit, "summary": "it leaks",
        "issues": [{ "severity": "major", "file": "a.sh", "line": 1, "issue": "it prints the token" }],
        "checklist": [
            { "item": 1, "answer": "yes" },
            { "item": "no secret in the log?", "answer": "no", "note": "the token" },
            { "item": 3, "answer": "n/a", "note": "no input" },
        ],
    });
    let from = &["review", "reject", "t1", "--from", "-"];
    let missing = json!({ "checklist": [{ "item": 1, "answer": "yes" }], "commit": commit, "summary": "x",
        "issues": feedback["issues"] });
    let ran = world.json_stdin(reviewer, from, &missing.to_string());
    assert_eq!((ran.exit, ran.code().as_str()), (1, "refused.feedback_incomplete"));
    world.json_stdin(reviewer, from, &feedback.to_string()).ok();
    let task = world.show("t1");
    assert_eq!(task["status"], "REJECTED");
    assert_eq!(task["reviews"][0]["checklist"][1]["note"], "the token");
    let feedback = task["rejection_feedback"].as_str().unwrap();
    assert!(
        feedback.contains("checklist, answered with no: no secret in the log? (the token)"),
        "{feedback}"
    );
}

#[test]
fn discussion_and_empty_checklist_need_no_answers() {
    let scene = scene();
    let Scene { world, reviewer, .. } = &scene;
    let args = scene.verdict("discuss", &["--reason", "the spec is silent", "--question", "which?"]);
    world.liza(reviewer, &args).ok();
    assert_eq!(world.status_of("t1"), "BLOCKED");

    let world = World::new();
    let coder = world.register("coder", "coder-1");
    let reviewer = world.register("code_reviewer", "reviewer-1");
    world.approved(&coder, &reviewer, "t1", "a.sh", "echo a\n");
    assert_eq!(world.show("t1").get("checklist"), None);
}

/// Plans may contain items, also under the contract's name for them, and the reviewer's prompt lists them.
#[test]
fn plan_checklist_reaches_the_reviewers_prompt() {
    let world = World::new();
    world.write("liza.yaml", &format!("{LEVELS}provider: none\nproviders:\n  none: {{ command: [sh] }}\n"));
    let task = |id: &str, key: &str| {
        json!({ "id": id, "title": id, "spec": "specs/vision.md", "done_when": ["it works"],
            "scope": { "in": [format!("{id}.sh"), format!("tests/{id}.sh")] }, key: [format!("{id} asks?\u{1b}[31m")] })
    };
    let plan = json!({ "tasks": [task("t1", "checklist"), task("t2", "reviewer_checklist")] });
    world.json_stdin(&HUMAN, &["plan", "-"], &plan.to_string()).ok();
    assert_eq!(world.show("t1")["checklist"], json!(["t1 asks?\u{1b}[31m"]));
    assert_eq!(world.show("t2")["checklist"], json!(["t2 asks?\u{1b}[31m"]));
    let shown = world.human(&["task", "show", "t2"]).ok().stdout;
    assert!(shown.contains("1. t2 asks?") && !shown.contains('\u{1b}'), "{shown:?}");
    let coder = world.register("coder", "coder-1");
    let worktree = world.claim(&coder, "t1");
    world.checkpoint(&coder, "t1", &["t1.sh", "tests/t1.sh"]);
    world.write_and_commit(&worktree, &[("t1.sh", "echo\n"), ("tests/t1.sh", "true\n")]);
    world.liza(&coder, &["task", "submit", "t1"]).ok();
    let explain = ["agent", "run", "--role", "code_reviewer", "--explain"];
    let data = world.json(&HUMAN, &explain).ok().data();
    let prompt = data["prompt"].as_str().unwrap();
    assert!(prompt.contains("## The checklist") && prompt.contains("1. t1 asks?"), "{prompt}");
    assert!(prompt.contains("2. names are clear?"), "{prompt}");
    assert!(prompt.contains("--answer \"1=…\" --answer \"2=…\"") && !prompt.contains('\u{1b}'), "{prompt}");
}
