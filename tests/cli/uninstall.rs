//! `liza uninstall`: removes liza from the repository, loses no work, and `liza init` works again.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::process::Bounded as _;
use crate::support::{HUMAN, Who, World, write};

fn coder(world: &World) -> Who {
    world.register("coder", "coder-1")
}

fn kept(data: &Value) -> PathBuf {
    PathBuf::from(data["kept"].as_str().expect("a place"))
}

fn excludes(world: &World) -> String {
    world.read(".git/info/exclude")
}

#[test]
fn uninstall_removes_liza_and_keeps_users_files() {
    let world = World::bare_repo();
    world.write(".git/info/exclude", "# mine\n*.swp\n");
    let shared = std::os::unix::fs::PermissionsExt::from_mode(0o664);
    std::fs::set_permissions(world.path(".git/info/exclude"), shared).unwrap();
    world.human(&["init", "A greeting program"]).ok();
    let one = coder(&world);
    let reviewer = world.register("code_reviewer", "reviewer-1");
    world.merge_task(&one, &reviewer, "t1", "a.sh", "echo a\n");
    world.task("t2", &["b/"]);
    let place = world.claim(&one, "t2");
    write(&place, "b/x.txt", "uncommitted");
    write(&place, "b/y.txt", "that too");
    world.liza(&one, &["task", "release", "t2"]).ok();
    write(&place, "b/z.txt", "written after it was let go");
    let heads = world.git(&["for-each-ref", "refs/heads"]);
    // First a dry run.
    let planned = world.json(&HUMAN, &["uninstall", "--dry-run"]).ok().data();
    assert!(planned["worktrees"].to_string().contains(".worktrees/t2"), "{planned}");
    assert!(place.exists() && world.path(".liza/state.yaml").exists());
    // Without a question only with `--yes`; an agent is refused.
    let error = world.refused(&HUMAN, &["uninstall"], 2, "usage.confirm");
    assert!(error["hint"].as_str().unwrap().contains("--yes"), "{error}");
    world.refused(&one, &["uninstall", "--yes"], 1, "refused.human_only");

    let data = world.json(&HUMAN, &["uninstall", "--yes"]).ok().data();
    assert!(!world.path(".liza").exists() && !world.path(".worktrees").exists());
    assert_eq!(excludes(&world), "# mine\n*.swp\n");
    let mode = std::os::unix::fs::MetadataExt::mode(&world.path(".git/info/exclude").metadata().unwrap());
    assert_eq!(mode & 0o777, 0o664, "the file is the user's");
    assert!(world.path("liza.yaml").exists() && world.path("specs/vision.md").exists());
    // Branches and refs are unchanged, and uncommitted work is under a new ref.
    assert_eq!(world.git(&["for-each-ref", "refs/heads"]), heads);
    let saved = data["saved"][0].as_str().unwrap();
    assert!(saved.starts_with("refs/liza/wip/t2/"), "{data}");
    assert_eq!(world.git(&["show", &format!("{saved}:b/z.txt")]), "written after it was let go");
    assert_eq!(world.git(&["worktree", "list"]).lines().count(), 1);
    // One directory holds the former board, without secrets, and git ignores it.
    let kept = kept(&data);
    assert!(kept.join("state.yaml").exists() && kept.join("log.yaml").exists(), "{data}");
    assert_eq!(std::fs::read_dir(kept.join("tokens")).unwrap().count(), 0);
    assert!(kept.join("trash").read_dir().unwrap().count() >= 2, "the worktrees' files");
    assert!(!world.git(&["status", "--porcelain"]).contains("uninstalled"));
    world.git(&["fsck", "--no-dangling"]);
    // Again: nothing is left to do.
    let again = world.json(&HUMAN, &["uninstall", "--yes"]).ok().data();
    assert_eq!(again["kept"], Value::Null);
    assert_eq!(world.json(&HUMAN, &["status"]).exits(2).code(), "usage.no_board");
    // Renamed back, it is a board again.
    std::fs::rename(&kept, world.path(".liza")).unwrap();
    world.human(&["status"]).ok();
}

#[test]
fn uninstall_is_refused_while_tasks_are_held() {
    let world = World::new();
    let one = coder(&world);
    let reviewer = world.register("code_reviewer", "reviewer-1");
    world.submitted(&one, "t1", "a.sh", "echo a\n");
    world.liza(&reviewer, &["review", "claim", "t1"]).ok();
    world.task("t2", &["b/"]);
    world.claim(&one, "t2");
    let error = world.refused(&HUMAN, &["uninstall", "--yes"], 1, "refused.in_use");
    let said = error["details"]["busy"].to_string();
    assert!(said.contains("coder-1 holds t2") && said.contains("reviewer-1 holds t1"), "{said}");
    assert!(!world.path(".liza/PAUSE").exists(), "a refusal pauses no agent");
    // Retired agents and expired leases do not stop the uninstallation.
    world.human(&["agent", "retire", "coder-1"]).ok();
    world.refused(&HUMAN, &["uninstall", "--yes"], 1, "refused.in_use");
    world.later(7200, &HUMAN, &["uninstall", "--yes"]).ok();
    assert!(!world.path(".liza").exists());
}

#[test]
fn worktrees_of_the_user_stay_where_they_are() {
    let world = World::new();
    let own = world.path(".worktrees/mine");
    world.git(&["worktree", "add", "-q", "--detach", own.to_str().unwrap()]);
    write(&own, "precious.txt", "p");
    let data = world.json(&HUMAN, &["uninstall", "--yes"]).ok().data();
    assert_eq!(data["left"], json!([own]));
    assert!(own.join("precious.txt").exists());
    // Git still ignores their directory.
    assert!(excludes(&world).contains("/.worktrees/") && !excludes(&world).contains("/.liza/"));
    assert_eq!(world.git_in(&own, &["status", "--porcelain"]), "?? precious.txt");
    // Without it, the same command removes the directory and its line; a directory without that line is not liza's.
    world.git(&["worktree", "remove", "--force", own.to_str().unwrap()]);
    std::fs::create_dir_all(world.path(".worktrees")).unwrap();
    let data = world.json(&HUMAN, &["uninstall", "--yes"]).ok().data();
    assert_eq!(data["left"], json!([]));
    assert!(!world.path(".worktrees").exists() && !excludes(&world).contains("/.worktrees/"));
    std::fs::create_dir(world.path(".worktrees")).unwrap();
    world.human(&["uninstall", "--yes"]).ok();
    assert!(world.path(".worktrees").exists());
}

#[test]
fn files_among_worktrees_are_kept_and_named() {
    let world = World::new();
    let mine = [world.path(".worktrees/.review/mine"), world.path(".worktrees/notes.txt")];
    write(&world.path(".worktrees"), ".review/mine/f", "p");
    write(&world.path(".worktrees"), "notes.txt", "n");
    std::fs::create_dir_all(world.path(".worktrees/.gates")).unwrap();
    let planned = world.json(&HUMAN, &["uninstall", "--dry-run"]).ok().data();
    for again in [false, true] {
        let data = world.json(&HUMAN, &["uninstall", "--yes"]).ok().data();
        assert_eq!(data["left"], json!(mine), "{again}");
        assert_eq!(data["not_removed"], json!([]));
        assert!(mine.iter().all(|path| path.exists()) && !world.path(".worktrees/.gates").exists());
        assert!(excludes(&world).contains("/.worktrees/"));
        if !again {
            assert_eq!(planned["left"], data["left"]);
            assert_eq!(planned["excludes"], data["excludes"]);
        }
    }
    // Without them, the same command removes the directory, as its dry run says.
    std::fs::remove_dir_all(&mine[0]).unwrap();
    std::fs::remove_file(&mine[1]).unwrap();
    let planned = world.json(&HUMAN, &["uninstall", "--dry-run"]).ok().data();
    let data = world.json(&HUMAN, &["uninstall", "--yes"]).ok().data();
    assert_eq!((&planned["left"], &planned["excludes"]), (&data["left"], &data["excludes"]));
    assert!(!world.path(".worktrees").exists() && !excludes(&world).contains("/.worktrees/"));
    // A link in its place is the user's.
    std::os::unix::fs::symlink(world.home(), world.path(".worktrees")).unwrap();
    world.human(&["init", "again"]).ok();
    let data = world.json(&HUMAN, &["uninstall", "--yes"]).ok().data();
    assert!(data["left"].to_string().contains(".worktrees") && world.path(".worktrees").is_symlink());
    assert_eq!(data["not_removed"], json!([]));
}

#[test]
fn killed_uninstall_is_completed_by_the_next() {
    for point in [
        "uninstall.paused",
        "uninstall.worktree",
        "uninstall.worktree:2",
        "uninstall.excludes",
        "uninstall.tokens",
        "uninstall.renamed",
    ] {
        let world = World::new();
        let one = coder(&world);
        for id in ["t1", "t2"] {
            world.task(id, &[&format!("{id}/")]);
            let place = world.claim(&one, id);
            write(&place, &format!("{id}/x.txt"), id);
            world.liza(&one, &["task", "release", id]).ok();
        }
        world.dies_at(point, &HUMAN, &["uninstall", "--yes"]);
        if point != "uninstall.renamed" {
            world.human(&["validate"]).ok();
            // Agents cannot start work meanwhile.
            assert_eq!(world.json(&one, &["task", "claim", "t1"]).exits(5).code(), "switch.set");
        }
        world.human(&["uninstall", "--yes"]).ok();
        assert!(!world.path(".liza").exists() && !world.path(".worktrees").exists(), "{point}");
        assert!(!excludes(&world).contains(".liza"), "{point}");
        for id in ["t1", "t2"] {
            let wip = world.git(&["for-each-ref", "--format=%(refname)", &format!("refs/liza/wip/{id}")]);
            let first = wip.lines().next().unwrap();
            assert_eq!(world.git(&["show", &format!("{first}:{id}/x.txt")]), id, "{point}");
        }
        assert_eq!(world.git(&["worktree", "list"]).lines().count(), 1, "{point}");
        world.human(&["init", "again"]).ok();
        world.sound();
    }
}

#[test]
fn new_board_keeps_attempts_of_former_board() {
    let world = World::new();
    let one = coder(&world);
    world.task("t1", &["a.sh", "tests/"]);
    let place = world.claim(&one, "t1");
    world.checkpoint(&one, "t1", &["a.sh"]);
    let first = world.write_and_commit(&place, &[("a.sh", "the first board's\n")]);
    world.liza(&one, &["task", "release", "t1"]).ok();
    let two = world.register("coder", "coder-2");
    let place = world.claim(&two, "t1");
    let second = world.write_and_commit(&place, &[("a.sh", "the second attempt's\n")]);
    world.liza(&two, &["task", "release", "t1"]).ok();
    assert_eq!(world.git(&["rev-parse", "refs/liza/attempts/t1/1"]), first);
    let branch = world.git_in(&place, &["rev-parse", "--abbrev-ref", "HEAD"]);
    world.human(&["uninstall", "--yes"]).ok();

    let made = world.json(&HUMAN, &["init", "a new beginning"]).ok().data();
    assert!(made["created"].to_string().contains("refs/liza/former/1"), "{made}");
    assert!(world.tasks().is_empty());
    assert_eq!(world.git(&["rev-parse", "refs/liza/former/1/attempts/t1/1"]), first, "kept, out of the way");
    assert!(world.git(&["for-each-ref", "refs/liza/attempts"]).is_empty());
    // The same task id again: its branch names are in use, so it gets others.
    let one = coder(&world);
    world.task("t1", &["a.sh", "tests/"]);
    let data = world.json(&one, &["task", "claim", "t1"]).ok().data();
    let fresh = data["branch"].as_str().unwrap().to_owned();
    assert!(fresh.starts_with("task/t1.") && fresh != branch, "{data}");
    assert_eq!(world.git(&["rev-parse", "task/t1"]), first, "it was not touched");
    assert_eq!(world.git(&["rev-parse", &branch]), second);
    let place = PathBuf::from(data["worktree"].as_str().unwrap());
    world.checkpoint(&one, "t1", &["a.sh", "tests/test.sh"]);
    world.write_and_commit(&place, &[("a.sh", "new\n"), ("tests/test.sh", "echo ok\n")]);
    let commit =
        world.json(&one, &["task", "submit", "t1"]).ok().data()["review_commit"].as_str().unwrap().to_owned();
    let reviewer = world.register("code_reviewer", "reviewer-1");
    world.approve(&reviewer, "t1", &commit);
    world.liza(&reviewer, &["merge", "t1"]).ok();
    world.sound();
    // `gc` leaves the former board's refs alone.
    world.human(&["archive", "t1"]).ok();
    world.later(30 * 86_400, &HUMAN, &["gc"]).ok();
    assert_eq!(world.git(&["rev-parse", "task/t1"]), first);
    assert_eq!(world.git(&["rev-parse", "refs/liza/former/1/attempts/t1/1"]), first);
    assert!(world.git(&["for-each-ref", &format!("refs/heads/{fresh}")]).is_empty());
    // A third board works beside two former ones.
    world.human(&["uninstall", "--yes"]).ok();
    world.human(&["init", "third"]).ok();
    world.sound();
}

#[test]
fn uninstall_asks_a_person_at_a_terminal() {
    // `script` provides a terminal; without it the test is skipped.
    let world = World::new();
    let ask = |answer: &str| {
        use std::io::Write as _;
        let mut command = world.command("script", &world.root);
        let line = format!("{} uninstall", env!("CARGO_BIN_EXE_liza"));
        command.args(["-qec", &line, "/dev/null"]);
        command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
        let mut child = command.start().ok()?;
        writeln!(child.stdin.take()?, "{answer}").ok()?;
        let output = child.wait_with_output().ok()?;
        Some((output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned()))
    };
    let Some((code, said)) = ask("no") else {
        crate::support::skip("there is no `script` here");
        return;
    };
    assert!(said.contains("Remove liza from this repository?"), "{said}");
    assert_eq!(code, Some(1), "{said}");
    assert!(world.path(".liza/state.yaml").exists());
    let (code, said) = ask("yes").expect("script ran before");
    assert_eq!(code, Some(0), "{said}");
    assert!(!world.path(".liza").exists());
}
