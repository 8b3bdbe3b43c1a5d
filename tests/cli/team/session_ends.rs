//! How sessions end, and what the runner does with the work they leave.

use super::*;

#[test]
fn runner_submits_committed_work() {
    let world = scripted(&format!(
        "liza() {{ [ \"$1 $2\" = 'task submit' ] || command liza \"$@\"; }}\n{EVERY_ROLE}"
    ));
    add(&world, "t1");
    let ran = agent_run(&world, &["--role", "coder", "--once"]).ok();
    assert_eq!(world.row("t1")["status"], "READY_FOR_REVIEW", "{}", ran.stdout);
    assert_eq!(out(&world, "nothing"), "");
}

#[test]
fn next_session_learns_of_uncommitted_work() {
    let world = scripted(
        r#"n=$(ls $OUT | wc -l); cat > $OUT/prompt$n
if [ $n = 0 ]; then
  liza task checkpoint t1 --intent "the file of t1 says hello" --risks "none, a new file" --validate "cat t1.txt" --expect hello --file t1.txt --file tests/test_t1.sh
  echo half > t1.txt
  exit 0
fi
mkdir -p tests; echo hello > t1.txt; echo true > tests/test_t1.sh
git add -A; git commit -qm t1; liza task submit t1"#,
    );
    add(&world, "t1");
    agent_run(&world, &["--role", "coder", "--once"]).ok();
    assert_eq!(world.row("t1")["status"], "READY_FOR_REVIEW");
    assert_eq!(world.git(&["show", "refs/liza/wip/t1/1:t1.txt"]), "half");
    let second = out(&world, "prompt1");
    assert!(second.contains("refs/liza/wip/t1/1") && second.contains("t1.txt"), "{second}");
}

#[test]
fn index_lock_of_killed_git_stops_no_session() {
    let world = scripted(&format!(
        r#"[ -e $OUT/up ] || {{ touch $OUT/up "$(git rev-parse --git-dir)/index.lock"; kill -9 $$; }}
{EVERY_ROLE}"#
    ));
    add(&world, "t1");
    let ran = agent_run(&world, &["--role", "coder", "--once"]).ok();
    assert_eq!(named(&events(&ran), "crashed").len(), 1, "{}", ran.stdout);
    assert_eq!(world.row("t1")["status"], "READY_FOR_REVIEW");
}

#[test]
fn sessions_that_change_nothing_end_in_a_question() {
    let world = scripted("echo x >> $OUT/sessions; exit 0");
    add(&world, "t1");
    agent_run(&world, &["--role", "coder", "--once"]).ok();
    assert_eq!(out(&world, "sessions").lines().count(), 3);
    let task = world.json(&HUMAN, &["task", "show", "t1"]).ok().data();
    assert_eq!(task["status"], "BLOCKED");
    assert!(task["blocked_reason"].as_str().unwrap().contains("without submitting or changing anything"));
}

#[test]
fn review_without_verdict_blocks_the_task() {
    let world = scripted("exit 0");
    let coder = world.register("coder", "me");
    world.submitted(&coder, "t1", "t1.txt", "hello\n");
    agent_run(&world, &["--role", "code_reviewer", "--once"]).ok();
    let task = world.json(&HUMAN, &["task", "show", "t1"]).ok().data();
    assert_eq!(task["status"], "BLOCKED", "{task}");
    assert!(task["blocked_reason"].as_str().unwrap().contains("without a verdict"));
}

#[test]
fn third_crash_stops_runner_and_releases_task() {
    let world =
        scripted("date +%s%N >> $OUT/starts; echo half > t1.txt; git add -A; git commit -qm half; exit 9");
    add(&world, "t1");
    let back_off = [("LIZA_TEST_BACKOFF_MS", "100")];
    let ran = world.json_env(&HUMAN, &["agent", "run", "--role", "coder"], &back_off);
    assert_eq!(ran.exit, 1, "{}", ran.stdout);
    assert_eq!(answer(&ran)["error"]["code"], "refused.crash_loop");
    let starts: Vec<u64> = out(&world, "starts").lines().filter_map(|line| line.parse().ok()).collect();
    assert_eq!(starts.len(), 3);
    let pauses: Vec<u64> = starts.windows(2).map(|pair| (pair[1] - pair[0]) / 1_000_000).collect();
    assert!(pauses[0] >= 100 && pauses[1] >= 200, "{pauses:?}");
    assert_eq!(named(&events(&ran), "crashed").len(), 3);
    assert_eq!(world.row("t1")["status"], "IDLE");
    // The next session starts from the last commit.
    play(&world, "git log -1 --format=%s > $OUT/found; liza task release t1");
    agent_run(&world, &["--role", "coder", "--once"]).ok();
    assert_eq!(out(&world, "found").trim(), "half");
}

#[test]
fn crash_looping_reviewer_releases_review() {
    let world = scripted("echo x >> $OUT/starts; exit 9");
    let coder = world.register("coder", "me");
    world.submitted(&coder, "t1", "t1.txt", "hello\n");
    let ran = quickly(&world, &["--json", "agent", "run", "--role", "code_reviewer"]);
    assert_eq!((ran.exit, out(&world, "starts").lines().count()), (1, 3), "{}", ran.stdout);
    assert_eq!(answer(&ran)["error"]["code"], "refused.crash_loop");
    let task = world.json(&HUMAN, &["task", "show", "t1"]).ok().data();
    assert_eq!(
        (&task["status"], &task["review_lease"]),
        (&"READY_FOR_REVIEW".into(), &Value::Null),
        "{task}"
    );
}

#[test]
fn a_stopped_agent_does_not_stop_the_others() {
    let world = scripted(&format!("[ $LIZA_AGENT_ID = coder-1 ] && exit 9\n{EVERY_ROLE}"));
    for task in ["a", "b", "c"] {
        add(&world, task);
    }
    let ran = quickly(&world, &["--json", "run", "--team", "coder=2", "--team", "code_reviewer"]).ok();
    let data = answer(&ran)["data"].clone();
    assert_eq!(data["counts"]["MERGED"], 3, "{data}");
    assert_eq!(data["stopped"][0]["agent"], "coder-1", "{data}");
    assert!(data["stopped"][0]["why"].as_str().unwrap().contains("crashed 3 times"));
}

#[test]
fn exit_42_restarts_with_the_handoff() {
    let world = scripted(&format!(
        r#"n=$(ls $OUT | grep -c prompt); cat > $OUT/prompt$n
if [ $n = 0 ]; then
  liza task checkpoint t1 --intent "the file of t1 says hello" --risks "none, a new file" --validate "cat t1.txt" --expect hello --file t1.txt --file tests/test_t1.sh
  liza task handoff t1 --summary "half of it is there" --next "write the other half"
  exit 42
fi
{EVERY_ROLE}"#
    ));
    add(&world, "t1");
    let mut child = start(&world, &["agent", "run", "--role", "coder"]);
    until("it is submitted", || world.row("t1")["status"] == "READY_FOR_REVIEW");
    signal(child.id(), "-TERM");
    child.wait().expect("it ends");
    let second = out(&world, "prompt1");
    let handoff = second.find("write the other half").expect("the handoff");
    let task = second.find("# Your task").expect("the task");
    assert!(handoff < task, "{second}");
}

#[test]
fn agent_at_time_limit_is_stopped_and_handed_off() {
    let world = scripted(
        r#"trap '' TERM
liza task checkpoint t1 --intent "the file of t1 says hello" --risks "none, a new file" --validate "cat t1.txt" --expect hello --file t1.txt --file tests/test_t1.sh
echo half > t1.txt
while :; do liza task renew t1 >> $OUT/renewals 2>&1; sleep 0.2; done"#,
    );
    configure(&world, "run: { grace_seconds: 1 }\nroles:\n  coder: { limits: { wall_seconds: 1 } }\n");
    add(&world, "t1");
    let ran = agent_run(&world, &["--role", "coder", "--once"]).ok();
    assert_eq!(named(&events(&ran), "limit").len(), 1, "{}", ran.stdout);
    assert!(
        out(&world, "renewals").contains("liza task handoff t1 --summary"),
        "{}",
        out(&world, "renewals")
    );
    let task = world.json(&HUMAN, &["task", "show", "t1"]).ok().data();
    assert_eq!(task["status"], "IDLE", "{task}");
    let handoff = world.state();
    assert!(handoff.contains("limit reached: 1 s of 1 s used"), "{handoff}");
    assert_eq!(world.git(&["show", "refs/liza/wip/t1/1:t1.txt"]), "half");
    // The third time the task is blocked with a question.
    for _ in 0..2 {
        quickly(&world, &["--json", "agent", "run", "--role", "coder", "--once"]).ok();
    }
    assert_eq!(world.row("t1")["status"], "BLOCKED");
}

#[test]
fn reported_turns_are_limited() {
    let world = scripted(
        r#"for i in 1 2 3; do
echo '{"type":"assistant","message":{"id":"m'$i'","role":"assistant","content":[{"type":"text","text":"hm"}],"usage":{"input_tokens":10,"output_tokens":5}}}'
done
sleep 600"#,
    );
    let script = world.home().join("agent.sh");
    world.write(
        "liza.yaml",
        &format!(
            "version: 1\nprovider: fake\nproviders:\n  fake: {{ base: claude, command: [sh, '{}'] }}\nrun: {{ grace_seconds: 1 }}\nroles:\n  coder: {{ limits: {{ turns: 2 }} }}\n",
            script.display()
        ),
    );
    add(&world, "t1");
    let ran = agent_run(&world, &["--role", "coder", "--once"]).ok();
    let all = events(&ran);
    assert!(named(&all, "limit")[0]["text"].as_str().unwrap().contains("of 2 turns used"), "{}", ran.stdout);
    let usage = &named(&all, "ended")[0]["usage"];
    assert_eq!((&usage["turns"], &usage["output_tokens"]), (&3.into(), &15.into()), "{usage}");
    let used = runs(&world, "t1", "usage.json");
    assert!(std::fs::read_to_string(&used[0]).unwrap().contains("\"turns\":3"));
}

#[test]
fn missing_board_or_role_is_refused_first() {
    let world = World::bare_repo();
    for args in [["run", "--provider", "ghost"], ["agent", "run", "--role=coder"]] {
        let ran = world.json(&HUMAN, &args);
        assert!(ran.json()["error"]["hint"].as_str().unwrap().contains("liza init"), "{}", ran.stdout);
        assert!(!world.path(".liza").exists());
    }
    world.human(&["init", "A goal"]).ok();
    agent_run(&world, &["--role", "codr"]).exits(1);
    world.json(&HUMAN, &["run", "--team", "codr"]).exits(1);
}

#[test]
fn missing_provider_is_refused_before_a_claim() {
    let world = scripted("");
    add(&world, "t1");
    let before = world.bytes();
    world.write(
        "liza.yaml",
        "version: 1\nprovider: ghost\nproviders: { ghost: { command: [no-such-agent] } }\n",
    );
    let ran = agent_run(&world, &["--role", "coder", "--once"]).exits(2);
    assert!(answer(&ran)["error"]["message"].as_str().unwrap().contains("no-such-agent"), "{}", ran.stdout);
    world.json(&HUMAN, &["run", "--team", "coder"]).exits(2);
    world.write("liza.yaml", "version: 1\n");
    let ran = agent_run(&world, &["--role", "coder", "--once"]).exits(2);
    assert!(answer(&ran)["error"]["hint"].as_str().unwrap().contains("claude"), "{}", ran.stdout);
    world.write("liza.yaml", "version: 1\nprovider: claud\n");
    agent_run(&world, &["--role", "coder", "--once"]).exits(2);
    assert!(world.bytes() == before);
}

/// Writes its checkpoint and commits its work, and ends without submitting.
const FORGETS: &str = r#"
n=$(ls $OUT/*.prompt 2>/dev/null | wc -l); cp "$LIZA_PROMPT_FILE" "$OUT/$n.prompt"
if [ $n = 0 ]; then
  liza task checkpoint t1 --intent "a file says hello" --risks none --validate "cat t1.txt" --expect hello --file t1.txt --file tests/test_t1.sh
  mkdir -p tests; echo hello > t1.txt; echo "grep -q hello t1.txt" > tests/test_t1.sh; git add -A; git commit -qm "first words"
  exit 0
fi
"#;

#[test]
fn agent_is_asked_once_to_submit_green_work() {
    let world = scripted(&format!("{FORGETS}\nliza task submit t1"));
    add(&world, "t1");
    let ran = agent_run(&world, &["--role", "coder", "--once"]).ok();
    assert_eq!(world.row("t1")["status"], "READY_FOR_REVIEW", "{}", ran.stdout);
    assert_eq!(named(&events(&ran), "started").len(), 2, "{}", ran.stdout);
    let asked = out(&world, "1.prompt");
    assert!(asked.contains("Submit or say why not: `liza task submit t1`"), "{asked}");
    // The prompt says what was done on the claim, and asks for no second checkpoint.
    for part in
        ["Your checkpoint is on record", "committed since: 1 commit", "first words", "a file says hello"]
    {
        assert!(asked.contains(part), "`{part}` is not in\n{asked}");
    }
    assert!(!asked.contains("--intent") && out(&world, "0.prompt").contains("--intent"), "{asked}");
}

#[test]
fn runner_submits_work_the_agent_never_submits() {
    let world = scripted(FORGETS);
    add(&world, "t1");
    let ran = agent_run(&world, &["--role", "coder", "--once"]).ok();
    assert_eq!(world.row("t1")["status"], "READY_FOR_REVIEW", "{}", ran.stdout);
    assert_eq!(named(&events(&ran), "started").len(), 2, "{}", ran.stdout);
    assert!(ran.stdout.contains("submitted for the agent"), "{}", ran.stdout);
}
