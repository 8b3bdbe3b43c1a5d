//! The route of a goal: one small job, or workstreams.

use super::{CODER, data, fresh, routes, run};
use crate::support::HUMAN;
use crate::team::{EVERY_ROLE, add, out, scripted};

#[test]
fn small_goal_is_one_job_with_coder_and_reviewer() {
    let world = fresh(&format!("{CODER}\n{EVERY_ROLE}"));
    let what = "Write the greeting";
    let ran = run(&world, &[what, "--t-max", "60", "--t-why", "one file"]).ok();
    assert_eq!(data(&ran)["outcome"], "complete", "{}", ran.stdout);
    let routes = routes(&world);
    assert_eq!(routes.len(), 1, "{routes:?}");
    let route = &routes[0];
    assert_eq!((&route["route"], &route["t_max_s"]), (&"single".into(), &60.into()), "{route}");
    assert_eq!((&route["t_why"], &route["goal"]), (&"one file".into(), &"goal-2".into()), "{route}");
    assert_eq!((&route["by"], &route["task"]), (&"human".into(), &"write-the-greeting".into()), "{route}");
    let id = world.json(&HUMAN, &["ssot-id", what]).ok().data()["ssot_id"].clone();
    assert_eq!(route["ssot_id"], id);
    let text = world.human(&["status"]).ok().stdout;
    assert!(text.contains("route: single (mixed): it is tiny, clear"), "{text}");
    // A job that the reviewer approved is delivered without an auditor.
    assert_eq!(world.status_of("write-the-greeting"), "MERGED");
    let report = std::fs::read_to_string(data(&ran)["report"].as_str().unwrap()).unwrap();
    assert!(report.contains("Route: scenario-") && report.contains("t\\_max 60 s"), "{report}");
    world.human(&["deliver", "--dry-run", "--to", "main"]).ok();
}

#[test]
fn planner_is_asked_once_for_an_estimate() {
    let script = r#"
if [ "$LIZA_TRIGGER" = route ]; then
  echo asked >> "$OUT/asked"
  liza note "an estimate changes nothing" > "$OUT/refused" 2>&1; echo "exit $?" >> "$OUT/refused"
  ANSWER
  exit 0
fi
"#;
    let good = r#"echo '{"schema":"route/1","t_max_s":1200,"t_why":"two modules","tiny":false,"clear":true,"risk":"medium"}'"#;
    let world = fresh(&script.replace("ANSWER", good));
    run(&world, &["Rework the parser"]).exits(1);
    assert_eq!(out(&world, "asked"), "asked\n", "one session");
    let route = routes(&world)[0].clone();
    assert_eq!((&route["route"], &route["t_max_s"]), (&"multi".into(), &1200.into()), "{route}");
    assert_eq!((&route["t_why"], &route["risk"]), (&"two modules".into(), &"medium".into()), "{route}");
    // The processes of the estimate may not change the board.
    assert!(out(&world, "refused").ends_with("exit 1\n"), "{}", out(&world, "refused"));
    // The estimate stays: liza does not ask again.
    run(&world, &[]).exits(1);
    assert_eq!((out(&world, "asked").as_str(), routes(&world).len()), ("asked\n", 1));
    // An answer that is not exactly one value is no estimate.
    let world = fresh(&script.replace("ANSWER", &format!("echo 'Sure:'; {good}")));
    run(&world, &["Rework the parser"]).exits(1);
    let route = routes(&world)[0].clone();
    assert_eq!((&route["route"], &route["t_max_s"]), (&"multi".into(), &serde_json::Value::Null), "{route}");
    assert!(route["t_why"].as_str().unwrap().contains("did not answer with route/1"), "{route}");
}

#[test]
fn failed_single_job_goes_to_the_planner() {
    let script = format!(
        r#"
good_coder() {{ liza task block "$LIZA_TASK" --reason "it is larger than it looks" --question "Which part first?"; }}
good_planner() {{ echo "$LIZA_TRIGGER" >> "$OUT/woken"; cp "$LIZA_PROMPT_FILE" "$OUT/prompt"; }}
{EVERY_ROLE}"#
    );
    let world = fresh(&script);
    let ran = run(&world, &["Write the greeting", "--t-max", "60", "--t-why", "one file"]).exits(1);
    assert_eq!(data(&ran)["outcome"], "stuck");
    assert_eq!(out(&world, "woken"), "single_failed\n");
    assert!(out(&world, "prompt").contains("it is larger than it looks"));
    let routes = routes(&world);
    let ways: Vec<&str> = routes.iter().filter_map(|route| route["route"].as_str()).collect();
    assert_eq!(ways, ["single", "multi"], "{routes:?}");
    assert!(routes[1]["reason"].as_str().unwrap().contains("ended BLOCKED"), "{routes:?}");
    // With `--single` the run starts no planner.
    let world = fresh(&script);
    run(&world, &["--single", "Write the greeting"]).exits(1);
    assert_eq!(out(&world, "woken"), "");
    let route = super::routes(&world)[0].clone();
    assert_eq!((&route["route"], &route["reason"]), (&"single".into(), &"--single was given".into()));
}

#[test]
fn queued_goal_is_routed_when_it_starts() {
    let world = scripted(&format!("{CODER}\n{EVERY_ROLE}"));
    add(&world, "first");
    let ran = run(&world, &["Write the second", "--t-max", "30", "--t-why", "one line"]).ok();
    assert!(ran.stdout.contains("goal-2") || ran.stderr.contains("goal-2"), "{}", ran.stderr);
    assert_eq!(world.status_of("first"), "MERGED");
    assert_eq!(world.status_of("write-the-second"), "MERGED");
    let routes = routes(&world);
    assert_eq!((routes.len(), &routes[0]["goal"]), (1, &"goal-2".into()), "{routes:?}");
}

#[test]
fn route_flags_are_checked_first() {
    let world = scripted(EVERY_ROLE);
    let before = world.bytes();
    for args in [
        &["run", "A goal in words", "--t-max", "60"][..],
        &["run", "A goal in words", "--t-why", "why"],
        &["run", "--multi"],
        &["run", "A goal in words", "--single", "--multi"],
        &["run", "A goal in words", "--mode", "careless"],
        &["run", "word"],
    ] {
        world.json(&HUMAN, args).exits(2);
    }
    assert_eq!(world.bytes(), before);
    assert_eq!(world.json(&HUMAN, &["ssot-id", " "]).exits(2).code(), "usage.argument");
}
