//! Runners with well-behaved agents, and a team that completes its goal.

use serde_json::json;

use super::*;

#[test]
fn runners_take_a_task_from_claim_to_merge() {
    let world = scripted(&format!(
        "env > $OUT/$LIZA_ROLE.env; pwd > $OUT/$LIZA_ROLE.cwd; cat > $OUT/$LIZA_ROLE.stdin; {EVERY_ROLE}"
    ));
    add(&world, "t1");
    let ran = agent_run(&world, &["--role", "coder", "--once"]).ok();
    assert_eq!(world.row("t1")["status"], "READY_FOR_REVIEW", "{}", ran.stdout);
    assert_eq!(named(&events(&ran), "submitted").len(), 1);
    let env = out(&world, "coder.env");
    let has = |line: String| assert!(env.lines().any(|known| known == line), "{line} in {env}");
    has("LIZA_AGENT_ID=coder-1".to_owned());
    has("LIZA_CLAIM=t1:1".to_owned());
    has(format!("LIZA_AGENT_TOKEN_FILE={}", world.path(".liza/tokens/coder-1").display()));
    has(format!("SPECS_LOCATION={}", world.path(".liza/specs").display()));
    has(format!("BLACKBOARD={}", world.path(".liza/state.yaml").display()));
    has(format!("PROJECT_ROOT={}", world.root.display()));
    assert!(!env.contains("LIZA_AGENT_TOKEN="), "the token itself is in the environment");
    assert_eq!(out(&world, "coder.cwd").trim(), world.path(".worktrees/t1").to_str().unwrap());
    let prompts = runs(&world, "t1", "prompt.md");
    assert_eq!(prompts.len(), 1, "{prompts:?}");
    assert_eq!(std::fs::read_to_string(&prompts[0]).unwrap(), out(&world, "coder.stdin"));
    assert_eq!(world.git_in(&world.path(".worktrees/t1"), &["log", "-1", "--format=%an"]), "coder-1");

    let ran = agent_run(&world, &["--role", "code_reviewer", "--once"]).ok();
    assert_eq!(world.row("t1")["status"], "MERGED", "{}", ran.stdout);
    assert_eq!(
        out(&world, "code_reviewer.cwd").trim(),
        world.path(".worktrees/.review/t1").to_str().unwrap()
    );
    assert!(out(&world, "code_reviewer.stdin").contains("liza review approve t1 --commit"));
    world.human(&["verify"]).ok();
    world.human(&["doctor"]).ok();
}

#[test]
fn idle_runner_takes_a_task_once_finalized() {
    let world = scripted(EVERY_ROLE);
    let mut child = start(&world, &["agent", "run", "--role", "coder"]);
    until("the runner is there", || world.state().contains("coder-1:"));
    add(&world, "t1");
    until("it is submitted", || world.row("t1")["status"] == "READY_FOR_REVIEW");
    signal(child.id(), "-TERM");
    assert_eq!(child.wait().expect("it ends").code(), Some(143));
    // Without work, `--once` ends.
    agent_run(&world, &["--role", "coder", "--once"]).ok();
}

#[test]
fn explain_shows_the_start_and_starts_nothing() {
    let world = scripted("touch $OUT/started");
    add(&world, "t1");
    let before = world.bytes();
    let data = world.json(&HUMAN, &["agent", "run", "--role", "coder", "--explain"]).ok().data();
    assert_eq!(data["program"], "sh");
    assert_eq!(data["work"], "task t1");
    assert!(data["prompt"].as_str().unwrap().contains("liza task checkpoint t1"));
    let total: u64 =
        data["prompt_parts"].as_array().unwrap().iter().map(|part| part["bytes"].as_u64().unwrap()).sum();
    assert_eq!(data["prompt_bytes"].as_u64().unwrap(), total);
    assert_eq!(data["limits"]["wall_seconds"], 1800);
    for role in ["planner", "code_reviewer", "test_engineer"] {
        world.human(&["agent", "run", "--role", role, "--explain"]).ok();
    }
    assert!(world.bytes() == before && out(&world, "started").is_empty());
}

#[test]
fn broken_project_template_claims_no_task() {
    let world = scripted(&format!("cat > $OUT/stdin; {EVERY_ROLE}"));
    add(&world, "t1");
    std::fs::write(world.path(".liza/templates/coder.md"), "Own words for {{ task_id }}.\n").unwrap();
    agent_run(&world, &["--role", "coder", "--once"]).ok();
    assert!(out(&world, "stdin").starts_with("Own words for t1."), "{}", out(&world, "stdin"));
    add(&world, "t2");
    std::fs::write(world.path(".liza/templates/coder.md"), "Own words for {{ unknown_name }}.\n").unwrap();
    let ran = agent_run(&world, &["--role", "coder", "--once"]);
    assert_eq!(ran.exit, 2, "{}", ran.stdout);
    assert_eq!(answer(&ran)["error"]["code"], "usage.template");
    assert_eq!(world.row("t2")["status"], "IDLE");
}

#[test]
fn incomplete_bootstrap_blocks_the_task() {
    let world = scripted("touch $OUT/started");
    add(&world, "t1");
    std::fs::remove_file(world.path(".liza/specs/architecture/roles.md")).unwrap();
    agent_run(&world, &["--role", "coder", "--once"]).ok();
    let task = world.json(&HUMAN, &["task", "show", "t1"]).ok().data();
    assert_eq!(task["status"], "BLOCKED");
    assert!(task["blocked_reason"].as_str().unwrap().contains("roles.md"), "{task}");
    assert!(out(&world, "started").is_empty());
}

/// How often this agent registered.
fn incarnation(world: &World, agent: &str) -> u64 {
    let agents = world.json(&HUMAN, &["agent", "list"]).ok().data()["agents"].clone();
    let agents = agents.as_array().cloned().unwrap_or_default();
    let found = agents.iter().find(|known| known["id"] == agent).map(|known| known["incarnation"].as_u64());
    found.flatten().unwrap_or_default()
}

#[test]
fn runner_takes_tasks_until_none_is_left() {
    let world = scripted(&format!("echo $LIZA_TASK $PPID >> $OUT/$LIZA_ROLE.sessions; {EVERY_ROLE}"));
    for task in ["a", "b", "c"] {
        add(&world, task);
    }
    let ran = quickly(&world, &["--json", "run", "--team", "coder", "--team", "code_reviewer"]).ok();
    assert_eq!(answer(&ran)["data"]["counts"]["MERGED"], 3, "{}", ran.stdout);
    assert_eq!(out(&world, "coder.sessions").lines().count(), 3);
    // Registered once by the run, and once by its runner.
    assert_eq!(incarnation(&world, "coder-1"), 2, "{}", ran.stdout);
    assert!(named(&events(&ran), "free").is_empty(), "{}", ran.stdout);
    assert!(agents_of(&world).is_empty());
    world.human(&["verify"]).ok();
}

#[test]
fn changed_settings_replace_a_free_runner() {
    let world = scripted(&format!(
        "[ \"$LIZA_TASK$LIZA_ROLE\" = acoder ] && echo '# changed' >> $PROJECT_ROOT/liza.yaml; {EVERY_ROLE}"
    ));
    for task in ["a", "b"] {
        add(&world, task);
    }
    let ran = quickly(&world, &["--json", "run", "--team", "coder", "--team", "code_reviewer"]).ok();
    assert_eq!(answer(&ran)["data"]["counts"]["MERGED"], 2, "{}", ran.stdout);
    assert_eq!(incarnation(&world, "coder-1"), 3, "{}", ran.stdout);
}

#[test]
fn killed_idle_runner_loses_no_task() {
    let world = scripted(&format!("[ $LIZA_ROLE = coder ] || sleep 1; {EVERY_ROLE}"));
    for task in ["a", "b"] {
        add(&world, task);
    }
    // The reviewer still works when the only coder has no more tasks.
    let child = start_quickly(&world, &["--json", "run", "--team", "coder", "--team", "code_reviewer"]);
    until("the second is handed in", || world.row("b")["status"] == "READY_FOR_REVIEW");
    let agents = world.json(&HUMAN, &["agent", "list"]).ok().data()["agents"].clone();
    let runner = agents.as_array().unwrap().iter().find(|agent| agent["id"] == "coder-1");
    let runner = runner.and_then(|agent| agent["runner"].as_u64()).expect("a runner");
    signal(u32::try_from(runner).unwrap(), "-KILL");
    let ran = Ran::of(child.wait_with_output().expect("it ends"));
    assert_eq!(ran.exit, 0, "{}", ran.stdout);
    assert_eq!(answer(&ran)["data"]["counts"]["MERGED"], 2, "{}", ran.stdout);
}

#[test]
fn team_completes_a_goal() {
    let world = scripted(&format!(
        r#"good_planner() {{
  for t in a b c d; do
    liza task add --id $t --title "Task $t" --spec specs/vision.md --done "it is there" --in $t.txt --in tests/test_$t.sh --finalize
  done
}}
{EVERY_ROLE}"#
    ));
    configure(
        &world,
        "run: { grace_seconds: 1 }\nteam:\n  - { role: planner }\n  - { role: coder, count: 2 }\n  - { role: code_reviewer }\n",
    );
    let ran = world.json(&HUMAN, &["run"]).ok();
    let data = answer(&ran)["data"].clone();
    assert_eq!((&data["outcome"], &data["counts"]["MERGED"]), (&json!("complete"), &json!(4)), "{data}");
    for key in ["report", "report_json"] {
        assert!(std::fs::metadata(data[key].as_str().unwrap()).is_ok(), "{data}");
    }
    let report = std::fs::read_to_string(data["report"].as_str().unwrap()).unwrap();
    assert!(
        report.contains("Outcome: complete") && report.contains("| a | Task a | MERGED | coder-"),
        "{report}"
    );
    let both: std::collections::BTreeSet<&str> = events(&ran)
        .iter()
        .filter(|event| event["event"] == "submitted")
        .filter_map(|event| ["coder-1", "coder-2"].into_iter().find(|id| event["agent"] == *id))
        .collect();
    assert_eq!(both.len(), 2, "the work was not shared: {}", ran.stdout);
    assert_eq!(world.json(&HUMAN, &["status"]).ok().data()["goal_status"], "COMPLETE");
    world.human(&["verify"]).ok();
    world.human(&["doctor"]).ok();
    // No work is left: it says so again at once.
    assert_eq!(answer(&world.json(&HUMAN, &["run"]).ok())["data"]["outcome"], "complete");
}

#[test]
fn single_job_needs_no_planner() {
    let world = scripted(&format!(
        r#"good_coder() {{
  liza task checkpoint "$LIZA_TASK" --intent "a greeting file that says hello" --risks "none, new files" \
    --validate "cat greeting.txt" --expect hello --file greeting.txt --file tests/test_greeting.sh || return 1
  mkdir -p tests; echo hello > greeting.txt; echo true > tests/test_greeting.sh
  git add -A && git commit -qm greeting && liza task submit "$LIZA_TASK"
}}
{EVERY_ROLE}"#
    ));
    let ran = world.json(&HUMAN, &["run", "--single", "Write a greeting file"]).ok();
    assert_eq!(answer(&ran)["data"]["outcome"], "complete");
    let task = world.json(&HUMAN, &["task", "show", "write-a-greeting-file"]).ok().data();
    assert_eq!(task["status"], "MERGED");
    assert_eq!(task["approval"]["reviewer"], "code-reviewer-1");
    assert_eq!(world.json(&HUMAN, &["agent", "list"]).ok().data()["agents"].as_array().unwrap().len(), 2);
}

#[test]
fn stuck_run_says_what_it_needs() {
    let world = scripted(&format!(
        r#"good_coder() {{
  [ "$LIZA_TASK" = q ] && {{ liza task block q --reason "two ways to read it" --question "Which one?"; return 0; }}
  liza task checkpoint "$LIZA_TASK" --intent "the file of $LIZA_TASK says hello" --risks "none, a new file" \
    --validate "cat $LIZA_TASK.txt" --expect hello --file "$LIZA_TASK.txt" --file "tests/test_$LIZA_TASK.sh" || return 1
  mkdir -p tests; echo hello > "$LIZA_TASK.txt"; echo true > "tests/test_$LIZA_TASK.sh"
  git add -A && git commit -qm "$LIZA_TASK" && liza task submit "$LIZA_TASK"
}}
{EVERY_ROLE}"#
    ));
    add(&world, "q");
    world.task_with("after", &["after.txt", "tests/test_after.sh"], &["--depends", "q"]);
    world.task_with("rival", &["q.txt", "tests/test_rival.sh"], &[]);
    world.task_with("other", &["other.txt"], &["--role", "test_engineer"]);
    let ran = world.json(&HUMAN, &["run", "--team", "coder=2", "--team", "code_reviewer"]).exits(1);
    let data = answer(&ran)["data"].clone();
    assert_eq!(data["outcome"], "stuck");
    let cause = |task: &str| {
        let causes = data["causes"].as_array().unwrap();
        causes.iter().find(|cause| cause["task"] == task).unwrap_or_else(|| panic!("{task}: {data}")).clone()
    };
    assert_eq!(cause("q")["kind"], "person");
    assert!(cause("q")["hint"].as_str().unwrap().contains("liza task unblock q --answer"));
    assert_eq!(cause("after")["kind"], "dependency");
    assert_eq!(cause("rival")["kind"], "ownership_deadlock");
    assert_eq!(cause("other")["kind"], "missing_role");
    // After the answer the run continues by itself.
    play(&world, EVERY_ROLE);
    world.human(&["task", "unblock", "q", "--answer", "the first"]).ok();
    world.human(&["task", "abandon", "other", "--reason", "no role can do it"]).ok();
    world.human(&["task", "abandon", "rival", "--reason", "the same file twice"]).ok();
    let ran = world.json(&HUMAN, &["run", "--team", "coder=2", "--team", "code_reviewer"]).ok();
    assert_eq!(answer(&ran)["data"]["outcome"], "complete", "{}", ran.stdout);
    assert_eq!(world.row("after")["status"], "MERGED");
}

#[test]
fn run_reports_empty_plan_or_missing_planner() {
    let world = scripted("exit 0");
    let data = answer(&world.json(&HUMAN, &["run"]).exits(1))["data"].clone();
    assert_eq!(data["causes"][0]["kind"], "person", "{data}");
    assert!(data["causes"][0]["why"].as_str().unwrap().contains("added no tasks"));
    let data = answer(&world.json(&HUMAN, &["run", "--team", "coder"]).exits(1))["data"].clone();
    assert_eq!(data["causes"][0]["kind"], "missing_role", "{data}");
}

#[test]
fn planner_wakes_once_per_trigger_with_reason() {
    let world = scripted(&format!(
        r#"good_planner() {{
  echo "$LIZA_TRIGGER" >> $OUT/triggers
  cat > "$OUT/$LIZA_TRIGGER.prompt"
  if [ "$LIZA_TRIGGER" = initial_planning ]; then
    liza task add --id q --title "Task q" --spec specs/vision.md --done "it is there" --in q.txt --in tests/test_q.sh --finalize
  fi
}}
good_coder() {{ liza task block q --reason "two ways to read it" --question "Which of the two?"; }}
{EVERY_ROLE}"#
    ));
    let ran = world.json(&HUMAN, &["run"]).exits(1);
    assert_eq!(out(&world, "triggers"), "initial_planning\nblocked\n", "{}", ran.stdout);
    assert!(out(&world, "blocked.prompt").contains("Which of the two?"));
    assert!(!out(&world, "initial_planning.prompt").contains("Which of the two?"));
}

#[test]
fn planner_wakes_for_one_task_are_limited() {
    let world = scripted(
        r#"case "$LIZA_ROLE" in
planner) echo x >> $OUT/wakes; liza task unblock q --answer "just do it" ;;
coder) liza task block q --reason "two ways to read it" --question "Which one?" ;;
esac"#,
    );
    add(&world, "q");
    let data = answer(&world.json(&HUMAN, &["run"]).exits(1))["data"].clone();
    assert_eq!(data["causes"][0]["kind"], "person", "{data}");
    assert_eq!(out(&world, "wakes").lines().count(), 10);
}
