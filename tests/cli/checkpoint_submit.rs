//! Before the work its checkpoint, after the work its submission: liza looks for itself.

use std::path::Path;

use serde_json::{Value, json};

use crate::support::{HUMAN, Who, World, checkpoint_args, paths, write};

/// A claimed task that may change `a.sh`, `docs/` but not `docs/secret/`, and `tests/`.
fn claimed() -> (World, Who, std::path::PathBuf) {
    let world = World::new();
    let coder = world.register("coder", "coder-1");
    world.task_with("t1", &["a.sh", "docs/", "tests/"], &["--out", "docs/secret/"]);
    let worktree = world.claim(&coder, "t1");
    (world, coder, worktree)
}

fn good() -> Vec<&'static str> {
    checkpoint_args("t1", &["a.sh", "tests/test_a.sh"], "echo ok", "ok")
}

/// The arguments with one flag's value replaced.
fn with(args: &[&'static str], flag: &str, value: &'static str) -> Vec<&'static str> {
    let mut changed = args.to_vec();
    let at = changed.iter().position(|arg| *arg == flag).expect("the flag");
    changed[at + 1] = value;
    changed
}

#[test]
fn claim_hands_out_everything_the_agent_needs() {
    let world = World::new();
    let coder = world.register("coder", "coder-1");
    world.task("t1", &["a.sh"]);
    let data = world.json(&coder, &["task", "claim", "t1"]).ok().data();
    assert_eq!(
        (&data["task"], &data["epoch"], &data["branch"]),
        (&json!("t1"), &json!(1), &json!("task/t1"))
    );
    assert_eq!(data["base_commit"], world.git(&["rev-parse", "integration"]));
    assert_eq!(data["worktree"], world.path(".worktrees/t1").to_str().unwrap());
    assert!(data["lease_expires"].as_str().unwrap().ends_with('Z'));
    let worktree = world.path(".worktrees/t1");
    assert_eq!(world.git_in(&worktree, &["rev-parse", "--abbrev-ref", "HEAD"]), "task/t1");
    assert_eq!(world.git_in(&worktree, &["status", "--porcelain"]), "");
    let list = world.git(&["worktree", "list", "--porcelain"]);
    assert!(list.contains("locked"), "{list}");
    // And it is untracked in the main checkout.
    assert!(!world.git(&["status", "--porcelain"]).contains("worktrees"));
}

#[test]
fn every_weak_part_is_named() {
    let (world, coder, _) = claimed();
    for (flag, value, part) in [
        ("--intent", "", "intent"),
        ("--intent", "fix it", "intent"),
        ("--intent", "TODO", "intent"),
        ("--risks", " ", "risks"),
        ("--validate", "", "validation"),
        ("--validate", "true", "validation"),
        ("--validate", ":", "validation"),
        ("--expect", "", "validation"),
    ] {
        let error = world.refused(&coder, &with(&good(), flag, value), 1, "refused.checkpoint_weak");
        let weak = error["details"]["weak"].as_array().unwrap().clone();
        assert_eq!(weak.len(), 1, "{flag} {value:?}: {error}");
        assert!(weak[0].as_str().unwrap().starts_with(part), "{flag} {value:?}: {error}");
    }
    // All at once, in one answer.
    let error = world.refused(&coder, &["task", "checkpoint", "t1"], 1, "refused.checkpoint_weak");
    let weak = error["details"]["weak"].to_string();
    for part in ["intent", "risks", "--validate", "--expect", "--file"] {
        assert!(weak.contains(part), "{part}: {weak}");
    }
    let mut empty = good();
    empty.extend(["--assume", ""]);
    world.refused(&coder, &empty, 1, "refused.checkpoint_weak");
    world.liza(&coder, &good()).ok();
    let history = world.show("t1")["history"].clone();
    let last = history.as_array().unwrap().last().unwrap().clone();
    assert_eq!(last["event"], "pre_execution_checkpoint");
    let checkpoint = &last["checkpoint"];
    assert_eq!(checkpoint["validation"], json!({ "command": "echo ok", "expect": "ok" }));
    assert_eq!(checkpoint["files_to_modify"], json!(["a.sh", "tests/test_a.sh"]));
}

#[test]
fn a_whole_checkpoint_comes_as_yaml_or_json() {
    let (world, coder, _) = claimed();
    let yaml = "intent: greet accepts a name\nassumptions:\n  - {text: sh is there, critical: true}\nrisks: none, stdlib\nvalidation: {command: echo ok, expect: ok}\nfiles_to_modify: [a.sh]\n";
    world.json_stdin(&coder, &["task", "checkpoint", "t1", "--from", "-"], yaml).ok();
    let (other, second) = (World::new(), "coder-2");
    let coder = other.register("coder", second);
    other.task("t1", &["a.sh"]);
    other.claim(&coder, "t1");
    let text = json!({ "intent": "greet accepts a name", "assumptions": [], "risks": "none at all", "validation": {
        "command": "echo ok", "expect": "ok" }, "files_to_modify": ["a.sh"] });
    other.json_stdin(&coder, &["task", "checkpoint", "t1", "--from", "-"], &text.to_string()).ok();
    let ran =
        other.json_stdin(&coder, &["task", "checkpoint", "t1", "--from", "-"], "intent: x\nvibes: good\n");
    assert_eq!(ran.exits(2).code(), "usage.input");
}

#[test]
fn over_the_assumption_budget_the_task_is_blocked() {
    let (world, coder, _) = claimed();
    let mut three = good();
    three.extend(["--assume-critical", "one", "--assume-critical", "two", "--assume-critical", "three"]);
    let mut four = three.clone();
    four.extend(["--assume-critical", "four", "--assume", "harmless"]);
    let data = world.json(&coder, &three).ok().data();
    assert_eq!((&data["status"], &data["critical_assumptions"]), (&json!("WORKING"), &json!(3)));
    let data = world.json(&coder, &four).ok().data();
    assert_eq!((&data["status"], &data["critical_assumptions"]), (&json!("BLOCKED"), &json!(4)));
    let task = world.show("t1");
    assert!(task["blocked_reason"].as_str().unwrap().contains("Assumption budget"), "{task}");
    let questions = task["blocked_questions"].as_array().unwrap();
    assert!((1..=3).contains(&questions.len()) && questions[0].as_str().unwrap().contains("one"), "{task}");
    assert_eq!(task["failed_by"], json!(["coder-1"]));
}

#[test]
fn announced_files_are_held_against_scope_and_owners_at_once() {
    let (world, coder, _) = claimed();
    let other = world.register("coder", "coder-2");
    world.task_with("t2", &["docs/"], &["--owns", "docs/theirs/"]);
    world.refused(&other, &["task", "claim", "t2"], 1, "refused.paths_overlap");
    let error = world.refused(
        &coder,
        &checkpoint_args("t1", &["src/x.sh", "docs/secret/key", "a.sh"], "echo ok", "ok"),
        1,
        "refused.scope",
    );
    let listed = paths(&error);
    assert_eq!(listed.len(), 2, "{error}");
    assert!(listed[0].starts_with("src/x.sh (not inside scope IN"), "{error}");
    assert!(listed[1].starts_with("docs/secret/key (inside scope OUT"), "{error}");
    world.refused(&coder, &checkpoint_args("t1", &["../x"], "echo ok", "ok"), 1, "refused.value");
    world.refused(&coder, &checkpoint_args("t1", &[".git/hooks/x"], "echo ok", "ok"), 1, "refused.value");

    // Shared ground that another live task owns a part of.
    let world = World::new();
    let (one, two) = (world.register("coder", "coder-1"), world.register("coder", "coder-2"));
    world.task_with("t1", &["docs/"], &["--owns", "docs/mine/"]);
    world.task_with("t2", &["docs/"], &["--owns", "docs/theirs/"]);
    world.claim(&one, "t1");
    world.claim(&two, "t2");
    let error =
        world.refused(&one, &checkpoint_args("t1", &["docs/theirs/x"], "echo ok", "ok"), 1, "refused.scope");
    assert!(paths(&error)[0].contains("owned by task t2"), "{error}");
    world.liza(&one, &checkpoint_args("t1", &["docs/shared.md", "docs/mine/x"], "echo ok", "ok")).ok();
}

#[test]
fn a_checkpoint_after_the_work_is_too_late() {
    type Act = fn(&World, &Path);
    let acts: [(&str, Act); 5] = [
        ("committed", |world, tree| {
            world.write_and_commit(tree, &[("a.sh", "x\n")]);
        }),
        ("staged", |world, tree| {
            write(tree, "a.sh", "x\n");
            world.git_in(tree, &["add", "a.sh"]);
        }),
        ("modified", |_, tree| write(tree, "README.md", "x\n")),
        ("untracked", |_, tree| write(tree, "a.sh", "x\n")),
        ("merge in progress", |world, tree| {
            world.git_in(tree, &["merge", "-q", "--no-commit", "--no-ff", "upstream"]);
        }),
    ];
    for (name, act) in acts {
        let (world, coder, worktree) = claimed();
        world.git(&["checkout", "-q", "-b", "upstream"]);
        world.git(&["commit", "-q", "--allow-empty", "-m", "upstream"]);
        world.git(&["checkout", "-q", "main"]);
        act(&world, &worktree);
        let error = world.refused(&coder, &good(), 1, "refused.checkpoint_late");
        assert!(error["hint"].as_str().unwrap().contains("aside"), "{name}: {error}");
        world.refused(&coder, &["task", "submit", "t1"], 1, "refused.checkpoint_missing");
    }
}

#[test]
fn work_put_aside_lets_the_checkpoint_pass() {
    let (world, coder, worktree) = claimed();
    write(&worktree, "a.sh", "early\n");
    world.refused(&coder, &good(), 1, "refused.checkpoint_late");
    world.git_in(&worktree, &["stash", "-q", "-u"]);
    world.liza(&coder, &good()).ok();
    world.git_in(&worktree, &["stash", "pop", "-q"]);
    assert_eq!(std::fs::read_to_string(worktree.join("a.sh")).unwrap(), "early\n");
    // A clock that was moved has no say in it.
    let (world, coder, _) = claimed();
    world.json_env(&coder, &good(), &[("LIZA_TEST_WALL_SHIFT", "-86400")]).ok();
}

#[test]
fn sync_before_the_checkpoint_does_not_make_it_impossible() {
    let (world, coder, worktree) = claimed();
    world.write("upstream.txt", "new\n");
    world.git(&["add", "upstream.txt"]);
    world.git(&["commit", "-q", "-m", "upstream"]);
    world.human(&["integration", "advance", "main", "--reason", "upstream"]).ok();
    world.liza(&coder, &["task", "sync", "t1"]).ok();
    assert!(worktree.join("upstream.txt").is_file());
    world.liza(&coder, &good()).ok();
}

#[test]
fn only_the_holder_checkpoints_and_submits() {
    let (world, coder, worktree) = claimed();
    let other = world.register("coder", "coder-2");
    for who in [&other, &HUMAN] {
        world.refused(who, &good(), 3, "stale.lease_lost");
        world.refused(who, &["task", "submit", "t1"], 3, "stale.lease_lost");
        world.refused(who, &["task", "renew", "t1"], 3, "stale.lease_lost");
        world.refused(who, &["task", "sync", "t1"], 3, "stale.lease_lost");
    }
    world.task("t2", &["two/"]);
    world.tier0(&coder, &["task", "submit", "t2"], "tier0.skipped_state");
    let ran = world.json(&coder, &checkpoint_args("t2", &["two/x"], "echo ok", "ok"));
    assert_eq!(ran.exit, 1, "{}", ran.stdout);
    world.refused(&coder, &["task", "submit", "nope"], 1, "refused.unknown_task");
    assert_eq!(world.git_in(&worktree, &["status", "--porcelain"]), "");
}

/// The submission is refused with this code, and its details name the paths.
#[track_caller]
fn submit_refused(world: &World, coder: &Who, code: &str) -> Value {
    world.refused(coder, &["task", "submit", "t1"], 1, code)
}

#[test]
fn each_thing_wrong_with_a_submission_is_said() {
    let (world, coder, worktree) = claimed();
    submit_refused(&world, &coder, "refused.checkpoint_missing");
    world
        .liza(&coder, &checkpoint_args("t1", &["a.sh", "docs/x.md", "docs/secret"], "echo ok", "ok"))
        .exits(1);
    world.liza(&coder, &checkpoint_args("t1", &["a.sh", "docs/x.md"], "echo ok", "ok")).ok();
    submit_refused(&world, &coder, "refused.empty");
    // Untracked, modified and staged files are all listed.
    write(&worktree, "a.sh", "echo\n");
    write(&worktree, "README.md", "changed\n");
    write(&worktree, "docs/x.md", "x\n");
    world.git_in(&worktree, &["add", "docs/x.md"]);
    let listed = paths(&submit_refused(&world, &coder, "refused.worktree_dirty"));
    for wanted in ["README.md (modified)", "a.sh (untracked)", "docs/x.md (staged)"] {
        assert!(listed.contains(&wanted.to_owned()), "{wanted} in {listed:?}");
    }
    world.git_in(&worktree, &["checkout", "-q", "README.md"]);
    // Ignored files do not count.
    write(&world.root, ".git/info/exclude", "/.liza/\n/.worktrees/\n*.log\n");
    write(&worktree, "noise.log", "x\n");
    // Outside scope, inside OUT, not announced: each path with its reason.
    world.write_and_commit(
        &worktree,
        &[("src/x.sh", "x\n"), ("docs/secret/key", "x\n"), ("docs/more.md", "x\n"), ("größe\t.txt", "x\n")],
    );
    let listed = paths(&submit_refused(&world, &coder, "refused.scope"));
    for (path, why) in [
        ("src/x.sh", "scope IN"),
        ("docs/secret/key", "scope OUT"),
        ("docs/more.md", "files_to_modify"),
        ("größe\t.txt", ""),
    ] {
        assert!(
            listed.iter().any(|item| item.starts_with(path) && item.contains(why)),
            "{path} in {listed:?}"
        );
    }
    assert_eq!(listed.len(), 4, "{listed:?}");
    assert_eq!(world.status_of("t1"), "WORKING");
    // Taken out again, it is accepted.
    world.git_in(&worktree, &["rm", "-q", "-r", "src", "docs/secret", "docs/more.md", "größe\t.txt"]);
    world.git_in(&worktree, &["commit", "-q", "-m", "out again"]);
    let data = world.json(&coder, &["task", "submit", "t1"]).ok().data();
    assert_eq!(data["review_commit"], world.git_in(&worktree, &["rev-parse", "HEAD"]));
    assert_eq!(data["files"], json!(["a.sh", "docs/x.md"]));
    assert_eq!(
        (&data["validation"]["exit"], &data["validation"]["output_matched"]),
        (&json!(0), &json!(true))
    );
    world.refused(&coder, &["task", "submit", "t1"], 1, "refused.transition");
    world.sound();
}

#[test]
fn paths_owned_by_another_live_task_are_refused_at_submit() {
    let world = World::new();
    let (one, two) = (world.register("coder", "coder-1"), world.register("coder", "coder-2"));
    world.task_with("t1", &["docs/"], &["--owns", "docs/mine/", "--kind", "docs"]);
    let worktree = world.claim(&one, "t1");
    world.liza(&one, &checkpoint_args("t1", &["docs/shared.md"], "echo ok", "ok")).ok();
    world.write_and_commit(&worktree, &[("docs/shared.md", "x\n")]);
    // Owned only after the checkpoint.
    world.task("t2", &["docs/shared.md"]);
    world.claim(&two, "t2");
    let error = world.refused(&one, &["task", "submit", "t1"], 1, "refused.scope");
    assert!(paths(&error)[0].contains("owned by task t2"), "{error}");
}

#[test]
fn nothing_is_hidden_by_attributes_modes_or_renames() {
    let (world, coder, worktree) = claimed();
    world.liza(&coder, &checkpoint_args("t1", &["a.sh"], "echo ok", "ok")).ok();
    write(&worktree, ".gitattributes", "* -diff binary export-ignore linguist-generated\n");
    std::fs::write(worktree.join("blob.bin"), [0u8, 1, 2, 255]).unwrap();
    world.git_in(&worktree, &["mv", "README.md", "a.sh"]);
    std::os::unix::fs::symlink("/etc/passwd", worktree.join("link")).unwrap();
    world.git_in(&worktree, &["add", "-A"]);
    world.git_in(&worktree, &["commit", "-q", "-m", "hidden"]);
    let listed = paths(&submit_refused(&world, &coder, "refused.scope"));
    for path in [".gitattributes", "blob.bin", "README.md", "link"] {
        assert!(listed.iter().any(|item| item.starts_with(path)), "{path} in {listed:?}");
    }
}

#[test]
fn head_must_be_the_task_branch_and_contain_its_base() {
    let (world, coder, worktree) = claimed();
    world.liza(&coder, &checkpoint_args("t1", &["a.sh"], "echo ok", "ok")).ok();
    world.git_in(&worktree, &["checkout", "-q", "-b", "elsewhere"]);
    world.write_and_commit(&worktree, &[("a.sh", "x\n")]);
    let error = submit_refused(&world, &coder, "refused.worktree_dirty");
    assert!(paths(&error)[0].contains("task/t1"), "{error}");
    world.git_in(&worktree, &["checkout", "-q", "--orphan", "fresh"]);
    world.git_in(&worktree, &["commit", "-q", "-m", "no base"]);
    world.git_in(&worktree, &["branch", "-q", "-f", "task/t1", "HEAD"]);
    world.git_in(&worktree, &["checkout", "-q", "task/t1"]);
    submit_refused(&world, &coder, "refused.base_missing");
}

#[test]
fn a_worktree_without_its_git_file_does_not_answer_for_the_main_checkout() {
    let (world, coder, worktree) = claimed();
    world.liza(&coder, &checkpoint_args("t1", &["a.sh"], "echo ok", "ok")).ok();
    world.write_and_commit(&worktree, &[("a.sh", "x\n")]);
    std::fs::remove_file(worktree.join(".git")).unwrap();
    for args in [["task", "submit", "t1"], ["task", "sync", "t1"]] {
        let before = world.bytes();
        let ran = world.json(&coder, &args);
        assert_eq!((ran.exit, ran.code().as_str()), (8, "git.worktree"), "{}", ran.stdout);
        assert!(world.bytes() == before);
    }
    let ran = world.json(&coder, &good());
    assert_eq!((ran.exit, ran.code().as_str()), (8, "git.worktree"), "{}", ran.stdout);
}
