//! `agent run --explain` shows what would start; and starts that are refused.

use super::*;

#[test]
fn explain_shows_the_exact_start_command() {
    let world = scripted(
        "cp \"$LIZA_PROMPT_FILE\" $OUT/prompt; for word in \"$@\"; do echo \"$word\"; done > $OUT/words; good_coder",
    );
    let script = world.home().join("agent.sh");
    world.write(
        "liza.yaml",
        &format!(
            "version: 1\nprovider: codex\nproviders:\n  codex:\n    command: [sh, '{}', '{{permissions}}', '{{args}}']\n",
            script.display()
        ),
    );
    add(&world, "t1");
    let explain = ["agent", "run", "--role", "coder", "--explain"];
    let data = world.json(&HUMAN, &explain).ok().data();
    let text = world.human(&explain).ok().stdout;
    assert_eq!(world.row("t1")["status"], "IDLE", "nothing is claimed");
    agent_run(&world, &["--role", "coder", "--once"]).ok();
    let words = out(&world, "words");
    let explained: Vec<&str> =
        data["args"].as_array().unwrap().iter().skip(1).filter_map(Value::as_str).collect();
    assert_eq!(explained, words.lines().collect::<Vec<_>>());
    assert!(words.contains(".git/worktrees/t1"), "the grants are those of the claim: {words}");
    let prompt = out(&world, "prompt");
    assert_eq!(data["prompt"].as_str().unwrap(), prompt);
    assert_eq!(data["agent"], "coder-1");
    assert!(text.contains(prompt.trim_end()) && text.contains("agent: coder-1"), "{text}");
}

#[test]
fn explain_offers_only_work_the_agent_may_take() {
    let world = scripted(EVERY_ROLE);
    add(&world, "t1");
    agent_run(&world, &["--role", "coder", "--once"]).ok();
    // An implementer cannot review the task, whatever its roles.
    let explain = |id: &str| {
        let args = ["agent", "run", "--role", "code_reviewer", "--id", id, "--explain"];
        world.json(&HUMAN, &args).ok().data()["work"].clone()
    };
    assert_eq!(explain("code-reviewer-1"), "review of t1");
    assert_eq!(explain("coder-1"), Value::Null);
}

#[test]
fn aider_is_refused_with_the_reason() {
    let world = World::new();
    world.write("liza.yaml", "version: 1\nprovider: aider\n");
    add(&world, "t1");
    for args in [&["run", "--team", "coder"][..], &["agent", "run", "--role", "coder", "--once"]] {
        let refused = world.human(args).exits(2);
        assert!(
            refused.stderr.contains("it runs no commands") && refused.stderr.contains("claude"),
            "{}",
            refused.stderr
        );
    }
    // A custom wrapper command may provide what the program itself lacks.
    play(&world, "good_coder");
    let script = world.home().join("agent.sh");
    world.write(
        "liza.yaml",
        &format!(
            "version: 1\nprovider: aider\nproviders: {{aider: {{command: [sh, '{}']}}}}\n",
            script.display()
        ),
    );
    agent_run(&world, &["--role", "coder", "--once"]).ok();
    assert_eq!(world.row("t1")["status"], "READY_FOR_REVIEW");
}

#[test]
fn tokens_without_a_cost_are_priced_by_liza_yaml() {
    let world = World::new();
    play(
        &world,
        "echo '{\"type\":\"turn.completed\",\"usage\":{\"input_tokens\":3000000,\"cached_input_tokens\":1000000,\"output_tokens\":100000}}'; good_coder > /dev/null",
    );
    let script = world.home().join("agent.sh");
    let config = |prices: &str| {
        let text = format!(
            "version: 1\nprovider: codex\nproviders: {{codex: {{command: [sh, '{}']}}}}\nroles: {{coder: {{model: big, limits: {{tokens: 0}}}}}}\nprices: {{big: {prices}}}\n",
            script.display()
        );
        world.write("liza.yaml", &text);
    };
    add(&world, "t1");
    config("{input: -1, output: 1}");
    let refused = agent_run(&world, &["--role", "coder", "--once"]).exits(2);
    assert!(refused.stdout.contains("prices.big.input is -1"), "{}", refused.stdout);
    config("{input: 2, output: 10, cached: 0.5}");
    agent_run(&world, &["--role", "coder", "--once"]).ok();
    let cost = world.show("t1")["spent"]["cost_usd"].as_f64().unwrap();
    assert!((cost - 5.5).abs() < 1e-9, "{cost}");
}
