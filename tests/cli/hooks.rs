//! Git hooks: installed beside existing hooks; they refuse forbidden commits and moves, and allow everything else.

mod commits;

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::support::{HUMAN, Ran, Who, World};

const NAMES: [&str; 4] = ["pre-commit", "commit-msg", "pre-push", "reference-transaction"];

fn with_hooks() -> World {
    let world = World::bare_repo();
    world.human(&["init", "A greeting program", "--hooks"]).ok();
    world
}

fn hook(world: &World, name: &str) -> PathBuf {
    world.path(".git/hooks").join(name)
}

fn script(path: &Path, text: &str, mode: u32) {
    std::fs::write(path, text).expect("a hook");
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("a mode");
}

/// Name, mode, and bytes or target of everything in a directory.
fn listing(dir: &Path) -> BTreeMap<String, (u32, Vec<u8>)> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(dir).expect("a directory").flatten() {
        let path = entry.path();
        let meta = std::fs::symlink_metadata(&path).expect("an entry");
        let content = match std::fs::read_link(&path) {
            Ok(target) => target.display().to_string().into_bytes(),
            Err(_) if meta.is_dir() => format!("{:?}", listing(&path).keys()).into_bytes(),
            Err(_) => std::fs::read(&path).expect("a file"),
        };
        found.insert(entry.file_name().to_string_lossy().into_owned(), (meta.permissions().mode(), content));
    }
    found
}

fn status(world: &World) -> serde_json::Value {
    world.json(&HUMAN, &["hooks", "status"]).ok().data()
}

/// A task claimed and announced, and its worktree.
fn working(world: &World, coder: &Who) -> PathBuf {
    world.task("t1", &["src/", "tests/test_a.sh"]);
    let worktree = world.claim(coder, "t1");
    world.checkpoint(coder, "t1", &["src/a.sh", "tests/test_a.sh"]);
    worktree
}

fn commit_as(world: &World, who: &Who, dir: &Path, file: &str) -> Ran {
    super::support::write(dir, file, "echo work\n");
    world.git_as(&HUMAN, dir, &["add", "-f", "--", file], &[]).ok();
    world.git_as(who, dir, &["commit", "-q", "-m", "work"], &[])
}

#[test]
fn hook_lines_come_first_and_uninstall_cleanly() {
    let world = World::new();
    let notes = world.home().join("notes");
    let note = |name: &str| format!("echo {name} >> '{}'\n", notes.display());
    script(&hook(&world, "pre-commit"), &format!("#!/bin/sh -eu\n{}exit 0\n", note("mine")), 0o755);
    script(
        &hook(&world, "reference-transaction"),
        &format!(
            "#!/bin/bash\nset -euo pipefail\n[ \"$1\" = prepared ] || exit 0\nwc -l < /dev/stdin >> '{0}'\n",
            notes.display()
        ),
        0o700,
    );
    script(&hook(&world, "pre-push"), "#!/usr/bin/env python3\nimport sys\nsys.exit(0)\n", 0o755);
    let elsewhere = world.home().join("shared-commit-msg");
    script(&elsewhere, &format!("#!/bin/sh\n{}", note("linked")), 0o755);
    std::os::unix::fs::symlink(&elsewhere, hook(&world, "commit-msg")).expect("a link");
    let before = listing(&world.path(".git/hooks"));
    let shared = std::fs::read(&elsewhere).expect("a file");

    world.human(&["hooks", "install"]).ok();
    let installed = listing(&world.path(".git/hooks"));
    let again = world.human(&["hooks", "install"]).ok();
    assert_eq!(again.stdout.matches("there already").count(), 4, "{}", again.stdout);
    assert_eq!(listing(&world.path(".git/hooks")), installed, "twice is once");
    assert_eq!(std::fs::read(&elsewhere).expect("a file"), shared, "a link is not written through");
    assert!(status(&world)["active"].as_bool().unwrap_or_default(), "{}", status(&world));
    assert_eq!(
        std::fs::metadata(hook(&world, "reference-transaction")).unwrap().permissions().mode() & 0o777,
        0o700
    );

    world.write("a.txt", "a\n");
    world.commit_all("with hooks");
    let noted = std::fs::read_to_string(&notes).expect("notes");
    assert!(noted.contains("mine") && noted.contains("linked"), "{noted}");
    assert!(
        noted.lines().any(|line| line.trim().parse::<u32>().is_ok_and(|lines| lines > 0)),
        "it is fed: {noted}"
    );

    world.human(&["hooks", "uninstall"]).ok();
    assert_eq!(listing(&world.path(".git/hooks")), before);
    let nothing = world.human(&["hooks", "uninstall"]).ok();
    assert!(nothing.stdout.contains("no git hook of liza"), "{}", nothing.stdout);
}

#[test]
fn inactive_hook_stays_inactive() {
    let world = World::new();
    script(&hook(&world, "pre-commit"), "#!/bin/sh\nexit 1\n", 0o644);
    let before = listing(&world.path(".git/hooks"));
    world.human(&["hooks", "install"]).ok();
    world.write("a.txt", "a\n");
    world.commit_all("the disabled hook stays disabled");
    world.human(&["hooks", "uninstall"]).ok();
    assert_eq!(listing(&world.path(".git/hooks")), before);
}

#[test]
fn refusal_of_existing_hook_still_counts() {
    let world = World::new();
    script(&hook(&world, "pre-commit"), "#!/usr/bin/env python3\nimport sys\nsys.exit(1)\n", 0o755);
    script(&hook(&world, "commit-msg"), "#!/bin/sh\ngrep -q ticket \"$1\"\n", 0o755);
    world.human(&["hooks", "install"]).ok();
    assert_eq!(commit_as(&world, &HUMAN, &world.root, "a.txt").exit, 1);
    std::fs::remove_file(hook(&world, "pre-commit.before-liza")).expect("the kept one");
    assert_eq!(commit_as(&world, &HUMAN, &world.root, "a.txt").exit, 1, "no ticket in the message");
    world.git(&["commit", "-q", "-m", "ticket 1"]);
}

/// Hook managers link one program under many names, and it reads its own name.
#[test]
fn install_keeps_hook_names_and_first_lines() {
    let world = World::new();
    let notes = world.home().join("notes");
    let dispatcher = hook(&world, "_run.sh");
    script(&dispatcher, &format!("#!/bin/sh\nbasename \"$0\" >> '{}'\n", notes.display()), 0o755);
    std::os::unix::fs::symlink("_run.sh", hook(&world, "commit-msg")).expect("a link");
    let polyglot = "#!/bin/sh\n'''exec' python3 \"$0\" \"$@\"\n' '''\nimport sys\nsys.exit(0)\n";
    script(&hook(&world, "pre-commit"), polyglot, 0o755);
    let before = listing(&world.path(".git/hooks"));
    world.human(&["hooks", "install"]).ok();
    world.human(&["hooks", "install"]).ok();
    world.write("a.txt", "a\n");
    world.commit_all("both run");
    assert_eq!(std::fs::read_to_string(&notes).expect("notes"), "commit-msg\n");
    world.human(&["hooks", "uninstall"]).ok();
    assert_eq!(listing(&world.path(".git/hooks")), before);
}

#[test]
fn uninstall_keeps_lines_added_to_the_hook() {
    let world = World::new();
    script(&hook(&world, "pre-commit"), "#!/usr/bin/env python3\n", 0o755);
    world.human(&["hooks", "install"]).ok();
    let with = std::fs::read_to_string(hook(&world, "pre-commit")).expect("the hook") + "echo mine\n";
    script(&hook(&world, "pre-commit"), &with, 0o755);
    world.human(&["hooks", "install"]).ok();
    assert_eq!(std::fs::read_to_string(hook(&world, "pre-commit")).expect("the hook"), with);
    let ran = world.human(&["hooks", "uninstall"]).ok();
    assert!(ran.stdout.contains("pre-commit.before-liza"), "{}", ran.stdout);
    assert_eq!(
        std::fs::read_to_string(hook(&world, "pre-commit")).expect("the hook"),
        "#!/bin/sh\necho mine\n"
    );
}

#[test]
fn status_never_runs_the_users_hook() {
    let world = World::new();
    let note = world.home().join("fired");
    let own = format!("#!/bin/sh\n# inicializa y normaliza\ntouch '{}'\n", note.display());
    script(&hook(&world, "pre-commit"), &own, 0o755);
    assert_eq!(status(&world)["active"], false);
    assert!(!note.exists());
}

#[test]
fn agents_cannot_change_hooks() {
    let world = World::new();
    let coder = world.register("coder", "coder-1");
    world.refused(&coder, &["hooks", "install"], 1, "refused.human_only");
    world.human(&["hooks", "install"]).ok();
    world.refused(&coder, &["hooks", "uninstall"], 1, "refused.human_only");
    assert!(status(&world)["active"].as_bool().unwrap_or_default());
}

/// Every ordinary way of moving a branch.
#[test]
fn hook_refuses_moves_of_integration() {
    let world = with_hooks();
    let (coder, reviewer) = (world.register("coder", "coder-1"), world.register("code_reviewer", "rev-1"));
    world.merge_task(&coder, &reviewer, "t0", "zero.sh", "echo zero\n");
    let head = world.git(&["rev-parse", "integration"]);
    world.write("more.txt", "more\n");
    world.commit_all("more");
    let other = world.home().join("other");
    world.git(&["clone", "-q", ".", other.to_str().unwrap()]);
    world.git_in(&other, &["checkout", "-q", "-b", "ahead", "origin/integration"]);
    world.git_in(&other, &["commit", "-q", "--allow-empty", "-m", "foreign"]);
    let mine = world.home().join("mine");
    world.git(&["worktree", "add", "-q", mine.to_str().unwrap(), "integration"]);
    let wt = world.home().join("wt");
    let (root, wt) = (world.root.clone(), wt.to_str().unwrap().to_owned());
    let url = world.root.to_str().unwrap().to_owned();
    let ways: Vec<(&str, &Path, Vec<&str>)> = vec![
        ("update-ref", &root, vec!["update-ref", "refs/heads/integration", "main"]),
        ("update-ref with the old value", &root, vec!["update-ref", "refs/heads/integration", "main", &head]),
        ("update-ref -d", &root, vec!["update-ref", "-d", "refs/heads/integration"]),
        ("commit --no-verify", &mine, vec!["commit", "-q", "--no-verify", "--allow-empty", "-m", "x"]),
        ("commit --amend", &mine, vec!["commit", "-q", "--amend", "-m", "x"]),
        ("reset --hard", &mine, vec!["reset", "-q", "--hard", "HEAD~1"]),
        ("reset --soft", &mine, vec!["reset", "-q", "--soft", "main"]),
        ("merge --ff", &mine, vec!["merge", "-q", "main", "-m", "x"]),
        ("pull", &mine, vec!["pull", "-q", "--no-rebase", "--no-edit", other.to_str().unwrap(), "HEAD"]),
        ("rebase", &mine, vec!["rebase", "-q", "--force-rebase", "main"]),
        ("cherry-pick", &mine, vec!["cherry-pick", "main"]),
        ("symbolic-ref", &root, vec!["symbolic-ref", "refs/heads/integration", "refs/heads/main"]),
    ];
    let try_all = |ways: Vec<(&str, &Path, Vec<&str>)>| {
        for (what, dir, args) in ways {
            let ran = world.git_as(&HUMAN, dir, &args, &[]);
            assert_ne!(ran.exit, 0, "{what}: {}{}", ran.stdout, ran.stderr);
            assert_eq!(world.git(&["rev-parse", "integration"]), head, "{what} moved it");
            assert!(
                ran.stderr.contains("liza integration advance"),
                "{what} was refused for another reason: {}",
                ran.stderr
            );
            let _ = world.git_as(&HUMAN, dir, &["rebase", "--abort"], &[]);
            let _ = world.git_as(&HUMAN, dir, &["cherry-pick", "--abort"], &[]);
            let _ = world.git_as(&HUMAN, dir, &["reset", "-q", "--hard"], &[]);
        }
    };
    try_all(ways);
    // The same where it is not checked out.
    world.git(&["worktree", "remove", "--force", mine.to_str().unwrap()]);
    try_all(vec![
        ("push", &other, vec!["push", "-q", &url, "HEAD:integration"]),
        ("push --force", &other, vec!["push", "-q", "-f", &url, "+HEAD:refs/heads/integration"]),
        ("push --delete", &other, vec!["push", "-q", &url, ":integration"]),
        ("branch -f", &root, vec!["branch", "-q", "-f", "integration", "main"]),
        ("branch -D", &root, vec!["branch", "-q", "-D", "integration"]),
        ("branch -m", &root, vec!["branch", "-m", "integration", "elsewhere"]),
        ("checkout -B", &root, vec!["checkout", "-q", "-B", "integration", "main"]),
        ("switch -C", &root, vec!["switch", "-q", "-C", "integration", "main"]),
        ("fetch +", &root, vec!["fetch", "-q", other.to_str().unwrap(), "+HEAD:integration"]),
        ("worktree add -B", &root, vec!["worktree", "add", "-q", "-B", "integration", &wt, "main"]),
    ]);
    // From outside of the repository, and with packed refs.
    world.git(&["pack-refs", "--all"]);
    let git_dir = format!("--git-dir={}", world.path(".git").display());
    try_all(vec![
        ("--git-dir", world.home(), vec![&git_dir, "update-ref", "refs/heads/integration", "main"]),
        ("branch -D of a packed ref", &root, vec!["branch", "-q", "-D", "integration"]),
    ]);
    world.git(&["pack-refs", "--all", "--no-prune"]);
    try_all(vec![(
        "update-ref -d, loose and packed",
        &root,
        vec!["update-ref", "-d", "refs/heads/integration", &head],
    )]);
    world.json(&HUMAN, &["verify"]).ok();
}

/// Git removes the old name first and does not restore it: the refusal says which commit it had.
#[test]
fn a_branch_renamed_onto_integration_is_not_lost() {
    let world = with_hooks();
    world.write("more.txt", "more\n");
    world.commit_all("more");
    let (head, main) = (world.git(&["rev-parse", "integration"]), world.git(&["rev-parse", "main"]));
    let ran = world.git_as(&HUMAN, &world.root, &["branch", "-M", "main", "integration"], &[]).exits(128);
    assert_eq!(world.git(&["rev-parse", "integration"]), head);
    assert!(ran.stderr.contains(&format!("git branch NAME {main}")), "{}", ran.stderr);
    world.git(&["branch", "main", &main]);
    world.git(&["status"]);
}

/// The ways around a hook: each moves the branch, and `verify` and every command that would build on it notice.
#[test]
fn move_without_the_hook_stops_later_commands() {
    let world = with_hooks();
    let (coder, reviewer) = (world.register("coder", "coder-1"), world.register("code_reviewer", "rev-1"));
    world.approved(&coder, &reviewer, "ready", "ready.sh", "echo ready\n");
    world.submitted(&coder, "submitted", "submitted.sh", "echo submitted\n");
    let worktree = working(&world, &coder);
    commit_as(&world, &coder, &worktree, "src/a.sh").ok();
    commit_as(&world, &coder, &worktree, "tests/test_a.sh").ok();
    world.task("idle", &["idle/"]);
    let head = world.git(&["rev-parse", "integration"]);
    world.write("foreign.txt", "foreign\n");
    world.commit_all("past everything");
    let foreign = world.git(&["rev-parse", "main"]);
    let url = world.root.to_str().unwrap().to_owned();
    let push = [
        "push",
        "-q",
        "--receive-pack=git -c core.hooksPath=/dev/null receive-pack",
        &url,
        "main:integration",
    ];
    let update = ["update-ref", "refs/heads/integration", foreign.as_str()];
    let by_setting = ["-c", "core.hooksPath=/dev/null", "update-ref", "refs/heads/integration", &foreign];
    let by_environment = [
        ("GIT_CONFIG_COUNT", "1"),
        ("GIT_CONFIG_KEY_0", "core.hooksPath"),
        ("GIT_CONFIG_VALUE_0", "/dev/null"),
    ];
    let hook_file = hook(&world, "reference-transaction");
    let text = std::fs::read_to_string(&hook_file).expect("the hook");
    let ways: [(&str, &dyn Fn()); 6] = [
        ("-c core.hooksPath", &|| drop(world.git_as(&HUMAN, &world.root, &by_setting, &[]).ok())),
        ("GIT_CONFIG_*", &|| drop(world.git_as(&HUMAN, &world.root, &update, &by_environment).ok())),
        ("chmod -x", &|| {
            script(&hook_file, &text, 0o644);
            world.git_as(&HUMAN, &world.root, &update, &[]).ok();
            script(&hook_file, &text, 0o755);
        }),
        ("a file written", &|| {
            std::fs::write(world.path(".git/refs/heads/integration"), format!("{foreign}\n")).expect("a ref");
        }),
        ("libgit2", &|| {
            let repo = git2::Repository::open(&world.root).expect("the repository");
            let id = git2::Oid::from_str(&foreign).expect("an id");
            repo.reference("refs/heads/integration", id, true, "past").expect("a ref");
        }),
        ("--receive-pack", &|| drop(world.git_as(&HUMAN, &world.root, &push, &[]).ok())),
    ];
    for (what, way) in ways {
        way();
        assert_eq!(world.git(&["rev-parse", "integration"]), foreign, "{what} passes the hook");
        let verify = world.json(&HUMAN, &["verify"]).exits(6);
        assert!(verify.stdout.contains(&foreign[..7]), "{what}: {}", verify.stdout);
        for (who, args) in [
            (&coder, vec!["task", "submit", "t1"]),
            (&coder, vec!["task", "sync", "t1"]),
            (&coder, vec!["next", "--role", "coder"]),
            (&HUMAN, vec!["task", "claim", "idle"]),
            (&reviewer, vec!["review", "claim", "submitted"]),
            (&reviewer, vec!["merge", "ready"]),
            (&HUMAN, vec!["deliver", "--to", "release", "--create"]),
        ] {
            let error = world.refused(who, &args, 6, "board.integration_moved");
            assert_eq!(error["details"]["evidence"]["from"], head.as_str(), "{what} {args:?}");
            assert_eq!(error["details"]["evidence"]["to"], foreign.as_str(), "{what} {args:?}");
            assert!(error["message"].as_str().unwrap().contains("past everything"), "{error}");
        }
        assert_eq!(world.human(&["doctor"]).exit, 1, "{what}");
        // Current work can still be saved, and a person moves the branch back through the hook.
        world.liza(&coder, &["task", "renew", "t1"]).ok();
        world.git_as(&HUMAN, &world.root, &["update-ref", "refs/heads/integration", &head], &[]).ok();
        world.json(&HUMAN, &["verify"]).ok();
    }
    // Or accepts the move, and work continues.
    world.git_as(&HUMAN, &world.root, &by_setting, &[]).ok();
    world.human(&["integration", "advance", "integration", "--reason", "it is what we want"]).ok();
    world.liza(&reviewer, &["merge", "ready"]).ok();
    world.liza(&coder, &["task", "submit", "t1"]).ok();
    world.json(&HUMAN, &["verify"]).ok();
}

#[test]
fn doctor_reports_hooks_that_do_not_run() {
    let world = with_hooks();
    world.human(&["doctor"]).ok();
    script(&hook(&world, "pre-push"), "#!/bin/sh\n", 0o755);
    let found = world.json(&HUMAN, &["doctor"]).exits(1).data();
    assert_eq!(found["findings"][0]["code"], "hooks.inactive", "{found}");
    assert!(found["findings"][0]["what"].as_str().unwrap().contains("pre-push"), "{found}");
    world.human(&["hooks", "uninstall"]).ok();
    world.human(&["doctor"]).ok();
}

#[test]
fn hook_refuses_moves_under_another_ref_name() {
    let world = with_hooks();
    let head = world.git(&["rev-parse", "integration"]);
    world.write("more.txt", "more\n");
    world.commit_all("more");
    world.git(&["symbolic-ref", "refs/heads/alias", "refs/heads/integration"]);
    let ran = world.git_as(&HUMAN, &world.root, &["update-ref", "refs/heads/alias", "main"], &[]);
    assert_ne!(ran.exit, 0);
    assert_eq!(world.git(&["rev-parse", "integration"]), head);
    // Another branch may be moved freely.
    world.git(&["branch", "integration2"]);
    world.git(&["branch", "-f", "integration2", "main~1"]);
}

/// The environment names another board than the hook's repository.
#[test]
fn hooks_ignore_hostile_environment() {
    let (world, other) = (with_hooks(), World::new());
    world.write("more.txt", "more\n");
    world.commit_all("more");
    let head = world.git(&["rev-parse", "integration"]);
    let elsewhere = other.path(".liza");
    for env in [
        ("LIZA_DIR", elsewhere.to_str().unwrap()),
        ("LIZA_HOOK_PROBE", "/dev/null"),
        ("LIZA_HOOK_TIMEOUT", "0"),
        ("LIZA_AGENT_ID", "ghost"),
    ] {
        let ran = world.git_as(&HUMAN, &world.root, &["branch", "-f", "integration", "main"], &[env]);
        assert_ne!(ran.exit, 0, "{env:?}");
        assert_eq!(world.git(&["rev-parse", "integration"]), head, "{env:?}");
    }
}

#[test]
fn hooks_allow_git_housekeeping_and_liza() {
    let world = with_hooks();
    let (coder, reviewer) = (world.register("coder", "coder-1"), world.register("code_reviewer", "rev-1"));
    // The commits of this test show who makes them.
    let commit = |file: &str, id: &str| {
        world.task(id, &[file, &format!("tests/test_{id}.sh")]);
        let worktree = world.claim(&coder, id);
        let test = format!("tests/test_{id}.sh");
        world.checkpoint(&coder, id, &[file, &test]);
        commit_as(&world, &coder, &worktree, file).ok();
        commit_as(&world, &coder, &worktree, &test).ok();
        worktree
    };
    for id in ["t1", "t2"] {
        commit(&format!("{id}.sh"), id);
        let sha = world.json(&coder, &["task", "submit", id]).ok().data()["review_commit"]
            .as_str()
            .unwrap()
            .to_owned();
        world.approve(&reviewer, id, &sha);
        world.liza(&reviewer, &["merge", id]).ok();
        for keeping in [
            vec!["pack-refs", "--all"],
            vec!["pack-refs", "--all", "--no-prune"],
            vec!["gc", "-q"],
            vec!["gc", "-q", "--prune=now"],
            vec!["repack", "-adq"],
            vec!["update-ref", "refs/heads/integration", "integration"],
            vec!["branch", "-f", "integration", "integration"],
            vec!["fetch", "-q", ".", "+integration:integration"],
        ] {
            let ran = world.git_as(&HUMAN, &world.root, &keeping, &[]);
            assert_eq!(ran.exit, 0, "{keeping:?}: {}", ran.stderr);
        }
    }
    let worktree = commit("t3.sh", "t3");
    world.write("upstream.txt", "up\n");
    world.commit_all("upstream");
    world.human(&["integration", "advance", "main", "--reason", "upstream"]).ok();
    world.liza(&coder, &["task", "sync", "t3"]).ok();
    assert!(worktree.join("upstream.txt").exists());
    world.human(&["deliver", "--to", "release", "--create"]).ok();
    world.json(&HUMAN, &["verify"]).ok();
}

#[test]
fn hooks_without_liza_protect_only_integration() {
    let world = with_hooks();
    world.write("more.txt", "more\n");
    world.commit_all("more");
    let head = world.git(&["rev-parse", "integration"]);
    let hanging = world.home().join("hanging");
    script(&hanging, "#!/bin/sh\nsleep 600\n", 0o755);
    let broken = world.home().join("broken");
    script(&broken, "#!/bin/sh\nkill -9 $$\n", 0o755);
    for (what, program) in [
        ("gone", "/no/such/liza"),
        ("hanging", hanging.to_str().unwrap()),
        ("broken", broken.to_str().unwrap()),
    ] {
        for name in NAMES {
            let text = std::fs::read_to_string(hook(&world, name)).expect("a hook");
            let at =
                text.lines().find(|line| line.starts_with("liza_program='")).expect("the program").to_owned();
            script(&hook(&world, name), &text.replace(&at, &format!("liza_program='{program}'")), 0o755);
        }
        let env = [("LIZA_HOOK_TIMEOUT", "1"), ("PATH", "/usr/bin:/bin")];
        let ran = world.git_as(&HUMAN, &world.root, &["branch", "-f", "integration", "main"], &env);
        assert_ne!(ran.exit, 0, "{what}");
        assert!(ran.stderr.contains("does not move"), "{what}: {}", ran.stderr);
        assert_eq!(world.git(&["rev-parse", "integration"]), head, "{what}");
        // Git's own housekeeping leaves the branch where it is, and a branch renamed onto it is not lost.
        for keeping in [["pack-refs", "--all"], ["gc", "-q"], ["branch", "renamed"]] {
            world.git_as(&HUMAN, &world.root, &keeping, &env).ok();
        }
        let lost = world.git(&["rev-parse", "renamed"]);
        let ran =
            world.git_as(&HUMAN, &world.root, &["branch", "-M", "renamed", "integration"], &env).exits(128);
        assert!(ran.stderr.contains(&format!("git branch NAME {lost}")), "{what}: {}", ran.stderr);
        world.write("more.txt", what);
        world.git_as(&HUMAN, &world.root, &["commit", "-q", "-am", what], &env).ok();
        world.git_as(&HUMAN, &world.root, &["branch", "-f", "other", "main~1"], &env).ok();
    }
}

#[test]
fn hooks_status_probes_whether_git_runs_them() {
    let world = World::new();
    assert_eq!(status(&world)["active"], false);
    world.human(&["hooks", "install"]).ok();
    let found = status(&world);
    assert_eq!(found["active"], true, "{found}");
    for name in NAMES {
        script(&hook(&world, name), &std::fs::read_to_string(hook(&world, name)).unwrap(), 0o644);
        let found = status(&world);
        assert_eq!(found["active"], false, "{name}: {found}");
        let inactive: Vec<&str> = found["hooks"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|one| one["active"] == false)
            .map(|one| one["hook"].as_str().unwrap())
            .collect();
        assert_eq!(inactive, [name]);
        world.human(&["hooks", "install"]).ok();
    }
    // A later setting disables them silently; the probe notices.
    world.git(&["config", "core.hooksPath", "/nowhere"]);
    assert_eq!(status(&world)["active"], false);
    let text = world.human(&["hooks", "status"]).ok();
    assert!(text.stdout.contains("hooks are inactive"), "{}", text.stdout);
}

#[test]
fn install_leaves_hooks_of_managers_alone() {
    let cases: [(&str, &str, &str); 4] = [
        ("lefthook", "pre-commit", "#!/bin/sh\ncall_lefthook() { :; }\n"),
        (
            "pre-commit",
            "pre-commit",
            "#!/usr/bin/env bash\n# File generated by pre-commit: https://pre-commit.com\n",
        ),
        ("husky", "pre-push", "#!/bin/sh\n# husky\n"),
        ("overcommit", "commit-msg", "#!/usr/bin/env ruby\n# overcommit\n"),
    ];
    for (manager, name, text) in cases {
        let world = World::new();
        script(&hook(&world, name), text, 0o755);
        let before = listing(&world.path(".git/hooks"));
        let answer = world.json(&HUMAN, &["hooks", "install"]).ok().data();
        assert_eq!(answer["manager"], manager);
        assert!(
            answer["lines"].as_str().unwrap().contains("liza hooks run pre-commit")
                || manager == "overcommit",
            "{answer}"
        );
        assert_eq!(listing(&world.path(".git/hooks")), before, "{manager}");
        assert_eq!(status(&world)["active"], false, "{manager}");
        if manager == "lefthook" || manager == "pre-commit" {
            world.human(&["hooks", "install", "--beside"]).ok();
            world.git(&["commit", "-q", "--allow-empty", "-m", "x"]);
            world.git_as(&HUMAN, &world.root, &["branch", "-f", "integration", "main"], &[]).exits(128);
            world.human(&["hooks", "uninstall"]).ok();
            assert_eq!(listing(&world.path(".git/hooks")), before, "{manager}");
        }
    }
}

#[test]
fn custom_hooks_path_is_left_alone() {
    for path in [".githooks", ".husky/_"] {
        let world = World::new();
        let dir = world.path(path);
        std::fs::create_dir_all(&dir).expect("a directory");
        world.git(&["config", "core.hooksPath", path]);
        let ran = world.human(&["hooks", "install"]).ok();
        assert!(
            ran.stdout.contains("Nothing was installed") && ran.stdout.contains("liza hooks run"),
            "{}",
            ran.stdout
        );
        assert!(listing(&dir).is_empty(), "{path}");
        assert!(!hook(&world, "pre-commit").exists(), "{path}");
        assert_eq!(status(&world)["active"], false);
        // A person adds the printed lines to the manager's configuration.
        let liza = env!("CARGO_BIN_EXE_liza");
        for name in NAMES {
            script(
                &dir.join(name),
                &format!("#!/bin/sh\n'{liza}' hooks run {name} -- \"$@\" || exit 1\n"),
                0o755,
            );
        }
        // A relative path is another directory in every worktree, and empty there.
        assert_eq!(status(&world)["active"], false, "{}", status(&world));
        let coder = world.register("coder", "coder-1");
        let worktree = working(&world, &coder);
        let found = status(&world);
        assert!(
            found["hooks"][0]["path"].as_str().unwrap().starts_with(worktree.to_str().unwrap()),
            "{found}"
        );
        world.git(&["config", "core.hooksPath", dir.to_str().unwrap()]);
        assert_eq!(status(&world)["active"], true, "{}", status(&world));
        world.git(&["commit", "-q", "--allow-empty", "-m", "x"]);
        world.git_as(&HUMAN, &world.root, &["branch", "-f", "integration", "main"], &[]).exits(128);
    }
    // A path outside of the repository is shared with other repositories.
    let world = World::new();
    let shared = world.home().join("shared");
    std::fs::create_dir_all(&shared).expect("a directory");
    world.git(&["config", "--global", "core.hooksPath", shared.to_str().unwrap()]);
    let ran = world.human(&["hooks", "install"]).ok();
    assert!(ran.stdout.contains("other repositories may share"), "{}", ran.stdout);
    assert!(listing(&shared).is_empty());
}

#[test]
fn init_installs_hooks_only_when_asked() {
    let world = World::bare_repo();
    world.human(&["init", "A goal"]).ok();
    assert!(!hook(&world, "pre-commit").exists());
    let world = with_hooks();
    assert!(NAMES.iter().all(|name| hook(&world, name).exists()));
    assert_eq!(status(&world)["wanted"], true);
}

/// Entries for the pre-commit framework do what the hooks do.
#[test]
fn pre_commit_framework_entries_run() {
    let world = World::new();
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(".pre-commit-hooks.yaml"))
        .unwrap();
    let entries: Vec<Vec<&str>> = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("entry: liza "))
        .map(|entry| entry.split(' ').collect())
        .collect();
    assert_eq!(entries.len(), 3);
    world.write("message", "fine\n");
    for mut entry in entries {
        if entry.contains(&"commit-msg") {
            entry.push("message");
        }
        world.human(&entry).ok();
    }
    let coder = world.register("coder", "coder-1");
    let worktree = working(&world, &coder);
    let commit = commit_as(&world, &coder, &worktree, "src/a.sh").ok();
    assert_eq!(commit.stderr, "");
    let head = world.git_in(&worktree, &["rev-parse", "HEAD"]);
    let env = [
        ("PRE_COMMIT_LOCAL_BRANCH", "refs/heads/task/t1"),
        ("PRE_COMMIT_REMOTE_BRANCH", "refs/heads/task/t1"),
        ("PRE_COMMIT_TO_REF", head.as_str()),
    ];
    world.json_env(&HUMAN, &["hooks", "run", "pre-push", "--"], &env).exits(1);
}
