//! Every agent command of the catalog, started by a runner.

use super::*;
use crate::providers::{CANARIES, EXPECTED, Fake, KEY};
use crate::support::process::Bounded as _;

#[test]
fn runner_starts_every_provider_and_reads_usage() {
    std::thread::scope(|scope| {
        let lanes: Vec<_> = EXPECTED
            .chunks(4)
            .map(|lane| {
                // Aider cannot act as an agent.
                let able = lane.iter().filter(|expected| expected.name != "aider");
                scope.spawn(move || able.for_each(|expected| one(expected.name)))
            })
            .collect();
        lanes.into_iter().for_each(|lane| lane.join().expect("every provider of the lane"));
    });
}

fn one(name: &str) {
    let expected = EXPECTED.iter().find(|expected| expected.name == name).expect("an entry");
    let world = World::new();
    let last = "liza task block t1 --reason 'no more to say' --question 'What next?' >/dev/null";
    let own = own_key(name);
    let fake = Fake::ending_with(&world, name, own, last);
    world.write("liza.yaml", "version: 1\nroles:\n  coder: { model: model-x, args: [--of-the-role] }\n");
    add(&world, "t1");
    let args = ["--json", "agent", "run", "--role", "coder", "--provider", name, "--once"];
    let mut command = world.liza_command(&HUMAN, &world.root, &args);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let all = std::iter::once(fake.bin.clone()).chain(std::env::split_paths(&path));
    command.env("PATH", std::env::join_paths(all).expect("a path"));
    for canary in CANARIES.iter().filter(|canary| !canary.starts_with("LIZA_") && !canary.starts_with("GIT_"))
    {
        command.env(canary, format!("canary-of-{canary}"));
    }
    if let Some(own) = own {
        command.env(own, format!("{KEY}-{own}"));
    }
    let ran = Ran::of(command.finish().expect("liza runs")).ok();

    // How it was started.
    let words = fake.words();
    let mut at = 0;
    let resumes = ["session-0", "--resume", "--session", "--session-id", "resume"];
    for wanted in expected.words.iter().filter(|word| !resumes.contains(word)) {
        let found = words[at..].iter().position(|word| word == wanted);
        at += found.unwrap_or_else(|| panic!("{name}: {wanted} is not in {words:?}")) + 1;
    }
    assert!(!words.iter().any(|word| word == "session-0"), "{name}: {words:?}");
    assert_eq!(fake.record("cwd").trim(), world.path(".worktrees/t1").to_str().unwrap(), "{name}");
    let prompt = std::fs::read_to_string(&runs(&world, "t1", "prompt.md")[0]).unwrap();
    let given = format!("{}\n{}", fake.record("stdin"), words.join("\n"));
    let file = runs(&world, "t1", "prompt.md")[0].display().to_string();
    assert!(given.contains(prompt.trim()) || given.contains(&file), "{name} was not given its prompt");
    let env = fake.env();
    assert_eq!(env["LIZA_AGENT_ID"], "coder-1", "{name}");
    assert_eq!(env["LIZA_CLAIM"], "t1:1", "{name}");
    assert!(!env.values().any(|value| value.contains("canary-of-")), "{name}: {env:?}");

    // The printed usage equals the recorded usage.
    let all = events(&ran);
    let usage = &named(&all, "ended")[0]["usage"];
    assert_eq!(usage["turns"], expected.turns, "{name}: {usage}");
    assert_eq!(usage["tool_calls"], expected.tool_calls, "{name}: {usage}");
    let tokens = (&usage["input_tokens"], &usage["output_tokens"], &usage["cached_tokens"]);
    let (input, output, cached) = expected.tokens;
    assert_eq!(tokens, (&input.into(), &output.into(), &cached.into()), "{name}");
    assert_eq!(usage["cost_usd"].as_f64(), expected.cost, "{name}");
    assert_eq!(usage["session"].as_str(), expected.session, "{name}");
    assert_eq!(usage["last_tool"].as_str().unwrap_or_default(), expected.last_tool, "{name}");
    let log = std::fs::read_to_string(&runs(&world, "t1", "out.log")[0]).unwrap();
    assert!(!log.contains(KEY), "{name} leaked its key");
    assert_eq!(world.row("t1")["status"], "BLOCKED", "{name}");
}

/// The variable with a provider's key.
fn own_key(name: &str) -> Option<&'static str> {
    match name {
        "claude" => Some("ANTHROPIC_API_KEY"),
        "codex" | "qwen" | "aider" => Some("OPENAI_API_KEY"),
        "gemini" => Some("GEMINI_API_KEY"),
        _ => None,
    }
}
