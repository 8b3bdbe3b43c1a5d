//! Worktrees that may hold the only copy of work are kept, and the user's own worktrees are not touched.

use std::path::{Path, PathBuf};

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

fn prune(world: &World, more: &[&str]) -> Value {
    let mut args = vec!["worktree", "prune"];
    args.extend(more);
    world.json(&HUMAN, &args).ok().data()
}

fn gc(world: &World) -> Value {
    world.later(30 * DAY, &HUMAN, &["gc"]).ok().data()
}

fn decision<'d>(data: &'d Value, name: &str) -> &'d Value {
    let found = data["refs"].as_array().unwrap().iter().find(|decision| decision["ref"] == name);
    found.unwrap_or_else(|| panic!("{name}: {}", data["refs"]))
}

fn findings(world: &World, more: &[&str]) -> Vec<Value> {
    let mut args = vec!["doctor"];
    args.extend(more);
    world.json(&HUMAN, &args).data()["findings"].as_array().expect("findings").clone()
}

/// The worktree of a task that was claimed, released and abandoned.
fn given_up(world: &World, coder: &Who, id: &str, work: impl FnOnce(&Path)) -> PathBuf {
    world.task(id, &[&format!("{id}.sh"), "sub"]);
    let place = world.claim(coder, id);
    world.checkpoint(coder, id, &[&format!("{id}.sh"), "sub"]);
    work(&place);
    world.liza(coder, &["task", "release", id]).ok();
    world.human(&["task", "abandon", id, "--reason", "no use"]).ok();
    place
}

#[test]
fn each_worktree_is_saved_under_its_own_ref() {
    let world = World::new();
    let (one, two, _) = team(&world);
    world.task("t1", &["a.sh"]);
    for (coder, text) in [(&one, "first"), (&two, "second")] {
        let place = world.claim(coder, "t1");
        write(&place, "thoughts.txt", text);
        world.liza(coder, &["task", "release", "t1"]).ok();
    }
    world.human(&["task", "abandon", "t1", "--reason", "no use"]).ok();
    world.human(&["archive", "t1"]).ok();
    let data = prune(&world, &["--save"]);
    let kept: Vec<&str> =
        data["pruned"].as_array().unwrap().iter().map(|place| place["kept"][0].as_str().unwrap()).collect();
    assert_eq!(kept.len(), 2, "{data}");
    let mut texts: Vec<String> =
        kept.iter().map(|name| world.git(&["show", &format!("{name}:thoughts.txt")])).collect();
    texts.sort();
    assert_eq!(texts, ["first", "second"], "{data}");
    world.sound();

    // A name that is in use is not overwritten.
    let name = kept[0].to_owned();
    let taken = world.git(&["rev-parse", &name]);
    let trash = world.json(&HUMAN, &["trash", "list"]).ok().data();
    let origin = data["pruned"][0]["path"].clone();
    let bin = trash["trash"].as_array().unwrap().iter().find(|entry| entry["origin"] == origin).unwrap();
    world.human(&["trash", "restore", bin["name"].as_str().unwrap()]).ok();
    write(Path::new(origin.as_str().unwrap()), "thoughts.txt", "third");
    let data = prune(&world, &["--save"]);
    assert_eq!(data["pruned"][0]["kept"], json!([format!("{name}-2")]), "{data}");
    assert_eq!(world.git(&["rev-parse", &name]), taken);
    world.sound();
}

#[test]
fn nested_repository_keeps_its_worktree() {
    let world = World::new();
    let (one, _, _) = team(&world);
    let place = given_up(&world, &one, "t1", |place| {
        let inner = place.join("inner");
        write(&inner, "precious.txt", "only here");
        world.git_in(&inner, &["init", "-q"]);
        world.write_and_commit(&inner, &[("more.txt", "m")]);
    });
    world.human(&["archive", "t1"]).ok();
    for args in [&["worktree", "prune", "--save"][..], &["gc", "--save"][..]] {
        let ran = world.json(&HUMAN, args);
        assert_eq!(ran.code(), "git.unsaved", "{}", ran.stdout);
        assert!(ran.stdout.contains("inner"), "{}", ran.stdout);
    }
    assert!(place.join("inner/precious.txt").exists());
}

/// A repository with a submodule `sub`, and a board.
fn with_submodule() -> World {
    let world = World::bare_repo();
    let library = world.home().join("library");
    std::fs::create_dir(&library).unwrap();
    world.git_in(&library, &["init", "-q", "-b", "main"]);
    world.write_and_commit(&library, &[("lib.sh", "echo lib\n")]);
    let add =
        ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", library.to_str().unwrap(), "sub"];
    world.git(&add);
    world.commit_all("a submodule");
    world.human(&["init", "A greeting program"]).ok();
    world
}

fn fetch_submodule(world: &World, place: &Path) {
    world.git_in(place, &["-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init"]);
}

#[test]
fn unpushed_submodule_commits_keep_worktree() {
    let world = with_submodule();
    let (one, _, _) = team(&world);
    let mut commit = String::new();
    let place = given_up(&world, &one, "t1", |place| {
        fetch_submodule(&world, place);
        commit = world.write_and_commit(&place.join("sub"), &[("lib.sh", "echo better\n")]);
        world.write_and_commit(place, &[("t1.sh", "x\n")]);
    });
    let data = world.json(&HUMAN, &["archive", "t1"]).ok().data();
    let why = data["worktrees"]["stay"][0]["why"].as_str().unwrap_or_else(|| panic!("{data}")).to_owned();
    assert!(why.contains(&commit) && why.contains("`sub`"), "{why}");
    gc(&world);
    prune(&world, &["--save"]);
    assert!(place.join("sub/lib.sh").exists());
    // The printed command pushes the commit, and then the worktree may be removed.
    let suggested = why.split('`').find(|part| part.starts_with("git --git-dir")).expect("a command");
    let ran = world.command("sh", &world.root).args(["-c", suggested]).finish().unwrap();
    assert!(ran.status.success(), "{suggested}: {}", String::from_utf8_lossy(&ran.stderr));
    let data = prune(&world, &[]);
    assert_eq!(data["pruned"].as_array().unwrap().len(), 1, "{data}");
    assert!(!place.exists());
    // If the commit is lost there, the copy in the trash is the only one, and is kept at any age.
    let kept = world.path(".git/modules/sub");
    std::fs::rename(&kept, world.home().join("aside")).unwrap();
    let ran = world.later(30 * DAY, &HUMAN, &["gc"]).ok();
    assert_eq!(ran.data()["deleted"], json!([]), "{}", ran.stdout);
    assert!(ran.stderr.contains(&commit), "{}", ran.stderr);
    let ran = world.later(30 * DAY, &HUMAN, &["trash", "empty"]).ok();
    assert_eq!(ran.data()["deleted"], json!([]), "{}", ran.stdout);
    std::fs::rename(world.home().join("aside"), &kept).unwrap();
    assert_eq!(gc(&world)["deleted"].as_array().unwrap().len(), 1);
}

#[test]
fn doctor_finds_work_only_in_a_submodule() {
    let world = with_submodule();
    let ghost = world.path(".worktrees/ghost");
    let add = ["worktree", "add", "-q", "--lock", "--reason", "liza: task ghost", "--detach"];
    world.git(&[&add[..], &[ghost.to_str().unwrap(), "main"]].concat());
    fetch_submodule(&world, &ghost);
    world.git_in(&ghost.join("sub"), &["checkout", "-q", "-b", "idea"]);
    let commit = world.write_and_commit(&ghost.join("sub"), &[("lib.sh", "echo better\n")]);
    world.git_in(&ghost.join("sub"), &["checkout", "-q", "--detach", "HEAD~1"]);
    assert_eq!(world.git_in(&ghost, &["status", "--porcelain"]), "");
    let found = findings(&world, &["--fix"]);
    assert!(json!(found).to_string().contains(&commit), "{found:#?}");
    assert!(ghost.join("sub/lib.sh").exists());
    // The same if only git's record is left.
    std::fs::remove_dir_all(&ghost).unwrap();
    let found = findings(&world, &["--fix"]);
    assert!(json!(found).to_string().contains(&commit), "{found:#?}");
    assert!(world.path(".git/worktrees/ghost/modules/sub").exists());
}

#[test]
fn gc_refuses_moved_integration_as_proof() {
    let world = World::new();
    let (one, _, _) = team(&world);
    given_up(&world, &one, "t1", |place| {
        world.write_and_commit(place, &[("t1.sh", "x\n")]);
    });
    world.human(&["archive", "t1"]).ok();
    let before = world.git(&["rev-parse", "refs/heads/task/t1"]);
    world.git(&["update-ref", "refs/heads/integration", "refs/heads/task/t1"]);
    for args in [&["gc", "--keep-days", "0"][..], &["gc", "--keep-days", "0", "--dry-run"][..]] {
        world.refused(&HUMAN, args, 6, "board.integration_moved");
    }
    assert_eq!(world.git(&["rev-parse", "refs/heads/task/t1"]), before);
}

#[test]
fn patch_with_other_white_space_is_no_proof() {
    let world = World::new();
    let (one, _, _) = team(&world);
    given_up(&world, &one, "t1", |place| {
        world.write_and_commit(place, &[("t1.sh", "if x:\n    a()\n    b()\n")]);
    });
    // Files that `init` wrote go into a separate commit, so that the next one holds only the patch.
    world.write("other.txt", "o\n");
    world.commit_all("other");
    world.write("t1.sh", "if x:\n    a()\nb()\n");
    world.commit_all("almost");
    world.human(&["integration", "advance", "HEAD", "--reason", "by hand"]).ok();
    world.human(&["archive", "t1"]).ok();
    let data = gc(&world);
    let branch = decision(&data, "refs/heads/task/t1");
    assert_eq!((&branch["action"], &branch["proof"]), (&json!("moved"), &Value::Null), "{data}");
}

#[test]
fn users_own_worktrees_are_left_alone() {
    let world = World::new();
    let (one, _, reviewer) = team(&world);
    world.write(".gitignore", "*.secret\n");
    world.commit_all("ignore");
    world.human(&["integration", "advance", "HEAD", "--reason", "by hand"]).ok();
    world.merge_task(&one, &reviewer, "t1", "a.sh", "echo a\n");
    world.git(&["worktree", "add", "-q", "-b", "mine2", ".worktrees/mine"]);
    world.git(&["worktree", "lock", "--reason", "mine", ".worktrees/mine"]);
    world.git(&["worktree", "add", "-q", "-b", "feature-x", ".worktrees/t1.mine"]);
    world.git(&["worktree", "add", "-q", "-b", "feature-y", ".worktrees/t1.user"]);
    world.git(&["worktree", "lock", ".worktrees/t1.user"]);
    world.git(&["worktree", "add", "-q", "-b", "away", ".worktrees/away"]);
    std::fs::remove_dir_all(world.path(".worktrees/away")).unwrap();
    let own = ["mine", "t1.mine", "t1.user"].map(|name| world.path(".worktrees").join(name));
    for path in &own {
        write(path, "only.secret", "precious");
    }
    world.sound();
    let found = findings(&world, &["--fix"]);
    assert!(!json!(found).to_string().contains("worktree."), "{found:#?}");
    let data = world.json(&HUMAN, &["archive", "t1"]).ok().data();
    assert_eq!(data["worktrees"]["stay"], json!([]), "{data}");
    for data in [prune(&world, &["--save"]), gc(&world)["worktrees"].clone()] {
        assert!(!data["pruned"].to_string().contains("mine"), "{data}");
    }
    assert!(own.iter().all(|path| path.join("only.secret").exists()));
    assert!(world.git(&["worktree", "list"]).contains(".worktrees/away"));
    world.sound();
    // Not even where a task had its worktree: its ignored files exist nowhere else.
    world.merge_task(&one, &reviewer, "t2", "b.sh", "echo b\n");
    let again = world.path(".worktrees/t2");
    world.git(&["worktree", "remove", "-f", "-f", again.to_str().unwrap()]);
    world.git(&["worktree", "add", "-q", again.to_str().unwrap(), "task/t2"]);
    write(&again, "only.secret", "precious");
    let data = world.json(&HUMAN, &["archive", "t2"]).ok().data();
    assert!(data["worktrees"]["stay"][0]["why"].as_str().unwrap().contains("only.secret"), "{data}");
    assert!(again.join("only.secret").exists());
    world.git(&["worktree", "remove", "-f", again.to_str().unwrap()]);

    let data = world.later(7200, &HUMAN, &["uninstall", "--yes"]).ok().data();
    for path in &own {
        assert!(path.join("only.secret").exists(), "{data}");
        assert!(data["left"].as_array().unwrap().contains(&json!(path)), "{data}");
    }
}

#[test]
fn restored_task_resumes_its_collected_branch() {
    let world = World::new();
    let (one, two, _) = team(&world);
    world.task("t1", &["a.sh", "tests/"]);
    let place = world.claim(&one, "t1");
    world.checkpoint(&one, "t1", &["a.sh"]);
    let commit = world.write_and_commit(&place, &[("a.sh", "half\n")]);
    world.liza(&one, &["task", "release", "t1"]).ok();
    let revision = world.revision();
    world.human(&["task", "abandon", "t1", "--reason", "no use"]).ok();
    world.git(&["worktree", "remove", "-f", "-f", place.to_str().unwrap()]);
    let data = gc(&world);
    assert_eq!(decision(&data, "refs/heads/task/t1")["kept_as"], "refs/liza/attempts/t1/1", "{data}");
    world.human(&["doctor", "--restore", &revision.to_string()]).ok();
    let ran = world.json(&two, &["task", "claim", "t1"]).ok();
    assert!(ran.stderr.contains(&commit) && ran.stderr.contains("task/t1"), "{}", ran.stderr);
    let again = PathBuf::from(ran.data()["worktree"].as_str().unwrap());
    assert_eq!(world.git_in(&again, &["rev-parse", "HEAD"]), commit);
    world.sound();
}

#[test]
fn edits_hidden_from_git_keep_the_worktree() {
    let world = World::new();
    let (one, _, _) = team(&world);
    for (id, mark) in [("t1", "--assume-unchanged"), ("t2", "--skip-worktree")] {
        let file = format!("{id}.sh");
        let place = given_up(&world, &one, id, |place| {
            world.write_and_commit(place, &[(&file, "committed\n")]);
        });
        world.git_in(&place, &["update-index", mark, &file]);
        write(&place, &file, "hidden\n");
        assert_eq!(world.git_in(&place, &["status", "--porcelain"]), "");
        let data = world.json(&HUMAN, &["archive", id]).ok().data();
        assert!(data["worktrees"]["stay"].to_string().contains(&file), "{data}");
        assert!(place.exists());
        let data = prune(&world, &["--save"]);
        let kept = data["pruned"][0]["kept"][0].as_str().unwrap_or_else(|| panic!("{data}"));
        assert_eq!(world.git(&["show", &format!("{kept}:{file}")]), "hidden");
    }
}

#[test]
fn lost_worktree_remedy_works_in_every_state() {
    let world = World::new();
    let (one, _, reviewer) = team(&world);
    let remedy = |id: &str| {
        let found = findings(&world, &[]);
        let lost = found.iter().find(|finding| {
            finding["code"] == "worktree.lost"
                && finding["what"].as_str().unwrap().contains(&format!(" {id}:"))
        });
        let text = lost.unwrap_or_else(|| panic!("{found:#?}"))["remedy"].as_str().unwrap().to_owned();
        let command = text.split('`').nth(1).expect("a command").to_owned();
        command.strip_prefix("liza ").expect("a command of liza's").to_owned()
    };
    let follow = |who: &Who, id: &str, wanted: &str| {
        let suggested = remedy(id);
        assert_eq!(suggested, wanted);
        world.liza(who, &suggested.split(' ').collect::<Vec<_>>()).ok();
    };
    let lose = |id: &str| std::fs::remove_dir_all(world.path(&format!(".worktrees/{id}"))).unwrap();
    let commit = world.submitted(&one, "a", "a.sh", "echo a\n");
    lose("a");
    follow(&reviewer, "a", "review claim a");
    world.liza(&reviewer, &["review", "approve", "a", "--commit", &commit, "--summary", "fine"]).ok();
    follow(&reviewer, "a", "merge a");
    assert_eq!(world.status_of("a"), "MERGED");

    let commit = world.submitted(&one, "b", "b.sh", "echo b\n");
    lose("b");
    world.liza(&reviewer, &["review", "claim", "b"]).ok();
    let issue = "major:b.sh:1:wrong";
    let reject = ["review", "reject", "b", "--commit", &commit, "--reason", "no", "--issue", issue];
    world.liza(&reviewer, &reject).ok();
    follow(&one, "b", "task claim b");
    let place = world.show("b")["worktree"].clone();
    let place = place.as_str().map_or_else(|| world.path(".worktrees/b.2"), |path| world.path(path));
    assert_eq!(world.git_in(&place, &["rev-parse", "HEAD"]), commit);
    std::fs::remove_dir_all(&place).unwrap();
    follow(&one, "b", "task release b");
}
