//! Killed processes, floods of output, daemons and misbehaving agents.

use super::*;
use crate::support::process::Bounded as _;

#[test]
fn next_runner_resumes_after_killed_runner() {
    let world = scripted("echo half > t1.txt; touch $OUT/up; sleep 600");
    add(&world, "t1");
    let mut child = start(&world, &["agent", "run", "--role", "coder"]);
    until("the agent works", || world.home().join("out/up").exists());
    signal(child.id(), "-KILL");
    child.wait().expect("it ends");
    until("the agent is gone", || {
        agents_of(&world).iter().all(|pid| {
            // Its shell dies with the runner; a sleep that the shell started may outlive it and does no harm.
            std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim() == "sleep"
        })
    });
    play(&world, &format!("cat t1.txt > $OUT/found\n{EVERY_ROLE}"));
    let ran = agent_run(&world, &["--role", "coder", "--once"]).ok();
    assert_eq!(world.row("t1")["status"], "READY_FOR_REVIEW", "{}", ran.stdout);
    assert_eq!(out(&world, "found").trim(), "half");
}

#[test]
fn other_agent_resumes_task_of_killed_runner() {
    let world = scripted(&format!(
        r#"if [ "$LIZA_TASK" = t1 ] && [ ! -e $OUT/up ]; then
  echo part > t1.txt; git add -A; git commit -qm part; touch $OUT/up; sleep 600
fi
[ "$LIZA_TASK" = t1 ] && git log --format=%s > $OUT/$LIZA_ROLE.log
{EVERY_ROLE}"#
    ));
    add(&world, "t1");
    let child = start(&world, &["--json", "run", "--team", "coder=2", "--team", "code_reviewer"]);
    until("the agent works", || world.home().join("out/up").exists());
    let agents = world.json(&HUMAN, &["agent", "list"]).ok().data()["agents"].clone();
    let runner = agents.as_array().unwrap().iter().find_map(|agent| agent["runner"].as_u64());
    let runner = u32::try_from(runner.expect("a runner at work")).unwrap();
    signal(runner, "-KILL");
    let ran = Ran::of(child.wait_with_output().expect("it ends"));
    assert_eq!((ran.exit, &world.row("t1")["status"]), (0, &"MERGED".into()), "{}", ran.stdout);
    let released = events(&ran);
    assert!(!named(&released, "released").is_empty(), "{}", ran.stdout);
    assert!(out(&world, "coder.log").contains("part"), "{}\n{}", out(&world, "coder.log"), ran.stdout);
    assert_eq!(agents_of(&world).len(), 0);
}

#[test]
fn next_run_resumes_after_killed_run() {
    let world = scripted(&format!("[ -e $OUT/go ] || {{ touch $OUT/up; sleep 600; }}\n{EVERY_ROLE}"));
    for task in ["a", "b", "c"] {
        add(&world, task);
    }
    let args = ["--json", "run", "--team", "coder=2", "--team", "code_reviewer"];
    let mut child = start(&world, &args);
    until("an agent works", || world.home().join("out/up").exists());
    world.json(&HUMAN, &args[1..]).exits(3);
    signal(child.id(), "-KILL");
    child.wait().expect("it ends");
    until("everything is gone", || agents_of(&world).is_empty());
    std::fs::write(world.home().join("out/go"), "").unwrap();
    let ran = world.json(&HUMAN, &args[1..]).ok();
    assert_eq!(answer(&ran)["data"]["counts"]["MERGED"], 3, "{}", ran.stdout);
    world.human(&["verify"]).ok();
}

#[test]
fn signal_stops_run_and_next_run_resumes() {
    let world = scripted(&format!(
        "[ -e $OUT/go ] || {{ echo half > a.txt; touch $OUT/up; sleep 600; }}\n{EVERY_ROLE}"
    ));
    add(&world, "a");
    let args = ["--json", "run", "--team", "coder", "--team", "code_reviewer"];
    let child = start(&world, &args);
    until("an agent works", || world.home().join("out/up").exists());
    signal(child.id(), "-INT");
    let ran = Ran::of(child.wait_with_output().expect("it ends"));
    assert_eq!(ran.exit, 130, "{}", ran.stdout);
    assert_eq!(answer(&ran)["data"]["outcome"], "stopped");
    assert_eq!(world.git(&["show", "refs/liza/wip/a/1:a.txt"]), "half");
    std::fs::write(world.home().join("out/go"), "").unwrap();
    let ran = world.json(&HUMAN, &args[1..]).ok();
    assert_eq!(answer(&ran)["data"]["outcome"], "complete", "{}", ran.stdout);
}

#[test]
fn waiting_runner_exits_when_board_is_removed() {
    for args in [&["agent", "run", "--role", "coder"][..], &["run", "--team", "coder"]] {
        let world = scripted("exit 0");
        world.task_with("t1", &["t1.txt"], &["--role", "test_engineer"]);
        let held = world.register("test_engineer", "me");
        world.liza(&held, &["task", "claim", "t1"]).ok();
        let mut child = start(&world, args);
        until("it waits", || world.state().contains("coder-1"));
        std::fs::rename(world.path(".liza"), world.home().join("elsewhere")).expect("moved");
        until("it leaves", || child.try_wait().expect("a state").is_some());
        assert!(!child.wait().expect("an end").success(), "{args:?}");
    }
}

#[test]
fn daemons_are_ended_with_the_session() {
    let world = scripted(&format!(
        "(setsid sh -c 'CANARY=daemon-of-this-test exec sleep 600' >/dev/null 2>&1 &)\n( ( CANARY=daemon-of-this-test sleep 600 & ) & )\n{EVERY_ROLE}"
    ));
    add(&world, "t1");
    agent_run(&world, &["--role", "coder", "--once"]).ok();
    assert_eq!(world.row("t1")["status"], "READY_FOR_REVIEW");
    assert_eq!(processes_with("CANARY=daemon-of-this-test").len(), 0);
}

#[test]
fn agent_output_flood_is_bounded() {
    let world = scripted(&format!("head -c 200000000 /dev/zero | tr '\\0' x\n{EVERY_ROLE}"));
    add(&world, "t1");
    let mut child = start(&world, &["agent", "run", "--role", "coder", "--once"]);
    let mut peak = 0;
    until("it is over", || {
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let now = status
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:"))
            .and_then(|line| line.trim().trim_end_matches(" kB").trim().parse::<u64>().ok());
        peak = peak.max(now.unwrap_or(0));
        child.try_wait().expect("a state").is_some()
    });
    assert!(peak < 64 * 1024, "{peak} kB");
    let bytes: u64 = runs(&world, "t1", ".log").iter().map(|path| path.metadata().unwrap().len()).sum();
    assert!(bytes < 64 * 1024 * 1024, "{bytes}");
    assert_eq!(world.row("t1")["status"], "READY_FOR_REVIEW");
}

#[test]
fn deleted_worktree_or_git_gc_loses_no_commit() {
    let world = scripted(&format!(
        r#"git gc -q --prune=now
if [ ! -e $OUT/up ]; then echo part > t1.txt; git add -A; git commit -qm part; touch $OUT/up; rm -rf "$PWD"; exit 0; fi
git log --format=%s > $OUT/log
{EVERY_ROLE}"#
    ));
    add(&world, "t1");
    agent_run(&world, &["--role", "coder", "--once"]).ok();
    assert_eq!(world.row("t1")["status"], "IDLE");
    let ran = agent_run(&world, &["--role", "coder", "--once"]).ok();
    assert!(out(&world, "log").contains("part"), "{}", ran.stdout);
    assert_eq!(world.row("t1")["status"], "READY_FOR_REVIEW", "{}", ran.stdout);
}

#[test]
fn agents_commit_on_integration_stops_the_team() {
    let world = scripted(
        r#"echo sly > sly.txt; git add -A; git commit -qm sly; git update-ref refs/heads/integration HEAD; exit 0"#,
    );
    add(&world, "t1");
    add(&world, "t2");
    let ran = world.json(&HUMAN, &["run", "--team", "coder", "--team", "code_reviewer"]).exits(1);
    let data = answer(&ran)["data"].clone();
    assert_eq!(data["outcome"], "stuck", "{data}");
    assert!(data["causes"][0]["why"].as_str().unwrap().contains("integration"), "{data}");
    assert_eq!(world.row("t2")["status"], "IDLE");
}

#[test]
fn secrets_reach_no_other_agent_and_no_log() {
    let world = scripted(&format!("env; env >&2; cat \"$LIZA_AGENT_TOKEN_FILE\"; {EVERY_ROLE}"));
    let script = world.home().join("agent.sh");
    world.write(
        "liza.yaml",
        &format!(
            "version: 1\nprovider: scripted\nproviders:\n  scripted: {{ command: [sh, '{}'], env: [OWN_API_KEY] }}\n",
            script.display()
        ),
    );
    add(&world, "t1");
    let mut command = world.liza_command(&HUMAN, &world.root, &["agent", "run", "--role", "coder", "--once"]);
    command.env("OWN_API_KEY", "canary-own-0123456789");
    for number in 0..30 {
        command.env(format!("SECRET_{number}_TOKEN"), format!("canary-{number}-0123456789"));
    }
    Ran::of(command.finish().expect("liza runs")).ok();
    let token = world.read(".liza/tokens/coder-1");
    for path in walk(&world.path(".liza")) {
        if path.starts_with(world.path(".liza/tokens")) {
            continue;
        }
        let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
        assert!(!text.contains("canary-"), "{}", path.display());
        assert!(!text.contains(token.trim()), "{}", path.display());
    }
    let log = std::fs::read_to_string(&runs(&world, "t1", "out.log")[0]).unwrap();
    assert!(log.contains("OWN_API_KEY=") && log.contains("[secret"), "{log}");
}

fn walk(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.extend(walk(&entry.path()));
        } else {
            found.push(entry.path());
        }
    }
    found
}

#[test]
fn twelve_tasks_merge_despite_random_kills() {
    let world = scripted(EVERY_ROLE);
    // A killed agent counts as crashed, and this many crashes would halt the team.
    configure(&world, "run: { grace_seconds: 1 }\nbreaker: { responses: { crash_loop: warning } }\n");
    let tasks: Vec<String> = (0..12).map(|n| format!("t{n}")).collect();
    for task in &tasks {
        add(&world, task);
    }
    let args = ["--json", "run", "--window", "6", "--team", "coder=4", "--team", "code_reviewer=2"];
    let mut seed = 7u64;
    for round in 0..12 {
        let mut child = start(&world, &args);
        let mut killed = 0;
        let ended = loop {
            if let Some(status) = child.try_wait().expect("a state") {
                break status;
            }
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let targets = agents_of(&world);
            if killed < 4 && round < 8 && !targets.is_empty() {
                signal(targets[(seed >> 33) as usize % targets.len()], "-KILL");
                killed += 1;
            }
            std::thread::sleep(Duration::from_millis(100 + (seed >> 40) % 300));
        };
        if ended.success() {
            break;
        }
        // Agents that crashed too often were stopped; a person starts them again.
    }
    for task in &tasks {
        let task = world.json(&HUMAN, &["task", "show", task]).ok().data();
        assert_eq!(task["status"], "MERGED", "{task}");
        let reviewer = task["approval"]["reviewer"].as_str().unwrap();
        assert!(!task["implementers"].as_array().unwrap().iter().any(|agent| agent == reviewer), "{task}");
    }
    world.human(&["verify"]).ok();
}
