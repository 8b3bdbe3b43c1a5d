//! Teams of scripted agents: real runners, real processes, real worktrees.

mod agent_log;
mod all_providers;
mod crashes;
mod disturbed_runs;
mod explain;
mod hidden_agents;
mod identity;
mod kills_and_floods;
mod lost_git_file;
mod oscillation;
mod overseer;
mod people;
mod planted_hooks;
mod provider_failures;
mod questions;
mod running;
mod sandbox;
mod session_ends;
mod slices;
mod state_edits;
mod team_gates;
mod team_switches;

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::process::{Bounded as _, Running};
use crate::support::{HUMAN, Ran, World};

/// A well-behaved agent of each role; tests put their own commands before it or replace it.
pub const GOOD: &str = r#"
good_coder() {
  grep -q "Your checkpoint is on record" "$LIZA_PROMPT_FILE" 2>/dev/null || liza task checkpoint "$LIZA_TASK" --intent "the file of $LIZA_TASK says hello" --risks "none, a new file" \
    --validate "cat $LIZA_TASK.txt" --expect hello --file "$LIZA_TASK.txt" --file "tests/test_$LIZA_TASK.sh" || return 1
  mkdir -p tests
  echo hello > "$LIZA_TASK.txt"
  echo "grep -q hello $LIZA_TASK.txt" > "tests/test_$LIZA_TASK.sh"
  git add -A
  git diff --cached --quiet || git commit -qm "$LIZA_TASK" || return 1
  liza task submit "$LIZA_TASK"
}
good_reviewer() {
  liza review approve "$LIZA_TASK" --commit "$(git rev-parse HEAD)" --summary fine
}
good_planner() {
  :
}
"#;

pub const EVERY_ROLE: &str = r#"
case "$LIZA_ROLE" in
  coder) good_coder ;;
  code_reviewer) good_reviewer ;;
  planner) good_planner ;;
esac
"#;

/// A board whose agents run this script; `$OUT` is a directory for output to the test.
pub fn scripted(script: &str) -> World {
    let world = World::new();
    play(&world, script);
    configure(&world, "run: { grace_seconds: 1 }\n");
    world
}

pub fn play(world: &World, script: &str) {
    let out = world.home().join("out");
    std::fs::create_dir_all(&out).expect("a directory");
    let text = format!("OUT='{}'\n{GOOD}\n{script}\n", out.display());
    std::fs::write(world.home().join("agent.sh"), text).expect("a script");
}

pub fn configure(world: &World, more: &str) {
    let script = world.home().join("agent.sh");
    world.write(
        "liza.yaml",
        &format!(
            "version: 1\nprovider: scripted\nproviders:\n  scripted:\n    command: [sh, '{}']\n{more}",
            script.display()
        ),
    );
}

pub fn add(world: &World, id: &str) {
    world.task(id, &[&format!("{id}.txt"), &format!("tests/test_{id}.sh")]);
}

pub fn out(world: &World, name: &str) -> String {
    std::fs::read_to_string(world.home().join("out").join(name)).unwrap_or_default()
}

/// `agent run` with `--json`, to its end.
pub fn agent_run(world: &World, args: &[&str]) -> Ran {
    let mut all = vec!["--json", "agent", "run"];
    all.extend(args);
    world.liza(&HUMAN, &all)
}

/// The events of a runner or a run.
pub fn events(ran: &Ran) -> Vec<Value> {
    ran.stdout
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|value| value["event"].is_string())
        .collect()
}

pub fn named<'e>(events: &'e [Value], kind: &str) -> Vec<&'e Value> {
    events.iter().filter(|event| event["event"] == kind).collect()
}

/// The last JSON object: the command's answer.
pub fn answer(ran: &Ran) -> Value {
    serde_json::from_str(ran.stdout.lines().last().unwrap_or_default()).unwrap_or_default()
}

/// Short waits for runs and runners, so that no test waits for real seconds.
pub const QUICK: [(&str, &str); 6] = [
    ("LIZA_TEST_BACKOFF_MS", "20"),
    ("LIZA_TEST_TICK_MS", "500"),
    ("LIZA_TEST_AT_ONCE_MS", "300"),
    ("LIZA_TEST_BREAKER_REST_MS", "100"),
    ("LIZA_TEST_GRACE_MS", "300"),
    ("LIZA_TEST_BOOK_MS", "200"),
];

/// A command of the human with short waits, to its end.
pub fn quickly(world: &World, args: &[&str]) -> Ran {
    world.liza_with(&HUMAN, args, b"", &QUICK)
}

/// A command that goes on in the background.
pub fn start(world: &World, args: &[&str]) -> Running {
    world
        .liza_command(&HUMAN, &world.root, args)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .start()
        .expect("liza starts")
}

/// The same with short waits.
pub fn start_quickly(world: &World, args: &[&str]) -> Running {
    world
        .liza_command(&HUMAN, &world.root, args)
        .envs(QUICK)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .start()
        .expect("liza starts")
}

/// Waits until the condition holds.
#[track_caller]
pub fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !condition() {
        assert!(Instant::now() < deadline, "it took too long until {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

pub fn signal(pid: u32, signal: &str) {
    let _ = std::process::Command::new("kill").arg(signal).arg(pid.to_string()).finish_status();
}

/// Living processes whose environment or command line contains this text.
pub fn processes_with(text: &str) -> Vec<u32> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
        .filter(|pid| {
            let read = |name: &str| std::fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default();
            let holds = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).contains(text);
            (holds(read("environ")) || holds(read("cmdline"))) && *pid != std::process::id()
        })
        .collect()
}

/// Processes that the agents of this world left.
pub fn agents_of(world: &World) -> Vec<u32> {
    processes_with(&format!("BLACKBOARD={}", world.path(".liza/state.yaml").display()))
}

pub fn runs(world: &World, task: &str, ending: &str) -> Vec<PathBuf> {
    fn below(dir: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
            if entry.path().is_dir() {
                below(&entry.path(), found);
            } else {
                found.push(entry.path());
            }
        }
    }
    let mut found = Vec::new();
    below(&world.path(&format!(".liza/runs/{task}")), &mut found);
    found.retain(|path| path.to_string_lossy().ends_with(ending));
    found.sort();
    found
}
