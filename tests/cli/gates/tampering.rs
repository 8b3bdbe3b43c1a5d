//! Gates that try to deceive liza, through files in the repository, the index, git's settings, or processes.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Stdio;

use serde_json::json;

use crate::support::process::Bounded as _;
use crate::support::{HUMAN, World};

use super::{
    GATE_REFUSAL, alive, configure, configure_with, log_of, marker, places, said, text_of, until, with_gates,
};

const LIZA: &str = env!("CARGO_BIN_EXE_liza");

/// A program that tries to act as a person, and leaves a daemon that tries it again when every process above it has ended.
fn impersonating_program(world: &World) -> (std::path::PathBuf, std::path::PathBuf, String) {
    let (script, heard) = (world.home().join("evil.sh"), world.home().join("heard"));
    let word = marker(world, "evil-daemon");
    let text = format!(
        "#!/bin/sh\ncat\ncd '{}'\nenv -i '{LIZA}' note hacked >>'{}' 2>&1\nsetsid sh -c 'sleep 600' {word} </dev/null >/dev/null 2>&1 &\n",
        world.root.display(),
        heard.display()
    );
    std::fs::write(&script, text).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    (script, heard, word)
}

#[test]
fn filter_set_by_gate_is_reported_and_not_run() {
    let world = with_gates(json!([]));
    let (script, heard, word) = impersonating_program(&world);
    let sets = format!(
        "git config filter.x.clean '{0}'; git config filter.x.smudge '{0}'; \
         d=$(git rev-parse --git-common-dir); mkdir -p \"$d/info\"; echo '* filter=x' > \"$d/info/attributes\"; touch README.md",
        script.display()
    );
    configure(&world, json!([{ "name": "sets", "command": sets }, { "name": "fine", "command": "true" }]));
    let before = world.bytes();
    let found = said(&world, "sets");
    assert_eq!(found["status"], "could_not_run", "{found}");
    let why = found["reason"].as_str().unwrap();
    for part in ["filter.x.clean", "filter.x.smudge", ".git/info/attributes"] {
        assert!(why.contains(part), "{why}");
    }
    // The user's settings stay as the gate changed them, but liza's own git does not use them.
    assert!(!world.git(&["config", "filter.x.clean"]).is_empty());
    std::fs::remove_dir_all(world.path(".worktrees/.gates/1")).unwrap();
    assert_eq!(said(&world, "fine")["status"], "pass");
    assert_eq!(text_of(&heard), "");
    assert_eq!(world.bytes(), before);
    // Liza runs a filter that a person accepted, and the filter may not change the board.
    world.human(&["doctor", "--accept-git"]).ok();
    let before = world.bytes();
    std::fs::remove_dir_all(world.path(".worktrees/.gates/1")).unwrap();
    configure(&world, json!([{ "name": "fine", "command": "true;true" }]));
    assert_eq!(said(&world, "fine")["status"], "pass");
    let heard = text_of(&heard);
    assert!(heard.contains(GATE_REFUSAL) && !heard.contains("noted"), "{heard}");
    assert_eq!(alive(&word), Vec::<String>::new());
    assert_eq!(world.bytes(), before);
}

#[test]
fn hooks_and_settings_that_a_gate_changes_are_named() {
    let world = with_gates(json!([]));
    let table = [
        ("git config core.hooksPath /x", "core.hookspath"),
        ("git config alias.st '!evil'", "alias.st"),
        ("git config include.path /x", "include.path"),
        ("echo x > \"$(git rev-parse --git-common-dir)/hooks/post-commit\"", ".git/hooks/post-commit"),
    ];
    std::fs::create_dir_all(world.path(".git/hooks")).unwrap();
    for (command, name) in table {
        configure(&world, json!([{ "name": "sets", "command": command }]));
        let found = said(&world, "sets");
        assert_eq!(found["status"], "could_not_run", "{found}");
        assert!(found["reason"].as_str().unwrap().contains(name), "{found}");
        // It was already changed, so the same change again is no difference.
        assert_eq!(said(&world, "sets")["status"], "pass", "{name}");
        if !name.starts_with(".git/") {
            world.git(&["config", "--unset-all", name]);
        }
    }
}

#[test]
fn gate_cannot_hide_changes_in_its_index() {
    let world = with_gates(json!([]));
    // As the reviewer of a hostile tree found it: other content under the name of the committed object.
    let forge = r#"printf 'forged\n' > README.md
git update-index --add --cacheinfo "100644,$(git rev-parse HEAD:README.md),README.md"
i="$(git rev-parse --git-path index)"; git update-index --really-refresh; cp "$i" "$i.x"; mv "$i.x" "$i""#;
    let elsewhere = "git config extensions.worktreeConfig true; mkdir /tmp/$$.e; git config --worktree core.worktree /tmp/$$.e; rmdir /tmp/$$.e; echo forged > README.md";
    for (name, command) in [("forge", forge), ("elsewhere", elsewhere)] {
        world.git(&["config", "extensions.worktreeConfig", "true"]);
        configure(
            &world,
            json!([{ "name": name, "command": command }, { "name": "whole", "command": "test \"$(cat README.md)\" = hello" }]),
        );
        let found = said(&world, name);
        assert_eq!(found["status"], "could_not_run", "{found}");
        assert!(found["reason"].as_str().unwrap().contains("README.md"), "{found}");
        assert_eq!(said(&world, "whole")["status"], "pass", "after {name}");
    }
    // An index that was forged between two runs.
    let index = world.path(".git/worktrees/1/index");
    std::fs::write(world.path(".worktrees/.gates/1/README.md"), "forged\n").unwrap();
    world.git_in(&world.path(".worktrees/.gates/1"), &["update-index", "--assume-unchanged", "README.md"]);
    assert!(index.exists());
    assert_eq!(said(&world, "whole")["status"], "pass");
    let own = world.path(".liza/gates/index-1").metadata().unwrap();
    assert_eq!(own.permissions().mode() & 0o777, 0o600);
}

#[test]
fn touched_file_passes_and_tampered_one_is_found() {
    let world = with_gates(json!([]));
    world.write("win.txt", "a\r\nb\r\n");
    world.commit_all("as it is");
    world.write(".gitattributes", "*.txt text eol=lf\n");
    world.commit_all("as it should be");
    let inode = "stat -c %i README.md";
    configure(
        &world,
        json!([
            { "name": "touch", "command": "touch README.md win.txt; cp -p README.md x; mv x README.md" },
            { "name": "look", "command": inode },
            { "name": "tamper", "command": "echo tampered > win.txt" },
        ]),
    );
    let first = log_of(&world, &said(&world, "look"));
    assert_eq!(log_of(&world, &said(&world, "look")), first, "it was made anew");
    assert_eq!(said(&world, "touch")["status"], "pass");
    let found = said(&world, "tamper");
    assert_eq!(found["status"], "could_not_run", "{found}");
    assert!(found["reason"].as_str().unwrap().contains("win.txt"), "{found}");
}

#[test]
fn endless_forks_end_and_fake_git_is_refused() {
    let world = with_gates(json!([]));
    let word = marker(&world, "chain");
    let heard = world.home().join("heard");
    let chain = format!(
        "import os,sys\nif os.fork(): os._exit(0)\nos.setsid()\nwhile True:\n    if os.fork(): os._exit(0)\n# {word}\n"
    );
    std::fs::write(world.home().join("chain.py"), chain).unwrap();
    let git = world.home().join("git");
    let gates = json!([
        { "name": "chain", "command": format!("python3 '{}' {word}; true", world.home().join("chain.py").display()) },
        { "name": "git", "command": format!(
            "cp /bin/sh '{0}'; '{0}' -c \"cd '{1}'; env -i '{LIZA}' note hacked >'{2}' 2>&1; true\"",
            git.display(), world.root.display(), heard.display()) },
    ]);
    configure(&world, gates);
    let before = world.bytes();
    let found = said(&world, "chain");
    assert!(
        found["status"] == "pass" || found["reason"].as_str().unwrap().contains("could not end"),
        "{found}"
    );
    assert_eq!(alive(&word), Vec::<String>::new());
    assert_eq!(said(&world, "git")["status"], "pass");
    assert!(text_of(&heard).contains(GATE_REFUSAL), "{}", text_of(&heard));
    assert_eq!(world.bytes(), before);
}

#[test]
fn fake_proc_hides_no_gate_process() {
    let world = with_gates(json!([]));
    let heard = world.home().join("heard");
    let script = format!(
        "F='{home}/fake'; mkdir -p $F/$$/ns $F/sys/kernel/random\n\
         cp /proc/sys/kernel/random/boot_id $F/sys/kernel/random/\nln -s $$ $F/self\n\
         ln -s \"$(readlink /proc/self/ns/pid)\" $F/$$/ns/pid\n\
         sed 's/) \\([A-Z]\\) [0-9]* /) \\1 0 /' /proc/$$/stat > $F/$$/stat\n\
         cd '{root}'\nmount --bind $F /proc || exit 3\nexec '{LIZA}' note hacked\n",
        home = world.home().display(),
        root = world.root.display(),
    );
    std::fs::write(world.home().join("fake.sh"), script).unwrap();
    let command = format!(
        "unshare -rm sh '{}' >'{heard}' 2>&1 || unshare -m sh '{}' >>'{heard}' 2>&1; true",
        world.home().join("fake.sh").display(),
        world.home().join("fake.sh").display(),
        heard = heard.display()
    );
    configure(&world, json!([{ "name": "fake", "command": command }]));
    let before = world.bytes();
    assert_eq!(said(&world, "fake")["status"], "pass");
    assert_eq!(world.bytes(), before, "{}", text_of(&heard));
}

#[test]
fn other_clock_or_mount_hides_no_gate_process() {
    let world = with_gates(json!([]));
    let (heard, other) = (world.home().join("heard"), world.home().join("other"));
    std::fs::create_dir(&other).unwrap();
    let inner = format!(
        "mount --bind '{root}' '{other}' && cd '{other}' && exec env -i PATH=\"$PATH\" '{LIZA}' note hacked",
        root = world.root.display(),
        other = other.display()
    );
    std::fs::write(world.home().join("inner.sh"), inner).unwrap();
    let command = format!(
        "unshare -r -m -T --boottime 100000 --fork sh '{}' >'{}' 2>&1; true",
        world.home().join("inner.sh").display(),
        heard.display()
    );
    configure(&world, json!([{ "name": "clock", "command": command }]));
    let before = world.bytes();
    assert_eq!(said(&world, "clock")["status"], "pass");
    assert_eq!(world.bytes(), before, "{}", text_of(&heard));
}

#[test]
fn stopped_gate_holder_still_ends_its_gate() {
    let world = with_gates(json!([]));
    let word = marker(&world, "stopped");
    let command = format!("kill -STOP $PPID; sh -c 'sleep 600' {word}; true");
    configure(&world, json!([{ "name": "stop", "command": command, "timeout": 1 }]));
    let found = said(&world, "stop");
    assert!(found["reason"].as_str().unwrap().contains("longer than 1 s"), "{found}");
    assert_eq!(alive(&word), Vec::<String>::new());
}

#[test]
fn signal_after_a_gate_ends_liza() {
    // The worktree has to be made again, while another process holds the lock for that.
    signal_ends_gates("", |child, _| waits_for_worktree_lock(child));
}

#[test]
fn signal_during_a_gate_ends_liza() {
    // Cleaning needs the lock that another process holds, but does not wait for it.
    signal_ends_gates("sleep 600", |_, seen| seen.exists());
}

/// Runs a gate that removes its worktree, and sends liza a signal at this moment, while another process holds the lock
/// for making worktrees.
fn signal_ends_gates(then: &str, reached: impl Fn(u32, &Path) -> bool) {
    let world = with_gates(json!([]));
    let (first, seen) = (world.home().join("first"), world.home().join("seen"));
    let command = format!(
        "rm -rf \"$PWD\"; test -e '{0}' || {{ echo x > '{0}'; exit 0; }}; echo x > '{1}'; {then}",
        first.display(),
        seen.display()
    );
    configure(&world, json!([{ "name": "gone", "command": command }]));
    said(&world, "gone");
    let lock =
        std::fs::OpenOptions::new().read(true).write(true).open(world.path(".liza/worktree.lock")).unwrap();
    lock.lock().unwrap();
    let args = ["--json", "gate", "run", "--tree", "main", "--fresh"];
    let mut command = world.liza_command(&HUMAN, &world.root, &args);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).start().unwrap();
    until("the moment of the signal", || reached(child.id(), &seen));
    let done =
        std::process::Command::new("kill").args(["-TERM", &child.id().to_string()]).finish_status().unwrap();
    assert!(done.success());
    let stat = format!("/proc/{}/stat", child.id());
    until("it ends", || text_of(Path::new(&stat)).contains(") Z "));
    let status = child.wait().unwrap();
    assert!(status.signal() == Some(15) || status.code() == Some(143), "{status:?}");
    drop(lock);
    configure(&world, json!([{ "name": "fine", "command": "test -e README.md" }]));
    assert_eq!(said(&world, "fine")["status"], "pass");
    world.sound();
}

fn waits_for_worktree_lock(pid: u32) -> bool {
    let Ok(open) = std::fs::read_dir(format!("/proc/{pid}/fd")) else { return false };
    let targets = open.flatten().filter_map(|entry| std::fs::read_link(entry.path()).ok());
    targets.filter(|target| target.ends_with(".liza/worktree.lock")).count() > 1
}

#[test]
fn killed_gate_checkout_leaves_no_process() {
    let world = with_gates(json!([{ "name": "fine", "command": "test \"$(cat README.md)\" = hello" }]));
    let (slow, word) = (world.home().join("slow"), marker(&world, "smudge"));
    let script = world.home().join("smudge.sh");
    let text = format!("#!/bin/sh\ncat; test ! -e '{}' || exec sh -c 'sleep 600' {word}\n", slow.display());
    std::fs::write(&script, text).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    world.git(&["config", "filter.s.smudge", script.to_str().unwrap()]);
    std::fs::create_dir_all(world.path(".git/info")).unwrap();
    std::fs::write(world.path(".git/info/attributes"), "* filter=s\n").unwrap();
    world.human(&["doctor", "--accept-git"]).ok();
    std::fs::write(&slow, "").unwrap();
    let mut command = world.liza_command(&HUMAN, &world.root, &["gate", "run", "--tree", "main"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).start().unwrap();
    until("a file is checked out", || !alive(&word).is_empty());
    child.kill().unwrap();
    child.wait().unwrap();
    std::fs::remove_file(&slow).unwrap();
    assert_eq!(said(&world, "fine")["status"], "pass");
    assert_eq!(alive(&word), Vec::<String>::new());
    assert_eq!(places(&world), ["1"]);
    world.sound();
}

#[test]
fn gate_worktrees_are_emptied_not_trashed() {
    let world = with_gates(json!([]));
    let fills =
        "mkdir -p deep/er target && echo x > deep/er/file && echo x > target/kept && chmod 500 deep/er";
    configure_with(
        &world,
        json!([{ "name": "fills", "command": "mkdir -p deep target && echo x > deep/file && echo x > target/kept" }]),
        json!({ "keep": ["target"] }),
    );
    assert_eq!(said(&world, "fills")["status"], "pass");
    let place = world.path(".worktrees/.gates/1");
    assert!(!place.join("deep").exists() && place.join("target/kept").exists());
    configure(&world, json!([{ "name": "fills", "command": fills }]));
    for _ in 0..2 {
        assert_eq!(said(&world, "fills")["status"], "pass");
    }
    configure(&world, json!([{ "name": "fine", "command": "test ! -e deep" }]));
    assert_eq!(said(&world, "fine")["status"], "pass");
    assert_eq!(places(&world), ["1"]);
    assert_eq!(std::fs::read_dir(world.path(".liza/trash")).into_iter().flatten().count(), 0);
}

#[test]
fn tracked_files_are_neither_kept_nor_reports() {
    let world = with_gates(json!([]));
    configure_with(&world, json!([{ "name": "fine", "command": "true" }]), json!({ "keep": ["specs/"] }));
    let found = said(&world, "fine");
    assert_eq!(found["status"], "could_not_run", "{found}");
    let why = found["reason"].as_str().unwrap();
    assert!(why.contains("keep `specs/`") && why.contains("specs/vision.md"), "{why}");
    let gate = json!({ "name": "fine", "command": "true", "adapter": "junit", "report": "README.md" });
    configure(&world, json!([gate]));
    let found = said(&world, "fine");
    assert_eq!(found["status"], "could_not_run", "{found}");
    assert!(found["reason"].as_str().unwrap().contains("`README.md` is a file that git tracks"), "{found}");
}

#[test]
fn gate_run_head_means_callers_worktree() {
    let world = with_gates(json!([{ "name": "which", "command": "git rev-parse HEAD" }]));
    let coder = world.register("coder", "coder-1");
    world.task("t1", &["a.txt", "tests/test_t1.sh"]);
    let worktree = world.claim(&coder, "t1");
    let there = world.write_and_commit(&worktree, &[("a.txt", "a\n")]);
    let run = |dir: &std::path::Path| {
        let ran = world.liza_in(&HUMAN, dir, &["--json", "gate", "run", "--tree", "HEAD", "--fresh"]).ok();
        ran.data()["commit"].as_str().unwrap().to_owned()
    };
    assert_eq!(run(&worktree), there);
    assert_eq!(run(&world.root), world.git(&["rev-parse", "HEAD"]));
    let ran = world.json(&HUMAN, &["gate", "run"]).exits(2);
    assert!(ran.stdout.contains("--tree"), "{}", ran.stdout);
}

#[test]
fn gate_settings_accept_short_forms() {
    let world = with_gates(json!([]));
    world.write("liza.yaml", "version: 1\ngates:\n#  - name: x\n");
    world.human(&["gate", "list"]).ok();
    world.write("liza.yaml", "version: 1\ngates:\n  - {name: x, command: 'true', on: submit}\n");
    world.human(&["gate", "list"]).ok();
    for (line, why) in
        [("timeout: 1m", "whole number of seconds"), ("on: sometimes", "`submit`, `merge`, or a list")]
    {
        world.write("liza.yaml", &format!("version: 1\ngates:\n  - {{name: x, command: 'true', {line}}}\n"));
        let ran = world.json(&HUMAN, &["gate", "list"]).exits(2);
        assert!(ran.stdout.contains(why), "{line}: {}", ran.stdout);
    }
}
