//! `liza agent log`: an agent's session in readable form.

use super::*;

/// An agent with claude's output format that works as the script says.
fn like_claude(script: &str) -> World {
    let world = World::new();
    let fixture = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/fixtures/sessions/claude.out");
    play(&world, &format!("cat '{fixture}'\n{script}"));
    let file = world.home().join("agent.sh");
    world.write(
        "liza.yaml",
        &format!(
            "version: 1\nprovider: claude\nproviders: {{claude: {{command: [sh, '{}']}}}}\n",
            file.display()
        ),
    );
    add(&world, "t1");
    world
}

#[test]
fn agent_log_shows_tools_tokens_and_exit() {
    let world = like_claude("good_coder > /dev/null 2>&1");
    assert_eq!(world.human(&["agent", "log"]).exits(2).exit, 2);
    agent_run(&world, &["--role", "coder", "--once"]).ok();
    for of in [&["coder-1"][..], &["t1"], &[]] {
        let shown = world.human(&[&["agent", "log"], of].concat()).ok().stdout;
        for part in [
            "coder-1 on t1, coder played by claude",
            "says    I look first.",
            "calls   Bash liza task show t",
            "    t: WORKING",
            "used: 2 turns, 1 tool calls, 5510 tokens in, 180 out, 27200 from a cache, 0.0875 USD",
            "exit 0",
        ] {
            assert!(shown.contains(part), "{of:?}: `{part}` is not in\n{shown}");
        }
    }
    let last = world.human(&["agent", "log", "t1", "-n", "1"]).ok().stdout;
    assert!(
        last.contains("says    Done.") && last.contains("steps before") && !last.contains("I look"),
        "{last}"
    );
    let data = world.json(&HUMAN, &["agent", "log", "coder-1"]).ok().data();
    assert_eq!(data["steps"][1]["tool"], "Bash", "{data}");
    assert_eq!(data["ended"]["usage"]["tool_calls"], 1);
    let raw = world.human(&["agent", "log", "--raw"]).ok().stdout;
    assert!(raw.contains("\"tool_use_id\":\"toolu_01\""), "{raw}");
    let unknown = world.human(&["agent", "log", "t9"]).exits(2);
    assert!(
        unknown.stderr.contains("no session of `t9`") && unknown.stderr.contains("coder-1"),
        "{}",
        unknown.stderr
    );
}

#[test]
fn crash_log_says_why_without_control_characters() {
    let world =
        like_claude("printf 'half \\033[2J a line\\n'; printf 'panic \\033[31mat 7\\n' >&2; kill -9 $$");
    agent_run(&world, &["--role", "coder", "--once"]).exits(1);
    let shown = world.human(&["agent", "log", "coder-1"]).ok().stdout;
    assert!(shown.contains("killed by signal 9") && shown.contains("standard error:"), "{shown}");
    assert!(shown.contains("why: crash:") && shown.contains("at 7"), "{shown}");
    for args in [&["agent", "log"][..], &["agent", "log", "--raw"]] {
        let shown = world.human(args).ok().stdout;
        assert!(shown.contains("half") && !shown.contains('\u{1b}'), "{shown}");
    }
}

#[test]
fn log_follows_a_session_to_its_end() {
    let world = like_claude(
        "touch $OUT/up; while [ ! -e $OUT/go ]; do sleep 0.05; done; echo '{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"One more.\"}]}}'; good_coder > /dev/null 2>&1",
    );
    let runner = start(&world, &["--json", "agent", "run", "--role", "coder", "--once"]);
    until("the agent works", || world.home().join("out/up").exists());
    until("its words are kept", || {
        let now = world.human(&["agent", "log", "coder-1"]).ok().stdout;
        now.contains("says    Done.") && now.contains("the session is running")
    });
    let follower = start(&world, &["agent", "log", "t1", "-f"]);
    std::fs::write(world.home().join("out/go"), "").expect("a file");
    let shown = Ran::of(follower.wait_with_output().expect("it ends"));
    assert_eq!(shown.exit, 0, "{}", shown.stderr);
    assert!(shown.stdout.contains("One more.") && shown.stdout.contains("ended after"), "{}", shown.stdout);
    assert_eq!(Ran::of(runner.wait_with_output().expect("it ends")).exit, 0);
}
