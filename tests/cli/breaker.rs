//! The circuit breaker through the binary: it trips once for one cause, survives a kill, and leaves every task as it is.

use serde_json::Value;

use crate::support::{HUMAN, Who, World};
use crate::team::{EVERY_ROLE, add, quickly, scripted, start};

/// Three agents, and a task each.
fn team() -> (World, [Who; 3]) {
    let world = World::new();
    for task in ["t1", "t2", "t3", "t4"] {
        world.task(task, &[&format!("{task}.txt"), &format!("tests/test_{task}.sh")]);
    }
    let agents = ["coder-1", "coder-2", "coder-3"].map(|name| world.register("coder", name));
    (world, agents)
}

#[track_caller]
fn outage(world: &World, who: &Who, task: &str, words: &str) {
    let detail = format!("blocker_service={words}");
    world.liza(who, &["anomaly", "external_blocker", "--task", task, "--detail", &detail]).ok();
}

/// The alerts of `watch --once`, as `kind subject`.
#[track_caller]
fn watch_once(world: &World) -> Vec<String> {
    let data = world.json(&HUMAN, &["watch", "--once"]).ok().data();
    let alerts = data["alerts"].as_array().expect("alerts").clone();
    alerts
        .iter()
        .map(|alert| format!("{} {}", alert["kind"].as_str().unwrap(), alert["subject"].as_str().unwrap()))
        .collect()
}

#[track_caller]
fn breaker(world: &World) -> Value {
    world.json(&HUMAN, &["breaker"]).ok().data()
}

#[track_caller]
fn trips(world: &World) -> Vec<String> {
    let data = world.json(&HUMAN, &["breaker", "history"]).ok().data();
    let trips = data["trips"].as_array().expect("trips").clone();
    trips.iter().map(|trip| trip["id"].as_str().expect("an id").to_owned()).collect()
}

fn switch(world: &World) -> Value {
    world.json(&HUMAN, &["status"]).ok().data()["switch"].clone()
}

#[test]
fn outage_reported_by_three_agents_trips_once() {
    let (world, [one, two, three]) = team();
    outage(&world, &one, "t1", "PyPI is down");
    assert!(!watch_once(&world).iter().any(|alert| alert.starts_with("breaker_open")));
    assert_eq!(breaker(&world)["open"], serde_json::json!([]));
    outage(&world, &two, "t2", "cannot reach pypi.org: HTTP 503");
    outage(&world, &three, "t3", "package index pypi gives timeouts");
    let tasks = world.tasks();
    let checked = world.json(&HUMAN, &["breaker", "check"]).ok().data();
    let gauge = checked["patterns"]
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["pattern"] == "external_outage")
        .unwrap();
    assert_eq!((&gauge["nearest"]["count"], &gauge["trips"]), (&3.into(), &true.into()), "{gauge}");
    assert_eq!(trips(&world), Vec::<String>::new(), "checking changes nothing");

    let alerts = watch_once(&world);
    assert!(alerts.contains(&"breaker_open trip-1".to_owned()), "{alerts:?}");
    assert_eq!(trips(&world), ["trip-1"]);
    assert_eq!(world.tasks(), tasks, "no task is touched");
    assert_eq!(switch(&world), "CHECKPOINT");
    assert!(world.read(".liza/CHECKPOINT").starts_with("breaker trip-1 (external_outage)"));
    let report = world.read(".liza/reports/breaker-trip-1.md");
    for words in [
        "PyPI is down",
        "cannot reach pypi.org",
        "package index pypi",
        "| coder-3 |",
        "- [ ] ",
        "service pypi",
    ] {
        assert!(report.contains(words), "{words} in {report}");
    }
    assert!(report.contains("`liza breaker resolve trip-1 --note …`, then `liza resume`"), "{report}");
    let status = world.human(&["status"]).ok().stdout;
    assert!(status.contains("!! breaker trip-1 (external_outage)"), "{status}");
    let open = breaker(&world)["open"][0].clone();
    assert_eq!((&open["pattern"], &open["response"]), (&"external_outage".into(), &"checkpoint".into()));
    assert!(open["report"].as_str().unwrap().ends_with("breaker-trip-1.md"), "{open}");
    // Halted agents may still report; and a second check changes nothing.
    outage(&world, &one, "t4", "pypi still unreachable");
    let before = world.bytes();
    assert_eq!(watch_once(&world), Vec::<String>::new());
    assert!(world.bytes() == before, "the second look changed the board");

    let offered = world.human(&["__complete", "--", "breaker", "resolve", ""]).ok().stdout;
    assert_eq!(offered, "trip-1\texternal_outage\n");
    world.refused(&one, &["breaker", "resolve", "--note", "fine"], 1, "refused.human_only");
    world.refused(&HUMAN, &["breaker", "resolve", "trip-7", "--note", "fine"], 1, "refused.unknown_record");
    let resolved =
        world.json(&HUMAN, &["breaker", "resolve", "trip-1", "--note", "the index is back"]).ok().data();
    assert_eq!(
        (&resolved["resolved"][0], &resolved["switches"][0]),
        (&"trip-1".into(), &"CHECKPOINT".into())
    );
    assert_eq!(switch(&world), "CHECKPOINT", "resolving does not resume");
    let said = world.human(&["breaker"]).ok().stdout;
    assert!(said.contains("liza resume"), "{said}");
    world.human(&["resume"]).ok();
    watch_once(&world);
    assert_eq!((switch(&world), trips(&world).len()), (Value::Null, 1), "all of it is settled");
    let history = world.human(&["breaker", "history"]).ok().stdout;
    assert!(history.contains("by human: the index is back"), "{history}");

    // Later than the decision, with a clock of whole seconds.
    let later = |who: &Who, words: &str| {
        let detail = format!("blocker_service={words}");
        world.later(60, who, &["anomaly", "external_blocker", "--task", "t1", "--detail", &detail]).ok();
    };
    later(&one, "PyPI is down");
    world.later(60, &HUMAN, &["watch", "--once"]).ok();
    assert_eq!(trips(&world).len(), 1, "one new report is one report");
    later(&two, "pypi.org does not answer");
    world.later(60, &HUMAN, &["watch", "--once"]).ok();
    assert_eq!(trips(&world), ["trip-2", "trip-1"]);
    assert_eq!(switch(&world), "CHECKPOINT");
    world.sound();
}

#[test]
fn similar_rejections_trip_the_breaker() {
    let (world, [one, two, three]) = team();
    let reviewer = world.register("code_reviewer", "reviewer-1");
    for (who, task, reason) in [
        (&one, "t1", "SQL is built by string concatenation"),
        (&two, "t2", "SQL injection: the query is concatenated from strings"),
        (&three, "t3", "the SQL is concatenated from strings"),
    ] {
        assert_eq!(trips(&world), Vec::<String>::new());
        let commit = world.submit_work(who, task, &format!("{task}.txt"), "work\n");
        world.liza(&reviewer, &["review", "claim", task]).ok();
        let issue = format!("major:{task}.txt:1:{reason}");
        world
            .liza(
                &reviewer,
                &["review", "reject", task, "--commit", &commit, "--reason", reason, "--issue", &issue],
            )
            .ok();
        watch_once(&world);
    }
    let open = breaker(&world)["open"][0].clone();
    assert_eq!(open["pattern"], "same_failure", "{open}");
    assert_eq!(open["evidence"].as_array().unwrap().len(), 3, "{open}");
    assert_eq!(world.status_of("t3"), "REJECTED");
    assert_eq!(open["response"], "warning", "rejections alone halt no agent: {open}");
    assert_eq!(switch(&world), Value::Null);
    // The report does not advise to rescope a finished task.
    assert!(open["decisions"].to_string().contains("rescope t1 "), "{open}");
    for task in ["t1", "t2", "t3"] {
        world.human(&["task", "abandon", task, "--reason", "not wanted"]).ok();
    }
    let open = breaker(&world)["open"][0].clone();
    assert!(!open["decisions"].to_string().contains("rescope"), "{open}");
    world.human(&["breaker", "resolve", "--note", "gone"]).ok();
    watch_once(&world);
    assert_eq!(trips(&world), ["trip-1"]);
}

#[test]
fn rejections_fixed_later_trip_nothing() {
    let (world, [coder, _, _]) = team();
    let reviewer = world.register("code_reviewer", "reviewer-1");
    for task in ["t1", "t2", "t3"] {
        let file = format!("{task}.txt");
        let commit = world.submit_work(&coder, task, &file, "work\n");
        world.liza(&reviewer, &["review", "claim", task]).ok();
        let issue = format!("major:{file}:1:tests missing for the error path");
        let reason = ["--reason", "tests missing for the error path", "--issue", &issue];
        world.liza(&reviewer, &[&["review", "reject", task, "--commit", &commit][..], &reason].concat()).ok();
        let worktree = world.claim(&coder, task);
        world.checkpoint(&coder, task, &[&file, &format!("tests/test_{task}.sh")]);
        let commit = world.write_and_commit(&worktree, &[(&file, "fixed\n")]);
        world.liza(&coder, &["task", "submit", task]).ok();
        world.liza(&reviewer, &["review", "claim", task]).ok();
        world
            .liza(&reviewer, &["review", "approve", task, "--commit", &commit, "--prior", "i1=resolved"])
            .ok();
        world.liza(&reviewer, &["merge", task]).ok();
        watch_once(&world);
    }
    assert_eq!((trips(&world), switch(&world)), (Vec::new(), Value::Null));
}

#[test]
fn switch_file_holds_no_control_characters() {
    let (world, [one, two, _]) = team();
    outage(&world, &one, "t1", "PyPI is \u{1b}[31mdown");
    outage(&world, &two, "t2", "PyPI \u{1b}[31mdown");
    watch_once(&world);
    let said = world.read(".liza/CHECKPOINT");
    assert!(said.contains("PyPI") && !said.contains('\u{1b}'), "{said:?}");
}

#[test]
fn responses_are_chosen_in_liza_yaml() {
    let (world, [one, two, _]) = team();
    let config = world.read("liza.yaml");
    let choose = |choice: &str| {
        world.write(
            "liza.yaml",
            &format!("{config}\nbreaker:\n  responses:\n    external_outage: {choice}\n"),
        );
    };
    outage(&world, &one, "t1", "PyPI is down");
    outage(&world, &two, "t2", "pypi.org unreachable");
    choose("off");
    watch_once(&world);
    assert_eq!(trips(&world), Vec::<String>::new());
    choose("warning");
    assert!(watch_once(&world).contains(&"breaker_open trip-1".to_owned()));
    assert_eq!(switch(&world), Value::Null, "a warning halts no agent");
    assert!(world.path(".liza/reports/breaker-trip-1.md").is_file());
    choose("halt");
    outage(&world, &one, "t1", "GitHub API unavailable");
    outage(&world, &two, "t2", "github is down");
    watch_once(&world);
    assert_eq!(trips(&world), ["trip-2", "trip-1"]);
    assert_eq!(switch(&world), "ABORT");
    world.human(&["breaker", "resolve", "--note", "both are back"]).ok();
    assert_eq!(breaker(&world)["open"], serde_json::json!([]));
    choose("loudly");
    world.refused(&HUMAN, &["breaker", "check"], 2, "usage.config");
}

#[test]
fn next_check_completes_a_killed_trip() {
    for point in ["breaker.tripped", "breaker.reported", "breaker.switched"] {
        let (world, [one, two, _]) = team();
        outage(&world, &one, "t1", "PyPI is down");
        outage(&world, &two, "t2", "pypi.org unreachable");
        let killed = world.json_env(&HUMAN, &["watch", "--once"], &[("LIZA_CRASH_AT", point)]);
        assert_eq!(killed.exit, -1, "{point}: {}", killed.stdout);
        assert_eq!(trips(&world), ["trip-1"], "{point}: the intent is on record first");
        let report = world.path(".liza/reports/breaker-trip-1.md");
        assert_eq!(report.is_file(), point != "breaker.tripped", "{point}");
        assert_eq!(switch(&world) == "CHECKPOINT", point == "breaker.switched", "{point}");
        if point == "breaker.switched" {
            // A person removes the switch before a watcher reports it.
            world.human(&["resume"]).ok();
            watch_once(&world);
            assert_eq!(switch(&world), Value::Null, "it is the person's now");
            continue;
        }
        assert!(watch_once(&world).contains(&"breaker_open trip-1".to_owned()), "{point}");
        assert!(report.is_file() && switch(&world) == "CHECKPOINT", "{point}");
        assert_eq!(trips(&world), ["trip-1"], "{point}");
        world.human(&["resume"]).ok();
        watch_once(&world);
        assert_eq!(switch(&world), Value::Null, "{point}: a switch that a person took away is not set again");
        assert_eq!(breaker(&world)["open"][0]["id"], "trip-1");
        world.sound();
    }
}

#[test]
fn crashes_of_two_agents_on_two_tasks_trip() {
    // Every crash has its own exit code, so that no two crashes look alike.
    let world = scripted("echo x >> $OUT/crashes; exit $(wc -l < $OUT/crashes)");
    add(&world, "t1");
    add(&world, "t2");
    let crash = |agent: &str, task: &str| {
        let runs = ["--json", "agent", "run", "--role", "coder", "--id", agent, "--task", task];
        quickly(&world, &runs).exits(1);
        watch_once(&world);
    };
    crash("coder-1", "t1");
    assert_eq!(trips(&world), Vec::<String>::new(), "one agent alone is its runner's business");
    crash("coder-2", "t2");
    let open = breaker(&world)["open"][0].clone();
    assert_eq!(open["pattern"], "crash_loop", "{open}");
    let of = |key: &str| -> std::collections::BTreeSet<String> {
        let rows = open["evidence"].as_array().unwrap();
        rows.iter().map(|row| row[key].as_str().unwrap().to_owned()).collect()
    };
    assert!(of("agent").into_iter().eq(["coder-1", "coder-2"]), "{open}");
    assert!(of("task_id").into_iter().eq(["t1", "t2"]), "{open}");
    assert!(open["evidence"][0]["text"].as_str().unwrap().starts_with("exit 1"), "{open}");
    assert_eq!(switch(&world), "CHECKPOINT");
}

#[test]
fn run_trips_breaker_and_resumes_on_request() {
    let world = scripted(EVERY_ROLE);
    add(&world, "t1");
    let agents = ["one-1", "two-1"].map(|name| world.register("auditor", name));
    outage(&world, &agents[0], "t1", "PyPI is down");
    outage(&world, &agents[1], "t1", "pypi.org unreachable");
    let mut run = start(&world, &["--json", "run", "--team", "coder", "--team", "code_reviewer"]);
    let halted = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while breaker(&world)["open"][0]["answered"].is_null() {
        assert!(std::time::Instant::now() < halted, "it never trips");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert_eq!(switch(&world), "CHECKPOINT");
    world.human(&["breaker", "resolve", "--note", "it is back"]).ok();
    world.human(&["resume"]).ok();
    assert!(run.wait().expect("it ends").success());
    assert_eq!(world.status_of("t1"), "MERGED");
    assert_eq!(trips(&world), ["trip-1"]);
}
