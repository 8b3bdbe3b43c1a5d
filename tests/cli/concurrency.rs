//! Many processes on one board: no acknowledged change is lost or overwritten, and locks exclude each other.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::process::{Bounded as _, Running};
use crate::support::{HUMAN, Ran, Who, World, sweep, write};

/// Waits for a condition; a generous deadline only keeps a broken test from hanging for ever.
#[track_caller]
pub fn wait_for(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !condition() {
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Whether a signal has stopped the process.
pub fn is_stopped(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .ok()
        .and_then(|stat| stat.rsplit_once(')').map(|(_, rest)| rest.trim_start().starts_with('T')))
        .unwrap_or(false)
}

pub fn signal(pid: u32, name: &str) {
    let status =
        Command::new("kill").arg(format!("-{name}")).arg(pid.to_string()).finish_status().expect("kill runs");
    assert!(status.success(), "kill -{name} {pid}");
}

impl World {
    /// Starts liza and waits until it stops at the named point.
    #[track_caller]
    pub fn stopped_at(&self, who: &Who, point: &str, args: &[&str]) -> Running {
        let mut command = self.liza_command(who, &self.root, args);
        command.env("LIZA_STOP_AT", point).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.start().expect("liza starts");
        wait_for(point, || is_stopped(child.id()));
        child
    }

    /// Every record of the log.
    pub fn log_records(&self) -> Vec<Value> {
        self.read(".liza/log.yaml")
            .lines()
            .map(|line| serde_json::from_str(line.strip_prefix("- ").expect("a list item")).expect("JSON"))
            .collect()
    }

    #[track_caller]
    pub fn revisions_are_contiguous(&self) {
        let found: Vec<u64> = self
            .log_records()
            .iter()
            .map(|record| record["revision"].as_u64().expect("a revision"))
            .collect();
        let wanted: Vec<u64> = (1..=found.len() as u64).collect();
        assert_eq!(found, wanted);
        assert_eq!(self.revision(), found.len() as u64);
    }
}

/// Lets a stopped process go on and end.
#[track_caller]
pub fn go_on(child: Running) -> Ran {
    signal(child.id(), "CONT");
    Ran::of(child.wait_with_output().expect("liza ends"))
}

/// `workers` workers start together, each running `each` commands one after the other.
fn notes_at_once(world: &World, workers: usize, each: usize) {
    let barrier = Barrier::new(workers);
    let acknowledged: Vec<Vec<(u64, String, String)>> = std::thread::scope(|scope| {
        let started: Vec<_> = (0..workers)
            .map(|worker| {
                let barrier = &barrier;
                scope.spawn(move || {
                    barrier.wait();
                    (0..each)
                        .map(|number| {
                            let text = format!("note {number} of worker {worker}");
                            let mut command =
                                world.liza_command(&HUMAN, &world.root, &["--json", "note", &text]);
                            // On a slow machine a process may wait long for the lock.
                            command.env("LIZA_LOCK_TIMEOUT", "300");
                            let answer = Ran::of(command.finish().expect("liza runs")).ok().json();
                            let id = answer["data"]["id"].as_str().expect("an id").to_owned();
                            (answer["revision"].as_u64().expect("a revision"), id, text)
                        })
                        .collect()
                })
            })
            .collect();
        started.into_iter().map(|worker| worker.join().expect("a worker")).collect()
    });
    let records = world.log_records();
    world.revisions_are_contiguous();
    let state = world.state();
    let mut seen = BTreeSet::new();
    for worker in &acknowledged {
        assert!(worker.is_sorted(), "a later answer of one worker has a higher revision");
        for (revision, id, text) in worker {
            assert!(seen.insert(*revision), "revision {revision} was given twice");
            let record = &records[usize::try_from(*revision).expect("small") - 1];
            assert_eq!(record["do"]["add_note"]["text"], text.as_str());
            assert!(state.contains(&format!("id: {id}")) && state.contains(text.as_str()), "{text}");
        }
    }
    assert_eq!(seen.len(), workers * each);
    assert_eq!(state.matches("of worker ").count(), workers * each);
    world.sound();
}

#[test]
fn sixteen_concurrent_processes_lose_no_write() {
    notes_at_once(&World::new(), 16, sweep(5, 50));
}

#[test]
fn thirty_two_concurrent_processes_lose_no_write() {
    notes_at_once(&World::new(), 32, sweep(2, 20));
}

#[test]
fn losers_of_a_claim_race_see_the_winner() {
    let world = World::new();
    world.task("t1", &["a.txt"]);
    let agents: Vec<Who> =
        (0..16).map(|number| world.register("coder", &format!("coder-{number}"))).collect();
    let barrier = Barrier::new(agents.len());
    let answers: Vec<Ran> = std::thread::scope(|scope| {
        let started: Vec<_> = agents
            .iter()
            .map(|agent| {
                let (barrier, world) = (&barrier, &world);
                scope.spawn(move || {
                    barrier.wait();
                    world.json(agent, &["task", "claim", "t1"])
                })
            })
            .collect();
        started.into_iter().map(|claim| claim.join().expect("a claim")).collect()
    });
    let winners: Vec<usize> = (0..16).filter(|at| answers[*at].exit == 0).collect();
    assert_eq!(winners.len(), 1, "{answers:#?}");
    let winner = agents[winners[0]].id.clone().expect("an id");
    for (at, answer) in answers.iter().enumerate().filter(|(at, _)| *at != winners[0]) {
        assert_eq!(answer.exit, 3, "{at}: {answer:?}");
        let message = answer.json()["error"]["message"].as_str().expect("a message").to_owned();
        assert!(message.contains(&winner), "the loser sees the winner: {message}");
    }
    let task = world.show("t1");
    assert_eq!((task["status"].as_str(), task["assigned_to"].as_str()), (Some("WORKING"), Some(&*winner)));
    let data = answers[winners[0]].data();
    let worktree = PathBuf::from(data["worktree"].as_str().expect("a worktree"));
    assert_eq!(world.git_in(&worktree, &["status", "--porcelain"]), "");
    assert_eq!(
        world.git_in(&worktree, &["rev-parse", "HEAD"]),
        data["base_commit"].as_str().expect("a base")
    );
    assert_eq!(std::fs::read_dir(world.path(".worktrees")).expect("worktrees").count(), 1);
    assert_eq!(world.git(&["for-each-ref", "--format=%(refname)", "refs/heads/task"]).lines().count(), 1);
    world.sound();
    // The winner can work with its claim.
    world.checkpoint(&agents[winners[0]], "t1", &["a.txt"]);
}

#[test]
fn eight_disjoint_tasks_are_claimed_at_once() {
    let world = World::new();
    let agents: Vec<Who> = (0..8)
        .map(|number| {
            world.task(&format!("t{number}"), &[&format!("dir{number}/")]);
            world.register("coder", &format!("coder-{number}"))
        })
        .collect();
    let barrier = Barrier::new(agents.len());
    let worktrees: BTreeSet<PathBuf> = std::thread::scope(|scope| {
        let started: Vec<_> = agents
            .iter()
            .enumerate()
            .map(|(number, agent)| {
                let (barrier, world) = (&barrier, &world);
                scope.spawn(move || {
                    barrier.wait();
                    world.claim(agent, &format!("t{number}"))
                })
            })
            .collect();
        started.into_iter().map(|claim| claim.join().expect("a claim")).collect()
    });
    assert_eq!(worktrees.len(), 8);
    for worktree in &worktrees {
        assert_eq!(world.git_in(worktree, &["status", "--porcelain"]), "");
    }
    world.sound();
    world.git(&["fsck", "--no-dangling"]);
}

#[test]
fn readers_see_complete_boards_in_order() {
    use liza::board::rules::AddNote;
    use liza::board::{Credentials, Needs, Transition};
    use liza::store::{Proposal, Store};

    // Each of them enlarges the board, and four readers read all of it meanwhile.
    let commits: u64 = sweep(120, 600);
    const READERS: usize = 4;
    let world = World::new();
    let dir = world.path(".liza");
    let done = AtomicBool::new(false);
    let reads = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..READERS {
            scope.spawn(|| {
                let store = Store::new(&dir);
                let (mut last, mut count) = (0, 0);
                while !done.load(Ordering::Relaxed) {
                    let bytes = std::fs::read(store.blackboard()).expect("the state is always there");
                    let raw = liza::wire::state::Decoded::new(bytes).expect("a whole board").board.revision;
                    assert!(raw >= last, "revision {last} was followed by {raw}");
                    let snapshot = store.read(&Needs::Everything).expect("a whole board");
                    assert!(snapshot.board.revision >= raw && snapshot.warning.is_none());
                    last = snapshot.board.revision;
                    count += 2;
                }
                reads.fetch_add(count, Ordering::Relaxed);
            });
        }
        let store = Store::new(&dir);
        for number in 0..commits {
            let what: Transition = AddNote { text: format!("note {number}"), task: None }.into();
            let proposal = Proposal { credentials: &Credentials::Human, what, request: None };
            store.commit_any(proposal, &liza::host::now()).expect("a commit");
        }
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(world.revision(), commits + 1);
    assert!(reads.load(Ordering::Relaxed) >= READERS as u64);
    world.revisions_are_contiguous();
    world.human(&["validate"]).ok();
}

#[test]
fn renewal_and_takeover_never_both_succeed() {
    let world = World::new();
    for round in 0..6 {
        let task = format!("t{round}");
        world.task(&task, &[&format!("{task}/")]);
        let first = world.register("coder", &format!("first-{round}"));
        let second = world.register("coder", &format!("second-{round}"));
        world.claim(&first, &task);
        let epoch = world.show(&task)["epoch"].as_u64().expect("an epoch");
        // The lease has expired for both of them.
        let late = |who: &Who, args: &[&str]| {
            let mut command = world.liza_command(who, &world.root, args);
            command.env("LIZA_TEST_ADVANCE", "4000").env("LIZA_CLAIM", format!("{task}:{epoch}"));
            Ran::of(command.finish().expect("liza runs"))
        };
        let barrier = Barrier::new(2);
        let (renewal, takeover) = std::thread::scope(|scope| {
            let renewal = scope.spawn(|| {
                barrier.wait();
                late(&first, &["--json", "task", "renew", &task])
            });
            let takeover = scope.spawn(|| {
                barrier.wait();
                let mut command =
                    world.liza_command(&second, &world.root, &["--json", "task", "claim", &task]);
                command.env("LIZA_TEST_ADVANCE", "4000");
                Ran::of(command.finish().expect("liza runs"))
            });
            (renewal.join().expect("a renewal"), takeover.join().expect("a takeover"))
        });
        let task_now = world.show(&task);
        let holder = task_now["assigned_to"].as_str().expect("a holder").to_owned();
        if takeover.exit == 0 {
            assert_eq!(holder, format!("second-{round}"));
            // A renewal that came first was valid then; afterwards the holder is fenced.
            let after = late(&first, &["--json", "task", "renew", &task]);
            assert_eq!(after.exit, 3, "{after:?}");
        } else {
            assert_eq!((renewal.exit, takeover.exit), (0, 3), "{renewal:?}\n{takeover:?}");
            assert_eq!(holder, format!("first-{round}"));
            assert_eq!(task_now["epoch"].as_u64(), Some(epoch));
        }
        world.json(&HUMAN, &["task", "abandon", &task, "--reason", "done with it"]).ok();
    }
    world.sound();
}

#[test]
fn stale_holder_is_fenced_in_every_command() {
    let world = World::new();
    world.task("t1", &["a.txt", "tests/"]);
    let first = world.register("coder", "first");
    let second = world.register("coder", "second");
    let dead = world.claim(&first, "t1");
    world.checkpoint(&first, "t1", &["a.txt"]);
    let takeover = world
        .liza_with(&second, &["--json", "task", "claim", "t1"], b"", &[("LIZA_TEST_ADVANCE", "4000")])
        .ok();
    let alive = PathBuf::from(takeover.data()["worktree"].as_str().expect("a worktree"));
    assert_ne!(dead, alive);
    // The stale holder wakes up and goes on in a worktree that is no longer used.
    world.write_and_commit(&dead, &[("a.txt", "from the past\n")]);
    let before = world.state();
    for args in [
        &["task", "renew", "t1"][..],
        &["task", "submit", "t1"],
        &["task", "release", "t1"],
        &["task", "handoff", "t1", "--summary", "s", "--next", "n"],
        &["task", "sync", "t1"],
        &[
            "task",
            "checkpoint",
            "t1",
            "--intent",
            "i",
            "--risks",
            "r",
            "--validate",
            "true",
            "--expect",
            "",
            "--file",
            "a.txt",
        ],
    ] {
        for claim in ["", "t1:1"] {
            let ran = world.liza_with(&first, args, b"", &[("LIZA_CLAIM", claim)]);
            assert!(matches!(ran.exit, 1..=3), "{args:?} {claim}: {ran:?}");
            assert_eq!(world.state(), before, "{args:?}");
        }
    }
    assert!(!alive.join("a.txt").exists());
    world.sound();
}

/// Holds the lock as a shell would, until dropped.
struct ShellLock(Running);

impl ShellLock {
    fn on(world: &World) -> Self {
        use std::io::Read as _;
        let mut command = world.command("flock", &world.root);
        command.args([".liza/state.yaml.lock", "sh", "-c", "echo held; exec cat"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).start().expect("flock starts");
        let mut said = [0; 5];
        child.stdout.as_mut().expect("a pipe").read_exact(&mut said).expect("it says so");
        Self(child)
    }
}

impl Drop for ShellLock {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

#[test]
fn flock_in_a_shell_excludes_liza() {
    if Command::new("flock").arg("--version").finish().is_err() {
        return;
    }
    let world = World::new();
    let before = world.state();
    let held = ShellLock::on(&world);
    let ran = world.liza_with(&HUMAN, &["note", "hello"], b"", &[("LIZA_LOCK_TIMEOUT", "0.3")]).exits(4);
    // `flock FILE COMMAND` forks; the kernel's table names the process that took the lock.
    let named_process: Option<u32> = ran
        .stderr
        .split("process ")
        .nth(1)
        .and_then(|rest| rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok());
    assert_eq!(named_process, Some(held.0.id()), "{}", ran.stderr);
    assert_eq!(world.state(), before);
    // Reading needs no lock.
    world.human(&["status"]).ok();
    world.human(&["validate"]).ok();
    drop(held);
    world.human(&["note", "hello"]).ok();
    world.sound();
}

#[test]
fn lizas_lock_excludes_flock_in_a_shell() {
    if Command::new("flock").arg("--version").finish().is_err() {
        return;
    }
    let world = World::new();
    let holder = world.stopped_at(&HUMAN, "commit.2", &["note", "one"]);
    let mut command = world.command("flock", &world.root);
    command.args(["--nonblock", "--conflict-exit-code", "77", ".liza/state.yaml.lock", "true"]);
    assert_eq!(command.finish_status().expect("flock runs").code(), Some(77));
    go_on(holder).ok();
    assert_eq!(command.finish_status().expect("flock runs").code(), Some(0));
}

#[test]
fn wait_message_names_stopped_lock_holder() {
    let world = World::new();
    for point in ["commit.1", "commit.4", "commit.5", "commit.6", "commit.7"] {
        let holder = world.stopped_at(&HUMAN, point, &["note", "from the stopped one"]);
        let before = world.state();
        let ran = world.liza_with(&HUMAN, &["note", "me too"], b"", &[("LIZA_LOCK_TIMEOUT", "0.2")]).exits(4);
        let pid = holder.id().to_string();
        assert!(ran.stderr.contains(&pid) && ran.stderr.contains("stopped"), "{point}: {}", ran.stderr);
        assert!(ran.stderr.contains("note from the stopped one"), "{point}: {}", ran.stderr);
        assert_eq!(world.state(), before, "{point}");
        go_on(holder).ok();
        world.human(&["note", "me too"]).ok();
        world.revisions_are_contiguous();
    }
    world.sound();
}

/// A refusal that no longer holds once the lock is acquired: nothing is changed, and the same command works.
#[test]
fn sync_resumed_while_waiting_records_nothing() {
    let world = World::new();
    let coder = world.register("coder", "coder-1");
    world.task("t1", &["a.txt"]);
    let worktree = world.claim(&coder, "t1");
    world.write("upstream.txt", "a fix\n");
    world.commit_all("upstream fix");
    world.human(&["integration", "advance", "main", "--reason", "fix"]).ok();
    world.human(&["pause"]).ok();
    let syncing = world.stopped_at(&coder, "commit.1", &["task", "sync", "t1"]);
    std::fs::remove_file(world.path(".liza/PAUSE")).expect("removed");
    let before = world.bytes();
    go_on(syncing).exits(3);
    assert!(world.bytes() == before, "asking changed the board");
    world.liza(&coder, &["task", "sync", "t1"]).ok();
    let base = world.git(&["rev-parse", "integration"]);
    assert!(world.state().contains(&base), "the board names the base");
    world.git_in(&worktree, &["merge-base", "--is-ancestor", &base, "HEAD"]);
    world.sound();
}

/// A refusal that still holds under the lock changes nothing.
#[test]
fn sync_refused_under_the_lock_changes_nothing() {
    let world = World::new();
    let coder = world.register("coder", "coder-1");
    world.task("t1", &["a.txt"]);
    world.claim(&coder, "t1");
    world.human(&["pause"]).ok();
    let before = world.bytes();
    world.liza(&coder, &["task", "sync", "t1"]).exits(5);
    assert!(world.bytes() == before);
}

#[test]
fn killed_lock_holder_releases_lock_at_once() {
    let world = World::new();
    for _ in 0..20 {
        let holder = world.stopped_at(&HUMAN, "commit.4", &["note", "never"]);
        signal(holder.id(), "KILL");
        let _ = holder.wait_with_output();
        world.liza_with(&HUMAN, &["note", "next"], b"", &[("LIZA_LOCK_TIMEOUT", "0")]).ok();
    }
    assert!(!world.state().contains("never"));
    world.sound();
}

#[test]
fn deleted_lock_file_causes_no_double_commit() {
    let world = World::new();
    for point in ["commit.1", "commit.4", "commit.5", "commit.6-written"] {
        let holder = world.stopped_at(&HUMAN, point, &["note", "the first one"]);
        std::fs::remove_file(world.path(".liza/state.yaml.lock")).expect("removed");
        // A second command creates a new lock file and commits, or fails on the log of the first; both are allowed.
        let other = world.human(&["note", "the other one"]);
        let first = go_on(holder);
        assert_ne!(first.exit, 0, "{point}: the lock it held excluded no process: {first:?}");
        assert_eq!(other.exit, 0, "{point}: {other:?}");
        world.human(&["note", "afterwards"]).ok();
        world.revisions_are_contiguous();
        assert!(!world.state().contains("the first one"), "{point}");
        world.sound();
    }
}

#[test]
fn state_replaced_during_commit_is_kept() {
    let world = World::new();
    for point in ["commit.2", "commit.5", "commit.6-written"] {
        let before = world.state();
        let holder = world.stopped_at(&HUMAN, point, &["note", "mine"]);
        let edited = before.replace("A greeting program", "A program for greetings");
        std::fs::write(world.path(".liza/state.yaml.new"), &edited).expect("written");
        std::fs::rename(world.path(".liza/state.yaml.new"), world.path(".liza/state.yaml")).expect("renamed");
        let ran = go_on(holder).exits(6);
        assert!(ran.stderr.contains("changed by another program"), "{point}: {}", ran.stderr);
        assert_eq!(world.state(), edited, "{point}: what the editor saved is still there");
        // The next command adopts it, as any edit by hand.
        world.human(&["note", "again"]).ok();
        assert!(world.state().contains("A program for greetings"), "{point}");
        world.sound();
        world.write(
            ".liza/state.yaml",
            &world.state().replace("A program for greetings", "A greeting program"),
        );
        world.human(&["note", "and back"]).ok();
        // An agent's command settles the edit at once.
        let coder = world.register("coder", "coder-1");
        let holder = world.stopped_at(&coder, point, &["note", "mine, too"]);
        world.edit_state("A greeting program", "A program for greetings");
        let ran = go_on(holder).ok();
        assert!(ran.stderr.contains("set aside"), "{point}: {}", ran.stderr);
        assert!(
            world.state().contains("A greeting program") && world.state().contains("mine, too"),
            "{point}"
        );
        world.human(&["note", "applies it"]).ok();
        world.edit_state("A program for greetings", "A greeting program");
        world.human(&["note", "and back"]).ok();
        world.sound();
    }
}

#[test]
fn validation_inherits_no_lock_and_no_secret() {
    let world = World::new();
    world.task("t1", &["a.txt", "tests/"]);
    let coder = world.register("coder", "coder-1");
    let worktree = world.claim(&coder, "t1");
    let list = "ls -l /proc/self/fd; env; echo listed";
    let args = [
        "task",
        "checkpoint",
        "t1",
        "--intent",
        "the files say what the spec asks for",
        "--risks",
        "none",
        "--validate",
        list,
        "--expect",
        "listed",
        "--file",
        "a.txt",
        "--file",
        "tests/a.sh",
    ];
    world.liza(&coder, &args).ok();
    world.write_and_commit(&worktree, &[("a.txt", "a\n"), ("tests/a.sh", "true\n")]);
    world.liza(&coder, &["task", "submit", "t1"]).ok();
    let log = walk(&world.path(".liza/runs")).into_iter().find(|path| path.ends_with("validation.log"));
    let text = std::fs::read_to_string(log.expect("a log")).expect("text");
    let descriptors: Vec<&str> = text.lines().filter(|line| line.contains(" -> ")).collect();
    assert!(descriptors.len() >= 3, "{text}");
    assert!(!descriptors.iter().any(|line| line.contains(".liza")), "{text}");
    assert!(!text.contains(coder.token.as_deref().expect("a token")), "{text}");
}

#[test]
fn git_hook_inherits_no_lock() {
    let world = World::new();
    let coder = world.register("coder", "coder-1");
    world.task("t1", &["a.txt"]);
    let seen = world.home().join("descriptors");
    let hook = world.path(".git/hooks/post-checkout");
    write(
        &world.root,
        ".git/hooks/post-checkout",
        &format!("#!/bin/sh\nls -l /proc/self/fd > {}\n", seen.display()),
    );
    make_executable(&hook);
    world.human(&["doctor", "--accept-git"]).ok();
    world.claim(&coder, "t1");
    let text = std::fs::read_to_string(&seen).expect("the hook ran");
    assert!(!text.contains("state.yaml.lock"), "{text}");
}

#[test]
fn read_commands_take_no_git_lock() {
    let world = World::new();
    let coder = world.register("coder", "coder-1");
    world.task("t1", &["a.txt"]);
    let worktree = world.claim(&coder, "t1");
    let admin = world.path(".git/worktrees/t1");
    // With the index locked by another process, a command that wanted the lock would fail or wait.
    std::fs::write(admin.join("index.lock"), "").expect("written");
    std::fs::write(world.path(".git/index.lock"), "").expect("written");
    let index = std::fs::read(admin.join("index")).expect("an index");
    // A changed time makes git want to refresh its index.
    write(&worktree, "README.md", "hello\n");
    for args in
        [&["status"][..], &["task", "show", "t1"], &["diff", "t1"], &["validate"], &["verify"], &["log"]]
    {
        world.human(args).ok();
    }
    assert_eq!(std::fs::read(admin.join("index")).expect("an index"), index);
}

pub fn make_executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("made executable");
}

pub fn walk(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).expect("a directory").flatten() {
        if entry.path().is_dir() {
            found.extend(walk(&entry.path()));
        } else {
            found.push(entry.path());
        }
    }
    found
}

#[test]
fn merge_during_claim_is_not_a_foreign_move() {
    let world = World::new();
    let coder = world.register("coder", "coder-1");
    let other = world.register("coder", "coder-2");
    let reviewer = world.register("code_reviewer", "reviewer-1");
    world.approved(&coder, &reviewer, "t1", "a.sh", "echo a\n");
    world.task("t2", &["b.sh"]);
    // The command has read the board, but not yet the branch.
    let claim = world.stopped_at(&other, "moved.look", &["task", "claim", "t2"]);
    world.liza(&reviewer, &["merge", "t1"]).ok();
    go_on(claim).ok();
    assert_eq!(world.status_of("t2"), "WORKING");
    world.sound();
}
