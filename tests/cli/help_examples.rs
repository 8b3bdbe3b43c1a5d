//! Every command's help has an example. `golden::examples` runs each in a shell, in a scene that this table prepares,
//! and compares the output with its golden file.

use crate::support::process::Bounded as _;
use crate::support::{HUMAN, Who, World};

/// The caller who types the example.
#[derive(Debug, Clone, Copy)]
pub enum Me {
    Human,
    Coder,
    Reviewer,
}

/// The scene and the caller for the examples that start with `start`.
pub struct Scene {
    pub start: &'static str,
    pub me: Me,
    pub name: &'static str,
    pub set: fn() -> Stage,
}

macro_rules! scenes {
    ($(($start:literal, $me:expr, $set:ident)),* $(,)?) => {
        &[$(Scene { start: $start, me: $me, name: stringify!($set), set: $set }),*]
    };
}

/// One line per example, or one for several with the same beginning; the longest match counts.
pub const SCENES: &[Scene] = scenes![
    ("liza abort", Me::Human, board),
    ("liza agent heartbeat", Me::Coder, board),
    ("liza agent list", Me::Human, board),
    ("liza agent log", Me::Human, recorded),
    ("liza agent register", Me::Human, board),
    ("liza agent retire", Me::Human, board),
    ("liza agent run", Me::Human, staffed),
    ("liza archive", Me::Human, merged),
    ("liza anomaly", Me::Coder, working),
    ("liza breaker", Me::Human, tripped),
    ("liza bug", Me::Human, wrong),
    ("liza bundle apply", Me::Coder, abandoned_bundle),
    ("liza bundle check", Me::Human, packed),
    ("liza bundle create", Me::Coder, finished),
    ("liza bundle review", Me::Reviewer, packed),
    ("liza checkpoint", Me::Human, board),
    ("liza completions", Me::Human, bare),
    ("liza config", Me::Human, board),
    ("liza deliver", Me::Human, merged_on_other_branch),
    ("liza demo", Me::Human, bare),
    ("liza diff", Me::Human, ready),
    ("liza discover", Me::Coder, working),
    ("liza dispatch", Me::Human, dispatched),
    ("liza doctor", Me::Human, working),
    ("liza edits apply", Me::Human, edited),
    ("liza edits list", Me::Human, edited),
    ("liza edits refuse", Me::Human, edited),
    ("liza edits show", Me::Human, edited),
    ("liza experiment", Me::Human, scored_experiment),
    ("liza experiment adopt", Me::Coder, scored_experiment),
    ("liza gate accept", Me::Human, gated),
    ("liza gate bless", Me::Human, replaying),
    ("liza gate retire", Me::Human, removed_lint_gate),
    ("liza gate list", Me::Human, gated),
    ("liza gate run", Me::Human, gated),
    ("liza gate show", Me::Human, judged),
    ("liza gc", Me::Human, archived),
    ("liza goal", Me::Human, spec_file),
    ("liza graph", Me::Human, working),
    ("liza hooks install", Me::Human, board),
    ("liza hooks run", Me::Coder, board),
    ("liza hooks status", Me::Human, board),
    ("liza hooks uninstall", Me::Human, board),
    ("liza inbox", Me::Human, open_notes),
    ("liza init", Me::Human, bare),
    ("liza integration advance", Me::Human, main_with_new_commit),
    ("liza lock", Me::Human, working),
    ("liza log", Me::Human, working),
    ("liza man", Me::Human, bare),
    ("liza merge", Me::Reviewer, approved),
    ("liza message inbox", Me::Human, written),
    ("liza message list", Me::Human, written),
    ("liza message reply", Me::Human, written),
    ("liza message request-handoff", Me::Coder, working),
    ("liza message send", Me::Coder, working),
    ("liza message thread", Me::Human, written),
    ("liza metrics", Me::Human, merged),
    ("liza next", Me::Coder, idle),
    ("liza note", Me::Human, idle),
    ("liza overseer", Me::Human, working),
    ("liza overseer halt", Me::Human, agent_running),
    ("liza pause", Me::Human, board),
    ("liza plan", Me::Human, planned),
    ("liza redteam", Me::Human, bare),
    ("liza report", Me::Human, working),
    ("liza result", Me::Human, delivered_probe),
    ("liza result accept", Me::Human, stream_planned),
    ("liza result reject", Me::Human, stream_planned),
    ("liza resume", Me::Human, paused),
    ("liza review approve", Me::Reviewer, reviewing),
    ("liza review list", Me::Reviewer, ready),
    ("liza review claim", Me::Reviewer, ready),
    ("liza review discuss", Me::Reviewer, reviewing),
    ("liza review reject", Me::Reviewer, reviewing),
    ("liza review release", Me::Reviewer, reviewing),
    ("liza review renew", Me::Reviewer, reviewing),
    ("liza review show", Me::Reviewer, reviewing),
    ("liza roles", Me::Human, board),
    ("liza run", Me::Human, staffed),
    ("liza ssot-id", Me::Human, bare),
    ("liza stream collapse", Me::Human, open_workstream),
    ("liza schema", Me::Human, bare),
    ("liza spec-change", Me::Human, idle),
    ("liza sprint", Me::Human, idle),
    ("liza status", Me::Human, working),
    ("liza task edit", Me::Human, idle),
    ("liza task abandon", Me::Human, idle),
    ("liza task add", Me::Human, board),
    ("liza task block", Me::Coder, working),
    ("liza task checkpoint", Me::Coder, working),
    ("liza task claim", Me::Coder, idle),
    ("liza task finalize", Me::Human, drafts),
    ("liza task handoff", Me::Coder, working),
    ("liza task list", Me::Human, ready),
    ("liza task release", Me::Coder, working),
    ("liza task renew", Me::Coder, working),
    ("liza task rescope", Me::Human, planned),
    ("liza task show", Me::Coder, working),
    ("liza task submit", Me::Coder, finished),
    ("liza task sync", Me::Coder, working),
    ("liza task unblock", Me::Human, blocked),
    ("liza trash", Me::Human, archived),
    ("liza uninstall", Me::Human, board),
    ("liza validate", Me::Human, working),
    ("liza verify", Me::Human, working),
    ("liza watch", Me::Human, blocked),
    ("liza worktree", Me::Human, archived),
];

/// A repository, and the caller once there is a board.
pub struct Stage {
    pub world: World,
    pub coder: Who,
    pub reviewer: Who,
}

impl Stage {
    pub fn who(&self, me: Me) -> &Who {
        match me {
            Me::Human => &HUMAN,
            Me::Coder => &self.coder,
            Me::Reviewer => &self.reviewer,
        }
    }
}

fn bare() -> Stage {
    Stage { world: World::bare_repo(), coder: HUMAN, reviewer: HUMAN }
}

fn board() -> Stage {
    let world = World::new();
    let coder = world.register("coder", "coder-1");
    let reviewer = world.register("code_reviewer", "reviewer-1");
    Stage { world, coder, reviewer }
}

fn add(stage: &Stage, id: &str, path: &str, finalize: &[&str]) {
    let mut args =
        vec!["task", "add", "--id", id, "--title", id, "--spec", "specs/vision.md", "--done", "it works"];
    args.extend(["--in", path, "--in", "tests/"]);
    args.extend(["--owns", path]);
    args.extend(finalize);
    stage.world.human(&args).ok();
}

/// A merged file is wrong, and the checkout contains a test that shows it.
fn wrong() -> Stage {
    let stage = board();
    stage.world.write("tests/test_empty.sh", "sh greet.sh ''\n");
    stage
}

/// One idea with a scored run, and a task that could adopt the change.
fn scored_experiment() -> Stage {
    let stage = board();
    let world = &stage.world;
    let settings =
        "provider: claude\nexperiment: {test_command: sh tests/test_cache.sh, score: {column: score}}\n";
    world.write("liza.yaml", settings);
    world.write("ideas/larger-cache.md", "# Larger cache\nKeep a hundred answers.\n");
    add(&stage, "cache", "cache.sh", &["--finalize"]);
    let base = world.git(&["rev-parse", "HEAD"]);
    world.write("cache.sh", "echo ten answers\n");
    world.write("tests/test_cache.sh", "sh cache.sh\n");
    world.git(&["add", "cache.sh", "tests"]);
    world.git(&["commit", "-q", "-m", "Faster cache"]);
    let run = "20260120T153000Z-faster-cache-1a2b";
    world.git(&["update-ref", &format!("refs/liza/experiments/{run}"), "HEAD"]);
    world.git(&["reset", "-q", "--hard", &base]);
    let dir = format!("agentic_experimentation/experiments/{run}");
    world.write(".git/info/exclude", "/.liza/\n/.worktrees/\n/agentic_experimentation/\n/ideas/\n");
    world.write(&format!("{dir}/idea.md"), "# Faster cache\nKeep the last ten answers.\n");
    let summary = serde_json::json!({
        "run_id": run, "idea": "faster-cache", "title": "Faster cache", "status": "scored", "phase": "sweep",
        "started": "2026-01-20T15:30:00Z", "ended": "2026-01-20T15:31:30Z", "base_commit": base,
        "plan": "PLAN\n1. keep ten answers\n\nRISKS\nold answers\n", "rounds": 1, "review": { "verdict": "APPROVE", "round": 1 },
        "tests": { "exit_code": 0, "seconds": 1.5 }, "sweep": { "exit_code": 0, "seconds": 20.0 },
        "score": { "value": 12.5, "baseline": 10.0, "delta": 2.5, "delta_pct": 25.0, "better": true }, "tokens": 5690, "cost": 0.09,
        "ref": format!("refs/liza/experiments/{run}"), "error": null,
    });
    world.write(&format!("{dir}/summary.json"), &summary.to_string());
    stage
}

/// A probe whose operator has delivered its result.
fn delivered_probe() -> Stage {
    let stage = board();
    crate::reports::deliver(&stage.world, "probe-1", "operator", "probe");
    stage
}

/// The plan of a workstream waits to be accepted.
fn stream_planned() -> Stage {
    let stage = board();
    crate::reports::deliver(&stage.world, "w1-plan", "supervisor", "work");
    stage
}

/// A runner has dispatched a probe to its operator.
fn dispatched() -> Stage {
    let stage = delivered_probe();
    let example = include_str!("fixtures/director/task-dispatch.json");
    stage.world.write(".liza/runs/probe-1/1-1/operator-1-1.dispatch.json", example);
    stage
}

/// A workstream whose supervisor has not planned it yet.
fn open_workstream() -> Stage {
    let stage = board();
    let plan = "workstreams:\n- {id: cli, goal: The command line, ownership_paths: [src/cli/]}\n";
    stage.world.json_stdin(&HUMAN, &["plan", "-"], plan).ok();
    stage
}

fn drafts() -> Stage {
    let stage = board();
    add(&stage, "t1", "greet.sh", &[]);
    add(&stage, "t2", "other.sh", &[]);
    stage
}

/// Two agents cannot reach the same service, which has tripped the breaker.
fn tripped() -> Stage {
    let stage = working();
    for (who, service) in [(&stage.coder, "PyPI is down"), (&stage.reviewer, "cannot reach pypi.org")] {
        let detail = format!("blocker_service={service}");
        stage.world.liza(who, &["anomaly", "external_blocker", "--task", "t1", "--detail", &detail]).ok();
    }
    stage.world.human(&["watch", "--once"]).ok();
    stage
}

/// Submitted work, and a gate that checks it.
fn gated() -> Stage {
    let stage = ready();
    stage.world.write("liza.yaml", "gates:\n  - {name: test, command: sh tests/test_greet.sh || true}\n");
    stage
}

fn judged() -> Stage {
    let stage = gated();
    stage.world.human(&["gate", "run", "t1"]).ok();
    stage
}

/// A gate that compares hashes.
fn replaying() -> Stage {
    let stage = board();
    stage.world.write("liza.yaml", "gates:\n  - {name: replay, command: ./replay, adapter: trace-hash}\n");
    stage
}

fn idle() -> Stage {
    let stage = board();
    add(&stage, "t1", "greet.sh", &["--finalize"]);
    stage
}

/// A session of a coder has ended.
fn recorded() -> Stage {
    let stage = working();
    let file =
        |name: &str, text: &str| stage.world.write(&format!(".liza/runs/t1/1-1/coder-1-1.{name}"), text);
    file("prompt.md", "Do it.");
    file("out.log", include_str!("fixtures/sessions/claude.out"));
    let about = r#"{"agent":"coder-1","task":"t1","role":"coder","provider":"claude","output":"claude_stream","started":"2026-01-20T15:30:00Z"}"#;
    file("session.json", about);
    let usage = r#"{"turns":2,"tool_calls":1,"input_tokens":5510,"output_tokens":180,"cached_tokens":27200,"cost_usd":0.0875,"session":null,"last_tool":"Bash","errors":0}"#;
    file(
        "usage.json",
        &format!("{{\"agent\":\"coder-1\",\"exit\":0,\"seconds\":8,\"usage\":{usage},\"ended\":\"exit 0\"}}"),
    );
    stage
}

fn staffed() -> Stage {
    let world = World::new();
    let stage = Stage { world, coder: HUMAN, reviewer: HUMAN };
    crate::team::play(&stage.world, crate::team::EVERY_ROLE);
    crate::team::configure(&stage.world, "");
    crate::team::add(&stage.world, "t1");
    stage
}

/// An agent that its runner can end; the runner ends after that.
fn agent_running() -> Stage {
    let stage = staffed();
    crate::team::play(&stage.world, "touch $OUT/up; sleep 20");
    let runner = stage
        .world
        .liza_command(&HUMAN, &stage.world.root, &["agent", "run", "--role", "coder", "--once"])
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .start();
    runner.expect("liza starts").leave();
    crate::team::until("an agent works", || stage.world.home().join("out/up").exists());
    stage
}

fn working() -> Stage {
    let stage = idle();
    stage.world.claim(&stage.coder, "t1");
    stage
}

/// An agent's command found a limit raised in the file.
fn edited() -> Stage {
    let stage = working();
    stage.world.edit_state("max_review_cycles: 5", "max_review_cycles: 7");
    stage.world.liza(&stage.coder, &["task", "renew", "t1"]).ok();
    stage
}

fn finished() -> Stage {
    let stage = working();
    stage.world.checkpoint(&stage.coder, "t1", &["greet.sh", "tests/test_greet.sh"]);
    let files = [("greet.sh", "echo Hello\n"), ("tests/test_greet.sh", "echo ok\n")];
    stage.world.write_and_commit(&stage.world.path(".worktrees/t1"), &files);
    stage
}

/// Work that was checked by a gate that liza.yaml no longer names.
fn removed_lint_gate() -> Stage {
    let stage = finished();
    stage.world.write("liza.yaml", "gates:\n  - {name: lint, command: 'true', on: [submit]}\n");
    stage.world.liza(&stage.coder, &["task", "submit", "t1"]).ok();
    stage.world.write("liza.yaml", "version: 1\n");
    stage
}

fn packed() -> Stage {
    let stage = finished();
    stage.world.liza(&stage.coder, &["bundle", "create", "t1", "--out", "t1.patchbundle.json"]).ok();
    stage
}

/// A bundle of an abandoned task, and another task with the same paths to apply it to.
fn abandoned_bundle() -> Stage {
    let stage = packed();
    stage.world.human(&["task", "abandon", "t1", "--reason", "only its bundle is wanted"]).ok();
    add(&stage, "t2", "greet.sh", &["--finalize"]);
    let other = stage.world.register("coder", "coder-2");
    stage.world.claim(&other, "t2");
    stage.world.checkpoint(&other, "t2", &["greet.sh", "tests/test_greet.sh"]);
    Stage { coder: other, ..stage }
}

fn ready() -> Stage {
    let stage = finished();
    stage.world.liza(&stage.coder, &["task", "submit", "t1"]).ok();
    stage
}

fn reviewing() -> Stage {
    let stage = ready();
    stage.world.liza(&stage.reviewer, &["review", "claim", "t1"]).ok();
    stage
}

fn approved() -> Stage {
    let stage = ready();
    let commit = stage.world.git(&["rev-parse", "task/t1"]);
    stage.world.approve(&stage.reviewer, "t1", &commit);
    stage
}

fn merged() -> Stage {
    let stage = approved();
    stage.world.liza(&stage.reviewer, &["merge", "t1"]).ok();
    stage
}

/// Its worktree is in the trash.
fn archived() -> Stage {
    let stage = merged();
    stage.world.human(&["archive", "--all"]).ok();
    stage
}

/// Liza does not move a branch that is checked out, so the user has another one.
fn merged_on_other_branch() -> Stage {
    let stage = merged();
    stage.world.git(&["switch", "-q", "-c", "elsewhere"]);
    stage
}

fn blocked() -> Stage {
    let stage = working();
    let args =
        ["task", "block", "t1", "--reason", "the spec is silent", "--question", "Is an empty name allowed?"];
    stage.world.liza(&stage.coder, &args).ok();
    stage
}

fn paused() -> Stage {
    let stage = board();
    stage.world.human(&["pause"]).ok();
    stage
}

fn open_notes() -> Stage {
    let stage = idle();
    stage.world.human(&["note", "use argparse"]).ok();
    for question in ["question=one", "question=two"] {
        stage.world.human(&["anomaly", "spec_ambiguity", "--task", "t1", "--detail", question]).ok();
    }
    stage
}

/// A coder has asked a person a question.
fn written() -> Stage {
    let stage = working();
    let args =
        ["message", "send", "--to", "human", "--type", "request_input", "--subject", "May a name be empty?"];
    stage.world.liza(&stage.coder, &[&args[..], &["--task", "t1"]].concat()).ok();
    stage
}

fn main_with_new_commit() -> Stage {
    let stage = board();
    stage.world.write("upstream.txt", "a fix\n");
    stage.world.commit_all("upstream fix");
    stage
}

/// The spec file that an example names.
fn spec_file() -> Stage {
    let stage = board();
    stage.world.write("specs/parser.md", "# Parser\n");
    stage
}

/// The files that examples of plans name.
fn planned() -> Stage {
    let stage = idle();
    let plan = "tasks:\n  - id: t7\n    title: Seven\n    spec_ref: specs/vision.md\n    done_when: [it works]\n    scope: {in: [seven/]}\n";
    stage.world.write("plan.yaml", plan);
    stage.world.write("new-tasks.yaml", plan);
    stage
}

/// Every command a person sees, with its full name.
pub fn visible(command: &clap::Command, name: &str, see: &mut dyn FnMut(&str, &clap::Command)) {
    see(name, command);
    for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set() && inner.get_name() != "help")
    {
        visible(inner, &format!("{name} {}", inner.get_name()), see);
    }
}

/// The examples in a command's long help.
pub fn examples_of(command: &clap::Command) -> Vec<String> {
    let text = command.get_long_about().or(command.get_about()).map(ToString::to_string).unwrap_or_default();
    text.lines().filter_map(|line| line.trim().strip_prefix("Example: ")).map(str::to_owned).collect()
}

#[test]
fn every_command_has_an_example_with_its_own_name() {
    let mut missing = Vec::new();
    visible(&liza::cli::command_line(), "liza", &mut |name, command| {
        let examples = examples_of(command);
        if !examples.iter().any(|example| example.contains(name)) {
            missing.push(name.to_owned());
        }
    });
    assert!(missing.is_empty(), "no example of its own in the help of: {}", missing.join(", "));
}
