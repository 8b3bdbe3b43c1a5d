//! The cost of agents' sessions: recorded on the board, compared with the caps, and what happens at each cap.

use serde_json::Value;

use crate::support::{HUMAN, World};
use crate::team::{EVERY_ROLE, add, agent_run, answer, events, named, play};

/// Prints a provider's message with this many tokens.
const SPENDS: &str = r#"
spends() {
  echo '{"type":"assistant","message":{"id":"m'$RANDOM$$'-'$1'-'$2'","role":"assistant","content":[{"type":"text","text":"hm"}],"usage":{"input_tokens":'$1',"output_tokens":0}}}'
}
"#;

/// A board whose agents report their usage.
fn world(script: &str, spend: &str) -> World {
    let world = World::new();
    play(&world, &format!("{SPENDS}\n{script}"));
    configure(&world, spend);
    world
}

fn configure(world: &World, spend: &str) {
    let script = world.home().join("agent.sh");
    world.write(
        "liza.yaml",
        &format!(
            "version: 1\nprovider: fake\nproviders:\n  fake: {{ base: claude, command: [sh, '{}'] }}\nrun: {{ grace_seconds: 1 }}\nteam:\n  - {{ role: coder, count: 1 }}\n  - {{ role: code_reviewer, count: 1 }}\n{spend}",
            script.display()
        ),
    );
}

fn agents(world: &World) -> Vec<Value> {
    world.json(&HUMAN, &["agent", "list"]).ok().data()["agents"].as_array().unwrap().clone()
}

#[test]
fn board_records_what_sessions_used() {
    let script = format!(
        "{EVERY_ROLE}\nspends 40 a\necho '{{\"type\":\"result\",\"subtype\":\"success\",\"num_turns\":1,\"total_cost_usd\":0.25}}'"
    );
    let world = world(&script, "");
    add(&world, "t1");
    world.json(&HUMAN, &["run"]).ok();
    let task = world.show("t1");
    assert_eq!(
        (&task["spent"]["sessions"], &task["spent"]["input_tokens"]),
        (&2.into(), &80.into()),
        "{task}"
    );
    assert_eq!(task["spent"]["cost_usd"], 0.5, "{task}");
    let round = &task["spent_rounds"][0];
    assert_eq!(
        (&round["work"]["input_tokens"], &round["review"]["input_tokens"]),
        (&40.into(), &40.into()),
        "{task}"
    );
    for agent in agents(&world) {
        assert_eq!(agent["spent"]["input_tokens"], 40, "{agent}");
    }
    assert_eq!(world.json(&HUMAN, &["status"]).ok().data()["spent"]["input_tokens"], 80);
    for (args, words) in [
        (&["status"][..], "spent: 80 tokens, 0.50 USD"),
        (&["agent", "list"], "spent 40 tokens, 0.25 USD"),
        (&["task", "show", "t1"], "spent:     80 tokens, 0.50 USD in 2 sessions"),
    ] {
        let text = world.human(args).ok().stdout;
        assert!(text.contains(words), "{text}");
    }
    let figures = world.json(&HUMAN, &["metrics"]).ok().data()["figures"].clone();
    assert_eq!(
        (&figures["tokens_merged"], &figures["tokens_reviewing"]),
        (&40.into(), &40.into()),
        "{figures}"
    );
    world.sound();
}

#[test]
fn a_killed_session_is_counted_too() {
    let world = world("spends 30 a\ntouch \"$OUT/there\"\nsleep 600", "");
    add(&world, "t1");
    let child = crate::team::start(&world, &["--json", "agent", "run", "--role", "coder", "--once"]);
    crate::team::until("the session is counting", || world.home().join("out/there").exists());
    world.human(&["abort", "--reason", "enough"]).ok();
    assert_eq!(child.wait_with_output().expect("it ends").status.code(), Some(5));
    assert_eq!(world.show("t1")["spent"]["input_tokens"], 30);
    world.human(&["resume"]).ok();
    world.sound();
}

#[test]
fn usage_of_killed_runner_counts_for_the_cap() {
    let script = "spends 900 a\ntouch \"$OUT/there\"\nsleep 600";
    let world = world(script, "spend: { task: { tokens: 1000 } }\n");
    add(&world, "t1");
    let args = ["--json", "agent", "run", "--role", "coder", "--id", "coder-1", "--once"];
    let mut child = crate::team::start_quickly(&world, &args);
    crate::team::until("it is on the board", || world.show("t1")["spent"]["input_tokens"] == 900);
    crate::team::signal(child.id(), "-KILL");
    child.wait().expect("it ends");
    let spent = &world.show("t1")["spent"];
    assert_eq!((&spent["sessions"], &spent["input_tokens"]), (&1.into(), &900.into()), "{spent}");
    // The next session may use only the rest, and no tokens count twice.
    play(&world, &format!("{SPENDS}\nspends 150 a\nsleep 600"));
    let ran = agent_run(&world, &args[3..]);
    let limit = named(&events(&ran), "limit")[0]["text"].clone();
    assert!(limit.as_str().is_some_and(|text| text.contains("1050 of 1000 tokens")), "{limit}");
    let spent = &world.show("t1")["spent"];
    assert_eq!((&spent["sessions"], &spent["input_tokens"]), (&2.into(), &1050.into()), "{spent}");
    world.refused(&world.register("coder", "coder-9"), &["task", "claim", "t1"], 1, "refused.spend");
    world.sound();
}

#[test]
fn negative_cap_is_refused() {
    let world = world(EVERY_ROLE, "spend: { agent: { usd: -5 } }\n");
    let error = world.refused(&HUMAN, &["run"], 2, "usage.config");
    assert!(error["message"].as_str().is_some_and(|text| text.contains("spend.agent.usd is -5")), "{error}");
}

#[test]
fn task_cap_warns_refuses_and_halts_only_its_task() {
    // Its session on t1 never ends by itself.
    let script = format!(
        "if [ \"$LIZA_TASK\" = t1 ]; then echo half > t1.txt; spends 45 a; sleep 1; spends 45 b; spends 20 c; sleep 600; fi\n{EVERY_ROLE}"
    );
    let world = world(&script, "spend: { task: { tokens: 100 } }\n");
    add(&world, "t1");
    add(&world, "t2");
    let ran = world.json(&HUMAN, &["run"]).exits(1);
    let all = events(&ran);
    let limit = named(&all, "limit");
    assert_eq!(limit.len(), 1, "{}", ran.stdout);
    let reported = limit[0]["text"].as_str().unwrap();
    assert!(reported.starts_with("spend cap reached: task `t1` has used 110 of 100 tokens"), "{reported}");
    // Work is kept and handed off; no agent claims it.
    assert_eq!(world.row("t1")["status"], "IDLE");
    assert!(world.state().contains("spend cap reached"), "{}", world.state());
    assert_eq!(world.git(&["show", "refs/liza/wip/t1/1:t1.txt"]), "half");
    assert_eq!(world.row("t2")["status"], "MERGED");
    let spend: Vec<&str> = named(&all, "spend").iter().map(|event| event["text"].as_str().unwrap()).collect();
    assert!(spend.len() == 1 && spend[0].contains("110 of 100 tokens"), "{spend:?}");
    let causes = answer(&ran)["data"]["causes"].clone();
    assert_eq!((&causes[0]["kind"], &causes[0]["task"]), (&"spend".into(), &"t1".into()), "{causes}");
    assert!(causes[0]["hint"].as_str().unwrap().contains("`spend.task.tokens`"), "{causes}");
    // A claim typed by hand gets the same refusal.
    let coder = world.register("coder", "coder-9");
    let error = world.refused(&coder, &["task", "claim", "t1"], 1, "refused.spend");
    assert_eq!(error["details"]["setting"], "spend.task.tokens", "{error}");
    assert!(error["message"].as_str().unwrap().contains("110 of 100 tokens"), "{error}");
    assert!(error["hint"].as_str().unwrap().contains("liza.yaml"), "{error}");
    assert_eq!(world.json(&coder, &["next", "--role", "coder"]).ok().data(), Value::Null);
    let ran = agent_run(&world, &["--role", "coder", "--once"]).ok();
    assert!(named(&events(&ran), "started").is_empty(), "{}", ran.stdout);
    // The watcher reports it once.
    let alerts = |world: &World| {
        let data = world.json(&HUMAN, &["watch", "--once"]).ok().data();
        let all = data["alerts"].as_array().unwrap().clone();
        all.into_iter().filter(|alert| alert["kind"] == "spend").collect::<Vec<_>>()
    };
    let reported = alerts(&world);
    assert_eq!(
        (reported.len(), &reported[0]["subject"], &reported[0]["severity"]),
        (1, &"t1".into(), &"critical".into()),
        "{reported:?}"
    );
    assert!(alerts(&world).is_empty());
    // With a raised cap the task is close to its cap, and work resumes.
    configure(&world, "spend: { task: { tokens: 130 } }\n");
    assert_eq!(alerts(&world)[0]["severity"], "warning");
    play(&world, EVERY_ROLE);
    let ran = world.json(&HUMAN, &["run"]).ok();
    assert!(
        named(&events(&ran), "spend")[0]["text"].as_str().unwrap().contains("nearly used up"),
        "{}",
        ran.stdout
    );
    assert_eq!(world.row("t1")["status"], "MERGED");
    world.sound();
}

#[test]
fn run_cap_counts_only_its_own_usage() {
    let script = format!("{EVERY_ROLE}\nspends 60 a");
    let world = world(&script, "spend: { run: { tokens: 100 } }\n");
    add(&world, "t1");
    add(&world, "t2");
    let ran = world.json(&HUMAN, &["run", "--window", "1"]).exits(1);
    let causes = answer(&ran)["data"]["causes"].clone();
    assert_eq!(causes[0]["kind"], "spend", "{causes}");
    assert!(causes[0]["why"].as_str().unwrap().contains("this run has used 120 of 100 tokens"), "{causes}");
    assert_eq!((&world.row("t1")["status"], &world.row("t2")["status"]), (&"MERGED".into(), &"IDLE".into()));
    // Without a run there is no run cap; and the next run counts from zero.
    let coder = world.register("coder", "coder-9");
    world.claim(&coder, "t2");
    world.liza(&coder, &["task", "release", "t2"]).ok();
    world.json(&HUMAN, &["run", "--window", "1"]).ok();
    assert_eq!(world.row("t2")["status"], "MERGED");
    world.sound();
}

#[test]
fn usd_cap_uses_costs_reported_by_provider() {
    let script = "echo '{\"type\":\"result\",\"subtype\":\"success\",\"num_turns\":1,\"total_cost_usd\":2.5}'\nsleep 600";
    let world = world(script, "spend: { agent: { usd: 2 } }\n");
    add(&world, "t1");
    let ran = agent_run(&world, &["--role", "coder", "--id", "coder-1", "--once"]).ok();
    let all = events(&ran);
    let reported = named(&all, "limit")[0]["text"].as_str().unwrap().to_owned();
    assert!(reported.contains("agent `coder-1` has used 2.50 of 2.00 USD (`spend.agent.usd`)"), "{reported}");
    // Another task has money left.
    let ran = agent_run(&world, &["--role", "coder", "--id", "coder-1", "--once"]).ok();
    assert!(named(&events(&ran), "started").is_empty(), "{}", ran.stdout);
    let other = world.register("coder", "coder-2");
    world.claim(&other, "t1");
    world.sound();
}
