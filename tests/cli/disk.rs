//! Full disks, missing file descriptors, and board files of the wrong type.

use std::process::Stdio;

use crate::support::process::{Bounded as _, Running};
use crate::support::{HUMAN, Ran, Who, World};

impl World {
    /// Runs liza below a shell that has set a limit first.
    pub fn limited(&self, limit: &str, who: &Who, args: &[&str]) -> Ran {
        let liza = self.liza_command(who, &self.root, &[]);
        let mut command = self.command("sh", &self.root);
        for (name, value) in liza.get_envs() {
            if let Some(value) = value {
                command.env(name, value);
            }
        }
        // Without the trap the kernel would kill the process at its file size limit instead of returning an error.
        command
            .arg("-c")
            .arg(format!("trap '' XFSZ; {limit}; exec \"$0\" \"$@\""))
            .arg(liza.get_program())
            .args(args);
        Ran::of(command.finish().expect("sh runs"))
    }

    fn files(&self) -> (String, String) {
        (self.state(), self.read(".liza/log.yaml"))
    }
}

#[test]
fn full_disk_changes_nothing() {
    let world = World::new();
    let coder = world.register("coder", "coder-1");
    world.task("t1", &["a.txt"]);
    let mut failed = 0;
    // The limit counts blocks of 512 bytes; a write beyond it stops in the middle.
    for blocks in [0, 1, 2, 3, 4, 6, 8, 12, 16] {
        for args in [&["note", "a note of some length, longer than nothing"][..], &["task", "claim", "t1"]] {
            let before = world.files();
            let ran = world.limited(&format!("ulimit -f {blocks}"), &coder, args);
            match ran.exit {
                0 => {}
                9 => {
                    failed += 1;
                    assert_eq!(world.files(), before, "{blocks} {args:?}: {}", ran.stderr);
                }
                // Git itself, or the second half of the claim, met the full disk: the claim is undone.
                8 | 10 => assert_eq!(args[1], "claim", "{ran:?}"),
                other => panic!("{blocks} {args:?}: exit {other}: {ran:?}"),
            }
            world.human(&["note", "there is room again"]).ok();
            world.sound();
        }
        if world.status_of("t1") == "WORKING" {
            world.liza(&coder, &["task", "release", "t1"]).ok();
        }
    }
    assert!(failed >= 4, "the limit was met only {failed} times");
    world.claim(&coder, "t1");
    world.sound();
}

#[test]
fn missing_file_descriptors_change_nothing() {
    let world = World::new();
    let mut failed = 0;
    for count in 3..16 {
        let before = world.files();
        let ran = world.limited(&format!("ulimit -n {count}"), &HUMAN, &["note", "hello"]);
        match ran.exit {
            0 => {}
            // 127: not even the program's libraries could be opened.
            // 1: the caller cannot be identified.
            1 | 2 | 6 | 8 | 9 | 127 => {
                failed += 1;
                assert_eq!(world.files(), before, "{count}: {ran:?}");
            }
            other => panic!("{count} descriptors: exit {other}: {ran:?}"),
        }
        world.human(&["note", "next"]).ok();
    }
    assert!(failed >= 1);
    world.sound();
}

#[test]
fn unwritable_board_is_still_readable() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = World::new();
    let dir = world.path(".liza");
    let mode = |mode: u32| {
        std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(mode)).expect("mode set");
    };
    mode(0o500);
    if std::fs::write(dir.join("probe"), "").is_ok() {
        mode(0o700);
        let _ = std::fs::remove_file(dir.join("probe"));
        crate::support::skip(
            "this user may write everywhere (scripts/torture has a read-only mount for root)",
        );
        return;
    }
    let before = world.files();
    world.human(&["note", "hello"]).exits(9);
    for args in [&["status"][..], &["validate"], &["verify"], &["log"], &["task", "list"], &["doctor"]] {
        world.human(args).ok();
    }
    assert_eq!(world.files(), before);
    mode(0o700);
    world.human(&["note", "hello"]).ok();
}

#[test]
fn closed_reader_is_no_error() {
    let world = World::new();
    for args in [&["status"][..], &["log"], &["--json", "status"], &["note", "hello"], &["--help"]] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let mut command = world.liza_command(&HUMAN, &world.root, args);
        let output = command
            .stdout(writer)
            .stderr(Stdio::piped())
            .start()
            .and_then(Running::wait_with_output)
            .expect("liza runs");
        assert_eq!(output.status.code(), Some(0), "{args:?}: {output:?}");
    }
    assert_eq!(world.state().matches("hello").count(), 1);
    world.sound();
}

#[test]
fn state_that_is_no_file_is_restored() {
    let world = World::new();
    world.human(&["note", "precious"]).ok();
    let good = world.state();
    let state = world.path(".liza/state.yaml");
    let elsewhere = world.home().join("elsewhere");
    std::fs::write(&elsewhere, &good).expect("written");
    for kind in ["link", "dangling", "pipe", "directory"] {
        std::fs::remove_file(&state).expect("removed");
        match kind {
            "link" => std::os::unix::fs::symlink(&elsewhere, &state).expect("linked"),
            "dangling" => std::os::unix::fs::symlink(world.home().join("nowhere"), &state).expect("linked"),
            "pipe" => {
                assert!(
                    world
                        .command("mkfifo", &world.root)
                        .arg(&state)
                        .finish_status()
                        .expect("mkfifo")
                        .success()
                )
            }
            _ => std::fs::create_dir(&state).expect("made"),
        }
        for args in [&["note", "x"][..], &["status"], &["validate"], &["task", "list"]] {
            world.human(args).exits(6);
        }
        world.human(&["doctor"]).exits(1);
        world.human(&["doctor", "--fix"]).ok();
        assert_eq!(world.state(), good, "{kind}");
        assert_eq!(
            std::fs::read_to_string(&elsewhere).expect("text"),
            good,
            "what the link led to is untouched"
        );
        world.sound();
    }
    world.human(&["note", "x"]).ok();
}

#[test]
fn lock_or_log_that_is_no_file_is_refused() {
    let world = World::new();
    let victim = world.home().join("victim");
    std::fs::write(&victim, "theirs\n").expect("written");
    for name in ["state.yaml.lock", "log.yaml"] {
        let path = world.path(".liza").join(name);
        let kept = world.home().join(name);
        std::fs::rename(&path, &kept).expect("moved");
        std::os::unix::fs::symlink(&victim, &path).expect("linked");
        let ran = world.human(&["note", "x"]);
        assert!(matches!(ran.exit, 6 | 9), "{name}: {ran:?}");
        assert_eq!(std::fs::read_to_string(&victim).expect("text"), "theirs\n", "{name}");
        std::fs::remove_file(&path).expect("removed");
        std::fs::rename(&kept, &path).expect("moved");
        world.human(&["note", "x"]).ok();
    }
    world.sound();
}

#[test]
fn board_files_are_private_under_any_umask() {
    use std::os::unix::fs::PermissionsExt as _;
    for umask in ["000", "022", "077"] {
        let world = World::bare_repo();
        world.limited(&format!("umask {umask}"), &HUMAN, &["init", "a goal"]).ok();
        world.limited(&format!("umask {umask}"), &HUMAN, &["note", "hello"]).ok();
        world.limited(&format!("umask {umask}"), &HUMAN, &["agent", "register", "--role", "coder"]).ok();
        world.limited(&format!("umask {umask}"), &HUMAN, &["pause"]).ok();
        let mut dirs = vec![world.path(".liza")];
        while let Some(dir) = dirs.pop() {
            let mode = std::fs::metadata(&dir).expect("there").permissions().mode() & 0o777;
            assert_eq!(mode, 0o700, "{umask}: {}", dir.display());
            for entry in std::fs::read_dir(&dir).expect("a directory").flatten() {
                if entry.path().is_dir() {
                    dirs.push(entry.path());
                } else {
                    let mode = entry.metadata().expect("there").permissions().mode() & 0o777;
                    assert_eq!(mode, 0o600, "{umask}: {}", entry.path().display());
                }
            }
        }
    }
}
