//! Sentences of the contract, each tried as its reader would.

use std::path::Path;

use liza::board::Needs;
use liza::wire::state::Decoded;
use serde_json::json;

use crate::support::{HUMAN, Who, World, checkpoint_args};
use crate::team::{EVERY_ROLE, add, agent_run, out, scripted};

const CHECKPOINT: &str = r#"
intent: "Implement greeting function with --name argument"
assumptions:
  - "argparse is preferred per spec constraint"
  - "[critical] python -m finds the package"
risks: "None identified - stdlib only, reversible"
validation: "echo 'Hello, Test!' outputs 'Hello, Test!'"
files_to_modify:
  - "hello/__main__.py"
  - "tests/test_hello.py"
"#;

const TASK: &str = r#"
id: greet
title: Greet by name
spec_ref: specs/vision.md
done_when: |
  - `python -m hello` prints "Hello, World!"
  - `python -m hello --name Alice` prints "Hello, Alice!"
scope: |
  IN: hello/__init__.py, hello/__main__.py, tests/test_hello.py
  OUT: packaging, CI/CD, documentation
"#;

fn team() -> (World, Who, Who) {
    let world = World::new();
    let coder = world.register("coder", "coder-1");
    let reviewer = world.register("code_reviewer", "reviewer-1");
    (world, coder, reviewer)
}

/// `done_when: |`, `scope: |`, assumptions as strings, `validation` as one string: the contract's own examples.
#[test]
fn shapes_of_the_contract_are_accepted_everywhere() {
    let (world, coder, reviewer) = team();
    world.json_stdin(&HUMAN, &["task", "add", "--from", "-", "--finalize"], TASK).ok();
    let task = world.show("greet");
    assert_eq!(task["done_when"][1], "`python -m hello --name Alice` prints \"Hello, Alice!\"");
    assert_eq!(task["scope"]["in"], json!(["hello/__init__.py", "hello/__main__.py", "tests/test_hello.py"]));
    assert!(task["scope"]["out"].as_array().unwrap().contains(&json!("packaging/")), "{task}");
    let plan =
        format!("tasks:\n{}", TASK.trim_start().replace("id: greet", "- id: other").replace('\n', "\n  "));
    let plan = plan.replace("hello", "other").trim_end().to_owned() + "\n";
    world.json_stdin(&HUMAN, &["plan", "-"], &plan).ok();
    assert_eq!(world.show("other")["done_when"].as_array().unwrap().len(), 2);

    let worktree = world.claim(&coder, "greet");
    let vague = CHECKPOINT.replace("Implement greeting function with --name argument", "improve the code");
    let checkpoint = ["task", "checkpoint", "greet", "--from", "-"];
    assert_eq!(world.json_stdin(&coder, &checkpoint, &vague).exits(1).code(), "refused.checkpoint_weak");
    let unclear = CHECKPOINT.replace(" outputs 'Hello, Test!'", " works");
    let asked = world.json_stdin(&coder, &checkpoint, &unclear).exits(1);
    assert!(asked.stdout.contains("the expected output is missing"), "{}", asked.stdout);
    world.json_stdin(&coder, &checkpoint, CHECKPOINT).ok();
    let history = world.show("greet")["history"].clone();
    let written = &history.as_array().unwrap().last().unwrap()["checkpoint"];
    assert_eq!(written["validation"], json!({ "command": "echo 'Hello, Test!'", "expect": "Hello, Test!" }));
    assert_eq!(
        written["assumptions"],
        json!([
            { "text": "argparse is preferred per spec constraint" },
            { "text": "python -m finds the package", "critical": true }
        ])
    );

    // L6: every assumption has an answer, by flag or in the feedback.
    let files = [("hello/__main__.py", "print()\n"), ("tests/test_hello.py", "pass\n")];
    let commit = world.write_and_commit(&worktree, &files);
    world.liza(&coder, &["task", "submit", "greet"]).ok();
    world.liza(&reviewer, &["review", "claim", "greet"]).ok();
    let shown = world.liza(&reviewer, &["review", "show", "greet", "--no-diff"]).ok().stdout;
    assert!(shown.contains("2. [critical] python -m finds the package"), "{shown}");
    let approve = ["review", "approve", "greet", "--commit", &commit];
    let error = world.refused(&reviewer, &approve, 1, "refused.feedback_incomplete");
    let hint = error["hint"].as_str().unwrap();
    assert!(hint.contains("--assumption \"1=held\" --assumption \"2=held\""), "{hint}");
    let with = |answers: &[&'static str]| {
        let flags = answers.iter().flat_map(|answer| ["--assumption", answer]);
        approve.iter().copied().chain(flags).map(str::to_owned).collect::<Vec<_>>()
    };
    let run = |answers: &[&'static str]| {
        let args = with(answers);
        world.json(&reviewer, &args.iter().map(String::as_str).collect::<Vec<_>>())
    };
    assert_eq!(run(&["1=held", "2=not_checked"]).exits(1).code(), "refused.feedback_incomplete");
    assert_eq!(run(&["1=held", "2=violated: it does not"]).exits(1).code(), "refused.issues_open");
    assert_eq!(run(&["1=maybe"]).exits(2).code(), "usage.argument");
    let feedback = json!({ "verdict": "approve", "commit": commit, "summary": "fine", "assumptions": [
        { "assumption": 1, "answer": "not_checked", "note": "no argparse here" },
        { "assumption": "python -m finds the package", "answer": "held" } ] });
    world.json_stdin(&reviewer, &["review", "approve", "greet", "--from", "-"], &feedback.to_string()).ok();
    let review = world.show("greet")["reviews"][0]["assumptions"].clone();
    assert_eq!((&review[0]["answer"], &review[1]["answer"]), (&json!("not_checked"), &json!("held")));
    world.sound();
}

/// A task that reaches the limit of handoffs or expired leases is blocked with reason and questions.
#[test]
fn handoff_and_expiry_limits_block_the_task() {
    let (world, coder, _) = team();
    world.edit_state("  max_review_cycles: 5\n", "  max_review_cycles: 5\n  max_handoffs: 2\n");
    world.edit_state("  max_coder_iterations: 10\n", "  max_coder_iterations: 2\n");
    world.task("t1", &["a/"]);
    for status in ["IDLE", "BLOCKED"] {
        world.claim(&coder, "t1");
        assert_eq!(world.show("t1")["iteration"], 1, "a handoff is no iteration");
        let hand_off = ["task", "handoff", "t1", "--summary", "half", "--next", "the rest"];
        assert_eq!(world.json(&coder, &hand_off).ok().data()["status"], status);
    }
    let task = world.show("t1");
    assert_eq!(task["blocked_reason"], "Max handoffs (2) reached without a submission");
    assert_eq!(task["blocked_questions"].as_array().unwrap().len(), 2);
    world.task("t2", &["b/"]);
    world.claim(&coder, "t2");
    world.later(4000, &coder, &["task", "claim", "t2"]).ok();
    let ran = world.later(8000, &coder, &["task", "claim", "t2"]).exits(1);
    assert_eq!(ran.code(), "refused.limit");
    assert!(ran.json()["error"]["message"].as_str().unwrap().contains("BLOCKED now"), "{}", ran.stdout);
    let task = world.show("t2");
    assert_eq!(task["blocked_reason"], "Max iterations (2) reached without approval");
    assert_eq!(
        task["blocked_questions"],
        json!(["Is the spec clear enough?", "Should the task be decomposed?"])
    );
}

/// Replaces the board by another with a valid checksum.
fn forge(world: &World, change: impl Fn(&mut liza::board::Board)) {
    let path = world.path(".liza/state.yaml");
    let mut decoded = Decoded::new(std::fs::read(&path).unwrap()).unwrap();
    decoded.load(&Needs::Everything).unwrap();
    let mut board = decoded.into_board();
    change(&mut board);
    let forged = Decoded::unwritten(board).rewritten().unwrap();
    std::fs::write(&path, forged.text()).unwrap();
}

/// "`validate` exits 6 on a board whose history was cut or whose epochs, incarnations or verdicts were changed by hand."
#[test]
fn validate_finds_edits_of_protected_fields() {
    let (world, coder, reviewer) = team();
    world.approved(&coder, &reviewer, "t1", "a.sh", "echo a\n");
    world.human(&["validate"]).ok();
    let good = world.state();
    for (from, to) in [
        ("    epoch: 1\n", "    epoch: 9\n"),
        ("    incarnation: 1\n", "    incarnation: 4\n"),
        ("verdict: approve", "verdict: request_changes"),
        ("      - time:", "      # - time:"),
    ] {
        assert!(good.contains(from), "{from}");
        std::fs::write(world.path(".liza/state.yaml"), good.replacen(from, to, 1)).unwrap();
        let ran = world.json(&HUMAN, &["validate"]).exits(6);
        assert!(ran.code().starts_with("board."), "{to}: {}", ran.stdout);
    }
    type Act = fn(&mut liza::board::task::Body);
    let acts: [(&str, Act); 3] = [
        ("history", |body| drop(body.history.pop())),
        ("verdict", |body| body.reviews[0].summary = "never said".to_owned()),
        ("approval", |body| body.approval = None),
    ];
    for (what, act) in acts {
        std::fs::write(world.path(".liza/state.yaml"), &good).unwrap();
        forge(&world, |board| act(board.tasks[0].parts_mut().1));
        let ran = world.json(&HUMAN, &["validate"]).exits(6);
        assert!(ran.code().starts_with("board."), "{what}: {}", ran.stdout);
    }
    // Edits that a person may make are no damage.
    std::fs::write(
        world.path(".liza/state.yaml"),
        good.replacen("max_review_cycles: 5", "max_review_cycles: 6", 1),
    )
    .unwrap();
    world.human(&["validate"]).ok();
    std::fs::write(world.path(".liza/state.yaml"), &good).unwrap();
    world.human(&["validate"]).ok();
}

/// A person may commit while the board is damaged, and gets a warning; an agent may not.
#[test]
fn main_hook_refuses_agents_on_broken_board() {
    let (world, _, _) = team();
    world.human(&["hooks", "install"]).ok();
    std::fs::write(world.path(".liza/state.yaml"), "garbage\n").unwrap();
    world.write("mine.txt", "x\n");
    world.git(&["add", "mine.txt"]);
    let agent = [("LIZA_AGENT_ID", "coder-1")];
    let ran = world.git_as(&HUMAN, &world.root, &["commit", "-m", "agent's"], &agent);
    assert_ne!(ran.exit, 0, "{}", ran.stderr);
    let ran = world.git_as(&HUMAN, &world.root, &["commit", "-m", "mine"], &[]).ok();
    assert!(ran.stderr.contains("allows this commit anyway"), "{}", ran.stderr);
}

/// "What changed since the claim in the main checkout and in worktrees without a holder is shown to the reviewer."
#[test]
fn reviewer_sees_what_changed_outside_the_worktree() {
    let (world, coder, reviewer) = team();
    world.submitted(&coder, "t1", "a.sh", "echo a\n");
    let shown = |world: &World| world.json(&reviewer, &["review", "show", "t1"]).ok().data();
    assert_eq!(shown(&world)["outside"], json!([]));
    world.write("README.md", "changed by a person\n");
    world.write("stray.txt", "x\n");
    std::fs::write(world.path(".worktrees/t1/late.txt"), "x\n").unwrap();
    assert_eq!(
        shown(&world)["outside"],
        json!([
            { "place": "main checkout", "paths": ["README.md", "stray.txt"] },
            { "place": ".worktrees/t1", "paths": ["late.txt"] }
        ])
    );
    let text = world.liza(&reviewer, &["review", "show", "t1", "--no-diff"]).ok().stdout;
    assert!(
        text.contains("main checkout: README.md, stray.txt") && text.contains("author unknown"),
        "{text}"
    );
    let commit = world.git(&["rev-parse", "task/t1"]);
    world.approve(&reviewer, "t1", &commit);
}

/// "A CHECKPOINT made by `touch` gets its summary from the next liza command if no run or watcher lives."
#[test]
fn next_command_writes_summary_of_touched_checkpoint() {
    let (world, _, _) = team();
    world.task("t1", &["a/"]);
    let reports = || std::fs::read_dir(world.path(".liza/reports")).map_or(0, Iterator::count);
    assert_eq!(reports(), 0);
    world.write(".liza/CHECKPOINT", "");
    let output = world.human(&["task", "list"]).ok().stderr;
    assert!(output.contains("summary: ") && output.contains("reports/checkpoint-"), "{output}");
    world.human(&["note", "looked"]).ok();
    assert_eq!(reports(), 1, "once");
    world.human(&["resume"]).ok();
    // Under ABORT every hint says how to go on.
    let set = world.human(&["abort", "--reason", "wrong goal"]).ok().stdout;
    assert!(set.contains("`liza resume`, then `liza run`"), "{set}");
    let error = world.json(&HUMAN, &["task", "claim", "t1"]).exits(5).json();
    let hint = error["error"]["hint"].as_str().unwrap();
    assert!(hint.contains("`liza resume`") && hint.contains("`liza run`"), "{hint}");
}

#[test]
fn next_for_another_role_is_a_recorded_breach() {
    let world = World::new();
    let planner = world.register("planner", "planner-1");
    world.task("t1", &["a/"]);
    world.tier0(&planner, &["next", "--role", "coder"], "tier0.role_boundary");
    assert_eq!(world.status_of("t1"), "IDLE");
    world.human(&["verify"]).ok();
}

#[test]
fn status_says_that_integration_was_moved_by_hand() {
    let (world, _, _) = team();
    let text = world.human(&["status"]).ok().stdout;
    assert!(!text.contains("moved"), "{text}");
    let left = world.git(&["rev-parse", "integration"]);
    world.write("other.txt", "x\n");
    world.commit_all("by hand");
    world.git(&["update-ref", "refs/heads/integration", "main"]);
    let text = world.human(&["status"]).ok().stdout;
    assert!(text.contains("liza did not move it") && text.contains("liza integration advance"), "{text}");
    assert!(text.contains(&left), "how to undo it: {text}");
    let data = world.json(&HUMAN, &["status"]).ok().data();
    assert_eq!(data["integration_moved"]["from"], left.as_str());
    world.human(&["integration", "advance", "integration", "--reason", "it is right"]).ok();
    assert!(world.json(&HUMAN, &["status"]).ok().data()["integration_moved"].is_null());
}

/// "No command prints `"ok": true` with a non-zero exit."
#[test]
fn failing_command_does_not_say_ok() {
    let (world, coder, _) = team();
    world.write("liza.yaml", "version: 1\ngates:\n  - { name: red, command: 'exit 1' }\n");
    world.human(&["gate", "accept"]).ok();
    let ran = world.json(&HUMAN, &["gate", "run", "--tree", "main"]).exits(7);
    assert_eq!((&ran.json()["ok"], ran.code().as_str()), (&json!(false), "gate.red"));
    assert_eq!(ran.data()["passed"], false, "the answer is there all the same");
    world.task("t1", &["a.sh", "tests/"]);
    world.claim(&coder, "t1");
    world.liza(&coder, &checkpoint_args("t1", &["a.sh", "tests/t.sh"], "false", "ok")).ok();
    let ran = world.json(&coder, &["task", "submit", "t1", "--check"]).exits(7);
    assert_eq!((&ran.json()["ok"], ran.code().as_str()), (&json!(false), "gate.validation"));
    std::fs::remove_file(world.path(".liza/specs/architecture/roles.md")).unwrap();
    let ran = world.json(&HUMAN, &["doctor"]).exits(1);
    assert_eq!((&ran.json()["ok"], ran.code().as_str()), (&json!(false), "refused.findings"));
    assert!(ran.data()["left"].as_u64() > Some(0));
}

#[test]
fn environment_of_a_reviewer_has_its_claim() {
    let world = scripted(&format!("env > $OUT/$LIZA_ROLE.env; {EVERY_ROLE}"));
    add(&world, "t1");
    agent_run(&world, &["--role", "coder", "--once"]).ok();
    agent_run(&world, &["--role", "code_reviewer", "--once"]).ok();
    let env = out(&world, "code_reviewer.env");
    assert!(env.lines().any(|line| line == "LIZA_CLAIM=t1:1"), "{env}");
    assert!(Path::new(&world.path(".liza")).is_dir());
}
