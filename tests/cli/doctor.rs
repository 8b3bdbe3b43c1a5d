//! Every fault that doctor knows: planted, reported, unchanged without `--fix` and by a dry run, fixed where that is safe.

use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde_json::Value;

use crate::support::process::Bounded as _;
use crate::support::{HUMAN, Who, World, write};

/// Everything below the repository: type, mode and content.
fn tree(world: &World) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
    walkdir::WalkDir::new(&world.root)
        .into_iter()
        .map(|entry| entry.expect("an entry"))
        .map(|entry| {
            let meta = std::fs::symlink_metadata(entry.path()).expect("a file");
            let bytes = if meta.is_file() { std::fs::read(entry.path()).expect("bytes") } else { Vec::new() };
            (entry.path().to_owned(), (meta.mode(), bytes))
        })
        .collect()
}

fn findings(world: &World, args: &[&str], env: &[(&str, &str)]) -> Vec<Value> {
    let mut all = vec!["doctor"];
    all.extend(args);
    let ran = world.json_env(&HUMAN, &all, env);
    let found = ran.data()["findings"].as_array().unwrap_or_else(|| panic!("{}", ran.stdout)).clone();
    let left = found.iter().any(|finding| finding["fixed"] == false);
    assert_eq!(ran.exit, i32::from(left), "{}", ran.stdout);
    found
}

fn codes(found: &[Value]) -> Vec<&str> {
    found.iter().map(|finding| finding["code"].as_str().expect("a code")).collect()
}

/// Doctor reports the fault; neither `doctor`, nor a dry run, nor an agent's call changes a byte.
#[track_caller]
fn found(world: &World, code: &str, env: &[(&str, &str)]) -> Vec<Value> {
    let before = tree(world);
    let looked = findings(world, &[], env);
    assert!(codes(&looked).contains(&code), "{code} in {looked:#?}");
    for finding in &looked {
        for part in ["what", "why", "remedy"] {
            assert!(!finding[part].as_str().expect("text").is_empty(), "{finding}");
        }
    }
    let again = findings(world, &["--fix", "--dry-run"], env);
    assert_eq!(codes(&again), codes(&looked));
    assert!(again.iter().all(|finding| finding["fixed"] == false), "{again:#?}");
    assert_eq!(tree(world), before, "{code}: looking changed something");
    looked
}

/// Doctor finds the fault, fixes it, and then reports nothing.
#[track_caller]
fn found_and_fixed(world: &World, code: &str) {
    let looked = found(world, code, &[]);
    assert!(looked.iter().all(|finding| finding["fixable"] == true), "{code}: {looked:#?}");
    let fixed = findings(world, &["--fix"], &[]);
    assert!(
        codes(&fixed).contains(&code) && fixed.iter().all(|finding| finding["fixed"] == true),
        "{fixed:#?}"
    );
    // A doctor that finds nothing has verified board, log and repository.
    let left = findings(world, &[], &[]);
    assert!(left.is_empty(), "{code}: {left:#?}");
}

/// Doctor reports the fault, leaves it for a person, and reports it again after `--fix`.
#[track_caller]
fn named(world: &World, code: &str) -> String {
    let looked = found(world, code, &[]);
    let before = tree(world);
    let fixed = findings(world, &["--fix"], &[]);
    assert_eq!(codes(&fixed), codes(&looked), "{code}");
    assert_eq!(tree(world), before, "{code}: a fix changed what it may not");
    let one = looked.iter().find(|finding| finding["code"] == code).expect("found");
    assert_eq!(one["fixable"], false, "{one}");
    one["what"].as_str().expect("text").to_owned()
}

struct Scene {
    world: World,
    coder: Who,
    other: Who,
    reviewer: Who,
}

/// A board with a task in every status.
fn busy() -> Scene {
    let world = World::new();
    let (coder, other) = (world.register("coder", "coder-1"), world.register("coder", "coder-2"));
    let reviewer = world.register("code_reviewer", "reviewer-1");
    world.merge_task(&coder, &reviewer, "merged", "m.sh", "echo m\n");
    world.submitted(&coder, "waiting", "w.sh", "echo w\n");
    let commit = world.submitted(&coder, "rejected", "r.sh", "echo r\n");
    world.liza(&reviewer, &["review", "claim", "rejected"]).ok();
    let issue = "major:r.sh:1:it is wrong";
    let reject = ["review", "reject", "rejected", "--commit", &commit, "--reason", "wrong", "--issue", issue];
    world.liza(&reviewer, &reject).ok();
    world.approved(&coder, &reviewer, "approved", "a.sh", "echo a\n");
    world.task("passed-on", &["p.sh"]);
    let worktree = world.claim(&coder, "passed-on");
    write(&worktree, "p.sh", "not committed\n");
    world.liza(&coder, &["task", "handoff", "passed-on", "--summary", "half", "--next", "the rest"]).ok();
    world.claim(&other, "passed-on");
    world.task("given-up", &["g.sh"]);
    let worktree = world.claim(&coder, "given-up");
    world.write_and_commit(&worktree, &[("g.sh", "echo g\n")]);
    world.human(&["task", "abandon", "given-up", "--reason", "no use"]).ok();
    world.task("stuck", &["s.sh"]);
    world.claim(&coder, "stuck");
    world.liza(&coder, &["task", "block", "stuck", "--reason", "unclear", "--question", "which?"]).ok();
    world.task("working", &["x.sh"]);
    world.claim(&coder, "working");
    world.write("by-hand.txt", "x\n");
    world.commit_all("by hand");
    world.human(&["integration", "advance", "main", "--reason", "needed"]).ok();
    world.human(&["note", "hello"]).ok();
    world.human(&["pause", "--task", "stuck"]).ok();
    Scene { world, coder, other, reviewer }
}

fn plant(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().expect("a directory")).expect("made");
    std::fs::write(path, text).expect("written");
}

fn set_age(path: &Path, seconds: u64) {
    let file = if path.is_dir() {
        std::fs::File::open(path).expect("a directory")
    } else {
        std::fs::File::options().append(true).open(path).expect("a file")
    };
    file.set_modified(SystemTime::now() - Duration::from_secs(seconds)).expect("aged");
}

#[test]
fn doctor_finds_nothing_on_healthy_busy_board() {
    let Scene { world, coder, other, reviewer } = busy();
    assert_eq!(findings(&world, &[], &[]), Vec::<Value>::new());
    assert_eq!(findings(&world, &["--fix"], &[]), Vec::<Value>::new());
    world.sound();
    // Agents may run doctor as well; only a person may use `--fix`.
    for who in [&coder, &other, &reviewer] {
        world.json(who, &["doctor"]).ok();
        world.json(who, &["doctor", "--fix", "--dry-run"]).ok();
        world.refused(who, &["doctor", "--fix"], 1, "refused.human_only");
    }
}

#[test]
fn doctor_restores_private_file_modes() {
    let Scene { world, .. } = busy();
    let liza = world.path(".liza");
    let mode = |path: &Path, mode: u32| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("changed");
    };
    let mut wrong_modes = Vec::new();
    for (path, wrong, right) in [
        (liza.clone(), 0o755, 0o700),
        (liza.clone(), 0o777, 0o700),
        (liza.join("tokens"), 0o750, 0o700),
        (liza.join("state.yaml"), 0o644, 0o600),
        (liza.join("log.yaml"), 0o666, 0o600),
        (liza.join("tokens/coder-1"), 0o640, 0o600),
        (liza.join("specs/architecture/roles.md"), 0o622, 0o600),
    ] {
        wrong_modes.push((path.clone(), right));
        mode(&path, wrong);
        if path == liza {
            found_and_fixed(&world, "rights.mode");
        }
    }
    found_and_fixed(&world, "rights.mode");
    for (path, right) in wrong_modes {
        let now = std::fs::metadata(&path).expect("there").mode() & 0o777;
        assert_eq!(now, right, "{}", path.display());
    }
    // A switch made with `touch`, with ordinary permissions, is as good as any.
    std::fs::write(liza.join("PAUSE"), "by hand\n").expect("written");
    mode(&liza.join("PAUSE"), 0o644);
    assert!(findings(&world, &[], &[]).is_empty());
}

#[test]
fn special_files_below_liza_are_named() {
    let Scene { world, .. } = busy();
    let lock = world.path(".liza/merge.lock");
    let _ = std::fs::remove_file(&lock);
    std::os::unix::fs::symlink("/dev/null", &lock).expect("linked");
    named(&world, "file.odd");
    std::fs::remove_file(&lock).expect("removed");
    let edits = world.path(".liza/reports");
    std::fs::rename(&edits, world.home().join("reports")).expect("moved");
    std::os::unix::fs::symlink(world.home().join("reports"), &edits).expect("linked");
    named(&world, "file.odd");
}

#[test]
fn doctor_removes_only_dead_locks_of_liza() {
    if !cfg!(target_os = "linux") {
        return;
    }
    let Scene { world, .. } = busy();
    let git = world.path(".git");
    let ours = [
        "refs/heads/integration.lock",
        "refs/heads/task/working.lock",
        "refs/liza/merges/merged/9.lock",
        "packed-refs.lock",
        "config.lock",
        "worktrees/working/index.lock",
        "worktrees/working/HEAD.lock",
    ];
    for name in ours {
        plant(&git.join(name), "");
        set_age(&git.join(name), 3600);
    }
    let looked = found(&world, "lock.dead", &[]);
    assert_eq!(looked.len(), ours.len(), "{looked:#?}");
    found_and_fixed(&world, "lock.dead");
    assert!(ours.iter().all(|name| !git.join(name).exists()));

    // This process uses them, however old they are.
    let all_ages = |seconds: u64| ours.iter().for_each(|name| set_age(&git.join(name), seconds));
    ours.iter().for_each(|name| plant(&git.join(name), ""));
    let open: Vec<std::fs::File> = ours
        .iter()
        .map(|name| std::fs::File::options().append(true).open(git.join(name)).expect("open"))
        .collect();
    all_ages(3600);
    named(&world, "lock.held");
    let every = |code: &str| {
        let found = findings(&world, &[], &[]);
        assert_eq!(codes(&found), [code; 7], "{found:#?}");
        found
    };
    // A child of another test inherits them until it executes its program.
    let until = std::time::Instant::now() + std::time::Duration::from_secs(60);
    let this = std::process::id().to_string();
    let is_named = |held: &[Value]| {
        ours.iter().all(|name| {
            let of_it = |what: &&str| what.contains(name);
            held.iter()
                .filter_map(|one| one["what"].as_str())
                .find(of_it)
                .expect("the lock is named")
                .contains(&this)
        })
    };
    while !is_named(&every("lock.held")) {
        assert!(std::time::Instant::now() < until, "{:#?}", every("lock.held"));
    }
    drop(open);
    while codes(&findings(&world, &[], &[])).contains(&"lock.held") {
        assert!(std::time::Instant::now() < until, "they are still held");
    }
    // No process uses them, but they are too new to be certain.
    all_ages(60);
    named(&world, "lock.unclear");
    every("lock.unclear");
    // No faults in ordinary work.
    all_ages(0);
    assert!(findings(&world, &[], &[]).is_empty());
    ours.iter().for_each(|name| std::fs::remove_file(git.join(name)).expect("removed"));
    // While a git process works in the repository the lock may be its own.
    let path = git.join("packed-refs.lock");
    plant(&path, "");
    set_age(&path, 3600);
    let mut command = world.command("git", &world.root);
    let mut alive = command
        .args(["cat-file", "--batch"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .start()
        .expect("git starts");
    while std::fs::read_to_string(format!("/proc/{}/comm", alive.id())).unwrap_or_default().trim() != "git" {
        std::thread::yield_now();
    }
    named(&world, "lock.held");
    drop(alive.stdin.take());
    alive.wait().expect("git ends");
    found_and_fixed(&world, "lock.dead");
    // Locks of the user are left alone.
    for name in ["index.lock", "HEAD.lock", "refs/heads/main.lock"] {
        plant(&git.join(name), "");
        set_age(&git.join(name), 3600);
    }
    assert!(findings(&world, &["--fix"], &[]).is_empty());
    assert!(git.join("index.lock").exists());
}

#[test]
fn locks_of_other_programs_are_named() {
    let Scene { world, .. } = busy();
    for name in ["state.yaml.lock.d/pid", "state.lock", ".lock", "liza.pid"] {
        let path = world.path(".liza").join(name);
        plant(&path, "999999\n");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).expect("changed");
        let top = world.path(".liza").join(name.split('/').next().expect("a name"));
        if top.is_dir() {
            std::fs::set_permissions(&top, std::fs::Permissions::from_mode(0o700)).expect("changed");
        }
        let what = named(&world, "lock.foreign");
        assert!(what.contains("999999"), "{what}");
        let _ = std::fs::remove_file(&path);
        let _ = std::fs::remove_dir_all(&top);
    }
    let lock = world.path(".liza/state.yaml.lock");
    std::fs::write(&lock, format!("pid 999999 {}", "x".repeat(900))).expect("written");
    found_and_fixed(&world, "lock.note");
    assert!(world.read(".liza/state.yaml.lock").contains(&format!("\"revision\":{}", world.revision())));
    std::fs::remove_file(&lock).expect("removed");
    found_and_fixed(&world, "lock.missing");
    assert!(world.read(".liza/state.yaml.lock").contains(&format!("\"revision\":{}", world.revision())));
    // A directory in its place stops every command; liza does not guess whose it is.
    std::fs::remove_file(&lock).expect("removed");
    std::fs::create_dir(&lock).expect("made");
    std::fs::set_permissions(&lock, std::fs::Permissions::from_mode(0o700)).expect("changed");
    named(&world, "lock.foreign");
}

#[test]
fn doctor_repairs_broken_worktree_links() {
    let Scene { world, .. } = busy();
    let worktree = world.path(".worktrees/working");
    write(&worktree, "x.sh", "precious\n");
    std::fs::remove_file(worktree.join(".git")).expect("removed");
    found_and_fixed(&world, "worktree.no_git_file");
    assert_eq!(std::fs::read_to_string(worktree.join("x.sh")).expect("text"), "precious\n");
    world.git_in(&worktree, &["status"]);
    // The process that rewrote it may have died before or during the write.
    let whole = std::fs::read(worktree.join(".git")).expect("a file");
    for length in [0, 3, 20, whole.len() - 4] {
        std::fs::write(worktree.join(".git"), &whole[..length]).expect("cut");
        found_and_fixed(&world, "worktree.no_git_file");
        assert_eq!(std::fs::read(worktree.join(".git")).expect("a file"), whole, "{length}");
    }

    // Records whose directory is gone.
    let made = ["worktree", "add", "-q", "--lock", "--reason", "liza: ghost"];
    world.git(&[&made[..], &["-b", "ghost", ".worktrees/ghost"]].concat());
    std::fs::remove_dir_all(world.path(".worktrees/ghost")).expect("removed");
    found_and_fixed(&world, "worktree.stale_record");
    world.git(&[&made[..], &["--detach", ".worktrees/.review/merged", "main"]].concat());
    std::fs::remove_dir_all(world.path(".worktrees/.review/merged")).expect("removed");
    found_and_fixed(&world, "worktree.stale_record");
    assert!(world.git(&["branch", "--list", "ghost"]).contains("ghost"), "branches stay");

    // Unknown worktrees: clean and empty ones are removed, and so are checkouts of no review and no merge.
    for (path, code) in [
        (".worktrees/stranger", "worktree.of_nobody"),
        (".worktrees/.review/stranger", "worktree.of_nobody"),
        (".worktrees/.merge/stranger", "worktree.merge_left"),
    ] {
        world.git(&[&made[..], &["--detach", path, "main"]].concat());
        found_and_fixed(&world, code);
        assert!(!world.path(path).exists());
    }
    std::fs::create_dir(world.path(".worktrees/empty")).expect("made");
    found_and_fixed(&world, "worktree.of_nobody");

    // A worktree that may be the only copy stays.
    std::fs::create_dir(world.path(".worktrees/notes")).expect("made");
    std::fs::write(world.path(".worktrees/notes/idea.md"), "only here\n").expect("written");
    assert!(named(&world, "worktree.of_nobody").contains("files that git does not know"));
    std::fs::remove_dir_all(world.path(".worktrees/notes")).expect("removed");
    world.git(&[&made[..], &["--detach", ".worktrees/mine", "main"]].concat());
    write(&world.path(".worktrees/mine"), "new.txt", "only here\n");
    assert!(named(&world, "worktree.of_nobody").contains("new.txt"));
    world.git_in(&world.path(".worktrees/mine"), &["add", "-A"]);
    world.git_in(&world.path(".worktrees/mine"), &["commit", "-q", "-m", "only here"]);
    assert!(named(&world, "worktree.of_nobody").contains("no other name"));
    std::fs::remove_dir_all(world.path(".worktrees/mine")).expect("removed");
    named(&world, "worktree.stale_record");
}

#[test]
fn doctor_repairs_half_made_worktree_records() {
    let Scene { world, reviewer, .. } = busy();
    let broken = |name: &str, path: &str| {
        let record = world.path(".git/worktrees").join(name);
        plant(&record.join("gitdir"), &format!("{}\n", world.path(path).join(".git").display()));
        plant(&record.join("HEAD"), "ref: refs/heads/main\n");
        plant(&record.join("commondir"), "");
        let mut command = world.command("git", &world.root);
        assert!(!command.arg("branch").finish().expect("git runs").status.success(), "this breaks git");
    };
    for path in [".worktrees/ghost", ".worktrees/.review/ghost", ".worktrees/.merge/ghost"] {
        broken("ghost", path);
        found_and_fixed(&world, "worktree.half_made");
        world.git(&["branch"]);
    }
    // In place of a current review's checkout: the checkout is made again.
    world.liza(&reviewer, &["review", "claim", "waiting"]).ok();
    let checkout = world.read(".worktrees/.review/waiting/.git");
    let record = Path::new(checkout.trim().trim_start_matches("gitdir: ").trim()).to_owned();
    std::fs::write(record.join("commondir"), "").expect("written");
    found_and_fixed(&world, "worktree.half_made");
    world.liza(&reviewer, &["review", "claim", "waiting"]).ok();
    world.git_in(&world.path(".worktrees/.review/waiting"), &["status"]);
    // A worktree that is not liza's is only reported.
    let record = world.path(".git/worktrees/theirs");
    plant(&record.join("gitdir"), "/somewhere/else/.git\n");
    plant(&record.join("HEAD"), "ref: refs/heads/main\n");
    plant(&record.join("commondir"), "");
    let looked = findings(&world, &["--fix"], &[]);
    assert!(codes(&looked).contains(&"worktree.half_made"), "{looked:#?}");
    assert!(record.join("gitdir").exists());
}

#[test]
fn orphan_refs_are_named_and_never_deleted() {
    let Scene { world, .. } = busy();
    for name in [
        "refs/heads/task/ghost",
        "refs/heads/task/working.99",
        "refs/liza/merges/ghost/3",
        "refs/liza/submitted/working/7-1",
        "refs/liza/attempts/ghost/1",
        "refs/liza/somewhere/else",
        "refs/liza/moves/99999",
    ] {
        world.git(&["update-ref", name, "main"]);
        let code = if name.starts_with("refs/heads") { "ref.orphan_branch" } else { "ref.orphan" };
        let what = named(&world, code);
        assert!(what.contains(name.trim_start_matches("refs/heads/")), "{what}");
        let verify = world.json(&HUMAN, &["verify"]).exits(6);
        assert!(verify.stdout.contains(name), "{}", verify.stdout);
        world.git(&["update-ref", "-d", name]);
        world.sound();
    }
}

#[test]
fn temporary_files_of_dead_commands_are_removed() {
    let Scene { world, .. } = busy();
    let liza = world.path(".liza");
    let dead = "999999";
    for dir in ["", "images", "archive", "tokens", "runs/working", "reports", "specs", "schema", "edits"] {
        plant(&liza.join(dir).join(format!(".some.yaml.{dead}.tmp")), "half");
    }
    std::fs::set_permissions(liza.join("runs/working"), std::fs::Permissions::from_mode(0o700)).expect("set");
    for file in walkdir::WalkDir::new(&liza).into_iter().flatten().filter(|file| file.file_type().is_file()) {
        std::fs::set_permissions(file.path(), std::fs::Permissions::from_mode(0o600)).expect("set");
    }
    plant(&world.path(&format!(".git/info/.exclude.{dead}.tmp")), "half");
    let scratch = world.home().join(format!("tmp/liza-scratch-{dead}-abc"));
    plant(&scratch.join("index"), "half");
    // Files that are this new may be in use by a process that doctor cannot see.
    assert!(findings(&world, &["--fix"], &[]).is_empty());
    for file in walkdir::WalkDir::new(&world.root).into_iter().flatten() {
        if file.file_name().to_string_lossy().ends_with(".tmp") {
            set_age(file.path(), 120);
        }
    }
    set_age(&scratch, 120);
    let looked = found(&world, "leftover.temporary", &[]);
    assert_eq!(looked.len(), 11, "{looked:#?}");
    found_and_fixed(&world, "leftover.temporary");
    assert!(!scratch.exists());
    // Files of a running command, and of another program.
    for name in [".notes.tmp", "x.tmp", ".a.b.tmp"] {
        plant(&liza.join(name), "mine");
        set_age(&liza.join(name), 120);
        std::fs::set_permissions(liza.join(name), std::fs::Permissions::from_mode(0o600)).expect("set");
    }
    assert!(findings(&world, &["--fix"], &[]).is_empty());
}

/// Doctor finds everything that a kill during a write can leave.
#[test]
fn leftovers_of_a_killed_commit_are_removed() {
    let Scene { world, .. } = busy();
    for point in ["commit.6-written", "commit.6", "commit.5", "commit.8"] {
        let ran = world.json_env(&HUMAN, &["note", "x"], &[("LIZA_CRASH_AT", point)]);
        assert_ne!(ran.exit, 0, "{point}");
        for file in walkdir::WalkDir::new(world.path(".liza")).into_iter().flatten() {
            if file.file_name().to_string_lossy().ends_with(".tmp") {
                set_age(file.path(), 120);
            }
        }
        if point.starts_with("commit.6") {
            found_and_fixed(&world, "leftover.temporary");
        }
        world.human(&["note", "y"]).ok();
        assert!(findings(&world, &[], &[]).is_empty(), "{point}: {:#?}", findings(&world, &[], &[]));
        world.sound();
    }
}

#[test]
fn doctor_reports_unmatched_tokens_and_agents() {
    let Scene { world, .. } = busy();
    plant(&world.path(".liza/tokens/ghost-7"), "secret\n");
    std::fs::set_permissions(world.path(".liza/tokens/ghost-7"), std::fs::Permissions::from_mode(0o600))
        .expect("set");
    found_and_fixed(&world, "agent.stray_token");
    let token = world.path(".liza/tokens/coder-1");
    let good = std::fs::read(&token).expect("a token");
    std::fs::write(&token, "another\n").expect("written");
    assert!(named(&world, "agent.no_token").contains("coder-1"));
    std::fs::remove_file(&token).expect("removed");
    assert!(named(&world, "agent.no_token").contains("gone"));
    std::fs::write(&token, good).expect("written");
    std::fs::set_permissions(&token, std::fs::Permissions::from_mode(0o600)).expect("set");
    // A retired agent needs no token.
    world.human(&["agent", "retire", "coder-2"]).ok();
    std::fs::remove_file(world.path(".liza/tokens/coder-2")).expect("removed");
    assert!(findings(&world, &[], &[]).is_empty());
}

#[test]
fn doctor_keeps_liza_files_out_of_git() {
    let Scene { world, .. } = busy();
    std::fs::write(world.path(".git/info/exclude"), "# mine\n*.o").expect("written");
    found_and_fixed(&world, "git.exclude");
    assert!(world.read(".git/info/exclude").starts_with("# mine\n*.o\n/.liza/\n"));
    world.git(&["add", "-f", ".liza/state.yaml"]);
    assert!(named(&world, "git.tracked").contains("state.yaml"));
    world.git(&["rm", "-q", "--cached", ".liza/state.yaml"]);
    assert!(findings(&world, &[], &[]).is_empty());
}

#[test]
fn dangerous_git_settings_are_named() {
    let Scene { world, .. } = busy();
    for (key, value) in [
        ("gc.pruneExpire", "now"),
        ("core.sharedRepository", "group"),
        ("core.fsyncMethod", "writeout-only"),
        ("core.ignoreCase", "true"),
    ] {
        world.git(&["config", key, value]);
        let what = named(&world, "git.setting").to_lowercase();
        assert!(what.contains(&key.to_lowercase()), "{what}");
        world.git(&["config", "--unset", key]);
    }
    world.git(&["config", "extensions.worktreeConfig", "true"]);
    assert!(named(&world, "git.not_accepted").contains("extensions.worktreeconfig"));
    world.human(&["doctor", "--accept-git"]).ok();
    assert!(findings(&world, &[], &[]).is_empty());
    world.git_in(&world.path(".worktrees/working"), &["config", "--worktree", "core.hooksPath", "/nowhere"]);
    assert!(named(&world, "git.setting").contains("working"));
    world.git_in(&world.path(".worktrees/working"), &["config", "--worktree", "--unset", "core.hooksPath"]);
    assert!(findings(&world, &[], &[]).is_empty());
    // Settings that git cannot read at all: the doctor still answers.
    let config = world.read(".git/config");
    std::fs::write(world.path(".git/config"), format!("{config}\n[broken\n")).expect("written");
    let looked = findings(&world, &[], &[]);
    assert!(codes(&looked).contains(&"git.unusable"), "{looked:#?}");
    std::fs::write(world.path(".git/config"), config).expect("written");
    assert!(findings(&world, &[], &[]).is_empty());
}

#[test]
fn doctor_reports_old_or_missing_git() {
    let Scene { world, .. } = busy();
    let bin = world.home().join("bin");
    let git = bin.join("git");
    let path = format!("{}:/usr/bin:/bin", bin.display());
    plant(
        &git,
        "#!/bin/sh\ncase \" $* \" in *' version '*) echo 'git version 2.30.1' ;; *) exec /usr/bin/git \"$@\" ;; esac\n",
    );
    std::fs::set_permissions(&git, std::fs::Permissions::from_mode(0o755)).expect("set");
    let looked = found(&world, "git.version", &[("PATH", &path)]);
    assert!(looked[0]["what"].as_str().expect("text").contains("2.30"), "{looked:#?}");
    let empty = world.home().join("empty");
    std::fs::create_dir(&empty).expect("made");
    found(&world, "git.missing", &[("PATH", empty.to_str().expect("text"))]);
}

#[test]
fn doctor_checks_disk_space_and_clock() {
    let Scene { world, .. } = busy();
    found(&world, "machine.disk", &[("LIZA_TEST_FREE_BYTES", "1000000")]);
    assert!(findings(&world, &[], &[("LIZA_TEST_FREE_BYTES", "1000000000")]).is_empty());
    found(&world, "machine.clock", &[("LIZA_TEST_WALL_SHIFT", "-86400")]);
    found(&world, "machine.clock", &[("LIZA_TEST_WALL_SHIFT", "-1800000000")]);
    assert!(findings(&world, &[], &[("LIZA_TEST_WALL_SHIFT", "-60")]).is_empty());
    // Written with a clock far ahead: reported until the clock catches up.
    world.json_env(&HUMAN, &["note", "from the future"], &[("LIZA_TEST_WALL_SHIFT", "8640000")]).ok();
    named(&world, "machine.clock");
}

#[test]
fn switch_for_unknown_id_is_named() {
    let Scene { world, .. } = busy();
    plant(&world.path(".liza/PAUSE-ghost"), "");
    std::fs::set_permissions(world.path(".liza/PAUSE-ghost"), std::fs::Permissions::from_mode(0o600))
        .expect("set");
    assert!(named(&world, "switch.unknown").contains("ghost"));
    std::fs::rename(world.path(".liza/PAUSE-ghost"), world.path(".liza/PAUSE-coder-1")).expect("renamed");
    assert!(findings(&world, &[], &[]).is_empty());
}

#[test]
fn refused_edits_stay_until_resume() {
    let Scene { world, .. } = busy();
    world.human(&["pause", "--reason", "for lunch"]).ok();
    for number in [7, 8] {
        world.edit_state("tier0_violations: 0", &format!("tier0_violations: {number}"));
        world.human(&["note", "x"]).exits(6);
    }
    let looked = found(&world, "edit.refused", &[]);
    assert_eq!(codes(&looked), ["edit.refused", "edit.refused"]);
    let reported = |number: u32| {
        let line = format!("+  tier0_violations: {number}");
        looked.iter().any(|finding| finding["what"].as_str().expect("text").contains(&line))
    };
    assert!(reported(7) && reported(8), "{looked:#?}");
    world.human(&["resume"]).ok();
    assert!(findings(&world, &[], &[]).is_empty());
    let kept = std::fs::read_dir(world.path(".liza/edits")).expect("kept").count();
    assert_eq!(kept, 2, "seen, and still there");
}

#[test]
fn doctor_ends_interrupted_work() {
    let Scene { world, reviewer, coder, .. } = busy();
    world.human(&["resume"]).ok();
    let ran = world.json_env(&reviewer, &["merge", "approved"], &[("LIZA_CRASH_AT", "merge.moved")]);
    assert_ne!(ran.exit, 0);
    world.human(&["verify"]).ok();
    found_and_fixed(&world, "intent.dead");
    assert_eq!(world.status_of("approved"), "MERGED");
    world.task("next", &["n.sh"]);
    world.liza(&coder, &["task", "release", "working"]).ok();
    let ran = world.json_env(&coder, &["task", "claim", "next"], &[("LIZA_CRASH_AT", "claim.added")]);
    assert_ne!(ran.exit, 0);
    world.human(&["verify"]).ok();
    found_and_fixed(&world, "intent.dead");
    assert_eq!(world.status_of("next"), "IDLE");
}
