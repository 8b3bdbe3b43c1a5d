//! `liza deliver --pr`: a push without force, and a request opened by the installed forge program.

use std::path::PathBuf;

use serde_json::json;

use super::{head, scene};
use crate::concurrency::make_executable;
use crate::merging::Team;
use crate::support::{HUMAN, Ran, World};

/// A bare repository as the remote `origin`, with `main` in it.
fn remote(world: &World) -> PathBuf {
    let bare = world.home().join("origin.git");
    world.git(&["init", "-q", "--bare", "-b", "main", bare.to_str().unwrap()]);
    world.git(&["remote", "add", "origin", bare.to_str().unwrap()]);
    world.git(&["push", "-q", "origin", "main"]);
    bare
}

/// A program that records its arguments.
fn forge(world: &World, name: &str, then: &str) {
    let path = world.home().join("bin").join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let script = format!(
        "#!/bin/sh\nfor word; do printf '%s\\n' \"$word\"; done > \"$HOME/{name}.called\"\npwd > \"$HOME/{name}.dir\"\n{then}\n"
    );
    std::fs::write(&path, script).unwrap();
    make_executable(&path);
}

/// A PATH with git and the shell, but without this machine's forge programs.
fn ask(world: &World, args: &[&str]) -> Ran {
    let bin = world.home().join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    let path = std::env::var_os("PATH").unwrap();
    for program in ["git", "sh", "cat"] {
        let to =
            std::env::split_paths(&path).map(|dir| dir.join(program)).find(|path| path.is_file()).unwrap();
        let _ = std::os::unix::fs::symlink(to, bin.join(program));
    }
    world.json_env(&HUMAN, args, &[("PATH", bin.to_str().unwrap())])
}

fn called(world: &World, name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(world.home().join(format!("{name}.called"))).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn pull_request_is_opened_by_gh() {
    let Team { world, one, reviewer, .. } = Team::new();
    world.merge_task(&one, &reviewer, "t1", "a.sh", "echo a\n");
    let bare = remote(&world);
    forge(&world, "gh", "echo 'https://forge.example/pull/7'");
    let wanted = head(&world, "integration");
    let foreseen = ask(&world, &["deliver", "--pr", "--dry-run"]).ok().data();
    assert_eq!((&foreseen["branch"], &foreseen["base"]), (&json!("integration"), &json!("main")));
    assert_eq!(world.git_in(&bare, &["branch", "--list", "integration"]), "", "a dry run pushes nothing");
    let data = ask(&world, &["deliver", "--pr"]).ok().data();
    assert_eq!((&data["url"], &data["commit"]), (&json!("https://forge.example/pull/7"), &json!(wanted)));
    assert_eq!(world.git_in(&bare, &["rev-parse", "integration"]), wanted);
    let words = called(&world, "gh");
    for part in [
        &["pr", "create"][..],
        &["--base", "main"],
        &["--head", "integration"],
        &["--title", "A greeting program"],
    ] {
        assert!(words.windows(2).any(|pair| pair == part), "{part:?} in {words:?}");
    }
    let body = std::fs::read_to_string(data["body"].as_str().unwrap()).unwrap();
    for part in ["A greeting program", "**t1**", "reviewed by reviewer-1", "No gate is required"] {
        assert!(body.contains(part), "{part} in {body}");
    }
    let dir = std::fs::read_to_string(world.home().join("gh.dir")).unwrap();
    assert_eq!(dir.trim(), "/", "not where settings of the repository would count");
    assert_eq!(head(&world, "main"), world.git(&["rev-parse", "origin/main"]), "main stays");
    let log = world.human(&["log", "-n", "1"]).ok().stdout;
    assert!(log.contains("record_request"), "{log}");
    // The second call finds the open request.
    forge(&world, "gh", "echo 'a pull request already exists: https://forge.example/pull/7' >&2; exit 1");
    assert_eq!(ask(&world, &["deliver", "--pr"]).ok().data()["url"], json!("https://forge.example/pull/7"));
    world.refused(&one, &["deliver", "--pr"], 1, "refused.human_only");
    world.human(&["pause"]).ok();
    world.refused(&HUMAN, &["deliver", "--pr"], 5, "switch.set");
}

#[test]
fn merge_request_is_opened_by_glab() {
    let world = scene();
    remote(&world);
    forge(&world, "glab", "echo 'https://lab.example/mr/3'");
    let data = ask(&world, &["deliver", "--pr", "--to", "main"]).ok().data();
    assert_eq!(data["url"], json!("https://lab.example/mr/3"));
    let words = called(&world, "glab");
    for part in [&["mr", "create"][..], &["--target-branch", "main"], &["--source-branch", "integration"]] {
        assert!(words.windows(2).any(|pair| pair == part), "{part:?} in {words:?}");
    }
    forge(&world, "glab", "echo 'no access' >&2; exit 1");
    let ran = ask(&world, &["deliver", "--pr"]).exits(8);
    let error = &ran.json()["error"];
    assert!(error["message"].as_str().unwrap().contains("is pushed to origin"), "{error}");
    assert!(error["hint"].as_str().unwrap().contains("glab mr create"), "{error}");
}

#[test]
fn without_a_forge_the_command_is_printed() {
    let world = scene();
    let error = world.refused(&HUMAN, &["deliver", "--pr"], 1, "refused.value");
    assert!(error["hint"].as_str().unwrap().contains("git remote add origin URL"), "{error}");
    let bare = remote(&world);
    let data = ask(&world, &["deliver", "--pr"]).ok().data();
    assert_eq!((&data["url"], &data["remote"]), (&json!(null), &json!("origin")));
    let command = data["command"].as_str().unwrap();
    assert!(
        command.starts_with("gh pr create --repo ") && command.contains("--head integration"),
        "{command}"
    );
    // The printed command works where the program is installed.
    forge(&world, "gh", "echo ok");
    let mut shell = world.command("sh", &world.root);
    let path = format!("{}:{}", world.home().join("bin").display(), std::env::var("PATH").unwrap());
    shell.args(["-c", command]).env("PATH", path);
    assert!(crate::support::process::Bounded::finish_status(&mut shell).unwrap().success());
    assert!(called(&world, "gh").contains(&"A greeting program".to_owned()));
    // Commits on the remote branch are not overwritten.
    std::fs::remove_file(world.home().join("bin/gh")).unwrap();
    let other = world.home().join("other");
    world.git(&["clone", "-q", bare.to_str().unwrap(), other.to_str().unwrap()]);
    world.git_in(&other, &["switch", "-q", "integration"]);
    world.write_and_commit(&other, &[("theirs.txt", "x\n")]);
    world.git_in(&other, &["push", "-q", "origin", "integration"]);
    let theirs = world.git_in(&bare, &["rev-parse", "integration"]);
    world.write_and_commit(&world.home().join("up"), &[("again.txt", "x\n")]);
    world.human(&["integration", "advance", "up", "--reason", "more"]).ok();
    let ran = ask(&world, &["deliver", "--pr"]).exits(8);
    assert!(ran.stdout.contains("could not be pushed"), "{}", ran.stdout);
    assert_eq!(world.git_in(&bare, &["rev-parse", "integration"]), theirs);
    // Two remotes, and no `--remote`.
    world.git(&["remote", "rename", "origin", "one"]);
    world.git(&["remote", "add", "two", bare.to_str().unwrap()]);
    world.refused(&HUMAN, &["deliver", "--pr"], 1, "refused.value");
    world.refused(&HUMAN, &["deliver", "--pr", "--remote", "three"], 1, "refused.value");
}
