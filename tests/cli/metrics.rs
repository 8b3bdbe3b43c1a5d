//! Metrics and the goal report: equal to values computed by hand from the histories.

use serde_json::{Value, json};

use crate::support::{HUMAN, World};

fn seconds_of(time: &Value) -> i64 {
    liza::board::Wall::parse(time.as_str().expect("a time")).expect("a time").0
}

/// The first time of an event of a task, in seconds.
fn at(task: &Value, event: &str) -> i64 {
    let lines = task["history"].as_array().expect("a history");
    let line =
        lines.iter().find(|line| line["event"] == event).unwrap_or_else(|| panic!("no {event}: {task}"));
    seconds_of(&line["time"])
}

fn figures(world: &World, args: &[&str]) -> Value {
    world.json(&HUMAN, &[&["metrics"], args].concat()).ok().data()["figures"].clone()
}

/// t1 merged and archived, t2 merged, t3 submitted, t4 abandoned, t5 not begun.
fn played() -> World {
    let world = World::new();
    let (coder, reviewer) = (world.register("coder", "c1"), world.register("code_reviewer", "r1"));
    world.merge_task(&coder, &reviewer, "t1", "one.txt", "one\n");
    world.human(&["archive", "t1"]).ok();
    world.merge_task(&coder, &reviewer, "t2", "README.md", "hello you\n");
    world.submitted(&coder, "t3", "three.txt", "three\n");
    world.task("t4", &["t4/"]);
    world.human(&["task", "abandon", "t4", "--reason", "not wanted"]).ok();
    world.task("t5", &["t5/"]);
    world
}

#[test]
fn metrics_match_the_task_histories() {
    let world = played();
    let all = figures(&world, &[]);
    let expected = [
        ("tasks_total", 5.0),
        ("tasks_done", 2.0),
        ("tasks_in_progress", 1.0),
        ("tasks_abandoned", 1.0),
        ("tasks_waiting", 1.0),
        ("tasks_blocked", 0.0),
        ("iterations_total", 3.0),
        ("iterations_count", 3.0),
        ("verdicts_total", 2.0),
        ("approval_rate", 1.0),
        ("approval_rate_r1", 1.0),
        ("first_round_rate", 1.0),
        ("lead_seconds_count", 2.0),
        ("review_cycles_total", 0.0),
        ("tokens_total", 0.0),
        ("crashes", 0.0),
    ];
    for (name, value) in expected {
        assert_eq!(all[name], value, "{name} in {all}");
    }
    // Computed by hand from the times in the history.
    let task = world.show("t2");
    let own = figures(&world, &["--task", "t2"]);
    let seconds = |from: i64, to: i64| json!(to - from);
    assert_eq!(
        own["lead_seconds_total"],
        seconds(seconds_of(&task["created_at"]), at(&task, "merged")),
        "{own}"
    );
    for (name, from, to) in [
        ("claim_queue", "finalized", "claimed"),
        ("work", "claimed", "submitted"),
        ("review_queue", "submitted", "review_started"),
        ("review", "review_started", "approved"),
        ("merge_queue", "approved", "merged"),
    ] {
        assert_eq!(
            own[format!("{name}_seconds_total")],
            seconds(at(&task, from), at(&task, to)),
            "{name}: {own}"
        );
        assert_eq!(own[format!("{name}_seconds_count")], 1.0, "{name}: {own}");
    }
    let drift = task["merge"]["drift"].as_f64().unwrap_or(0.0);
    assert_eq!(own["drift_total"], drift);
    assert_eq!(figures(&world, &["--task", "t1"])["tasks_done"], 1.0, "archived tasks are found");
    assert_eq!(figures(&world, &["--sprint", "sprint-1"])["tasks_done"], 2.0);
    world.refused(&HUMAN, &["metrics", "--task", "t9"], 1, "refused.unknown_task");
    assert_eq!(
        (&all["tasks_total"], &all["lead_seconds_count"]),
        (&json!(5), &json!(2)),
        "what is counted is whole"
    );
    assert!(all["approval_rate"].is_f64() && all["cost_usd_total"].is_f64(), "{all}");
    let error = world.refused(&HUMAN, &["metrics", "--csv"], 2, "usage.argument");
    assert!(error["message"].as_str().unwrap().contains("--json"), "{error}");
    let csv = world.human(&["metrics", "--csv"]).ok().stdout;
    assert!(csv.starts_with("metric,value\ntasks_total,5\ntasks_done,2\n"), "{csv}");
    assert_eq!(csv.lines().count(), all.as_object().unwrap().len() + 1);
    let text = world.human(&["metrics"]).ok().stdout;
    assert!(
        text.contains("tasks: 5 in all, 2 done") && text.contains("r1: 2 of 2 approved (100 %)"),
        "{text}"
    );
    world.sound();
}

#[test]
fn goal_report_claims_nothing_before_a_merge() {
    let world = World::new();
    world.task("t1", &["t1/"]);
    let text = world.human(&["report", "--goal"]).ok().stdout;
    assert!(text.contains("nothing is merged yet") && !text.contains("everything merged"), "{text}");
    for key in ["a\n# Goal", "Root Cause", "", "*x*", &"k".repeat(65)] {
        let (what, more) = ("what=later".to_owned(), format!("{key}=x"));
        let args = ["anomaly", "debt_created", "--task", "t1", "--detail", &what, "--detail", &more];
        assert_ne!(world.json(&HUMAN, &args).exit, 0, "{key:?}");
    }
    let args =
        ["anomaly", "debt_created", "--task", "t1", "--detail", "what=later", "--detail", "see_also_2=x"];
    world.human(&args).ok();
}

#[test]
fn goal_report_has_text_and_json() {
    let world = played();
    world.human(&["task", "block", "t5", "--reason", "which tongue", "--question", "Latin?"]).ok();
    world.human(&["anomaly", "debt_created", "--task", "t5", "--detail", "what=no tests for *this*"]).ok();
    let goal = world.json(&HUMAN, &["report", "--goal"]).ok().data();
    assert_eq!(goal["files_created"], json!(["one.txt", "tests/test_t1.sh", "tests/test_t2.sh"]), "{goal}");
    assert_eq!(goal["files_modified"], json!(["README.md"]), "{goal}");
    assert_eq!(goal["tests"]["files"], json!(["tests/test_t1.sh", "tests/test_t2.sh"]), "{goal}");
    assert_eq!(
        (&goal["iterations"], &goal["review_cycles"], &goal["success"]),
        (&3.into(), &0.into(), &false.into())
    );
    assert_eq!(goal["errors"], json!(["t4: not wanted", "t5: which tongue"]), "{goal}");
    assert_eq!(
        (&goal["review"]["approved"], &goal["review"]["ready_for_review"]),
        (&false.into(), &1.into())
    );
    let all = world.json(&HUMAN, &["report", "--format", "json"]).ok().data();
    assert_eq!(all["tasks"]["MERGED"], json!(["t1", "t2"]), "{all}");
    assert_eq!(all["open_questions"][0]["question"], "Latin?", "{all}");
    assert_eq!(all["anomalies"][0]["type"], "debt_created", "{all}");
    assert_eq!(all["metrics"]["tasks"]["done"], 2, "{all}");
    for key in ["goal", "sprint", "spend", "breaker", "interventions", "revision", "time"] {
        assert!(!all[key].is_null(), "{key}: {all}");
    }
    // Without --json the same object is printed alone.
    let bare: Value =
        serde_json::from_str(&world.human(&["report", "--format", "json"]).ok().stdout).expect("JSON");
    assert_eq!(bare["goal"], all["goal"]);
    let text = world.human(&["report", "--format", "markdown"]).ok().stdout;
    for words in [
        "# Goal goal-1",
        "- Files: 3 created, 1 modified, 0 deleted",
        "## Work graph",
        "## Sprint sprint-1",
        "## Figures",
        "| lead | 2 |",
        "t5: Latin? — `liza task unblock t5 --answer …`",
        "no tests for \\*this\\*",
    ] {
        assert!(text.contains(words), "{words} is not in\n{text}");
    }
    // The work graph keeps its keys.
    let graph = world.json(&HUMAN, &["report"]).ok().data();
    assert_eq!(graph.as_object().unwrap().len(), 8, "{graph}");
    world.sound();
}
