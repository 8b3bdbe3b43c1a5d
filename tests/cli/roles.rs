//! The role registry: what `liza roles` prints is what liza enforces.

use serde_json::{Value, json};

use crate::providers::Fake;
use crate::support::process::Bounded as _;
use crate::support::{HUMAN, Ran, Who, World, paths, write};

fn matrix(world: &World) -> Value {
    world.json(&HUMAN, &["roles"]).ok().data()
}

/// The row of one role.
#[track_caller]
fn cell(found: &Value, what: &str, role: &str) -> (bool, String, String) {
    let row = found["rows"].as_array().expect("rows").iter().find(|row| row["what"] == what).expect("a row");
    let cell =
        row["cells"].as_array().expect("cells").iter().find(|cell| cell["role"] == role).expect("a cell");
    let text = |key: &str| cell[key].as_str().unwrap_or_default().to_owned();
    (cell["allowed"].as_bool().expect("a word"), text("by"), text("note"))
}

/// The command line that starts an agent of this role.
#[track_caller]
fn explained(world: &World, role: &str, provider: &str) -> Vec<String> {
    let args = ["agent", "run", "--role", role, "--provider", provider, "--explain"];
    let data = world.json(&HUMAN, &args).ok().data();
    data["args"]
        .as_array()
        .expect("words")
        .iter()
        .map(|word| word.as_str().expect("text").to_owned())
        .collect()
}

fn has(words: &[String], pair: [&str; 2]) -> bool {
    words.windows(2).any(|two| two == pair)
}

#[test]
fn roles_prints_defaults_and_enforcement() {
    let world = World::new();
    let found = matrix(&world);
    let roles: Vec<&str> =
        found["roles"].as_array().expect("roles").iter().map(|role| role.as_str().expect("text")).collect();
    for role in ["planner", "coder", "code_reviewer", "test_engineer", "red_team", "overseer", "auditor"] {
        assert!(roles.contains(&role), "{roles:?}");
    }
    let of = |what: &str, role: &str| cell(&found, what, role);
    assert_eq!(of("plan", "planner"), (true, "rule".into(), String::new()));
    assert_eq!(of("plan", "coder"), (false, "rule".into(), String::new()));
    assert_eq!(of("merge", "code_reviewer"), (true, "rule".into(), String::new()));
    assert!(of("oversee", "overseer").0);
    assert_eq!(of("stop", "coder"), (false, "rule".into(), "only what it holds or reviews".into()));
    assert_eq!(of("switches", "planner"), (true, "rule".into(), "any; cannot be denied".into()));
    assert!(!of("switches", "code_reviewer").0);
    assert_eq!(
        of("spawn", "planner"),
        (true, "registry".into(), "coder, test_engineer, supervisor, operator, auditor".into())
    );
    assert_eq!(of("message to", "coder").2, "planner, test_engineer");
    assert_eq!(of("tool write", "coder"), (true, "nothing".into(), String::new()));
    // It has no provider, so only the prompt keeps it from writing.
    assert_eq!(of("tool write", "code_reviewer").1, "prompt");
    assert_eq!(found["problems"], json!([]));
    let schema = world.human(&["schema", "config"]).ok().stdout;
    for key in ["allow", "deny", "may_spawn", "may_message", "paths", "description", "by_name"] {
        assert!(schema.contains(&format!("\"{key}\"")), "{key}");
    }
    let text = world.human(&["roles"]).ok().stdout;
    assert!(text.lines().next().unwrap_or_default().contains("code_reviewer"), "{text}");
    assert!(text.lines().any(|line| line.starts_with("plan ") && line.contains("+ rule")), "{text}");

    world.write("liza.yaml", "provider: claude\nteam:\n  - {role: code_reviewer, provider: codex}\n");
    let found = matrix(&world);
    let (allowed, by, note) = cell(&found, "tool write", "planner");
    assert_eq!((allowed, by.as_str()), (false, "provider"));
    assert!(
        note.contains("--disallowedTools=")
            && note.contains(",Edit,MultiEdit,Write,NotebookEdit")
            && note.contains("shell"),
        "{note}"
    );
    let (_, by, note) = cell(&found, "tool write", "code_reviewer");
    assert!(by == "prompt" && note.contains("codex") && note.contains("liza"), "{by}: {note}");
}

#[test]
fn roles_shows_source_of_each_setting() {
    let world = World::new();
    world.write(
        "liza.yaml",
        "provider: codex\nroles:\n  scaffolder:\n    model: big\n    limits: {turns: 7, tokens: 0}\n    paths: [src/]\n    may_message: [project_manager]\n",
    );
    let data = world.json(&HUMAN, &["roles", "coder"]).ok().data();
    let of = |name: &str| (data["settings"][name]["value"].clone(), data["settings"][name]["from"].clone());
    assert_eq!(of("provider"), (json!("codex"), json!("liza.yaml")));
    assert_eq!(of("model"), (json!("big"), json!("liza.yaml")));
    assert_eq!(of("turns"), (json!(7), json!("liza.yaml")));
    assert_eq!(of("tokens"), (Value::Null, json!("liza.yaml")), "0 is none");
    assert_eq!(of("wall_seconds"), (json!(1800), json!("built-in")));
    assert_eq!(of("paths"), (json!(["src/"]), json!("liza.yaml")));
    assert_eq!(of("may_message"), (json!(["planner"]), json!("liza.yaml")));
    assert_eq!(of("template"), (Value::Null, json!("built-in")));
    assert_eq!(data["cells"]["plan"]["by"], "rule");
    let text = world.human(&["roles", "Scaffolder"]).ok().stdout;
    for line in [
        "coder\n",
        "turns         7 (liza.yaml)",
        "wall_seconds  1800 (built-in)",
        "paths         src/ (liza.yaml)",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    world.refused(&HUMAN, &["roles", "painter"], 1, "refused.unknown_role");
}

#[test]
fn roles_and_doctor_name_invalid_settings() {
    let world = World::new();
    world.write(
        "liza.yaml",
        "roles:\n  coder: {allow: [work, merge], deny: [work], may_message: [cooder]}\n  red_team: {provider: kimi, deny: [write]}\n",
    );
    let problems = matrix(&world)["problems"].as_array().expect("problems").clone();
    let places: Vec<&str> = problems.iter().map(|one| one["at"].as_str().expect("a place")).collect();
    assert_eq!(
        places,
        ["roles.coder.allow", "roles.coder.allow", "roles.coder.may_message", "roles.red_team.deny"],
        "{problems:#?}"
    );
    let text = world.human(&["roles"]).ok().stdout;
    assert!(text.contains("problems:") && text.contains("there is no role `cooder`"), "{text}");
    let findings = world.json(&HUMAN, &["doctor"]).data()["findings"].as_array().expect("findings").clone();
    let senseless: Vec<&Value> = findings.iter().filter(|one| one["code"] == "roles.senseless").collect();
    assert_eq!(senseless.len(), 4, "{findings:#?}");
    // Invalid settings are refused at once.
    for broken in [
        "roles: {coder: {}, scaffolder: {}}\n",
        "roles: {coder: {deny: merge}}\n",
        "roles: {coder: {denies: []}}\n",
    ] {
        world.write("liza.yaml", broken);
        world.refused(&HUMAN, &["roles"], 2, "usage.config");
    }
}

#[test]
fn denied_operation_is_refused() {
    let world = World::new();
    world.write(
        "liza.yaml",
        "roles:\n  coder: {deny: [report, bundle]}\n  code_reviewer: {allow: [review, report, stop]}\n",
    );
    let (coder, reviewer) = (world.register("coder", "coder-1"), world.register("code_reviewer", "rev-1"));
    let error = world.refused(&coder, &["note", "hello"], 1, "refused.role");
    let message = error["message"].as_str().expect("a message");
    assert!(
        message.contains("liza.yaml, roles.coder.deny") && message.contains("`coder-1` report"),
        "{message}"
    );
    let hint = error["hint"].as_str().expect("a hint");
    assert!(hint.contains("liza roles") && hint.contains("liza message send --to human"), "{hint}");
    // The journal holds only the registrations.
    let log = world.json(&HUMAN, &["log"]).ok().data()["records"].clone();
    assert!(log.as_array().expect("records").iter().all(|record| record["by"] == "human"), "{log}");
    world.human(&["note", "people may always"]).ok();

    // The whole way to a merge, which this reviewer may not make; liza records no intent for it.
    let commit = world.submitted(&coder, "t1", "src/a.sh", "echo a\n");
    world.approve(&reviewer, "t1", &commit);
    world.refused(&reviewer, &["merge", "t1"], 1, "refused.role");
    assert_eq!(world.status_of("t1"), "APPROVED");
    world.human(&["merge", "t1"]).ok();
    // A Tier 0 refusal is a recorded breach with and without the setting: the registry does not hide it.
    let second = world.submitted(&coder, "t2", "src/b.sh", "echo b\n");
    let approve = ["review", "approve", "t2", "--commit", &second, "--summary", "mine"];
    world.tier0(&coder, &approve, "tier0.role_boundary");
    world.sound();
}

#[test]
fn role_settings_apply_from_next_registration() {
    let world = World::new();
    let coder = world.register("coder", "coder-1");
    world.write("liza.yaml", "roles:\n  coder: {deny: [report]}\n");
    world.liza(&coder, &["note", "as I was registered"]).ok();
    assert_eq!(matrix(&world)["registered_before"], json!(["coder-1"]));
    let text = world.human(&["roles", "coder"]).ok().stdout;
    assert!(text.contains("registered before liza.yaml changed") && text.contains("coder-1"), "{text}");
    let again = world.register("coder", "coder-1");
    world.refused(&again, &["note", "no more"], 1, "refused.role");
    assert_eq!(matrix(&world)["registered_before"], json!([]));
    world.write("liza.yaml", "version: 1\n");
    world.refused(&again, &["note", "not yet"], 1, "refused.role");
    let third = world.register("coder", "coder-1");
    world.liza(&third, &["note", "again"]).ok();
    world.sound();
}

#[test]
fn commit_and_submit_refuse_paths_of_other_roles() {
    let world = World::bare_repo();
    world.human(&["init", "A greeting program", "--hooks"]).ok();
    world.write("liza.yaml", "roles:\n  coder: {paths: [src/, \"tests/\"]}\n");
    let coder = world.register("coder", "coder-1");
    world.task("t1", &["src/", "docs/", "tests/"]);
    let worktree = world.claim(&coder, "t1");
    world.checkpoint(&coder, "t1", &["src/a.sh", "docs/a.md", "tests/test_a.sh"]);
    for (file, text) in [("src/a.sh", "echo a\n"), ("docs/a.md", "a\n"), ("tests/test_a.sh", "echo ok\n")] {
        write(&worktree, file, text);
    }
    world.git_in(&worktree, &["add", "-A"]);
    let ran = world.git_as(&coder, &worktree, &["commit", "-q", "-m", "work"], &[]).exits(1);
    assert!(ran.stderr.contains("docs/a.md") && ran.stderr.contains("roles.coder.paths"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("src/a.sh ("), "{}", ran.stderr);
    // Without the hook: submit checks the same.
    world.git_in(&worktree, &["-c", "core.hooksPath=/dev/null", "commit", "-q", "-m", "work"]);
    let error = world.refused(&coder, &["task", "submit", "t1"], 1, "refused.scope");
    let named = paths(&error);
    assert_eq!(named.len(), 1, "{error}");
    assert!(named[0].starts_with("docs/a.md (") && named[0].contains("roles.coder.paths"), "{named:?}");
    world.git_in(&worktree, &["reset", "-q", "--soft", "HEAD^"]);
    world.git_in(&worktree, &["rm", "-q", "-f", "docs/a.md"]);
    world.git_as(&coder, &worktree, &["commit", "-q", "-m", "without docs"], &[]).ok();
    world.liza(&coder, &["task", "submit", "t1"]).ok();
}

#[test]
fn planner_adds_tasks_only_for_allowed_roles() {
    let world = World::new();
    let planner = world.register("planner", "planner-1");
    let add = |id: &'static str, role: &'static str| {
        ["task", "add", "--id", id, "--title", id, "--role", role].to_vec()
    };
    world.liza(&planner, &add("a", "coder")).ok();
    world.liza(&planner, &add("b", "test_engineer")).ok();
    let error = world.refused(&planner, &add("c", "technical_writer"), 1, "refused.role");
    assert!(
        error["message"].as_str().is_some_and(|text| text.contains("roles.planner.may_spawn")),
        "{error}"
    );
    world.human(&add("c", "technical_writer")).ok();
    world.write("liza.yaml", "roles: {technical_writer: {}}\n");
    let planner = world.register("planner", "planner-1");
    world.liza(&planner, &add("d", "technical_writer")).ok();
    world.write("liza.yaml", "roles: {technical_writer: {}, planner: {may_spawn: [technical_writer]}}\n");
    let planner = world.register("planner", "planner-1");
    world.refused(&planner, &add("e", "coder"), 1, "refused.role");
    let plan = "tasks:\n  - {id: f, title: F}\n";
    let ran = world.json_stdin(&planner, &["plan", "-", "--draft"], plan);
    assert_eq!((ran.exit, ran.code().as_str()), (1, "refused.role"), "{}", ran.stdout);
}

#[test]
fn tools_are_denied_by_each_providers_own_options() {
    let world = World::new();
    let always = "--disallowedTools=Task,Agent,Workflow,Skill,SendMessage,ListAgents,EnterWorktree,ExitWorktree,CronCreate,CronDelete,CronList,ScheduleWakeup,WebFetch,WebSearch";
    let deny = format!("{always},Edit,MultiEdit,Write,NotebookEdit");
    // By default, roles that review, plan or oversee get no write tools, unless that would also deny `liza`.
    for role in ["code_reviewer", "red_team", "planner", "overseer"] {
        assert!(explained(&world, role, "claude").contains(&deny), "{role}");
        assert!(explained(&world, role, "copilot").contains(&"--deny-tool=write".to_owned()), "{role}");
        assert!(has(&explained(&world, role, "codex"), ["--sandbox", "workspace-write"]), "{role}");
        assert!(has(&explained(&world, role, "gemini"), ["--approval-mode", "yolo"]), "{role}");
    }
    for role in ["coder", "test_engineer"] {
        assert!(explained(&world, role, "claude").contains(&always.to_owned()), "{role}");
        assert!(explained(&world, role, "copilot").iter().all(|word| !word.starts_with("--deny")), "{role}");
    }
    // Explicit settings of liza.yaml are used as they are.
    world.write(
        "liza.yaml",
        "roles:\n  red_team: {deny: [write, network, OwnTool]}\n  code_reviewer: {allow: [read, write, run, network]}\n",
    );
    let claude = explained(&world, "red_team", "claude");
    assert!(claude.contains(&format!("{deny},OwnTool")), "{claude:?}");
    assert!(has(&explained(&world, "red_team", "codex"), ["--sandbox", "read-only"]));
    assert!(has(&explained(&world, "red_team", "gemini"), ["--approval-mode", "plan"]));
    assert!(has(&explained(&world, "red_team", "qwen"), ["--approval-mode", "plan"]));
    assert!(explained(&world, "code_reviewer", "claude").contains(&always.to_owned()));
}

#[test]
fn tool_options_and_prompt_reach_the_agent() {
    let world = World::new();
    world.write("liza.yaml", "provider: claude\nroles:\n  code_reviewer: {deny: [bless, WebFetch]}\n");
    let coder = world.register("coder", "coder-1");
    world.submitted(&coder, "t1", "src/a.sh", "echo a\n");
    let fake = Fake::ending_with(&world, "claude", None, "liza review release t1 >/dev/null");
    let args = ["--json", "agent", "run", "--role", "code_reviewer", "--once"];
    let mut command = world.liza_command(&HUMAN, &world.root, &args);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let all = std::iter::once(fake.bin.clone()).chain(std::env::split_paths(&path));
    command.env("PATH", std::env::join_paths(all).expect("a path"));
    Ran::of(command.finish().expect("liza runs"));
    let words = fake.words();
    let always = "Task,Agent,Workflow,Skill,SendMessage,ListAgents,EnterWorktree,ExitWorktree,CronCreate,CronDelete,CronList,ScheduleWakeup,WebFetch,WebSearch";
    let denied = format!("--disallowedTools={always},Edit,MultiEdit,Write,NotebookEdit");
    assert!(words.contains(&denied), "{words:?}");
    let prompt = fake.record("stdin");
    assert!(
        prompt.contains("Not for your role")
            && prompt.contains("`changing files`")
            && prompt.contains("`WebFetch`"),
        "{prompt}"
    );
    assert!(prompt.contains("`bless gates`"), "{prompt}");
}

/// A handoff between two roles with path limits: the coder's work under `src/`, then a test engineer's turn.
fn hand_off_to_test_engineer(world: &World, coder: &Who, files: &[(&str, &str)]) {
    world.task("t1", &["src/", "tests/"]);
    let worktree = world.claim(coder, "t1");
    world.checkpoint(coder, "t1", &["src/a.sh", "tests/test_a.sh"]);
    world.write_and_commit(&worktree, files);
    let handoff = ["task", "handoff", "t1", "--summary", "the code is there", "--next", "test it"];
    let to = handoff.iter().copied().chain(["--to-role", "test_engineer"]).collect::<Vec<_>>();
    world.liza(coder, &to).ok();
}

#[test]
fn role_paths_apply_only_to_own_changes() {
    let world = World::bare_repo();
    world.human(&["init", "A greeting program", "--hooks"]).ok();
    world.write("liza.yaml", "roles:\n  coder: {paths: [src/]}\n  test_engineer: {paths: [tests/]}\n");
    let (coder, tester) = (world.register("coder", "coder-1"), world.register("test_engineer", "tester-1"));
    let reviewer = world.register("code_reviewer", "rev-1");
    hand_off_to_test_engineer(&world, &coder, &[("src/a.sh", "echo a\n")]);
    let worktree = world.claim(&tester, "t1");
    world.checkpoint(&tester, "t1", &["src/a.sh", "tests/test_a.sh"]);
    write(&worktree, "tests/test_a.sh", "echo ok\n");
    world.git_in(&worktree, &["add", "-A"]);
    world.git_as(&tester, &worktree, &["commit", "-q", "-m", "tests"], &[]).ok();
    let submit = |who: &Who| world.json(who, &["task", "submit", "t1"]).ok().data()["review_commit"].clone();
    let commit = submit(&tester);
    // After the task is sent back, the agent's first changes still count as its own; changes from integration count for no agent.
    world.liza(&reviewer, &["review", "claim", "t1"]).ok();
    let commit = commit.as_str().expect("a commit");
    let reject = ["review", "reject", "t1", "--commit", commit, "--reason", "too little", "--issue"];
    let reject: Vec<&str> =
        reject.iter().copied().chain(["major:tests/test_a.sh:1:it tests nothing"]).collect();
    world.liza(&reviewer, &reject).ok();
    world.write_and_commit(&world.root, &[("lib/b.sh", "echo b\n")]);
    world.human(&["integration", "advance", "HEAD", "--reason", "a library"]).ok();
    let worktree = world.claim(&tester, "t1");
    world.checkpoint(&tester, "t1", &["src/a.sh", "tests/test_a.sh"]);
    world.liza(&tester, &["task", "sync", "t1"]).ok();
    world.write_and_commit(&worktree, &[("tests/test_a.sh", "sh src/a.sh && echo ok\n")]);
    submit(&tester);
    world.sound();
}

#[test]
fn handoff_does_not_hide_out_of_bounds_changes() {
    let world = World::new();
    world.write("liza.yaml", "roles:\n  coder: {paths: [src/]}\n");
    let (coder, tester) = (world.register("coder", "coder-1"), world.register("test_engineer", "tester-1"));
    // A release is never refused.
    hand_off_to_test_engineer(&world, &coder, &[("src/a.sh", "echo a\n"), ("tests/test_a.sh", "true\n")]);
    let worktree = world.claim(&tester, "t1");
    world.checkpoint(&tester, "t1", &["src/a.sh", "tests/test_a.sh", "tests/test_b.sh"]);
    world.write_and_commit(&worktree, &[("tests/test_b.sh", "echo ok\n")]);
    let error = world.refused(&tester, &["task", "submit", "t1"], 1, "refused.scope");
    let named = paths(&error);
    assert_eq!(named.len(), 1, "{error}");
    assert!(
        named[0].starts_with("tests/test_a.sh (changed by `coder-1`")
            && named[0].contains("roles.coder.paths"),
        "{named:?}"
    );
    world.git_in(&worktree, &["rm", "-q", "-f", "tests/test_a.sh"]);
    world.git_in(&worktree, &["commit", "-q", "-m", "without it"]);
    world.liza(&tester, &["task", "submit", "t1"]).ok();
}

#[test]
fn message_to_forbidden_role_is_refused() {
    let world = World::new();
    world.write("liza.yaml", "roles:\n  coder: {may_message: [code_reviewer]}\n");
    let coder = world.register("coder", "coder-1");
    world.register("planner", "planner-1");
    world.register("code_reviewer", "rev-1");
    let to = |whom: &'static str| {
        ["message", "send", "--to", whom, "--type", "request_input", "--subject", "which port?"].to_vec()
    };
    for whom in ["role:planner", "planner-1"] {
        let error = world.refused(&coder, &to(whom), 1, "refused.role");
        assert_eq!(error["details"]["may_message"], json!(["code_reviewer"]), "{error}");
    }
    world.liza(&coder, &to("role:code_reviewer")).ok();
    world.liza(&coder, &to("human")).ok();
}

#[test]
fn roles_accept_their_aliases() {
    let world = World::new();
    let data = world.json(&HUMAN, &["agent", "register", "--role", "implementer", "--id", "c-1"]).ok().data();
    assert_eq!(data["roles"], json!(["coder"]), "{data}");
    world.human(&["task", "add", "--id", "t1", "--title", "t", "--role", "Scaffolder"]).ok();
    assert_eq!(world.show("t1")["role"], "coder");
}
