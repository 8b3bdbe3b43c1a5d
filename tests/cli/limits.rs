//! Limits of sizes, waits, output and threads: a clear error, never a hang, a panic or a lost answer.

use std::fs::{File, OpenOptions};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::process::Bounded as _;
use crate::support::{HUMAN, Ran, World};

/// A plan whose tasks have descriptions of that many bytes.
fn plan(tasks: usize, bytes: usize) -> String {
    let text = "x".repeat(bytes);
    let task = |number: usize| {
        format!(
            "- id: p{number}\n  title: p{number}\n  spec_ref: specs/vision.md\n  done_when: [\"{text}\"]\n  scope: {{ in: [\"p{number}.sh\"] }}\n"
        )
    };
    format!("tasks:\n{}", (0..tasks).map(task).collect::<String>())
}

#[test]
fn plan_beyond_board_limit_is_refused_with_numbers() {
    let world = World::new();
    world.human(&["note", "before"]).ok();
    let before = world.bytes();
    let limit = [("LIZA_TEST_LARGEST_STATE", "65536")];
    let text = plan(3, 30_000);
    let args = ["--json", "plan", "-"];
    let ran = world.liza_with(&HUMAN, &args, text.as_bytes(), &limit);
    assert_eq!((ran.exit, ran.code().as_str()), (1, "refused.limit"), "{:.1000}", ran.stdout);
    let message = ran.json()["error"]["message"].as_str().expect("a message").to_owned();
    assert!(message.contains("bytes large") && message.contains("57344"), "{message}");
    assert!(world.bytes() == before, "nothing is written");
    // The same plan within the limit is accepted, and all acknowledged tasks can be read.
    world.liza_with(&HUMAN, &args, text.as_bytes(), &[]).ok();
    world.sound();
}

#[test]
fn full_board_still_accepts_bookkeeping() {
    let world = World::new();
    let coder = world.register("coder", "coder-1");
    world.task("t1", &["a.sh"]);
    let size = world.bytes().0.len();
    let limit = (size + 6_000).to_string();
    let limited = [("LIZA_TEST_LARGEST_STATE", limit.as_str())];
    let long = "x".repeat(5_000);
    let refused = world.liza_with(&HUMAN, &["--json", "note", &long], b"", &limited);
    assert_eq!((refused.exit, refused.code().as_str()), (1, "refused.limit"), "{refused:?}");
    world.liza_with(&coder, &["task", "claim", "t1"], b"", &limited).ok();
    world.liza_with(&coder, &["task", "release", "t1"], b"", &limited).ok();
    world.sound();
}

#[test]
fn full_output_device_is_an_error() {
    let Ok(full) = OpenOptions::new().write(true).open("/dev/full") else {
        crate::support::skip("there is no /dev/full here");
        return;
    };
    let world = World::new();
    for args in [["status"].as_slice(), &["--json", "status"], &["--help"], &["note", "hello"]] {
        let mut command = world.liza_command(&HUMAN, &world.root, args);
        command.stdout(full.try_clone().expect("a handle")).stderr(Stdio::piped());
        let ran = Ran::of(command.start().expect("liza").wait_with_output().expect("an end"));
        assert!(ran.exit > 0 && ran.exit < 100, "{args:?}: {ran:?}");
        assert!(ran.stderr.contains("standard output"), "{args:?}: {ran:?}");
    }
}

#[test]
fn closed_pipe_ends_quietly() {
    let world = World::new();
    for args in [["status"].as_slice(), &["--json", "status"], &["log"]] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let mut command = world.liza_command(&HUMAN, &world.root, args);
        command.stdout(writer).stderr(Stdio::piped());
        let ran = Ran::of(command.start().expect("liza").wait_with_output().expect("an end"));
        assert_eq!((ran.exit, ran.stderr.as_str()), (0, ""), "{args:?}: {ran:?}");
    }
}

#[test]
fn file_size_limit_is_an_error_and_changes_nothing() {
    let world = World::new();
    let before = world.bytes();
    let script = format!("ulimit -f 1; exec {} note {}", env!("CARGO_BIN_EXE_liza"), "x".repeat(4_000));
    let mut command = world.command("sh", &world.root);
    let ran = Ran::of(command.args(["-c", &script]).finish().expect("sh"));
    assert_eq!(ran.exit, 9, "a signal would be -1: {ran:?}");
    assert!(ran.stderr.contains("error:"), "{ran:?}");
    assert!(world.bytes().0 == before.0, "the board is as it was");
    world.human(&["note", "works again"]).ok();
    world.sound();
}

/// Another program holds a lock of liza; the command names the lock, and ends at its limit.
#[track_caller]
fn waits(world: &World, lock: &str, args: &[&str], said: &str) {
    let file =
        File::options().create(true).truncate(false).write(true).open(world.path(lock)).expect("a lock");
    file.lock().expect("locked");
    let mut command = world.liza_command(&HUMAN, &world.root, args);
    command.env("LIZA_LOCK_TIMEOUT", "3").stdout(Stdio::piped()).stderr(Stdio::piped());
    let ran = Ran::of(command.start().expect("liza").wait_with_output().expect("an end"));
    assert_eq!(ran.exit, 4, "{ran:?}");
    let pid = format!("process {}", std::process::id());
    assert!(ran.stderr.contains("waiting for") && ran.stderr.contains(said), "{ran:?}");
    assert!(ran.stderr.contains(&pid), "{ran:?}");
}

#[test]
fn wait_for_board_lock_names_holder() {
    let world = World::new();
    waits(&world, ".liza/state.yaml.lock", &["note", "hello"], "the board's lock");
}

/// Children inherit a lock, and a process name may contain any bytes.
#[test]
fn wait_for_lock_of_unknown_holder_is_plain() {
    let world = World::new();
    // The child inherits the lock and its parent ends at once; the child's pid is not in the kernel's table.
    let script = "exec 9>> .liza/state.yaml.lock && flock -n 9 && { setsid sh -c 'touch held; while [ -e .liza ] && [ ! -e stop ]; do sleep 0.05; done' & }; exit 0";
    let mut command = world.command("sh", &world.root);
    if !command.args(["-c", script]).finish_status().is_ok_and(|status| status.success()) {
        crate::support::skip("there is no `flock` here");
        return;
    }
    let mut command = world.liza_command(&HUMAN, &world.root, &["note", "hello"]);
    command.env("LIZA_LOCK_TIMEOUT", "2").stdout(Stdio::piped()).stderr(Stdio::piped());
    let ran = Ran::of(command.start().expect("liza").wait_with_output().expect("an end"));
    world.write("stop", "");
    assert_eq!(ran.exit, 4, "{ran:?}");
    assert!(ran.stderr.contains("waiting for the board's lock"), "{ran:?}");
    assert!(!ran.stderr.contains("()") && ran.stderr.contains("process"), "{ran:?}");
}

#[test]
fn wait_for_worktree_lock_names_holder() {
    let world = World::new();
    waits(&world, ".liza/worktree.lock", &["worktree", "prune"], "worktree.lock");
}

#[test]
fn wait_for_merge_lock_names_holder() {
    let world = World::new();
    let (coder, reviewer) = (world.register("coder", "coder-1"), world.register("code_reviewer", "r-1"));
    world.approved(&coder, &reviewer, "t1", "a.sh", "echo a\n");
    waits(&world, ".liza/merge.lock", &["merge", "t1"], "merge.lock");
}

/// If the user may start no more threads, every command ends with an answer or an error.
#[test]
fn failed_thread_start_causes_no_panic() {
    let mut probe = Command::new("setpriv");
    // Not every `sh` has `ulimit -u`.
    let as_nobody = ["--reuid=65534", "--clear-groups", "prlimit", "--nproc=1:1"];
    probe.args(as_nobody).args([env!("CARGO_BIN_EXE_liza"), "--version"]);
    if !probe.finish().is_ok_and(|ran| ran.status.success()) {
        crate::support::skip(
            "this test becomes a user without processes, which needs root, setpriv and prlimit",
        );
        return;
    }
    let world = World::new();
    let text = plan(40, 40_000);
    world.liza_with(&HUMAN, &["plan", "-"], text.as_bytes(), &[]);
    let all = world.home().to_str().expect("text").to_owned();
    let mut own = Command::new("chown");
    assert!(own.args(["-R", "65534", &all]).finish_status().expect("chown").success());
    for args in
        ["status", "note hello", "worktree list", "verify", "task claim p1", "run", "agent run --role coder"]
    {
        let mut command = world.command("setpriv", &world.root);
        command.args(as_nobody).arg(env!("CARGO_BIN_EXE_liza")).args(args.split(' '));
        let ran = Ran::of(command.finish().expect("setpriv"));
        assert!(ran.exit >= 0 && ran.exit != 101, "{args}: {ran:?}");
        assert!(!ran.stderr.contains("panicked"), "{args}: {ran:?}");
    }
}

#[test]
fn next_command_ends_claim_killed_in_container() {
    let mut probe = Command::new("unshare");
    probe.args(["--pid", "--fork", "--map-root-user", "--mount-proc", "true"]);
    if !probe.finish().is_ok_and(|ran| ran.status.success()) {
        crate::support::skip("no pid namespaces here");
        return;
    }
    let world = World::new();
    world.task("t1", &["a.sh"]);
    let mut command = world.command("unshare", &world.root);
    command.args(["--pid", "--fork", "--map-root-user", "--mount-proc"]);
    // The first process of a namespace cannot kill itself, so liza must not be the first.
    let script = format!("{} task claim t1; exit $?", env!("CARGO_BIN_EXE_liza"));
    command.args(["sh", "-c", &script]);
    let ran = Ran::of(command.env("LIZA_CRASH_AT", "claim.begun").finish().expect("unshare"));
    if ran.stderr.contains("refused") {
        crate::support::skip(&format!("liza does not act inside this container: {}", ran.stderr));
        return;
    }
    assert_ne!(ran.exit, 0, "{ran:?}");
    assert!(world.state().contains("intents"), "{}", world.state());
    let next = world.human(&["note", "the next command"]).ok();
    assert!(next.stderr.contains("a claim of `t1`") && next.stderr.contains("undone"), "{next:?}");
    assert_eq!(world.status_of("t1"), "IDLE");
    let locks = std::fs::read_dir(world.path(".liza/locks")).expect("locks").flatten();
    let left: Vec<_> = locks.filter(|one| one.file_name().to_string_lossy().starts_with("intent-")).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn verify_passes_while_notes_are_written() {
    let world = World::new();
    for number in 0..70 {
        world.human(&["note", &format!("note {number}")]).ok();
    }
    let script = format!(
        "i=0; while test ! -e stop && test $i -lt 3000; do {} note more > /dev/null || exit 1; i=$((i+1)); done",
        env!("CARGO_BIN_EXE_liza")
    );
    let mut command = world.command("sh", &world.root);
    let mut writer = command.args(["-c", &script]).start().expect("a writer");
    let until = Instant::now() + Duration::from_secs(60);
    for run in 0..30 {
        if Instant::now() > until {
            break;
        }
        let ran = world.human(&["verify"]);
        assert_eq!(ran.exit, 0, "run {run}: {ran:?}");
    }
    world.write("stop", "");
    assert!(writer.wait().expect("an end").success());
}

#[test]
fn a_log_of_twenty_gigabytes_is_not_read_into_memory() {
    let world = World::new();
    let log = std::fs::File::options().write(true).open(world.path(".liza/log.yaml")).expect("the log");
    let length = log.metadata().expect("a length").len();
    if log.set_len(20 << 30).is_err() {
        crate::support::skip("no file of 20 GB can be made here");
        return;
    }
    for args in [["doctor"].as_slice(), &["verify"], &["status"], &["note", "it goes on"]] {
        let ran = world.limited("ulimit -v 4000000", &HUMAN, args);
        assert!((0..=11).contains(&ran.exit), "{args:?}: {ran:?}");
    }
    assert!(
        log.metadata().expect("a length").len() < 2 * length + 4096,
        "what does not belong there is cut off"
    );
    world.sound();
}
