//! Which variables a gate gets from the caller (row F4), and that no text of a task reaches a shell (row F2).

use serde_json::json;

use crate::support::{HUMAN, World, write};

use super::{log_of, run_all, with_gates};

const CANARIES: [&str; 30] = [
    "ANTHROPIC_API_KEY",
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AZURE_CLIENT_SECRET",
    "CARGO_REGISTRY_TOKEN",
    "CI_JOB_TOKEN",
    "CLOUDFLARE_API_TOKEN",
    "DATABASE_URL",
    "DOCKER_AUTH_CONFIG",
    "GH_TOKEN",
    "GITHUB_TOKEN",
    "GITLAB_TOKEN",
    "GIT_ASKPASS",
    "GIT_SSH_COMMAND",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "GPG_AGENT_INFO",
    "HEROKU_API_KEY",
    "HF_TOKEN",
    "KUBECONFIG",
    "LD_PRELOAD_X",
    "LIZA_SECRET",
    "NPM_TOKEN",
    "OPENAI_API_KEY",
    "PGPASSWORD",
    "PYPI_TOKEN",
    "SLACK_BOT_TOKEN",
    "SSH_AUTH_SOCK",
    "STRIPE_SECRET_KEY",
    "VAULT_TOKEN",
];

fn everything_below(world: &World) -> String {
    let mut text = String::new();
    let mut left = vec![world.path(".liza")];
    while let Some(path) = left.pop() {
        if path.is_dir() {
            left.extend(std::fs::read_dir(&path).unwrap().flatten().map(|entry| entry.path()));
        } else {
            text.push_str(&String::from_utf8_lossy(&std::fs::read(&path).unwrap_or_default()));
        }
    }
    text
}

#[test]
fn no_secret_reaches_a_gate_its_log_or_a_report() {
    // The gate prints its environment, and what it can read of the process that started it.
    let nosy = "env; judge=$(awk '/^PPid/{print $2}' /proc/$PPID/status); tr '\\0' '\\n' < /proc/$judge/environ; \
        cat \"$HOME/netrc\"; exit 1";
    let world = with_gates(json!([{ "name": "nosy", "command": nosy }, { "name": "own", "command": "env" }]));
    let coder = world.register("coder", "coder-1");
    let token_file = world.path(".liza/tokens/coder-1");
    let token = coder.token.clone().unwrap();
    let values: Vec<String> =
        CANARIES.iter().map(|name| format!("canary-{}-value", name.to_lowercase())).collect();
    let mut env: Vec<(&str, &str)> =
        CANARIES.iter().copied().zip(values.iter().map(String::as_str)).collect();
    env.push(("LIZA_AGENT_TOKEN_FILE", token_file.to_str().unwrap()));
    env.push(("GOPATH", "/go"));
    env.push(("HTTPS_PROXY", "http://me:canary-proxy-word@proxy:1"));
    // A file of the user with the same value as a variable.
    std::fs::write(world.home().join("netrc"), format!("{} {token}\n", values[22])).unwrap();
    let before = everything_below(&world);
    let ran = world.json_env(&coder, &["gate", "run", "--tree", "main"], &env).exits(7);
    let log = log_of(&world, &ran.data()["gates"]["nosy"]);
    let own: Vec<&str> = log.split("LIZA_SECRET=").next().unwrap().lines().collect();
    assert!(own.contains(&"LIZA_GATE=nosy") && own.contains(&"GOPATH=/go"), "{log}");
    assert!(log.contains("[secret NPM_TOKEN]"), "{log}");
    // The log shows names of liza's environment variables; it masks values that look like secrets.
    let ran = world.json_env(&coder, &["gate", "run", "--tree", "main", "--gate", "own"], &env).ok();
    let log = log_of(&world, &ran.data()["gates"]["own"]);
    for name in CANARIES {
        assert!(!log.contains(&format!("{name}=")), "{name} in {log}");
    }
    for (value, name) in values.iter().zip(CANARIES) {
        assert!(!log.contains(value), "{name}");
    }
    assert!(!log.contains("canary-proxy-word") && !log.contains("TOKEN"), "{log}");
    for line in log.lines().filter(|line| line.starts_with("LIZA_") || line.starts_with("GIT_")) {
        let allowed = ["LIZA_GATE=", "LIZA_GATE_COMMIT=", "GIT_CEILING_DIRECTORIES="];
        assert!(allowed.iter().any(|start| line.starts_with(start)), "{line}");
    }
    let after = everything_below(&world);
    assert_eq!(before.matches(&token).count(), after.matches(&token).count(), "the token was written down");
    for secret in ["npm_token", "github_token", "pgpassword", "heroku_api_key"] {
        assert!(!after.contains(&format!("canary-{secret}-value")), "{secret} was written down");
    }
}

#[test]
fn gate_gets_named_variables_and_no_identity() {
    let world = with_gates(json!([{
        "name": "own",
        "command": "env",
        "environment": { "MODE": "strict", "LANG": "C.UTF-8" },
        "pass_environment": ["LICENCE_SERVER"],
    }]));
    let env = [("LICENCE_SERVER", "host"), ("LANG", "xx"), ("OTHER", "x")];
    let ran = world.json_env(&HUMAN, &["gate", "run", "--tree", "main"], &env).ok();
    let log = log_of(&world, &ran.data()["gates"]["own"]);
    for line in ["MODE=strict", "LANG=C.UTF-8", "LICENCE_SERVER=host", "LIZA_GATE=own"] {
        assert!(log.lines().any(|found| found == line), "{line}: {log}");
    }
    assert!(!log.contains("OTHER") && !log.contains("LANG=xx"), "{log}");
    let commit = world.git(&["rev-parse", "main"]);
    assert!(log.contains(&format!("LIZA_GATE_COMMIT={commit}")), "{log}");
}

/// Forty payloads for a shell; each would create the canary file `$C`.
fn payloads(canary: &str) -> Vec<String> {
    let act = format!("touch {canary}");
    let shapes = [
        "; @",
        "& @",
        "&& @",
        "|| @",
        "| @",
        "$(@)",
        "`@`",
        "\n@\n",
        "\"; @; \"",
        "'; @; '",
        "\\'; @; '",
        "${x:-$(@)}",
        "$((`@`))",
        "<(@)",
        ">(@)",
        "{@,}",
        "#\n@",
        "$'\\n'@",
        "a;@;b",
        "a|@|b",
        "a&@&b",
        "\"$(@)\"",
        "'$(@)'",
        "\\$(@)",
        "$(@) x",
        "x $(@)",
        "--x=$(@)",
        "-e $(@)",
        "--exec=@",
        "%0a@",
        "\r@\r",
        "\u{2028}@",
        "$IFS@",
        "eval @",
        "exec @",
        "*;@",
        "?;@",
        "~;@",
        "!;@",
        "{{ @ }}",
    ];
    shapes.iter().map(|shape| shape.replace('@', &act)).collect()
}

#[test]
fn no_text_of_a_task_or_a_change_reaches_a_shell() {
    let world = with_gates(json!([
        { "name": "shell", "command": "ls -R >/dev/null; cat */* >/dev/null" },
        { "name": "argv", "command": ["ls", "-R"] },
    ]));
    let canary = world.home().join("canary");
    let payloads = payloads(canary.to_str().unwrap());
    assert_eq!(payloads.len(), 40);
    let coder = world.register("coder", "coder-1");
    for (number, payload) in payloads.iter().enumerate() {
        // Texts and paths that the board refuses go no further; those that it accepts must stay texts.
        let id = format!("t{number}");
        let title = payload.clone();
        let base =
            ["task", "add", "--id", &id, "--title", &title, "--desc", &title, "--spec", "specs/vision.md"];
        let mut args: Vec<&str> = base.to_vec();
        args.extend(["--done", &title, "--in", "src/", "--in", "tests/", "--kind", "code", "--finalize"]);
        if world.human(&args).exit != 0 {
            let plain = ["task", "add", "--id", &id, "--title", "plain", "--spec", "specs/vision.md"];
            let mut args: Vec<&str> = plain.to_vec();
            args.extend(["--done", "it works", "--in", "src/", "--in", "tests/", "--finalize"]);
            world.human(&args).ok();
        }
    }
    let worktree = world.claim(&coder, "t0");
    world.checkpoint(&coder, "t0", &["src/a", "tests/test_a.sh"]);
    for (number, payload) in payloads.iter().enumerate() {
        // As content and, where a file may have that name, as a file name.
        write(&worktree, &format!("src/f{number}"), payload);
        let name = payload.replace('/', "_");
        let _ = std::fs::write(worktree.join("src").join(name), payload);
    }
    let head = world.write_and_commit(&worktree, &[("src/a", "a\n"), ("tests/test_a.sh", "echo ok\n")]);
    let data = world.json(&coder, &["gate", "run", "t0"]).ok().data();
    assert_eq!((&data["commit"], &data["passed"]), (&json!(head), &json!(true)));
    let log = log_of(&world, &data["gates"]["argv"]);
    assert!(log.starts_with("$ ls -R\n") && log.contains("touch"), "{log}");
    world.human(&["gate", "show", "t0"]).ok();
    assert!(!canary.exists(), "a shell has read a text");
    assert_eq!(run_all(&world)["passed"], true);
    assert!(!canary.exists());
}
