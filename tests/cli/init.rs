//! `liza init`: a board in any repository, without changing the user's files.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::support::process::Bounded as _;
use crate::support::{HUMAN, Ran, World};

/// Git's view of the checkout: HEAD, branches except integration, status, and the bytes of the index.
fn checkout(world: &World) -> (String, String, String, Vec<u8>) {
    let index = std::fs::read(world.path(".git/index")).unwrap_or_default();
    (
        world.git(&["rev-parse", "HEAD"]),
        world.git(&["for-each-ref", "refs/heads/main", "refs/tags"]),
        // Looking must not refresh the index.
        world.git(&["--no-optional-locks", "status", "--porcelain", "--untracked-files=all"]),
        index,
    )
}

/// A whole task, to see that the board works.
#[track_caller]
fn works(world: &World) {
    let coder = world.register("coder", "coder-1");
    let reviewer = world.register("code_reviewer", "reviewer-1");
    world.merge_task(&coder, &reviewer, "t1", "greet.sh", "echo hello\n");
    assert_eq!(world.git(&["show", "integration:greet.sh"]), "echo hello");
    world.sound();
}

#[test]
fn init_creates_every_documented_file() {
    let world = World::bare_repo();
    std::fs::remove_dir_all(world.path("specs")).unwrap();
    world.commit_all("no specs");
    let ran = world.json(&HUMAN, &["init", "A greeting program"]).ok();
    assert_eq!(ran.json()["revision"], 1);
    for name in [
        ".liza/state.yaml",
        ".liza/log.yaml",
        ".liza/state.yaml.lock",
        ".liza/specs/architecture/roles.md",
        ".liza/specs/architecture/blackboard-schema.md",
        ".liza/specs/protocols/worktree-protocol.md",
        ".liza/specs/protocols/circuit-breaker.md",
        ".liza/schema/state.schema.json",
        "liza.yaml",
        "specs/vision.md",
    ] {
        assert!(world.path(name).is_file(), "{name}");
    }
    let created = ran.data()["created"].to_string();
    assert!(created.contains("specs/vision.md") && created.contains("liza.yaml"), "{created}");
    assert!(world.read("specs/vision.md").contains("A greeting program"));
    assert_eq!(world.git(&["rev-parse", "integration"]), world.git(&["rev-parse", "main"]));
    assert_eq!(world.git(&["symbolic-ref", "HEAD"]), "refs/heads/main");
    assert!(world.state().starts_with("# yaml-language-server: "));
    assert!(world.state().contains("\nend: "));
    world.sound();
}

#[test]
fn init_applies_its_options() {
    let world = World::bare_repo();
    world.write("docs/goal.md", "# Goal\n");
    let data =
        world.json(&HUMAN, &["init", "g", "--spec", "docs/goal.md", "--integration", "trunk"]).ok().data();
    assert_eq!(data["spec"], "docs/goal.md");
    assert_eq!(data["integration_branch"], "trunk");
    assert_eq!(world.git(&["rev-parse", "trunk"]), world.git(&["rev-parse", "main"]));
    assert!(world.state().contains("integration_branch: trunk"));
}

#[test]
fn init_refuses_bad_options_and_writes_nothing() {
    for (args, exit) in [
        (vec!["init", "g", "--spec", "no/such.md"], 1),
        (vec!["init", "g", "--spec", "../outside.md"], 1),
        (vec!["init", "g", "--spec", "/etc/passwd"], 1),
        (vec!["init", "g", "--spec", ".git/config"], 1),
        (vec!["init", ""], 1),
        (vec!["init", "  "], 1),
    ] {
        let world = World::bare_repo();
        let ran = world.json(&HUMAN, &args);
        assert_eq!(ran.exit, exit, "{args:?}: {}", ran.stdout);
        assert!(!world.path(".liza/state.yaml").exists(), "{args:?}");
        assert!(!world.path("liza.yaml").exists(), "{args:?} left liza.yaml");
    }
    for branch in ["-x", "a b", "a..b", "a~1", "", "refs/heads/x.lock", "HEAD"] {
        let world = World::bare_repo();
        let ran = world.json(&HUMAN, &["init", "g", &format!("--integration={branch}")]);
        assert!(matches!(ran.exit, 1 | 2 | 8), "{branch:?}: {} {}", ran.exit, ran.stdout);
        assert!(!world.path(".liza/state.yaml").exists(), "{branch:?}");
    }
}

#[test]
fn second_init_shows_board_and_changes_nothing() {
    let world = World::new();
    world.task("t1", &["src/"]);
    let error = world.refused(&HUMAN, &["init", "Another goal"], 1, "refused.board_exists");
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("A greeting program") && message.contains("1 task"), "{message}");
    // Nor from a subdirectory or a worktree.
    std::fs::create_dir(world.path("sub")).unwrap();
    world.liza_in(&HUMAN, &world.path("sub"), &["init", "x"]).exits(1);
    assert!(!world.path("sub/.liza").exists());
}

#[test]
fn leftovers_of_a_board_are_refused() {
    for keep in [["log.yaml", "images"].as_slice(), &["log.yaml"], &["images"]] {
        let world = World::new();
        world.human(&["note", "precious"]).ok();
        for entry in std::fs::read_dir(world.path(".liza")).unwrap() {
            let entry = entry.unwrap();
            if keep.iter().any(|name| entry.file_name() == *name) {
                continue;
            }
            if entry.path().is_dir() {
                std::fs::remove_dir_all(entry.path()).unwrap();
            } else {
                std::fs::remove_file(entry.path()).unwrap();
            }
        }
        let error = world.refused(&HUMAN, &["init", "Another goal"], 1, "refused.board_exists");
        assert!(error["hint"].as_str().unwrap().contains("doctor"), "{error}");
        assert!(!world.path(".liza/state.yaml").exists());
    }
}

#[test]
fn init_without_repository_says_what_to_do() {
    let world = World::bare_repo();
    let outside = world.home().join("plain");
    std::fs::create_dir(&outside).unwrap();
    let ran = world.liza_in(&HUMAN, &outside, &["--json", "init", "g"]).exits(2);
    assert_eq!(ran.code(), "usage.no_repository");
    assert!(ran.json()["error"]["hint"].as_str().unwrap().contains("git init"));
    assert!(!outside.join(".liza").exists());
    // Without a board, every other command says so too.
    let ran = world.json(&HUMAN, &["status"]).exits(2);
    assert_eq!(ran.code(), "usage.no_board");
    assert!(ran.json()["error"]["hint"].as_str().unwrap().contains("liza init"));
    let ran = world.json(&HUMAN, &["note", "x"]).exits(2);
    assert_eq!(ran.code(), "usage.no_board");
    assert!(!world.path(".liza").exists());
}

#[test]
fn init_without_commit_asks_for_one() {
    let world = World::bare_repo();
    let unborn = world.home().join("unborn");
    std::fs::create_dir(&unborn).unwrap();
    world.git_in(&unborn, &["init", "-q", "-b", "main"]);
    let ran = world.liza_in(&HUMAN, &unborn, &["--json", "init", "g"]).exits(8);
    assert_eq!(ran.code(), "git.no_commit");
    assert!(ran.json()["error"]["hint"].as_str().unwrap().contains("commit"));
    assert!(!unborn.join(".liza").exists() && !unborn.join("liza.yaml").exists());
}

#[test]
fn init_in_bare_repository_suggests_clone() {
    let world = World::bare_repo();
    let bare = world.home().join("bare.git");
    world.git(&["clone", "-q", "--bare", ".", bare.to_str().unwrap()]);
    let ran = world.liza_in(&HUMAN, &bare, &["--json", "init", "g"]);
    assert_ne!(ran.exit, 0);
    assert!(ran.json()["error"]["hint"].as_str().unwrap().contains("clone"), "{}", ran.stdout);
    assert!(!bare.join(".liza").exists());
}

#[test]
fn init_keeps_a_detached_head() {
    let world = World::bare_repo();
    world.git(&["checkout", "-q", "--detach"]);
    world.human(&["init", "g"]).ok();
    assert_eq!(world.git(&["rev-parse", "--abbrev-ref", "HEAD"]), "HEAD");
    assert_eq!(world.git(&["rev-parse", "integration"]), world.git(&["rev-parse", "HEAD"]));
    works(&world);
}

#[test]
fn board_is_in_main_root_from_any_directory() {
    let world = World::bare_repo();
    let linked = world.home().join("linked");
    world.git(&["worktree", "add", "-q", "-b", "side", linked.to_str().unwrap()]);
    world.liza_in(&HUMAN, &linked, &["init", "g"]).ok();
    assert!(world.path(".liza/state.yaml").is_file() && !linked.join(".liza").exists());
    // And it is found from every directory.
    let deep = world.path("a/b");
    std::fs::create_dir_all(&deep).unwrap();
    for dir in [&linked, &deep] {
        let ran = world.liza_in(&HUMAN, dir, &["--json", "status"]).ok();
        assert_eq!(ran.data()["goal"], "g", "{}", dir.display());
    }
    assert_eq!(world.git_in(&linked, &["status", "--porcelain"]), "");

    let world = World::bare_repo();
    let deep = world.path("a/b");
    std::fs::create_dir_all(&deep).unwrap();
    world.liza_in(&HUMAN, &deep, &["init", "g"]).ok();
    assert!(world.path(".liza/state.yaml").is_file() && !deep.join(".liza").exists());
    works(&world);
}

#[test]
fn board_is_found_by_flag_or_variable() {
    let world = World::new();
    let board = world.path(".liza");
    let elsewhere = world.home();
    let ran =
        world.liza_in(&HUMAN, elsewhere, &["--json", "--board", board.to_str().unwrap(), "status"]).ok();
    assert_eq!(ran.data()["goal"], "A greeting program");
    let mut command = world.liza_command(&HUMAN, elsewhere, &["--json", "status"]);
    let ran = Ran::of(command.env("LIZA_DIR", &board).finish().unwrap()).ok();
    assert_eq!(ran.data()["goal"], "A greeting program");
}

#[test]
fn init_works_in_paths_with_odd_characters() {
    let world = World::bare_repo();
    let odd = world.home().join("größe 東京 it's \"odd\" $HOME `x`");
    world.git(&["clone", "-q", ".", odd.to_str().unwrap()]);
    let world = world.moved_to(&odd);
    world.human(&["init", "g"]).ok();
    works(&world);
    // The shell lines survive such a path.
    let script = "eval \"$(\"$LIZA\" agent register --role coder --shell)\" && \"$LIZA\" agent heartbeat";
    let mut shell = world.command("sh", &world.root);
    shell.args(["-c", script]).env("LIZA", env!("CARGO_BIN_EXE_liza"));
    Ran::of(shell.finish().unwrap()).ok();
}

#[test]
fn submodules_are_supported() {
    let world = World::bare_repo();
    let library = world.home().join("library");
    world.git(&["clone", "-q", ".", library.to_str().unwrap()]);
    let allow = ["-c", "protocol.file.allow=always"];
    let url = library.to_str().unwrap();
    world.git(&[allow[0], allow[1], "submodule", "add", "-q", url, "vendor/library"]);
    world.commit_all("a submodule");
    world.human(&["init", "g"]).ok();
    works(&world);
    assert_eq!(world.git(&["status", "--porcelain"]), "?? liza.yaml");
    // Inside the submodule is another repository, with its own board or a clear error.
    let inside = world.path("vendor/library");
    let ran = world.liza_in(&HUMAN, &inside, &["--json", "init", "inner"]);
    if ran.exit == 0 {
        assert!(inside.join(".liza/state.yaml").is_file());
        assert_eq!(world.git_in(&inside, &["status", "--porcelain"]), "?? liza.yaml");
        let world = world.moved_to(&inside);
        works(&world);
    } else {
        assert!(ran.json()["error"]["hint"].is_string(), "{}", ran.stdout);
        assert!(!inside.join(".liza").exists());
    }
}

#[test]
fn sparse_checkout_is_supported() {
    let world = World::bare_repo();
    world.write("big/data.txt", "data\n");
    world.write("src/lib.sh", "echo lib\n");
    world.commit_all("more");
    world.git(&["sparse-checkout", "set", "src", "specs", "tests"]);
    assert!(!world.path("big").exists());
    world.human(&["init", "g"]).ok();
    works(&world);
    assert!(!world.path("big").exists());
    assert_eq!(world.git(&["show", "integration:big/data.txt"]), "data");
}

#[test]
fn shallow_clone_is_supported() {
    let world = World::bare_repo();
    for number in 0..3 {
        world.write("n.txt", &format!("{number}\n"));
        world.commit_all("more");
    }
    let shallow = world.home().join("shallow");
    let url = format!("file://{}", world.root.display());
    world.git(&["clone", "-q", "--depth", "1", &url, shallow.to_str().unwrap()]);
    let world = world.moved_to(&shallow);
    world.human(&["init", "g"]).ok();
    works(&world);
}

#[test]
fn init_keeps_existing_files() {
    let world = World::bare_repo();
    world.git(&["branch", "integration"]);
    world.write("late.txt", "late\n");
    world.commit_all("late");
    let config = "version: 1\n# ours\n";
    world.write("liza.yaml", config);
    world.write("specs/vision.md", "# Our own vision\n");
    std::fs::write(world.path(".git/info/exclude"), "# mine\n*.bak").unwrap();
    let data = world.json(&HUMAN, &["init", "g"]).ok().data();
    assert_eq!(world.read("liza.yaml"), config);
    assert_eq!(world.read("specs/vision.md"), "# Our own vision\n");
    // An existing branch is used as it is, and the output says so.
    assert_eq!(world.git(&["rev-parse", "integration"]), world.git(&["rev-parse", "main~1"]));
    assert_eq!(data["integration_head"], world.git(&["rev-parse", "main~1"]));
    assert!(data["created"].to_string().contains("existed"), "{data}");
    let exclude = world.read(".git/info/exclude");
    assert!(exclude.starts_with("# mine\n*.bak\n"), "{exclude}");
    assert_eq!(exclude.matches("/.liza/").count(), 1);
    assert_eq!(exclude.matches("/.worktrees/").count(), 1);
    world.sound();
}

#[test]
fn names_that_clash_in_git_are_reported() {
    // A branch `integration/x` prevents a branch `integration`; liza forces nothing.
    let world = World::bare_repo();
    world.git(&["branch", "integration/x"]);
    let ran = world.json(&HUMAN, &["init", "g"]);
    assert_eq!(ran.exit, 8, "{}", ran.stdout);
    assert!(!world.path(".liza/state.yaml").exists());
    world.human(&["init", "g", "--integration", "trunk"]).ok();
    // The same for a branch called `task`: the claim fails and the task is unchanged.
    let coder = world.register("coder", "coder-1");
    world.task("t1", &["src/"]);
    world.git(&["branch", "task"]);
    let ran = world.json(&coder, &["task", "claim", "t1"]);
    assert_eq!(ran.exit, 8, "{}", ran.stdout);
    assert_eq!(world.status_of("t1"), "IDLE");
    assert!(!world.path(".worktrees/t1").exists());
    world.git(&["branch", "-D", "task"]);
    world.claim(&coder, "t1");
    world.sound();
}

#[test]
fn init_keeps_a_dirty_checkout() {
    let world = World::bare_repo();
    world.write("staged.txt", "staged\n");
    world.git(&["add", "staged.txt"]);
    world.write("staged.txt", "staged and changed\n");
    world.write("README.md", "changed\n");
    world.write("untracked.txt", "untracked\n");
    world.write("liza.yaml", "version: 1\n");
    let before = checkout(&world);
    world.human(&["init", "g"]).ok();
    let coder = world.register("coder", "coder-1");
    let reviewer = world.register("code_reviewer", "reviewer-1");
    world.merge_task(&coder, &reviewer, "t1", "README.md", "from the task\n");
    world.human(&["doctor"]).ok();
    world.sound();
    assert_eq!(checkout(&world), before);
    assert_eq!(world.read("README.md"), "changed\n");
    assert_eq!(world.read("staged.txt"), "staged and changed\n");
}

#[test]
fn files_are_private_under_every_umask() {
    for umask in ["000", "022", "077"] {
        let world = World::bare_repo();
        let run = |who: &crate::support::Who, dir: &Path, line: &str| {
            let mut shell = world.command("sh", dir);
            shell.args(["-c", &format!("umask {umask}; {line}")]);
            shell.env("LIZA", env!("CARGO_BIN_EXE_liza"));
            if let (Some(id), Some(token)) = (&who.id, &who.token) {
                shell.env("LIZA_AGENT_ID", id).env("LIZA_AGENT_TOKEN", token);
            }
            Ran::of(shell.finish().unwrap()).ok()
        };
        run(&HUMAN, &world.root, "$LIZA init g");
        let token = run(&HUMAN, &world.root, "$LIZA --json agent register --role coder").data()["token"]
            .as_str()
            .map(str::to_owned);
        let coder = crate::support::Who { id: Some("coder-1".to_owned()), token };
        world.task_with("t1", &["a.txt"], &["--kind", "docs"]);
        run(&coder, &world.root, "$LIZA task claim t1");
        world.checkpoint(&coder, "t1", &["a.txt"]);
        world.write_and_commit(&world.path(".worktrees/t1"), &[("a.txt", "a\n")]);
        run(&coder, &world.root, "$LIZA task submit t1");
        run(&HUMAN, &world.root, "$LIZA review claim t1 && $LIZA pause --reason x && $LIZA checkpoint");
        run(&HUMAN, &world.root, "$LIZA resume");
        for entry in walkdir::WalkDir::new(world.path(".liza")) {
            let entry = entry.unwrap();
            let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
            let wanted = if entry.file_type().is_dir() { 0o700 } else { 0o600 };
            assert_eq!(mode, wanted, "umask {umask}: {} is {mode:o}", entry.path().display());
        }
    }
}

#[test]
fn world_writable_board_is_refused() {
    let world = World::new();
    let dir = world.path(".liza");
    std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0o777)).unwrap();
    let before = world.bytes();
    let ran = world.json(&HUMAN, &["note", "x"]);
    assert!(matches!(ran.exit, 1 | 6 | 9), "{} {}", ran.exit, ran.stdout);
    assert!(world.bytes() == before);
    std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0o700)).unwrap();
    world.human(&["note", "x"]).ok();
}

#[test]
fn only_a_person_creates_a_board() {
    let world = World::bare_repo();
    let mut command = world.liza_command(&HUMAN, &world.root, &["--json", "init", "g"]);
    command.env("LIZA_AGENT_ID", "coder-1").env("LIZA_AGENT_TOKEN", "x");
    let ran = Ran::of(command.finish().unwrap()).exits(1);
    assert_eq!(ran.code(), "refused.human_only");
    assert!(!world.path(".liza").exists());
}

#[test]
fn hostile_git_variables_change_nothing() {
    let world = World::bare_repo();
    let trap = world.home().join("trap");
    std::fs::create_dir(&trap).unwrap();
    let trap = trap.to_str().unwrap();
    let env = [
        ("GIT_DIR", trap),
        ("GIT_WORK_TREE", trap),
        ("GIT_INDEX_FILE", "/nonexistent/index"),
        ("GIT_OBJECT_DIRECTORY", trap),
        ("GIT_COMMON_DIR", trap),
        ("GIT_NAMESPACE", "trap"),
        ("GIT_CEILING_DIRECTORIES", "/"),
        ("GIT_CONFIG_COUNT", "1"),
        ("GIT_CONFIG_KEY_0", "core.bare"),
        ("GIT_CONFIG_VALUE_0", "true"),
        ("GIT_CONFIG_PARAMETERS", "'core.bare=true'"),
        ("GIT_CONFIG_GLOBAL", "/nonexistent/config"),
    ];
    world.json_env(&HUMAN, &["init", "g"], &env).ok();
    let coder = world.register("coder", "coder-1");
    world.task_with("t1", &["a.txt"], &["--kind", "docs"]);
    world.json_env(&coder, &["task", "claim", "t1"], &env).ok();
    world.checkpoint(&coder, "t1", &["a.txt"]);
    let commit = world.write_and_commit(&world.path(".worktrees/t1"), &[("a.txt", "a\n")]);
    world.json_env(&coder, &["task", "submit", "t1"], &env).ok();
    world.json_env(&HUMAN, &["review", "claim", "t1"], &env).ok();
    world.json_env(&HUMAN, &["review", "approve", "t1", "--commit", &commit], &env).ok();
    world.json_env(&HUMAN, &["merge", "t1"], &env).ok();
    assert_eq!(world.git(&["show", "integration:a.txt"]), "a");
    assert_eq!(std::fs::read_dir(trap).unwrap().count(), 0);
    world.sound();
}

#[test]
fn unsupported_repository_format_is_refused() {
    for (format, word) in [("--object-format=sha256", "sha256"), ("--ref-format=reftable", "refstorage")] {
        let world = World::bare_repo();
        let place = world.home().join("odd");
        let made = world
            .command("git", world.home())
            .args(["init", "-q", format, "odd"])
            .finish()
            .expect("git runs");
        if !made.status.success() {
            continue; // an older git does not know the format, so no user can have such a repository
        }
        std::fs::write(place.join("a"), "x").expect("a file");
        world.git_in(&place, &["add", "-A"]);
        world.git_in(&place, &["commit", "-q", "-m", "start"]);
        let ran = world.liza_in(&HUMAN, &place, &["--json", "init", "x"]).exits(8);
        assert_eq!(ran.code(), "git.unsupported");
        assert!(ran.stdout.contains(word), "{}", ran.stdout);
        assert!(!place.join(".liza").exists());
    }
}
