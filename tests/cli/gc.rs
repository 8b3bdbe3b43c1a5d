//! `liza gc`: branches are deleted only with proof that they landed; other work is kept.

use serde_json::{Value, json};

use crate::support::process::Bounded as _;
use crate::support::{HUMAN, Who, World, write};

const DAY: i64 = 86_400;

fn team(world: &World) -> (Who, Who, Who) {
    (
        world.register("coder", "coder-1"),
        world.register("coder", "coder-2"),
        world.register("code_reviewer", "reviewer-1"),
    )
}

/// With the clock a month ahead.
fn gc(world: &World, more: &[&str]) -> Value {
    let mut args = vec!["gc"];
    args.extend(more);
    world.later(30 * DAY, &HUMAN, &args).ok().data()
}

fn refs(world: &World) -> Vec<String> {
    world
        .git(&["for-each-ref", "--format=%(refname)", "refs/heads/task", "refs/liza"])
        .lines()
        .map(str::to_owned)
        .collect()
}

fn decision<'d>(data: &'d Value, name: &str) -> &'d Value {
    let found = data["refs"].as_array().unwrap().iter().find(|decision| decision["ref"] == name);
    found.unwrap_or_else(|| panic!("{name}: {}", data["refs"]))
}

#[test]
fn gc_deletes_merged_branches_with_proof() {
    let world = World::new();
    let (one, _, reviewer) = team(&world);
    world.merge_task(&one, &reviewer, "t1", "a.sh", "echo a\n");
    world.task("live", &["l/"]);
    let live = world.claim(&one, "live");
    world.refused(&one, &["gc"], 1, "refused.human_only");
    let planner = world.register("planner", "planner-1");
    world.refused(&planner, &["gc", "--dry-run"], 1, "refused.human_only");
    let before = refs(&world);
    // While the task is on the board its worktree stays, and with it the branch.
    let data = gc(&world, &["--dry-run"]);
    assert_eq!(decision(&data, "refs/heads/task/t1")["action"], "kept");
    assert_eq!(refs(&world), before);
    world.human(&["archive", "t1"]).ok();
    // Everything new stays, even with proof.
    let young = world.json(&HUMAN, &["gc"]).ok().data();
    assert!(young["refs"].as_array().unwrap().iter().all(|decision| decision["action"] == "kept"), "{young}");
    assert!(world.path(".liza/runs/t1").exists());
    let planned = gc(&world, &["--dry-run"]);
    assert_eq!(refs(&world), before, "a dry run removes nothing");
    let data = gc(&world, &[]);
    assert_eq!(planned["refs"], data["refs"], "what was planned is what was done");
    let branch = decision(&data, "refs/heads/task/t1");
    assert_eq!((&branch["action"], &branch["proof"]), (&json!("removed"), &json!("ancestor")));
    assert_eq!(refs(&world), ["refs/heads/task/live"], "{data}");
    assert_eq!(data["runs"], json!(["t1"]));
    assert!(live.exists() && !world.path(".liza/runs/t1").exists());
    assert!(world.show("t1")["archived"] == true);
    world.sound();
    world.git(&["fsck", "--no-dangling"]);
    // Sizes before and after add up.
    for kind in ["worktrees", "runs", "trash"] {
        let size = &data["sizes"][kind];
        let (before, after) = (size["before"].as_u64().unwrap(), size["after"].as_u64().unwrap());
        assert_eq!(size["freed"].as_u64().unwrap(), before.saturating_sub(after), "{kind}: {data}");
    }
    let text = world.human(&["gc", "-v"]).ok().stdout;
    assert!(text.contains("worktrees:") && text.contains("freed"), "{text}");
}

#[test]
fn gc_keeps_unmerged_work_as_an_attempt() {
    let world = World::new();
    let (one, _, _) = team(&world);
    world.task("t1", &["a.sh", "tests/"]);
    let place = world.claim(&one, "t1");
    world.checkpoint(&one, "t1", &["a.sh"]);
    let commit = world.write_and_commit(&place, &[("a.sh", "half\n")]);
    write(&place, "more.txt", "uncommitted");
    world.liza(&one, &["task", "release", "t1"]).ok();
    world.human(&["task", "abandon", "t1", "--reason", "r"]).ok();
    world.human(&["archive", "t1"]).ok();
    let wip = refs(&world).into_iter().find(|name| name.starts_with("refs/liza/wip/t1/")).unwrap();
    // The worktree has uncommitted work, so it stays, and so does the branch that is checked out in it.
    let data = gc(&world, &[]);
    assert!(data["worktrees"]["stay"].to_string().contains("more.txt"), "{data}");
    assert!(decision(&data, "refs/heads/task/t1")["why"].as_str().unwrap().contains("checked out"), "{data}");
    assert_eq!(decision(&data, &wip)["action"], "kept");
    assert!(place.join("more.txt").exists());
    let data = gc(&world, &["--save"]);
    let branch = decision(&data, "refs/heads/task/t1");
    assert_eq!((&branch["action"], &branch["kept_as"]), (&json!("moved"), &json!("refs/liza/attempts/t1/1")));
    assert_eq!(world.git(&["rev-parse", "refs/liza/attempts/t1/1"]), commit);
    assert!(!refs(&world).contains(&"refs/heads/task/t1".to_owned()) && !place.exists());
    assert_eq!(world.git(&["show", &format!("{wip}:more.txt")]), "uncommitted");
    // Also after many runs and much later.
    for days in [60, 600, 6000] {
        world.later(days * DAY, &HUMAN, &["gc", "--keep-days", "0"]).ok();
    }
    assert_eq!(world.git(&["show", "refs/liza/attempts/t1/1:a.sh"]), "half");
    assert_eq!(world.git(&["show", &format!("{wip}:more.txt")]), "uncommitted");
    world.git(&["fsck", "--no-dangling"]);
}

#[test]
fn gc_accepts_same_patches_or_tree_as_proof() {
    let world = World::new();
    let (one, _, _) = team(&world);
    for id in ["picked", "lost"] {
        world.task(id, &[&format!("{id}.sh"), "tests/"]);
        let place = world.claim(&one, id);
        world.checkpoint(&one, id, &[&format!("{id}.sh")]);
        world.write_and_commit(&place, &[(&format!("{id}.sh"), "x\n")]);
        world.liza(&one, &["task", "release", id]).ok();
        world.human(&["task", "abandon", id, "--reason", "done by hand"]).ok();
    }
    // A person cherry-picks one of them onto other commits.
    world.write("other.txt", "o\n");
    world.commit_all("other");
    world.git(&["cherry-pick", "task/picked"]);
    world.human(&["integration", "advance", "HEAD", "--reason", "by hand"]).ok();
    world.human(&["archive", "--all"]).ok();
    let data = gc(&world, &[]);
    let picked = decision(&data, "refs/heads/task/picked");
    assert_eq!((&picked["action"], &picked["proof"]), (&json!("removed"), &json!("patch_id")), "{data}");
    let lost = decision(&data, "refs/heads/task/lost");
    assert_eq!((&lost["action"], &lost["proof"]), (&json!("moved"), &Value::Null), "{data}");
}

#[test]
fn gc_leaves_foreign_branches_alone() {
    let world = World::new();
    let (one, _, reviewer) = team(&world);
    world.git(&["branch", "task/unheard-of", "main"]);
    world.git(&["branch", "task/t1.99", "main"]);
    world.git(&["update-ref", "refs/liza/attempts/unheard-of/1", "main"]);
    world.merge_task(&one, &reviewer, "t1", "a.sh", "echo a\n");
    world.human(&["archive", "t1"]).ok();
    gc(&world, &[]);
    assert_eq!(
        refs(&world),
        ["refs/heads/task/t1.99", "refs/heads/task/unheard-of", "refs/liza/attempts/unheard-of/1"]
    );
}

#[test]
fn gc_deletes_old_trash_only() {
    let world = World::new();
    let (one, _, reviewer) = team(&world);
    for (id, file) in [("t1", "a.sh"), ("t2", "b.sh")] {
        world.merge_task(&one, &reviewer, id, file, "x\n");
        world.human(&["archive", id]).ok();
    }
    let count = || world.json(&HUMAN, &["trash", "list"]).ok().data()["trash"].as_array().unwrap().len();
    let before = count();
    assert!(before >= 2);
    let ran = std::process::Command::new("touch")
        .args(["-d", "2100-01-01"])
        .arg(world.path(".liza/trash/t1"))
        .finish_status();
    assert!(ran.unwrap().success());
    let data = gc(&world, &["--dry-run"]);
    assert_eq!(count(), before);
    let data_real = gc(&world, &[]);
    assert_eq!(data["deleted"].as_array().unwrap().len(), data_real["deleted"].as_array().unwrap().len());
    assert!(data_real["freed"].as_u64().unwrap() > 0, "{data_real}");
    let left = world.json(&HUMAN, &["trash", "list"]).ok().data()["trash"].clone();
    assert!(left.to_string().contains("\"t1\"") && !left.to_string().contains("\"t2\""), "{left}");
}

#[test]
fn killed_gc_recovers_at_any_step() {
    for point in ["gc.pruned", "gc.kept", "gc.refs", "trash.going"] {
        let world = World::new();
        let (one, _, reviewer) = team(&world);
        world.merge_task(&one, &reviewer, "t1", "a.sh", "echo a\n");
        world.task("t2", &["b.sh", "tests/"]);
        let place = world.claim(&one, "t2");
        world.checkpoint(&one, "t2", &["b.sh"]);
        let commit = world.write_and_commit(&place, &[("b.sh", "half\n")]);
        world.liza(&one, &["task", "release", "t2"]).ok();
        world.human(&["task", "abandon", "t2", "--reason", "r"]).ok();
        world.human(&["archive", "--all"]).ok();
        let mut command = world.liza_command(&HUMAN, &world.root, &["gc"]);
        command.env("LIZA_CRASH_AT", point).env("LIZA_TEST_ADVANCE", (30 * DAY).to_string());
        let output = command.finish().unwrap();
        assert_eq!(output.status.code(), None, "{point} was not reached: {output:?}");
        world.recovers(point);
        gc(&world, &[]);
        assert_eq!(world.git(&["rev-parse", "refs/liza/attempts/t2/1"]), commit, "{point}");
        assert_eq!(refs(&world), ["refs/liza/attempts/t2/1"], "{point}");
        world.sound();
    }
}
