//! The test engineer: a second implementer of a task, who also reports bugs by failing tests.

use std::path::Path;

use serde_json::{Value, json};

use crate::support::{HUMAN, Who, World, write};
use crate::team::{EVERY_ROLE, add, answer, configure, play, scripted};

const BUG: [&str; 7] = [
    "bug",
    "--title",
    "Empty names crash",
    "--test",
    "tests/test_empty.sh",
    "--run",
    "sh tests/test_empty.sh",
];

fn bug<'a>(more: &[&'a str]) -> Vec<&'a str> {
    BUG.iter().copied().chain(more.iter().copied()).collect()
}

/// `greet.sh` is merged, and wrong about empty names.
fn with_bug() -> (World, Who) {
    let world = World::new();
    let coder = world.register("coder", "coder-1");
    let reviewer = world.register("code_reviewer", "reviewer-1");
    world.merge_task(&coder, &reviewer, "greet", "greet.sh", "test -n \"$1\" && echo Hello, $1\n");
    let tester = world.register("test_engineer", "tester-1");
    (world, tester)
}

fn refused(world: &World, who: &Who, dir: &Path, args: &[&str], exit: i32, code: &str) -> Value {
    let before = world.bytes();
    let mut all = vec!["--json"];
    all.extend(args);
    let ran = world.liza_in(who, dir, &all);
    let error = ran.json()["error"].clone();
    assert_eq!((ran.exit, error["code"].as_str()), (exit, Some(code)), "{}{}", ran.stdout, ran.stderr);
    assert!(world.bytes() == before, "a refusal changed the board");
    assert_eq!(world.git(&["for-each-ref", "refs/liza/bugs"]), "", "a refusal left a ref");
    error
}

#[test]
fn task_goes_to_test_engineer_and_back() {
    let world = World::new();
    let coder = world.register("coder", "coder-1");
    let tester = world.register("test_engineer", "tester-1");
    let reviewer = world.register("code_reviewer", "reviewer-1");
    world.task("t1", &["a.sh", "tests/"]);
    let first = world.claim(&coder, "t1");
    world.checkpoint(&coder, "t1", &["a.sh"]);
    let commit = world.write_and_commit(&first, &[("a.sh", "echo a\n")]);
    let handoff = ["task", "handoff", "t1", "--summary", "the code is there", "--next", "test it"];
    let to = |role: &'static str| handoff.iter().copied().chain(["--to-role", role]).collect::<Vec<_>>();
    world.refused(&coder, &to("wizard"), 1, "refused.unknown_role");
    world.refused(&coder, &to("code_reviewer"), 1, "refused.value");
    let said = world.liza(&coder, &to("test_engineer")).ok().stdout;
    assert!(said.contains("an agent with the role test_engineer can claim it"), "{said}");
    let task = world.show("t1");
    assert_eq!((&task["role"], &task["planned_role"]), (&json!("test_engineer"), &json!("coder")));
    assert_eq!(world.row("t1")["waiting_on"], json!(["test_engineer"]));
    assert_eq!(world.json(&coder, &["next", "--role", "coder"]).ok().data(), Value::Null);
    world.tier0(&coder, &["task", "claim", "t1"], "tier0.role_boundary");

    let data = world.json(&tester, &["next", "--role", "test_engineer"]).ok().data();
    let second = Path::new(data["worktree"].as_str().unwrap()).to_owned();
    assert_ne!(second, first);
    assert_eq!(world.git_in(&second, &["rev-parse", "HEAD"]), commit, "it starts where the coder stopped");
    world.checkpoint(&tester, "t1", &["a.sh", "tests/test_a.sh"]);
    world.write_and_commit(&second, &[("tests/test_a.sh", "sh a.sh\n")]);
    world.liza(&tester, &to("coder")).ok();
    let task = world.show("t1");
    assert_eq!((&task["role"], task.get("planned_role")), (&json!("coder"), None));
    let third = world.claim(&coder, "t1");
    world.checkpoint(&coder, "t1", &["a.sh", "tests/test_a.sh"]);
    world.write_and_commit(&third, &[("a.sh", "echo b\n")]);
    let commit = world.json(&coder, &["task", "submit", "t1"]).ok().data()["review_commit"].clone();
    assert_eq!(world.show("t1")["implementers"], json!(["coder-1", "tester-1"]));
    let tester = world.register_roles(&["test_engineer", "code_reviewer"], "tester-1");
    world.tier0(&tester, &["review", "claim", "t1"], "tier0.self_approval");
    world.approve(&reviewer, "t1", commit.as_str().unwrap());
    world.liza(&reviewer, &["merge", "t1"]).ok();
    world.sound();
}

/// A team with both roles: the coder hands off, the test engineer adds its test and submits.
#[test]
fn run_hands_task_to_test_engineer() {
    let world = scripted("");
    play(
        &world,
        &format!(
            r#"if [ "$LIZA_ROLE" = coder ]; then
  liza task checkpoint "$LIZA_TASK" --intent "the file says hello" --risks "none, a new file" --validate "cat $LIZA_TASK.txt" --expect hello --file "$LIZA_TASK.txt" --file "tests/test_$LIZA_TASK.sh"
  echo hello > "$LIZA_TASK.txt"; git add -A; git commit -qm code
  liza task handoff "$LIZA_TASK" --summary "the code is there" --next "write its test" --to-role test_engineer
  exit
fi
if [ "$LIZA_ROLE" = test_engineer ]; then
  cat > $OUT/prompt
  liza task checkpoint "$LIZA_TASK" --intent "the greeting is tested" --risks "none, a test" --validate "sh tests/test_$LIZA_TASK.sh && echo fine" --expect fine --file "tests/test_$LIZA_TASK.sh" --file "$LIZA_TASK.txt"
  mkdir -p tests; echo "grep -q hello $LIZA_TASK.txt" > "tests/test_$LIZA_TASK.sh"; git add -A; git commit -qm test
  liza task submit "$LIZA_TASK"
  exit
fi
{EVERY_ROLE}"#
        ),
    );
    configure(
        &world,
        "run: { grace_seconds: 1 }\nteam: [{ role: coder }, { role: test_engineer }, { role: code_reviewer }]\n",
    );
    add(&world, "t1");
    let ran = world.json(&HUMAN, &["run"]).ok();
    let data = answer(&ran)["data"].clone();
    assert_eq!((&data["outcome"], &data["counts"]["MERGED"]), (&json!("complete"), &json!(1)), "{data}");
    assert_eq!(world.show("t1")["implementers"], json!(["coder-1", "test-engineer-1"]));
    let prompt = crate::team::out(&world, "prompt");
    for words in ["80 %", "every public function", "the code is there", "--to-role coder", "liza bug --title"]
    {
        assert!(prompt.contains(words), "{words} in {prompt}");
    }
    world.sound();
}

#[test]
fn failing_test_becomes_a_task_and_is_fixed() {
    let (world, tester) = with_bug();
    world.task("more", &["tests/more/"]);
    let data = world.json(&world.register("coder", "coder-2"), &["task", "claim", "more"]).ok().data();
    let worktree = Path::new(data["worktree"].as_str().unwrap()).to_owned();
    // Untracked files, and beside them one that must not be taken.
    write(
        &worktree,
        "tests/test_empty.sh",
        "sh greet.sh '' || { echo no greeting without a name; exit 3; }\n",
    );
    write(&worktree, "greet.sh", "echo fixed here only\n");
    let status = world.git_in(&worktree, &["status", "--porcelain"]);
    let main = world.git(&["status", "--porcelain"]);
    let head = world.git(&["rev-parse", "integration"]);
    let args = bug(&["--desc", "An empty name is refused.", "--in", "greet.sh", "--risk", "high"]);
    let mut all = vec!["--json"];
    all.extend(&args);
    let data = world.liza_in(&tester, &worktree, &all).ok().data();
    assert_eq!((&data["task"], &data["status"]), (&json!("bug-1"), &json!("DRAFT")), "{data}");
    assert_eq!(world.git_in(&worktree, &["status", "--porcelain"]), status, "its index was touched");
    assert_eq!(world.git(&["status", "--porcelain"]), main);
    assert_eq!(world.git(&["rev-parse", "integration"]), head);
    // Exactly integration and that file.
    let changed = world.git(&["diff", "--name-only", "integration", "refs/liza/bugs/bug-1"]);
    assert_eq!(changed, "tests/test_empty.sh");
    assert_eq!(world.git(&["rev-parse", "refs/liza/bugs/bug-1^"]), head);
    let task = world.show("bug-1");
    assert_eq!(
        (&task["kind"], &task["tags"], &task["risk"]),
        (&json!("code"), &json!(["bug"]), &json!("high"))
    );
    assert_eq!(task["done_when"], json!(["sh tests/test_empty.sh passes"]));
    assert_eq!(task["scope"]["in"], json!(["greet.sh", "tests/test_empty.sh"]));
    assert_eq!(task["inputs"], json!(["refs/liza/bugs/bug-1"]));
    let description = task["description"].as_str().unwrap();
    assert!(
        description.contains("An empty name is refused.")
            && description.contains("no greeting without a name"),
        "{description}"
    );
    assert!(
        description.contains("git checkout refs/liza/bugs/bug-1 -- tests/test_empty.sh"),
        "{description}"
    );
    world.sound();
    world.human(&["doctor"]).ok();

    // The planner is woken and finalizes the task, and a coder follows its text.
    let planner = world.register("planner", "planner-1");
    let wake = world.json(&planner, &["next", "--role", "planner"]).ok().data();
    assert_eq!(wake["trigger"], "immediate_discovery", "{wake}");
    let inbox = world.liza(&planner, &["inbox"]).ok().stdout;
    assert!(inbox.contains("liza task finalize bug-1"), "{inbox}");
    world.liza(&planner, &["task", "finalize", "bug-1"]).ok();
    let coder = world.register("coder", "coder-1");
    let worktree = world.claim(&coder, "bug-1");
    let files = ["greet.sh", "tests/test_empty.sh"];
    world.checkpoint_with(&coder, "bug-1", &files, "sh tests/test_empty.sh && echo passed", "passed");
    world.git_in(&worktree, &["checkout", "-q", "refs/liza/bugs/bug-1", "--", "tests/test_empty.sh"]);
    let commit = world.write_and_commit(&worktree, &[("greet.sh", "echo Hello, ${1:-you}\n")]);
    world.liza(&coder, &["task", "submit", "bug-1"]).ok();
    let reviewer = world.register("code_reviewer", "reviewer-1");
    world.approve(&reviewer, "bug-1", &commit);
    world.liza(&reviewer, &["merge", "bug-1"]).ok();
    // The bug is fixed, and the next report gets its own number.
    write(&world.root, "tests/test_empty.sh", "sh greet.sh ''\n");
    let ran = world.json(&HUMAN, &BUG);
    assert_eq!((ran.exit, ran.code().as_str()), (1, "refused.no_bug"));
    write(&world.root, "tests/test_empty.sh", "exit 1\n");
    assert_eq!(world.json(&HUMAN, &BUG).ok().data()["task"], "bug-2");
    world.sound();
}

#[test]
fn only_a_test_that_runs_and_fails_counts() {
    let (world, tester) = with_bug();
    let root = world.root.clone();
    write(&root, "tests/test_empty.sh", "exit 0\n");
    let error = refused(&world, &tester, &root, &BUG, 1, "refused.no_bug");
    assert!(error["message"].as_str().unwrap().contains("passes on integration"), "{error}");
    for (text, more) in [
        ("exit 127\n", &[][..]),
        ("exit 126\n", &[]),
        ("echo more >> greet.sh; exit 1\n", &[]),
        ("sleep 600\n", &["--timeout", "1"]),
    ] {
        write(&root, "tests/test_empty.sh", text);
        let error = refused(&world, &tester, &root, &bug(more), 7, "gate.not_run");
        assert!(error["message"].as_str().unwrap().contains("could not run"), "{text}: {error}");
    }
    // Files that exist only in the caller's checkout are missing there.
    write(&root, "greet.sh", "echo fixed here only\n");
    write(&root, "tests/test_empty.sh", "sh greet.sh ''\n");
    world.liza_in(&tester, &root, &BUG).ok();
    assert_eq!(world.read("greet.sh"), "echo fixed here only\n");
}

#[test]
fn bug_needs_a_test_engineer_and_a_test_file() {
    let (world, tester) = with_bug();
    let root = world.root.clone();
    write(&root, "tests/test_empty.sh", "touch RAN; exit 1\n");
    for (role, id) in [("coder", "c-1"), ("code_reviewer", "r-1"), ("planner", "p-1")] {
        let who = world.register(role, id);
        let error = refused(&world, &who, &root, &BUG, 1, "refused.role");
        assert!(error["hint"].as_str().unwrap().contains("liza discover"), "{error}");
    }
    let with = |test: &'static str| vec!["bug", "--title", "x", "--test", test, "--run", "false"];
    write(&root, "src.sh", "exit 1\n");
    refused(&world, &tester, &root, &with("src.sh"), 1, "refused.value");
    for wrong in ["tests/absent.sh", "../tests/test_x.sh", "/etc/test_x.sh", "tests", ".git/test_x.sh"] {
        refused(&world, &tester, &root, &with(wrong), 2, "usage.argument");
    }
    std::os::unix::fs::symlink("/etc/passwd", root.join("tests/test_link.sh")).unwrap();
    refused(&world, &tester, &root, &with("tests/test_link.sh"), 2, "usage.argument");
    std::os::unix::fs::symlink("/etc", root.join("tests/out")).unwrap();
    refused(&world, &tester, &root, &with("tests/out/passwd"), 2, "usage.argument");
    // A file outside of the repository is refused.
    let board = world.path(".liza");
    let mut args = vec!["--board", board.to_str().unwrap()];
    args.extend(BUG);
    refused(&world, &tester, world.home(), &args, 2, "usage.argument");
    // A request that is repeated is answered once.
    let again: Vec<&str> = ["--request-id", "r1"].into_iter().chain(BUG).collect();
    let first = world.json(&tester, &again).ok().data();
    assert_eq!(world.json(&tester, &again).ok().data(), first);
    assert_eq!(world.git(&["for-each-ref", "--format=%(refname)", "refs/liza/bugs"]), "refs/liza/bugs/bug-1");
    assert!(!root.join("RAN").exists(), "it ran in the caller's checkout");
}

/// Killed between reserving the name and adding the task: the name stays unused, and the next report takes the next name.
#[test]
fn killed_bug_report_leaves_a_valid_board() {
    let (world, tester) = with_bug();
    write(&world.root, "tests/test_empty.sh", "exit 1\n");
    let ran = world.json_env(&tester, &BUG, &[("LIZA_CRASH_AT", "bug.pinned")]);
    assert_ne!(ran.exit, 0);
    assert!(world.tasks().iter().all(|task| task["id"] != "bug-1"));
    world.sound();
    assert_eq!(world.json(&tester, &BUG).ok().data()["task"], "bug-2");
    world.sound();
    world.human(&["doctor"]).ok();
}
