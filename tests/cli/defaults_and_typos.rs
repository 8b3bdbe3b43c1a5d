//! Arguments that may be left out when a person types commands, and the answers to mistyped ones.

use serde_json::json;

use crate::support::process::Bounded as _;
use crate::support::{HUMAN, Ran, Who, World, write};

fn claimed() -> (World, Who, std::path::PathBuf) {
    let world = World::new();
    let coder = world.register("coder", "coder-1");
    world.task("t1", &["a.sh", "tests/"]);
    let worktree = world.claim(&coder, "t1");
    (world, coder, worktree)
}

const CHECKPOINT: [&str; 13] = [
    "task",
    "checkpoint",
    "--intent",
    "a.sh prints hello when it is run",
    "--risks",
    "none that matter",
    "--validation",
    "echo ok",
    "--expect",
    "ok",
    "--files-to-modify",
    "a.sh",
    "--files-to-modify=tests/test_a.sh",
];

#[test]
fn task_id_is_optional_inside_its_worktree() {
    let (world, coder, worktree) = claimed();
    let below = worktree.join("tests");
    std::fs::create_dir_all(&below).unwrap();
    let ran = |args: &[&str]| world.liza_in(&coder, &below, args);
    ran(&CHECKPOINT).ok();
    world.write_and_commit(&worktree, &[("a.sh", "echo\n"), ("tests/test_a.sh", "echo ok\n")]);
    assert!(ran(&["task", "show"]).ok().stdout.starts_with("t1: "));
    assert!(ran(&["diff"]).ok().stdout.contains("+++ b/a.sh"));
    ran(&["task", "submit"]).ok();
    assert_eq!(world.status_of("t1"), "READY_FOR_REVIEW");
    let error = world.json(&coder, &["task", "submit"]).exits(2).json()["error"].clone();
    assert!(error["message"].as_str().unwrap().contains("not the worktree of a task"), "{error}");
    // In a review checkout the task is the reviewed one, and the commit is the claimed one.
    let reviewer = world.register("code_reviewer", "rev-1");
    world.liza(&reviewer, &["next"]).ok();
    let checkout = world.path(".worktrees/.review/t1");
    let judged = world.liza_in(&reviewer, &checkout, &["review", "approve", "--summary", "fine"]);
    assert!(judged.ok().stdout.contains("APPROVED"));
}

#[test]
fn block_defaults_to_the_worktrees_task() {
    let (world, coder, worktree) = claimed();
    let args = ["task", "block", "--reason", "two ways to read it", "--question", "Which one?"];
    world.liza_in(&coder, &worktree, &args).ok();
    assert_eq!(world.status_of("t1"), "BLOCKED");
}

#[test]
fn next_defaults_to_the_callers_role() {
    let world = World::new();
    world.task("t1", &["a.sh", "tests/"]);
    let coder = world.register("coder", "coder-1");
    assert_eq!(world.json(&coder, &["next"]).ok().data()["task"], "t1");
    // An agent with two roles is offered work of either role.
    world.task("t2", &["b.sh", "tests/test_t2.sh"]);
    let both = world.register_roles(&["code_reviewer", "coder"], "both-1");
    assert_eq!(world.json(&both, &["next"]).ok().data(), json!(null), "tests/ is held by t1");
    let ran = world.json(&HUMAN, &["next"]).exits(2);
    assert!(ran.json()["error"]["hint"].as_str().unwrap().contains("--role"), "{}", ran.stdout);
}

/// Without `--commit` the verdict is still bound: a branch that moved is not approved by accident.
#[test]
fn verdict_without_commit_is_bound_to_the_claim() {
    let world = World::new();
    let coder = world.register("coder", "coder-1");
    let commit = world.submitted(&coder, "t1", "a.sh", "echo\n");
    let reviewer = world.register("code_reviewer", "rev-1");
    world.refused(&reviewer, &["review", "approve", "t1", "--summary", "fine"], 3, "stale.lease_lost");
    world.liza(&reviewer, &["review", "claim", "t1"]).ok();
    let worktree = world.path(".worktrees/t1");
    world.write_and_commit(&worktree, &[("a.sh", "echo moved\n")]);
    world.refused(&reviewer, &["review", "approve", "t1", "--summary", "fine"], 3, "stale.commit");
    world.git_in(&worktree, &["reset", "-q", "--hard", &commit]);
    let data = world
        .json(&reviewer, &["review", "approve", "t1", "--summary", "fine", "--request-id", "r1"])
        .ok()
        .data();
    assert_eq!(world.show("t1")["approval"]["commit"], commit.as_str(), "{data}");
    // The repeated request gets the same answer.
    let again =
        world.json(&reviewer, &["review", "approve", "t1", "--summary", "fine", "--request-id", "r1"]).ok();
    assert_eq!(again.data(), data);
    // And a coder who leaves the commit out still cannot review its own task.
    let commit = world.submitted(&coder, "t2", "b.sh", "echo\n");
    assert!(!commit.is_empty());
    world.tier0(&coder, &["review", "approve", "t2", "--summary", "mine"], "tier0.role_boundary");
    world.liza(&reviewer, &["review", "claim", "t2"]).ok();
    let reject = ["review", "reject", "t2", "--reason", "no", "--issue", "major:b.sh:1:it says nothing"];
    world.liza(&reviewer, &reject).ok();
    assert_eq!(world.status_of("t2"), "REJECTED");
}

#[test]
fn task_id_is_made_from_its_title() {
    let world = World::new();
    world.write("src/x.sh", "x\n");
    let add = |title: &str| {
        let args = [
            "task",
            "add",
            "--title",
            title,
            "--spec-ref",
            "specs/vision.md",
            "--done-when",
            "it prints Hello",
            "--scope-in",
            "src/",
            "--scope-in",
            "tests/",
            "--scope-out",
            "src/old/",
            "--checklist",
            "is it quick",
            "--description",
            "more",
            "--tags",
            "fast",
        ];
        world.json(&HUMAN, &args).ok().data()["tasks"][0].as_str().unwrap().to_owned()
    };
    assert_eq!(add("Greet people by name"), "greet-people-by-name");
    assert_eq!(add("Greet people, by name!"), "greet-people-by-name-2");
    assert_eq!(add("漢字"), "task");
    let task = world.show("task");
    assert_eq!(task["done_when"], json!(["it prints Hello"]));
    assert_eq!((&task["scope"]["out"], &task["checklist"]), (&json!(["src/old/"]), &json!(["is it quick"])));
    world.human(&["task", "edit", "task", "--depends-on", "greet-people-by-name"]).ok();
    assert_eq!(world.show("task")["depends_on"], json!(["greet-people-by-name"]));
}

#[test]
fn unknown_id_error_suggests_the_nearest() {
    let world = World::new();
    world.task("greet-by-name", &["a.sh"]);
    world.register("coder", "coder-1");
    for (args, meant) in [
        (&["task", "show", "greet-by-nmae"][..], "greet-by-name"),
        (&["task", "claim", "greet-name"], "greet-by-name"),
        (&["review", "claim", "gret-by-name"], "greet-by-name"),
        (&["merge", "greet"], "greet-by-name"),
        (&["pause", "--task", "greet-by-nam"], "greet-by-name"),
        (&["agent", "retire", "codr-1"], "coder-1"),
        (&["next", "--role", "codre"], "coder"),
    ] {
        let hint = world.json(&HUMAN, args).exits(1).json()["error"]["hint"].as_str().unwrap().to_owned();
        assert!(hint.contains(&format!("did you mean `{meant}`?")), "{args:?}: {hint}");
    }
    let hint = world.json(&HUMAN, &["task", "show", "deploy"]).exits(1).json()["error"]["hint"].clone();
    assert_eq!(hint, "`liza task list` shows every task");
}

#[test]
fn answer_to_a_new_draft_names_the_next_command() {
    let world = World::new();
    let added = world.human(&["task", "add", "--title", "Greet"]).ok();
    assert_eq!(added.stdout, "added greet (DRAFT); agents can claim it after `liza task finalize greet`\n");
    let refused = world.human(&["task", "finalize", "greet"]).exits(1);
    assert!(refused.stderr.contains("missing done_when (--done CRITERION)"), "{}", refused.stderr);
    let edit =
        ["task", "edit", "greet", "--done", "prints it", "--spec", "goal", "--in", "src/", "--in", "tests/"];
    world.human(&edit).ok();
    world.human(&["task", "finalize", "greet"]).ok();
}

/// Warnings for a scope without tests, a missing heading and a misspelled directory, wherever a task gets a scope.
#[test]
fn task_add_warns_of_doubtful_values() {
    let world = World::new();
    world.write("src/main.sh", "x\n");
    world.write("lib/tests/test_lib.sh", "x\n");
    world.write("specs/vision.md", "# Vision\n\n## Exit codes\n");
    world.commit_all("more");
    world.human(&["integration", "advance", "HEAD", "--reason", "more"]).ok();
    let codes = |data: &serde_json::Value| -> Vec<String> {
        let found = data["findings"].as_array().cloned().unwrap_or_default();
        found.iter().map(|one| one["code"].as_str().unwrap().to_owned()).collect()
    };
    let add = |id: &str, spec: &str, path: &str, more: &[&str]| {
        let mut args = vec![
            "task", "add", "--id", id, "--title", id, "--spec", spec, "--done", "prints 1", "--in", path,
        ];
        args.extend(more);
        world.json(&HUMAN, &args).ok()
    };
    let ran = add("t1", "specs/vision.md#exit-code", "scr/main.sh", &[]);
    assert_eq!(codes(&ran.data()), ["tests_out_of_scope", "anchor_missing", "parent_missing"]);
    for part in ["warning: t1 is a code task", "specs/vision.md#exit-codes?", "did you mean src/?"] {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
    // No warning: a directory with tests, one that will hold tests, a scope of everything, and a task without code.
    for (id, path, more) in [
        ("a", "lib/", &[][..]),
        ("b", "tests/", &[]),
        ("c", "**", &[]),
        ("d", "src/main.sh", &["--kind", "docs"]),
        ("e", "src/main.sh", &["--in", "src/tests.rs"]),
    ] {
        let ran = add(id, "specs/vision.md#exit-codes", path, more);
        assert!(codes(&ran.data()).is_empty(), "{id}: {} {}", ran.stdout, ran.stderr);
    }
    assert_eq!(codes(&add("f", "specs/vision.md", "src/", &[]).data()), ["tests_out_of_scope"]);
    assert_eq!(
        codes(&world.json(&HUMAN, &["task", "finalize", "t1"]).ok().data()),
        ["tests_out_of_scope", "anchor_missing", "parent_missing"]
    );
    world.write("plan.yaml", "tasks:\n  - {id: p, title: P, spec_ref: specs/vision.md#no, done_when: [prints 1], scope: {in: [liib/x.sh]}}\n");
    let data = world.json(&HUMAN, &["plan", "plan.yaml", "--check"]).ok().data();
    for code in ["tests_out_of_scope", "anchor_missing", "parent_missing"] {
        assert!(codes(&data).contains(&code.to_owned()), "{data}");
    }
}

/// Types the command that the hint prints between backticks.
fn typed(world: &World, who: &Who, dir: &std::path::Path, command: &str) -> Ran {
    let mut shell = world.command("sh", dir);
    shell.args(["-ec", command]);
    for (name, value) in [("LIZA_AGENT_ID", &who.id), ("LIZA_AGENT_TOKEN", &who.token)] {
        shell.env(name, value.as_deref().unwrap_or_default());
    }
    for name in ["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"] {
        shell.env(name, "tester");
    }
    Ran::of(shell.finish().expect("a shell"))
}

fn quoted(hint: &str, after: &str) -> String {
    let rest = hint.split_once(after).unwrap_or_else(|| panic!("{after} in {hint}")).1;
    rest.split('`').nth(1).expect("a command").to_owned()
}

/// The commands in the refusal keep work that came before its checkpoint, committed or not, also with hooks.
#[test]
fn forgotten_checkpoint_loses_no_work() {
    for (committed, uncommitted, hooks) in
        [(true, true, false), (true, false, false), (false, true, false), (false, true, true)]
    {
        let (world, coder, worktree) = claimed();
        if hooks {
            world.human(&["hooks", "install"]).ok();
        }
        let base = world.git_in(&worktree, &["rev-parse", "HEAD"]);
        write(&worktree, "a.sh", "first\n");
        if committed {
            world.git_in(&worktree, &["add", "-A"]);
            world.git_in(&worktree, &["commit", "-q", "-m", "early"]);
        }
        let head = world.git_in(&worktree, &["rev-parse", "HEAD"]);
        if uncommitted {
            write(&worktree, "a.sh", "second\n");
            write(&worktree, "tests/test_a.sh", "echo ok\n");
        }
        let before = world.git_in(&worktree, &["status", "--porcelain"]);
        let refused = world.refused(&coder, &["task", "submit", "t1"], 1, "refused.checkpoint_missing");
        let late = world.liza_in(&coder, &worktree, &[&["--json"][..], &CHECKPOINT].concat()).exits(1);
        assert_eq!(late.code(), "refused.checkpoint_late");
        let hint = late.json()["error"]["hint"].as_str().unwrap().to_owned();
        assert_eq!(refused["hint"].as_str().unwrap(), hint, "both refusals say the same");
        assert!(hint.contains(&base[..12]), "{hint}");
        typed(&world, &coder, &worktree, &quoted(&hint, "Keep the work")).ok();
        assert_eq!(world.git_in(&worktree, &["status", "--porcelain"]), "");
        world.liza_in(&coder, &worktree, &CHECKPOINT).ok();
        typed(&world, &coder, &worktree, &quoted(&hint, "bring it back")).ok();
        assert_eq!(world.git_in(&worktree, &["rev-parse", "HEAD"]), head, "{hint}");
        assert_eq!(world.git_in(&worktree, &["status", "--porcelain"]), before, "{hint}");
    }
}
