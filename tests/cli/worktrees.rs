//! Unused worktrees, the trash, and restoring from it.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::process::Bounded as _;
use crate::support::{HUMAN, Who, World, write};

fn team(world: &World) -> (Who, Who, Who) {
    (
        world.register("coder", "coder-1"),
        world.register("coder", "coder-2"),
        world.register("code_reviewer", "reviewer-1"),
    )
}

fn list(world: &World) -> Vec<Value> {
    world.json(&HUMAN, &["worktree", "list"]).ok().data()["worktrees"].as_array().unwrap().clone()
}

fn place(world: &World, path: &Path) -> Value {
    let found = list(world).into_iter().find(|place| place["path"] == json!(path));
    found.unwrap_or_else(|| panic!("{} is not listed", path.display()))
}

fn prune(world: &World, more: &[&str]) -> Value {
    let mut args = vec!["worktree", "prune"];
    args.extend(more);
    world.json(&HUMAN, &args).ok().data()
}

fn trash(world: &World) -> Vec<Value> {
    world.json(&HUMAN, &["trash", "list"]).ok().data()["trash"].as_array().unwrap().clone()
}

#[test]
fn worktree_list_shows_each_worktrees_fate() {
    let world = World::new();
    let (one, two, reviewer) = team(&world);
    world.merge_task(&one, &reviewer, "done", "d.sh", "echo d\n");
    world.task("t1", &["a.sh", "tests/"]);
    let first = world.claim(&one, "t1");
    world.checkpoint(&one, "t1", &["a.sh"]);
    world.write_and_commit(&first, &[("a.sh", "half\n")]);
    world.liza(&one, &["task", "release", "t1"]).ok();
    let second = world.claim(&two, "t1");
    write(&second, "new.txt", "not committed");
    // A worktree of the user, in the same directory.
    let own = world.path(".worktrees/mine");
    world.git(&["worktree", "add", "-q", "--detach", own.to_str().unwrap()]);

    let done = place(&world, &world.path(".worktrees/done"));
    assert_eq!(
        (&done["task"], &done["status"], &done["purpose"]),
        (&json!("done"), &json!("MERGED"), &json!("task"))
    );
    assert_eq!((&done["prunable"], &done["branch"]), (&json!(false), &json!("task/done")));
    assert!(done["why"].as_str().unwrap().contains("newest merged tasks"), "{done}");
    assert!(done["bytes"].as_u64().unwrap() > 0, "{done}");
    assert!(!world.path(".worktrees/.review/done").exists(), "it went with the verdict");
    let former = place(&world, &first);
    assert_eq!((&former["prunable"], &former["dirty"]), (&json!(true), &json!(false)), "{former}");
    let present = place(&world, &second);
    assert_eq!((&present["prunable"], &present["dirty"]), (&json!(false), &json!(true)), "{present}");
    assert!(present["why"].as_str().unwrap().contains("WORKING"), "{present}");
    let mine = place(&world, &own);
    assert!(mine["prunable"] == false && mine["why"].as_str().unwrap().contains("no task"), "{mine}");
    let text = world.human(&["worktree", "list"]).ok().stdout;
    assert!(
        text.contains("uncommitted work") && text.contains("removable: ") && text.contains("in all"),
        "{text}"
    );

    // Agents may list worktrees; only people may prune them.
    world.liza(&one, &["worktree", "list"]).ok();
    world.refused(&one, &["worktree", "prune"], 1, "refused.human_only");
    let planned = prune(&world, &["--dry-run"]);
    assert_eq!(planned["pruned"].as_array().unwrap().len(), 1, "{planned}");
    assert!(first.exists() && trash(&world).is_empty());
    let done = prune(&world, &[]);
    assert_eq!(done["pruned"].as_array().unwrap().len(), 1, "{done}");
    assert!(!first.exists() && second.join("new.txt").exists() && own.exists());
    // Git's own list no longer has it, and committed work is unchanged.
    assert!(!world.git(&["worktree", "list"]).contains(".worktrees/t1 "));
    assert!(world.git(&["show", "task/t1:a.sh"]).contains("half"));
    assert_eq!(prune(&world, &[])["pruned"], json!([]), "once more there is nothing to do");
    // Worktrees of the user stay.
    world.sound();
}

#[test]
fn archive_removes_only_clean_worktrees() {
    let world = World::new();
    let (one, _, reviewer) = team(&world);
    world.merge_task(&one, &reviewer, "clean", "c.sh", "echo c\n");
    world.merge_task(&one, &reviewer, "dirty", "d.sh", "echo d\n");
    let (clean, dirty) = (world.path(".worktrees/clean"), world.path(".worktrees/dirty"));
    write(&dirty, "thoughts.txt", "never committed");
    let data = world.json(&HUMAN, &["archive", "--all"]).ok().data();
    assert_eq!(data["archived"], json!(["clean", "dirty"]));
    assert!(!clean.exists() && dirty.join("thoughts.txt").exists());
    assert!(data["worktrees"]["pruned"][0]["bytes"].as_u64().unwrap() > 0, "{data}");
    let stays = &data["worktrees"]["stay"][0];
    assert!(stays["why"].as_str().unwrap().contains("thoughts.txt"), "{stays}");
    // Both branches still exist; only `gc` removes them.
    world.git(&["rev-parse", "task/clean", "task/dirty"]);
    assert_eq!(prune(&world, &[])["pruned"], json!([]));
    let saved = prune(&world, &["--save"]);
    let refname = saved["pruned"][0]["kept"][0].as_str().unwrap().to_owned();
    assert!(refname.starts_with("refs/liza/wip/dirty/"), "{saved}");
    assert_eq!(world.git(&["show", &format!("{refname}:thoughts.txt")]), "never committed");
    assert!(!dirty.exists());
    world.sound();
}

#[test]
fn unreachable_head_is_kept_under_a_ref() {
    let world = World::new();
    let (one, _, reviewer) = team(&world);
    let commit = world.submitted(&one, "t1", "a.sh", "echo a\n");
    world.liza(&reviewer, &["review", "claim", "t1"]).ok();
    let review = world.path(".worktrees/.review/t1");
    let extra = world.write_and_commit(&review, &[("tried.txt", "an experiment")]);
    world.liza(&reviewer, &["review", "approve", "t1", "--commit", &commit]).ok();
    assert!(!review.exists());
    let kept = world.git(&["for-each-ref", "--format=%(objectname)", "refs/liza/wip/t1"]);
    assert_eq!(kept, extra);
    // The same for the checkout of an abandoned review.
    world.submitted(&one, "t2", "b.sh", "echo b\n");
    world.liza(&reviewer, &["review", "claim", "t2"]).ok();
    let review = world.path(".worktrees/.review/t2");
    let extra = world.write_and_commit(&review, &[("tried.txt", "another experiment")]);
    world.human(&["task", "abandon", "t2", "--reason", "no use"]).ok();
    let pruned = prune(&world, &[]);
    let refname = pruned["pruned"][0]["kept"][0].as_str().unwrap().to_owned();
    assert_eq!(world.git(&["rev-parse", &refname]), extra, "{pruned}");
    assert!(!review.exists());
}

#[test]
fn unreadable_worktree_is_kept() {
    let world = World::new();
    let (one, _, reviewer) = team(&world);
    world.merge_task(&one, &reviewer, "t1", "a.sh", "echo a\n");
    let place = world.path(".worktrees/t1");
    std::fs::remove_file(place.join(".git")).unwrap();
    let data = world.json(&HUMAN, &["archive", "t1"]).ok().data();
    assert!(data["worktrees"]["stay"].to_string().contains("lost its `.git` file"), "{data}");
    assert!(place.join("a.sh").exists());
    // A worktree locked with another reason is not moved.
    world.merge_task(&one, &reviewer, "t2", "b.sh", "echo b\n");
    world.git(&["worktree", "unlock", ".worktrees/t2"]);
    world.git(&["worktree", "lock", "--reason", "on a stick", ".worktrees/t2"]);
    let data = world.json(&HUMAN, &["archive", "t2"]).ok().data();
    assert!(data["worktrees"]["stay"].to_string().contains("on a stick"), "{data}");
    // If only git's record is left, it is removed.
    world.merge_task(&one, &reviewer, "t3", "c.sh", "echo c\n");
    std::fs::remove_dir_all(world.path(".worktrees/t3")).unwrap();
    let data = world.json(&HUMAN, &["archive", "t3"]).ok().data();
    assert!(data["worktrees"]["pruned"].to_string().contains(".worktrees/t3"), "{data}");
    assert!(!world.git(&["worktree", "list"]).contains(".worktrees/t3"));
}

/// A pruned worktree of a former attempt, and its name in the trash.
fn pruned(world: &World) -> (PathBuf, String) {
    let (one, two, _) = team(world);
    world.task("t1", &["a.sh", "tests/"]);
    let first = world.claim(&one, "t1");
    world.checkpoint(&one, "t1", &["a.sh"]);
    world.write_and_commit(&first, &[("a.sh", "half\n")]);
    world.liza(&one, &["task", "release", "t1"]).ok();
    world.claim(&two, "t1");
    prune(world, &[]);
    let name = trash(world)[0]["name"].as_str().unwrap().to_owned();
    (first, name)
}

#[test]
fn worktree_is_restored_from_the_trash() {
    let world = World::new();
    let (place, name) = pruned(&world);
    let entry = trash(&world)[0].clone();
    assert_eq!((&entry["origin"], &entry["kind"]), (&json!(place), &json!("worktree")));
    assert!(entry["bytes"].as_u64().unwrap() > 0 && entry["age_seconds"].as_u64().unwrap() < 600, "{entry}");
    let text = world.human(&["trash", "list"]).ok().stdout;
    assert!(text.contains(&name) && text.contains(place.to_str().unwrap()), "{text}");
    let coder = world.register("coder", "coder-3");
    world.refused(&coder, &["trash", "restore", &name], 1, "refused.human_only");
    world.refused(&HUMAN, &["trash", "restore", "nothing"], 1, "refused.unknown_record");
    // `trash restore` overwrites nothing.
    std::fs::create_dir(&place).unwrap();
    let error = world.refused(&HUMAN, &["trash", "restore", &name], 1, "refused.place_taken");
    assert!(error["hint"].as_str().unwrap().contains(".liza/trash"), "{error}");
    std::fs::remove_dir(&place).unwrap();
    world.human(&["trash", "restore", &name]).ok();
    assert_eq!(world.git_in(&place, &["rev-parse", "--abbrev-ref", "HEAD"]), "task/t1");
    assert_eq!(world.git_in(&place, &["status", "--porcelain"]), "");
    assert!(trash(&world).is_empty());
    assert_eq!(prune(&world, &[])["pruned"].as_array().unwrap().len(), 1, "it may go again");

    // Without its branch it cannot become a worktree again; the message names the files.
    let name = trash(&world)[0]["name"].as_str().unwrap().to_owned();
    world.git(&["branch", "-D", "task/t1"]);
    let error = world.refused(&HUMAN, &["trash", "restore", &name], 1, "refused.not_restorable");
    let path = PathBuf::from(error["details"]["path"].as_str().unwrap());
    assert_eq!(std::fs::read_to_string(path.join("tree/a.sh")).unwrap(), "half\n");
}

#[test]
fn only_people_empty_the_trash_by_age() {
    let world = World::new();
    let (_, name) = pruned(&world);
    let coder = world.register("coder", "coder-3");
    world.refused(&coder, &["trash", "empty"], 1, "refused.human_only");
    world.refused(&coder, &["trash", "empty", "--older-than", "0"], 1, "refused.human_only");
    let deleted = |data: &Value| data["deleted"].as_array().unwrap().len();
    let day = 86_400;
    assert_eq!(deleted(&world.json(&HUMAN, &["trash", "empty"]).ok().data()), 0, "it is young");
    assert_eq!(deleted(&world.later(13 * day, &HUMAN, &["trash", "empty"]).ok().data()), 0);
    // With a clock set back nothing is old, even with `--older-than 0`.
    assert_eq!(deleted(&world.later(-day, &HUMAN, &["trash", "empty", "--older-than", "0"]).ok().data()), 0);
    // Nor with a clock set ahead while the machine ran.
    let shift = (15 * day).to_string();
    let ran = world.json_env(&HUMAN, &["trash", "empty"], &[("LIZA_TEST_WALL_SHIFT", &shift)]).ok();
    assert!(deleted(&ran.data()) == 0 && ran.stderr.contains("the clock moved 15 days ahead"), "{ran:?}");
    let ran = world.json_env(&HUMAN, &["gc"], &[("LIZA_TEST_WALL_SHIFT", &shift)]).ok();
    assert_eq!(deleted(&ran.data()), 0, "{ran:?}");
    let planned = world.later(15 * day, &HUMAN, &["trash", "empty", "--dry-run"]).ok().data();
    assert!(deleted(&planned) == 1 && planned["freed"].as_u64().unwrap() > 0, "{planned}");
    assert!(world.path(&format!(".liza/trash/{name}")).exists());
    // A directory without write permission is deleted, too.
    let inside = world.path(&format!(".liza/trash/{name}/tree/sealed"));
    write(&inside, "x", "y");
    std::fs::set_permissions(&inside, std::os::unix::fs::PermissionsExt::from_mode(0o500)).unwrap();
    // A kill in the middle leaves nothing that looks complete, and the next call finishes it.
    let mut command = world.liza_command(&HUMAN, &world.root, &["trash", "empty"]);
    command.env("LIZA_CRASH_AT", "trash.going").env("LIZA_TEST_ADVANCE", (15 * day).to_string());
    assert!(!command.finish().unwrap().status.success());
    assert!(trash(&world).is_empty() && world.path(&format!(".liza/trash/.going-{name}")).exists());
    world.human(&["trash", "empty"]).ok();
    assert_eq!(std::fs::read_dir(world.path(".liza/trash")).unwrap().count(), 0);
    world.git(&["rev-parse", "task/t1"]);
}

#[test]
fn killed_prune_recovers_at_any_step() {
    for point in ["prune.saved", "prune.moved"] {
        let world = World::new();
        let (one, _, reviewer) = team(&world);
        world.submitted(&one, "t2", "a.sh", "echo a\n");
        world.liza(&reviewer, &["review", "claim", "t2"]).ok();
        world.human(&["task", "abandon", "t2", "--reason", "no use"]).ok();
        world.dies_at(point, &HUMAN, &["worktree", "prune"]);
        world.recovers(point);
        prune(&world, &[]);
        assert!(!world.path(".worktrees/.review/t2").exists(), "{point}");
        world.sound();
    }
}

#[test]
fn nearly_full_disk_refuses_new_work() {
    let world = World::new();
    let (one, two, reviewer) = team(&world);
    world.task("t1", &["a.sh", "tests/test_t1.sh"]);
    world.task("t2", &["b/"]);
    world.task("t3", &["c.sh", "tests/test_t3.sh"]);
    let commit = world.submit_work(&one, "t1", "a.sh", "echo a\n");
    let approved = world.submit_work(&two, "t3", "c.sh", "echo c\n");
    world.approve(&reviewer, "t3", &approved);
    world.human(&["task", "add", "--id", "x", "--title", "x"]).ok();
    world.human(&["task", "abandon", "x", "--reason", "r"]).ok();
    let held = world.claim(&one, "t2");
    world.write("liza.yaml", "disk: {min_free_bytes: 9000000000000000}\n");
    for (who, args) in [
        (&two, &["task", "claim", "t1"][..]),
        (&two, &["next", "--role", "coder"][..]),
        (&reviewer, &["review", "claim", "t1"][..]),
        (&reviewer, &["merge", "t3"][..]),
        (&HUMAN, &["archive", "x"][..]),
    ] {
        // If there is nothing to claim, nothing is refused.
        if args[0] == "next" {
            continue;
        }
        let error = world.refused(who, args, 9, "io.disk_low");
        assert!(error["hint"].as_str().unwrap().contains("liza gc"), "{error}");
        assert_eq!(error["details"]["min_free_bytes"], 9_000_000_000_000_000_u64);
    }
    // Saving work is still possible.
    world.checkpoint(&one, "t2", &["b/x.txt", "b/tests/x.sh"]);
    write(&held, "b/x.txt", "half");
    world.liza(&one, &["task", "handoff", "t2", "--summary", "s", "--next", "n"]).ok();
    world.refused(&two, &["next", "--role", "coder"], 9, "io.disk_low");
    world.human(&["note", "the disk is full"]).ok();
    world.human(&["gc"]).ok();
    world.write("liza.yaml", "disk: {min_free_bytes: 0}\n");
    world.claim(&two, "t2");
    world.liza(&reviewer, &["review", "claim", "t1"]).ok();
    world.liza(&reviewer, &["review", "approve", "t1", "--commit", &commit]).ok();
    world.liza(&reviewer, &["merge", "t3"]).ok();
    world.human(&["archive", "x"]).ok();
    world.write("liza.yaml", "disk: {min_free_byte: 0}\n");
    world.refused(&one, &["task", "claim", "t2"], 2, "usage.config");
}

#[test]
fn filtered_file_is_not_uncommitted_work() {
    let world = World::bare_repo();
    world.write(".gitattributes", "*.up filter=up\n");
    world.git(&["config", "filter.up.clean", "tr a-z A-Z"]);
    world.git(&["config", "filter.up.smudge", "tr A-Z a-z"]);
    world.write("a.up", "text\n");
    world.commit_all("filtered");
    assert_eq!(world.git(&["show", "HEAD:a.up"]), "TEXT");
    world.human(&["init", "A greeting program"]).ok();
    let (one, _, reviewer) = team(&world);
    world.merge_task(&one, &reviewer, "t1", "t1.sh", "echo a\n");
    let place_of = world.path(".worktrees/t1");
    let file = std::fs::File::options().append(true).open(place_of.join("a.up")).unwrap();
    file.set_modified(std::time::SystemTime::now() + std::time::Duration::from_secs(5)).unwrap();
    drop(file);
    // A read command runs no filter, and reports too many changes rather than too few.
    assert_eq!(place(&world, &place_of)["dirty"], true);
    // A command that deletes asks git.
    let data = world.json(&HUMAN, &["archive", "t1"]).ok().data();
    assert!(data["worktrees"]["pruned"].to_string().contains("/.worktrees/t1"), "{data}");
    assert!(!place_of.exists());
    world.sound();
}
