//! Completion in real shells, and the manual pages.

use std::path::Path;

use crate::support::process::Bounded as _;
use crate::support::{HUMAN, Ran, Who, World};

/// Runs a script in a shell that finds this liza on its path and reads no start-up files.
pub fn shell(world: &World, who: &Who, dir: &Path, script: &str) -> Ran {
    let mut command = world.command("bash", dir);
    let ours = Path::new(env!("CARGO_BIN_EXE_liza")).parent().expect("a directory");
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}:{path}", ours.display())).args(["--norc", "--noprofile", "-c", script]);
    if let (Some(id), Some(token)) = (&who.id, &who.token) {
        command.env("LIZA_AGENT_ID", id).env("LIZA_AGENT_TOKEN", token);
    }
    Ran::of(command.finish().expect("bash runs"))
}

/// What bash offers after these words; the last one is incomplete.
fn offered(world: &World, dir: &Path, words: &[&str]) -> Vec<String> {
    let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    let script = format!(
        "eval \"$(liza completions bash)\"\ncomplete -p liza >/dev/null || exit 9\nCOMP_WORDS=(liza {})\nCOMP_CWORD={}\n_liza\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"",
        quoted.join(" "),
        words.len()
    );
    let ran = shell(world, &HUMAN, dir, &script).ok();
    assert_eq!(ran.stderr, "", "{words:?}");
    ran.stdout.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

fn scene() -> World {
    let world = World::new();
    let coder = world.register("coder", "coder-1");
    world.register("code_reviewer", "reviewer-1");
    for (id, path) in [("alpha", "a/"), ("beta", "b/"), ("gamma", "c/")] {
        world.task(id, &[path]);
    }
    world.claim(&coder, "gamma");
    world
}

#[test]
fn bash_completes_ids_of_the_board() {
    let world = scene();
    let offered = |words: &[&str]| offered(&world, &world.root, words);
    assert_eq!(offered(&["task", "claim", ""]), ["alpha", "beta"]);
    assert_eq!(offered(&["task", "claim", "b"]), ["beta"]);
    assert_eq!(offered(&["task", "submit", ""]), ["gamma"]);
    assert_eq!(offered(&["task", "show", ""]), ["alpha", "beta", "gamma"]);
    assert_eq!(offered(&["task", "add", "--depends", ""]), ["alpha", "beta", "gamma"]);
    assert_eq!(offered(&["task", "list", "--agent", ""]), ["coder-1", "reviewer-1"]);
    assert_eq!(offered(&["pause", "--agent", "r"]), ["reviewer-1"]);
    assert_eq!(offered(&["agent", "retire", "c"]), ["coder-1"]);
    assert_eq!(offered(&["task", "cl"]), ["claim"]);
    assert!(offered(&["doctor", "--image", ""]).contains(&world.revision().to_string()));
    assert!(offered(&["task", "claim", "--"]).contains(&"--json".to_owned()));
    // A new task is offered at once, also from inside a worktree.
    world.task("delta", &["d/"]);
    assert_eq!(self::offered(&world, &world.path(".worktrees/gamma"), &["task", "claim", "d"]), ["delta"]);
    let board = world.path(".liza").display().to_string();
    let elsewhere = world.home().to_owned();
    assert_eq!(self::offered(&world, &elsewhere, &["--board", &board, "task", "claim", "d"]), ["delta"]);
}

#[test]
fn completion_is_silent_without_a_valid_board() {
    let world = World::bare_repo();
    let nowhere = world.home().join("nowhere");
    std::fs::create_dir(&nowhere).expect("a directory");
    for dir in [&world.root, &nowhere] {
        assert!(offered(&world, dir, &["task", "claim", ""]).is_empty());
        assert_eq!(offered(&world, dir, &["sta"]), ["status"]);
    }
    // A damaged board, and an invalid identity.
    let world = scene();
    std::fs::write(world.path(".liza/state.yaml"), "nonsense\n").expect("written");
    let stranger = Who { id: Some("ghost-1".to_owned()), token: None };
    let ran = world.liza(&stranger, &["__complete", "--", "task", "claim", ""]).ok();
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("", ""));
    // No file was written, not even a lock.
    assert!(!world.path(".git/index.lock").exists());
}

#[test]
fn boards_of_other_versions_are_completed_too() {
    let world = World::bare_repo();
    world.write(".liza/state.yaml", include_str!("fixtures/v1-fresh.yaml"));
    assert_eq!(offered(&world, &world.root, &["task", "show", ""]), ["task-1", "task-2", "task-3"]);
}

#[test]
fn completion_describes_each_candidate() {
    let world = scene();
    let ask = |words: &[&str]| {
        let mut args = vec!["__complete", "--"];
        args.extend(words);
        world.human(&args)
    };
    assert_eq!(ask(&["task", "show", "g"]).ok().stdout, "gamma\tWORKING\n");
    assert_eq!(ask(&["task", "list", "--agent", "c"]).ok().stdout, "coder-1\tcoder\n");
    assert!(ask(&["task", "cl"]).ok().stdout.starts_with("claim\t"));
    // The shell itself completes file names.
    assert_eq!(ask(&["validate", ""]).exits(3).stdout, "");
    assert_eq!(ask(&["plan", ""]).exits(3).stdout, "");
}

#[test]
fn zsh_and_fish_use_the_same_completer() {
    let world = World::bare_repo();
    for (name, parts) in [
        ("zsh", ["#compdef liza", "command liza __complete -- ", "compdef _liza liza"]),
        ("fish", ["function __liza_complete", "command liza __complete -- ", "complete -c liza -f -a"]),
    ] {
        let script = world.human(&["completions", name]).ok().stdout;
        for part in parts {
            assert!(script.contains(part), "{name}: {part}");
        }
        // Brackets and quotes are balanced, and an installed shell accepts the script.
        for (open, close) in [('(', ')'), ('{', '}'), ('[', ']')] {
            assert_eq!(script.matches(open).count(), script.matches(close).count(), "{name}: {open}");
        }
        let file = world.home().join(format!("script.{name}"));
        std::fs::write(&file, &script).expect("written");
        match world.command(name, &world.root).arg("-n").arg(&file).finish() {
            Ok(output) => assert!(output.status.success(), "{name}: {output:?}"),
            Err(_) => eprintln!("{name} is not installed; its script was not parsed"),
        }
    }
    world.json(&HUMAN, &["completions", "tcsh"]).exits(2);
}

#[test]
fn every_command_has_a_man_page() {
    let world = World::bare_repo();
    let page = world.human(&["man"]).ok().stdout;
    assert!(page.contains(".TH liza 1") && page.contains("task"), "{page}");
    let data = world.json(&HUMAN, &["man", "--dir", "out/man1"]).ok().data();
    let pages = data["pages"].as_array().expect("pages").len();
    let mut root = liza::cli::command_line();
    root.build();
    let mut expected = Vec::new();
    crate::help_examples::visible(&root, "liza", &mut |name, _| expected.push(name.replace(' ', "-")));
    assert!(expected.len() > 40, "{expected:?}");
    for name in &expected {
        let page = world.read(&format!("out/man1/{name}.1"));
        assert!(page.contains(".SH NAME") && page.contains(".SH SYNOPSIS"), "{name}: {page}");
        assert!(page.contains("Example"), "{name} has no example:\n{page}");
    }
    assert_eq!(pages, expected.len());
    assert!(!world.path("out/man1/liza-__complete.1").exists());
    if let Ok(output) = world.command("man", &world.root).args(["-l", "out/man1/liza-task-claim.1"]).finish()
        && output.status.success()
    {
        assert!(String::from_utf8_lossy(&output.stdout).contains("claim"));
    }
}

#[test]
fn usage_error_names_the_right_help() {
    let world = World::bare_repo();
    for (args, help) in [
        (["task", "claim"].as_slice(), "run `liza task claim --help`"),
        (&["task", "claim", "t1", "--nope"], "run `liza task claim --help`"),
        (&["review", "aprove"], "run `liza review --help`"),
        (&["frobnicate"], "run `liza --help`"),
    ] {
        let ran = world.human(args).exits(2);
        assert!(ran.stderr.contains(&format!("hint: {help}")), "{args:?}: {}", ran.stderr);
        let ran = world.json(&HUMAN, args).exits(2);
        assert_eq!(ran.code(), "usage.arguments");
        assert_eq!(ran.json()["error"]["hint"], help, "{args:?}");
    }
}
