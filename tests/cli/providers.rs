//! Every provider of the catalog, with a fake program that records how it was started and plays back
//! the real program's output; and what doctor says about installed providers.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use liza::board::breaker::CrashClass;
use liza::policy::ProjectConfig;
use liza::policy::provider::{Denied, PromptBy, ProviderEntry};
use liza::policy::team::Limits;
use liza::provider::{Catalog, Job, Meter, Redactor, Usage, environment, invocation, secrets};

use crate::support::process::Bounded as _;
use crate::support::{HUMAN, World, write};

/// Secrets on developers' machines that an agent must not get.
pub(crate) const CANARIES: [&str; 32] = [
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AZURE_CLIENT_SECRET",
    "CARGO_REGISTRY_TOKEN",
    "CI_JOB_TOKEN",
    "DATABASE_URL",
    "DOCKER_AUTH_CONFIG",
    "GITLAB_TOKEN",
    "GIT_ASKPASS",
    "GIT_CONFIG_COUNT",
    "GIT_DIR",
    "GIT_INDEX_FILE",
    "GIT_SSH_COMMAND",
    "GIT_WORK_TREE",
    "HEROKU_API_KEY",
    "HF_TOKEN",
    "KUBECONFIG",
    "LD_PRELOAD_CANARY",
    "LIZA_AGENT_ID",
    "LIZA_AGENT_TOKEN",
    "LIZA_AGENT_TOKEN_FILE",
    "LIZA_CLAIM",
    "LIZA_LOCK_TIMEOUT",
    "NPM_TOKEN",
    "PGPASSWORD",
    "PYPI_TOKEN",
    "SENTRY_AUTH_TOKEN",
    "SLACK_BOT_TOKEN",
    "SSH_AUTH_SOCK",
    "STRIPE_SECRET_KEY",
    "TF_VAR_password",
    "VAULT_TOKEN",
];

pub(crate) const KEY: &str = "sk-live-0123456789abcdef";

/// A program with the name of a provider's.
pub(crate) struct Fake {
    pub(crate) bin: PathBuf,
    records: PathBuf,
}

fn executable(path: &Path, script: &str) {
    let dir = path.parent().expect("a directory");
    write(dir, &path.file_name().expect("a name").to_string_lossy(), script);
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("a mode");
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/fixtures/providers").join(name)
}

impl Fake {
    pub(crate) fn new(world: &World, name: &str, key: Option<&str>) -> Self {
        Self::ending_with(world, name, key, "")
    }

    /// The same, with its own last message.
    pub(crate) fn ending_with(world: &World, name: &str, key: Option<&str>, last: &str) -> Self {
        let (bin, records) = (world.home().join("bin"), world.home().join("records").join(name));
        std::fs::create_dir_all(&records).expect("a directory");
        let leak = key.map(|key| format!("echo \"the key is ${key}\"")).unwrap_or_default();
        let script = format!(
            "#!/bin/sh\ncd_to='{}'\nfor word in \"$@\"; do printf '%s\\0' \"$word\"; done > \"$cd_to/argv\"\n\
             cat > \"$cd_to/stdin\"\npwd > \"$cd_to/cwd\"\nenv -0 > \"$cd_to/env\"\n\
             before=\nfor word in \"$@\"; do\n  [ \"$before\" = --usage-output-file ] && cp '{}' \"$word\"\n  before=$word\ndone\n\
             {leak}\ncat '{}'\n{last}\n",
            records.display(),
            fixture(&format!("{name}.usage")).display(),
            fixture(&format!("{name}.out")).display(),
        );
        executable(&bin.join(if name == "cursor" { "cursor-agent" } else { name }), &script);
        Self { bin, records }
    }

    pub(crate) fn record(&self, what: &str) -> String {
        std::fs::read_to_string(self.records.join(what)).unwrap_or_else(|error| panic!("{what}: {error}"))
    }

    pub(crate) fn words(&self) -> Vec<String> {
        self.record("argv").split_terminator('\0').map(str::to_owned).collect()
    }

    pub(crate) fn env(&self) -> BTreeMap<String, String> {
        let split = |pair: &str| pair.split_once('=').map(|(a, b)| (a.to_owned(), b.to_owned()));
        self.record("env").split_terminator('\0').filter_map(split).collect()
    }
}

/// A task's worktree with what a session needs.
fn job(world: &World) -> Job {
    let run_dir = world.path(".liza/runs/t/1");
    std::fs::create_dir_all(&run_dir).expect("a directory");
    world.git(&["worktree", "add", "-q", "--detach", ".worktrees/t"]);
    let prompt =
        "Do what the task says.\n\n{{ model }} {prompt} $(touch canary) 'quoted' \"twice\" \\ \u{fc}\n"
            .to_owned();
    write(&run_dir, "prompt.md", &prompt);
    Job {
        prompt,
        prompt_file: run_dir.join("prompt.md"),
        worktree: world.path(".worktrees/t"),
        common_dir: world.path(".git"),
        git_dir: world.path(".git/worktrees/t"),
        board_dir: world.path(".liza"),
        run_dir,
        model: Some("model-x".to_owned()),
        args: vec!["--of-the-role".to_owned()],
        denied: Denied::default(),
        session: Some("session-0".to_owned()),
        limits: Limits { turns: Some(50), ..Limits::default() },
    }
}

/// Starts the provider as a runner does, and reads its output to the end: returns the log and the figures.
fn run(entry: &ProviderEntry, job: &Job, bin: &Path) -> (String, Usage) {
    let started = invocation(entry, job);
    let path = std::env::join_paths(
        [bin.to_owned()]
            .into_iter()
            .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())),
    )
    .expect("a path");
    let mut caller: Vec<(OsString, OsString)> =
        CANARIES.iter().map(|name| (OsString::from(name), OsString::from("canary"))).collect();
    caller.extend([("PATH".into(), path), ("HOME".into(), "/nowhere".into()), ("LC_ALL".into(), "C".into())]);
    caller
        .extend(entry.env.iter().map(|name| (OsString::from(name), OsString::from(format!("{KEY}-{name}")))));
    let passed = environment(entry, caller);
    let mut redactor = Redactor::of(&secrets(
        passed.iter().map(|(name, value)| (name, value)),
        [("token", b"liza-token".to_vec())],
    ));
    let mut child = Command::new(&started.program)
        .args(&started.args)
        .current_dir(&job.worktree)
        .env_clear()
        .envs(passed)
        .envs(&started.env)
        .stdin(if started.stdin.is_some() { Stdio::piped() } else { Stdio::null() })
        .stdout(Stdio::piped())
        .start()
        .unwrap_or_else(|error| panic!("{}: {error}", started.program));
    if let (Some(mut stdin), Some(bytes)) = (child.stdin.take(), &started.stdin) {
        stdin.write_all(bytes).expect("it reads");
    }
    let (mut meter, mut log) = (Meter::new(entry), Vec::new());
    let mut take = |bytes: Vec<u8>| {
        meter.feed(&bytes);
        log.extend(bytes);
    };
    let mut output = child.stdout.take().expect("an output");
    // Small chunks, so that lines and secrets are split.
    let mut buffer = [0; 37];
    loop {
        match output.read(&mut buffer).expect("output") {
            0 => break,
            count => take(redactor.feed(&buffer[..count])),
        }
    }
    take(redactor.finish());
    assert!(child.wait().expect("it ends").success());
    let file = started.usage_file.map(|path| std::fs::read(path).expect("a usage file"));
    meter.finish(file.as_deref());
    (String::from_utf8(log).expect("text"), meter.usage().clone())
}

pub(crate) struct Expected {
    pub(crate) name: &'static str,
    /// Arguments that every start must contain, in this order.
    pub(crate) words: &'static [&'static str],
    pub(crate) turns: u64,
    pub(crate) tool_calls: u64,
    /// Tokens: input, output, cached.
    pub(crate) tokens: (u64, u64, u64),
    pub(crate) cost: Option<f64>,
    pub(crate) session: Option<&'static str>,
    pub(crate) last_tool: &'static str,
}

pub(crate) const EXPECTED: [Expected; 12] = [
    Expected {
        name: "claude",
        words: &[
            "-p",
            "--output-format",
            "stream-json",
            "--verbose",
            "--permission-mode",
            "acceptEdits",
            "--model",
            "model-x",
            "--max-turns",
            "55",
            "--resume",
            "session-0",
            "--of-the-role",
        ],
        turns: 2,
        tool_calls: 1,
        tokens: (5510, 180, 27_200),
        cost: Some(0.0875),
        session: Some("5f0c2a4e-11d2-4b8e-9a3d-0d6f9f2f7f10"),
        last_tool: "Bash",
    },
    Expected {
        name: "codex",
        words: &[
            "exec",
            "--json",
            "--skip-git-repo-check",
            "--sandbox",
            "workspace-write",
            "--model",
            "model-x",
            "--of-the-role",
            "resume",
            "session-0",
            "-",
        ],
        turns: 2,
        tool_calls: 1,
        tokens: (315, 122, 24_448),
        cost: None,
        session: Some("0199a213-81c0-7800-8aa1-bbab2a035a53"),
        last_tool: "shell",
    },
    Expected {
        name: "gemini",
        words: &[
            "--output-format",
            "stream-json",
            "--approval-mode",
            "yolo",
            "--skip-trust",
            "--model",
            "model-x",
            "--resume",
            "session-0",
            "--of-the-role",
        ],
        turns: 2,
        tool_calls: 1,
        tokens: (3000, 400, 7000),
        cost: None,
        session: Some("b1c9f0de"),
        last_tool: "run_shell_command",
    },
    Expected {
        name: "opencode",
        words: &[
            "run",
            "--format",
            "json",
            "--auto",
            "--model",
            "model-x",
            "--session",
            "session-0",
            "--of-the-role",
        ],
        turns: 2,
        tool_calls: 1,
        tokens: (582, 171, 21_850),
        cost: Some(0.0015),
        session: Some("ses_494719016ffe85dkDMj0FPRbHK"),
        last_tool: "bash",
    },
    Expected {
        name: "qwen",
        words: &[
            "--output-format",
            "stream-json",
            "--approval-mode",
            "yolo",
            "--model",
            "model-x",
            "--max-session-turns",
            "55",
            "--resume",
            "session-0",
            "--of-the-role",
        ],
        turns: 2,
        tool_calls: 1,
        tokens: (1100, 70, 17_000),
        cost: None,
        session: Some("3d0e6c1a"),
        last_tool: "run_shell_command",
    },
    Expected {
        name: "copilot",
        words: &[
            "-p",
            "--output-format",
            "json",
            "--usage-output-file",
            "--no-ask-user",
            "--allow-all-tools",
            "--model",
            "model-x",
            "--session-id",
            "session-0",
            "--of-the-role",
        ],
        turns: 2,
        tool_calls: 1,
        tokens: (2000, 100, 19_000),
        cost: None,
        session: Some("7d3b1c02"),
        last_tool: "bash",
    },
    Expected {
        name: "kimi",
        words: &[
            "-p",
            "--output-format",
            "stream-json",
            "--model",
            "model-x",
            "--session",
            "session-0",
            "--of-the-role",
        ],
        turns: 2,
        tool_calls: 1,
        tokens: (0, 0, 0),
        cost: None,
        session: Some("session_f4472906"),
        last_tool: "Shell",
    },
    Expected {
        name: "aider",
        words: &["--message-file", "--no-pretty", "--yes-always", "--model", "model-x", "--of-the-role"],
        turns: 1,
        tool_calls: 1,
        tokens: (1200, 345, 8000),
        cost: Some(0.0123),
        session: None,
        last_tool: "edit",
    },
    Expected {
        name: "vibe",
        words: &[
            "-p",
            "--output",
            "streaming",
            "--auto-approve",
            "--trust",
            "--max-turns",
            "55",
            "--resume",
            "session-0",
            "--of-the-role",
        ],
        turns: 3,
        tool_calls: 2,
        tokens: (0, 0, 0),
        cost: None,
        session: Some("dc788c18-7e56-c89f-8198-42a10d25a81a"),
        last_tool: "file_system.write_file",
    },
    Expected {
        name: "acpx",
        words: &[
            "--format",
            "json",
            "--approve-all",
            "--model",
            "model-x",
            "--of-the-role",
            "exec",
            "-f",
            "-",
        ],
        turns: 5,
        tool_calls: 5,
        tokens: (800, 50, 200),
        cost: Some(0.0),
        session: Some("ses_e130a4e65ffeOZnCt2E6NIOSvR"),
        last_tool: "bash",
    },
    // No recordings exist of these two; their outputs follow their documentation.
    Expected {
        name: "cursor",
        words: &[
            "-p",
            "--output-format",
            "stream-json",
            "--force",
            "--model",
            "model-x",
            "--resume",
            "session-0",
            "--of-the-role",
        ],
        turns: 1,
        tool_calls: 0,
        tokens: (0, 0, 0),
        cost: None,
        session: Some("c6b62c6f"),
        last_tool: "",
    },
    Expected {
        name: "amp",
        words: &["--execute", "--stream-json", "--dangerously-allow-all", "--of-the-role"],
        turns: 2,
        tool_calls: 1,
        tokens: (22, 15, 30),
        cost: None,
        session: Some("T-2775dc92"),
        last_tool: "Bash",
    },
];

fn in_order(words: &[String], wanted: &[&str]) -> bool {
    let mut words = words.iter();
    wanted.iter().all(|want| words.any(|word| word == want))
}

#[test]
fn every_provider_starts_and_is_parsed() {
    let world = World::new();
    let job = job(&world);
    let catalog = Catalog::new(&ProjectConfig::default());
    let known: Vec<&str> = catalog.usable().map(|(name, _)| name).collect();
    assert_eq!(known.len(), EXPECTED.len(), "{known:?}");
    for expected in EXPECTED {
        let name = expected.name;
        let entry = catalog.entry(name).expect("an entry");
        let key = entry.env.iter().find(|name| name.ends_with("_KEY")).map(String::as_str);
        let fake = Fake::new(&world, name, key);
        let (log, used) = run(entry, &job, &fake.bin);

        let words = fake.words();
        assert!(in_order(&words, expected.words), "{name}: {words:?}");
        let by = entry.prompt.unwrap_or_default();
        assert_eq!(
            fake.record("stdin"),
            if by == PromptBy::Stdin { job.prompt.as_str() } else { "" },
            "{name}"
        );
        let whole = words.iter().filter(|word| **word == job.prompt).count();
        assert_eq!(whole, usize::from(by == PromptBy::Argument), "{name}: {words:?}");
        let file = words.iter().any(|word| Path::new(word) == job.prompt_file);
        assert_eq!(file, by == PromptBy::File, "{name}: {words:?}");
        assert_eq!(fake.record("cwd").trim_end(), job.worktree.display().to_string(), "{name}");
        assert!(!job.worktree.join("canary").exists() && !world.path("canary").exists(), "{name}");

        let env = fake.env();
        for canary in CANARIES {
            assert!(!env.contains_key(canary), "{name}: {canary}");
        }
        assert!(!env.values().any(|value| value == "canary"), "{name}: {env:?}");
        assert_eq!(env["LIZA_PROMPT_FILE"], job.prompt_file.display().to_string(), "{name}");
        for (variable, value) in &entry.set {
            assert_eq!(env[variable], value.replace("{model}", "model-x"), "{name}");
        }
        let key = key.expect("every provider has a key");
        assert_eq!(env[key], format!("{KEY}-{key}"), "{name}");
        assert!(log.contains(&format!("the key is [secret {key}]")) && !log.contains(KEY), "{name}: {log}");

        assert_eq!((used.turns, used.tool_calls), (expected.turns, expected.tool_calls), "{name}");
        assert_eq!((used.input_tokens, used.output_tokens, used.cached_tokens), expected.tokens, "{name}");
        let close = match (used.cost_usd, expected.cost) {
            (Some(a), Some(b)) => (a - b).abs() < 1e-9,
            (a, b) => a == b,
        };
        assert!(close, "{name}: {:?}", used.cost_usd);
        assert_eq!(used.session.as_deref(), expected.session, "{name}");
        assert_eq!(
            (used.last_tool.as_deref(), used.errors),
            (Some(expected.last_tool).filter(|tool| !tool.is_empty()), 0),
            "{name}"
        );
    }
}

/// Output of the real programs in the scenario `resume` of `scripts/agents`: a session with two calls that ends too early, and
/// the session that continues it. Every answer of the model has 800 tokens of input, 200 from a cache, and 50 of output.
#[test]
fn recorded_sessions_are_counted_exactly() {
    let catalog = Catalog::new(&ProjectConfig::default());
    let recorded = ["claude", "codex", "gemini", "opencode", "qwen", "kimi"];
    for name in recorded {
        let entry = catalog.entry(name).expect("an entry");
        let mut former = None;
        let mut session = None;
        for number in [1, 2] {
            let path = fixture(&format!("recorded/{name}.{number}.out"));
            let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            let mut meter = Meter::new(entry).going_on(former.take());
            bytes.chunks(37).for_each(|chunk| meter.feed(chunk));
            let usage_file = std::fs::read(fixture(&format!("recorded/{name}.{number}.usage"))).ok();
            meter.finish(usage_file.as_deref());
            let used = meter.usage().clone();
            assert_eq!((used.turns, used.tool_calls, used.errors), (3, 2, 0), "{name} {number}: {used:?}");
            let reported = name != "kimi";
            let tokens = if reported { (2400, 150, 600) } else { (0, 0, 0) };
            let counted = (used.input_tokens, used.output_tokens, used.cached_tokens);
            assert_eq!(counted, tokens, "{name} {number}: {used:?}");
            assert!(used.session.is_some() && (number == 1 || used.session == session), "{name}: {used:?}");
            session = used.session.clone();
            former = used.session.zip(used.thread);
        }
    }
}

/// Output of the real programs when the user was not logged in, the key was wrong, the quota used up or the context full.
#[test]
fn recorded_refusals_have_their_class() {
    let catalog = Catalog::new(&ProjectConfig::default());
    let mut looked_at = 0;
    let dir = fixture("recorded");
    for file in std::fs::read_dir(&dir).expect("recordings").map(|file| file.expect("a file").path()) {
        let file_name = file.file_name().expect("a name").to_string_lossy().into_owned();
        let Some((name, scenario)) = file_name.split_once(".refused-") else { continue };
        let (scenario, stream) = scenario.split_once('.').expect("a stream");
        let entry = catalog.entry(name).expect("an entry");
        let bytes = std::fs::read(&file).expect("a recording");
        let class = match scenario {
            "not-logged-in" | "401" => CrashClass::Login,
            "429" => CrashClass::Quota,
            _ => CrashClass::Context,
        };
        let table = entry.errors.clone().expect("a table");
        let found = if stream == "err" {
            String::from_utf8_lossy(&bytes).lines().find_map(|line| table.class_of(line))
        } else {
            let mut meter = Meter::new(entry);
            meter.feed(&bytes);
            meter.finish(None);
            table.class_of(meter.usage().last_error.as_deref().unwrap_or_default())
        };
        assert_eq!(found, Some(class), "{file_name}");
        looked_at += 1;
    }
    assert!(looked_at >= 10, "{looked_at}");
}

/// A program whose help lists these options; each call of its help is recorded.
fn helpful(world: &World, name: &str, help: &str) {
    let script = format!(
        "#!/bin/sh\necho \"$@\" >> '{}'\ncat <<'END'\nUsage: {name} [options]\n{help}\nEND\n",
        world.home().join(format!("asked-{name}")).display()
    );
    executable(&world.home().join("bin").join(name), &script);
}

fn with_fakes(world: &World) -> String {
    format!("{}:/usr/local/bin:/usr/bin:/bin", world.home().join("bin").display())
}

/// A short timeout only for the program whose help hangs: on a loaded machine the others need their time.
fn help_ms(world: &World) -> &'static str {
    if world.home().join("bin/qwen").exists() { "1000" } else { "20000" }
}

/// The findings, and the agent commands in use.
fn doctor(world: &World) -> (Vec<serde_json::Value>, serde_json::Value) {
    let ran = world.json_env(
        &HUMAN,
        &["doctor"],
        &[("PATH", &with_fakes(world)), ("LIZA_TEST_HELP_MS", help_ms(world))],
    );
    let found = ran.data()["findings"].as_array().expect("findings").clone();
    assert_eq!(ran.exit, i32::from(!found.is_empty()), "{}", ran.stdout);
    (found, ran.data()["providers"].clone())
}

fn doctor_text(world: &World) -> String {
    world.liza_with(&HUMAN, &["doctor"], b"", &[("PATH", &with_fakes(world))]).stdout
}

fn options(name: &str) -> String {
    let catalog = Catalog::new(&ProjectConfig::default());
    let options = catalog.entry(name).expect("an entry").options().join("\n  ");
    format!("  {options}")
}

#[test]
fn doctor_asks_only_the_agent_commands_in_use() {
    let world = World::new();
    helpful(&world, "claude", &options("claude"));
    helpful(&world, "codex", "nothing");
    let ((found, providers), text) = (doctor(&world), doctor_text(&world));
    assert!(found.is_empty() && !text.contains("claude"), "{found:?}\n{text}");
    let listed = |providers: &serde_json::Value, name: &str| {
        let all = providers.as_array().expect("providers").clone();
        all.into_iter().find(|one| one["name"] == name).expect("listed")
    };
    assert!(listed(&providers, "claude")["installed"].is_string());
    assert!(!world.home().join("asked-claude").exists(), "no role uses it");

    world.write("liza.yaml", "provider: claude\n");
    let ((found, providers), text) = (doctor(&world), doctor_text(&world));
    assert!(found.is_empty(), "{found:?}");
    assert_eq!(listed(&providers, "claude")["used"], true);
    assert!(text.contains("installed here: claude (used) and codex"), "{text}");
    assert!(world.home().join("asked-claude").exists() && !world.home().join("asked-codex").exists());
}

#[test]
fn doctor_names_provider_problems() {
    let world = World::new();
    helpful(&world, "codex", &options("codex").replace("--skip-git-repo-check", "--skip-git-repo-checks"));
    helpful(&world, "claude", &options("claude"));
    world.write(
        "liza.yaml",
        "provider: codex\nroles: {coder: {provider: claude}}\nteam:\n  - {role: planner, provider: kimi}\n  \
         - {role: code_reviewer, provider: no-such-provider}\n",
    );
    let (found, _) = doctor(&world);
    let reported: Vec<(String, String)> = found
        .iter()
        .map(|one| {
            (one["code"].as_str().expect("a code").to_owned(), one["what"].as_str().expect("text").to_owned())
        })
        .collect();
    let codes: Vec<&str> = reported.iter().map(|(code, _)| code.as_str()).collect();
    assert_eq!(codes, ["provider.options", "provider.missing", "provider.unusable"], "{reported:#?}");
    assert!(
        reported[0].1.contains("--skip-git-repo-check,") && !reported[0].1.contains("--json"),
        "{}",
        reported[0].1
    );
    assert!(reported[1].1.contains("kimi") && reported[2].1.contains("`no-such-provider`"), "{reported:?}");
    assert!(found[1]["remedy"].as_str().expect("text").contains("claude and codex"), "{}", found[1]);
    assert!(found[2]["remedy"].as_str().expect("text").contains("gemini"), "{}", found[2]);

    // The project's own settings for a provider are used.
    world.write("liza.yaml", "provider: codex\nproviders: {codex: {unlisted: [--skip-git-repo-check]}}\n");
    assert!(doctor(&world).0.is_empty());
}

#[test]
fn hanging_provider_help_does_not_block_doctor() {
    let world = World::new();
    executable(&world.home().join("bin/qwen"), "#!/bin/sh\nsleep 600 &\nsleep 600\n");
    executable(&world.home().join("bin/gemini"), "#!/bin/sh\nexit 3\n");
    world.write("liza.yaml", "provider: qwen\nroles: {coder: {provider: gemini}}\n");
    let (found, _) = doctor(&world);
    let what: Vec<&str> = found.iter().map(|one| one["what"].as_str().expect("text")).collect();
    assert!(found.iter().all(|one| one["code"] == "provider.silent"), "{found:?}");
    assert!(what[0].contains("it printed nothing") && what[1].contains("longer than 1 s"), "{what:?}");
}
