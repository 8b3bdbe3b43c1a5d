//! Path locks: which agent holds which paths, which tasks wait for them, and how a person releases them.

use serde_json::{Value, json};

use crate::support::{HUMAN, World};
use crate::team;

/// `t1` holds `shared/` and `one.md`; `t2` wants a file in it, `t3` a pattern elsewhere.
fn scene() -> (World, crate::support::Who, crate::support::Who) {
    let world = World::new();
    let (one, two) = (world.register("coder", "coder-1"), world.register("coder", "coder-2"));
    world.task("t1", &["shared/", "one.md", "tests/test_t1.sh"]);
    world.task("t2", &["shared/lib.sh", "tests/test_t2.sh"]);
    world.task("t3", &["other/*.sh", "tests/test_t3.sh"]);
    world.claim(&one, "t1");
    (world, one, two)
}

fn locks(world: &World) -> Vec<Value> {
    world.json(&HUMAN, &["lock", "list"]).ok().data()["locks"].as_array().unwrap().clone()
}

#[test]
fn lock_list_shows_holder_and_times() {
    let world = World::new();
    assert_eq!(world.human(&["lock", "list"]).ok().stdout.trim(), "no paths are held");
    let (world, _, two) = scene();
    world.claim(&two, "t3");
    let rows = locks(&world);
    let listed: Vec<(&str, &str, &str, &str)> = rows
        .iter()
        .map(|row| {
            let text = |key: &str| row[key].as_str().unwrap();
            (text("path"), text("granularity"), text("task"), text("agent"))
        })
        .collect();
    assert_eq!(
        listed,
        [
            ("one.md", "file", "t1", "coder-1"),
            ("other/*.sh", "pattern", "t3", "coder-2"),
            ("shared/", "directory", "t1", "coder-1"),
            ("tests/test_t1.sh", "file", "t1", "coder-1"),
            ("tests/test_t3.sh", "file", "t3", "coder-2"),
        ]
    );
    let lease = world.row("t1")["lease_expires"].clone();
    for row in rows.iter().filter(|row| row["task"] == "t1") {
        assert_eq!(
            (&row["epoch"], &row["status"], &row["stale"]),
            (&json!(1), &json!("WORKING"), &json!(false))
        );
        assert_eq!((&row["until"], &row["ends_with"]), (&lease, &json!("lease")));
        assert!(row["since"].as_str().unwrap() <= row["until"].as_str().unwrap());
    }
    // An expired lease makes the lock stale, and the table says what to do.
    let later = world.later(4000, &HUMAN, &["lock", "list"]).ok().data();
    assert!(later["locks"].as_array().unwrap().iter().all(|row| row["stale"] == true));
    let text = world.human(&["lock", "list"]).ok().stdout;
    for part in ["shared/", "directory", "t1", "WORKING", "coder-1 since", "lease until"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let shown = world.json(&HUMAN, &["lock", "show", "shared/deep/x.sh"]).ok().data();
    assert_eq!((&shown["free"], &shown["locks"][0]["task"]), (&json!(false), &json!("t1")));
    assert_eq!(world.json(&HUMAN, &["lock", "show", "elsewhere/"]).ok().data()["free"], true);
    assert_eq!(world.human(&["lock", "show", "elsewhere/"]).ok().stdout.trim(), "elsewhere/ is free");
    world.json(&HUMAN, &["lock", "show", "../up"]).exits(2);
}

#[test]
fn overlap_refusal_names_holder_path_and_time() {
    let (world, _, two) = scene();
    let lease = world.row("t1")["lease_expires"].as_str().unwrap().to_owned();
    let row = world.row("t2");
    assert_eq!((&row["node_state"], &row["waiting_on"]), (&json!("blocked"), &json!(["t1"])));
    let error = world.refused(&two, &["task", "claim", "t2"], 1, "refused.paths_overlap");
    assert_eq!(error["details"]["holder"], "coder-1");
    assert_eq!((&error["details"]["path"], &error["details"]["until"]), (&json!("shared/"), &json!(lease)));
    let said = [
        row["why"].as_str().unwrap().to_owned(),
        error["message"].as_str().unwrap().to_owned(),
        world.human(&["status"]).ok().stdout,
        world.human(&["task", "show", "t2"]).ok().stdout,
    ];
    world.liza(&two, &["next", "--role", "coder"]).ok();
    world.human(&["task", "release", "t3"]).ok();
    world.human(&["task", "abandon", "t3", "--reason", "not wanted"]).ok();
    let nothing = world.liza(&two, &["next", "--role", "coder"]).ok().stdout;
    assert!(nothing.contains("nothing to do"), "{nothing}");
    for (at, text) in said.iter().chain([&nothing]).enumerate() {
        // For people the times are local.
        let until = if at < 2 { lease.as_str() } else { &lease[11..16] };
        for part in ["shared/lib.sh", "`shared/` of task `t1`", "coder-1", until] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }
    assert_eq!(world.json(&two, &["next", "--role", "coder"]).ok().data(), Value::Null);
}

#[test]
fn lock_release_fences_the_agent() {
    for by_status in [false, true] {
        let (world, one, two) = scene();
        world.checkpoint(&one, "t1", &["one.md", "tests/test_t1.sh"]);
        let worktree = world.path(".worktrees/t1");
        let head =
            world.write_and_commit(&worktree, &[("one.md", "one\n"), ("tests/test_t1.sh", "echo ok\n")]);
        std::fs::write(worktree.join("one.md"), "not committed\n").unwrap();
        for agent in [&one, &two] {
            let reason = ["--reason", "I want it"];
            world.refused(
                agent,
                &[&["lock", "release", "t1"], &reason[..]].concat(),
                1,
                "refused.human_only",
            );
            let forced = ["status", "--force-unlock", "t1"];
            world.refused(agent, &[&forced[..], &reason[..]].concat(), 1, "refused.human_only");
        }
        let args: &[&str] = if by_status {
            &["status", "--force-unlock", "t1"]
        } else {
            &["lock", "release", "t1", "--reason", "it hangs"]
        };
        let ran = world.json(&HUMAN, args).ok();
        let data = ran.data();
        assert_eq!(
            (&data["status"], &data["epoch"], &data["fenced"]),
            (&json!("IDLE"), &json!(2), &json!("coder-1"))
        );
        assert!(ran.stderr.contains("coder-1") && ran.stderr.contains("as stale"), "{}", ran.stderr);
        assert!(ran.stderr.contains("refs/liza/wip/t1/1"), "what was not committed is kept: {}", ran.stderr);
        assert!(locks(&world).is_empty());
        // The late agent presents the claim it was started with.
        std::fs::write(worktree.join("one.md"), "one\n").unwrap();
        let claim = [("LIZA_CLAIM", "t1:1")];
        for late in [
            &["task", "submit", "t1"][..],
            &["task", "renew", "t1"],
            &["task", "handoff", "t1", "--summary", "half", "--next", "rest"],
            &["task", "block", "t1", "--reason", "why", "--question", "what?"],
        ] {
            let before = world.bytes();
            let ran = world.json_env(&one, late, &claim);
            assert_eq!((ran.exit, ran.code().as_str()), (3, "stale.epoch"), "{late:?}: {}", ran.stdout);
            assert!(world.bytes() == before);
        }
        // The work stays where it was, and the log says what happened.
        assert_eq!(world.git_in(&worktree, &["rev-parse", "HEAD"]), head);
        let log = world.json(&HUMAN, &["log", "-n", "1"]).ok().data()["records"][0].clone();
        assert_eq!((&log["event"], &log["by"]), (&json!("release_lock"), &json!("human")));
        let task = world.json(&HUMAN, &["task", "show", "t1"]).ok().data();
        let last = task["history"].as_array().unwrap().last().unwrap().clone();
        assert_eq!(last["event"], "paths_given_back");
        assert_eq!(last["detail"], if by_status { "no reason given" } else { "it hangs" });
        // The waiting agent goes first; then the agent that claims t1 starts from the committed work.
        world.claim(&two, "t2");
        world.refused(&one, &["task", "claim", "t1"], 1, "refused.paths_overlap");
        world.human(&["task", "abandon", "t2", "--reason", "done with it"]).ok();
        let again = world.claim(&two, "t1");
        assert_eq!(world.git_in(&again, &["rev-parse", "HEAD"]), head);
        let ran = world.json_env(&one, &["task", "submit", "t1"], &[]);
        assert_eq!((ran.exit, ran.code().as_str()), (3, "stale.lease_lost"), "{}", ran.stdout);
        world.sound();
    }
}

#[test]
fn refused_lock_release_suggests_a_command() {
    let (world, one, _) = scene();
    let reviewer = world.register("code_reviewer", "reviewer-1");
    let release = |id: &'static str| ["lock", "release", id, "--reason", "why"];
    let error = world.refused(&HUMAN, &release("t2"), 1, "refused.transition");
    assert!(error["message"].as_str().unwrap().contains("holds no paths"), "{error}");
    world.refused(&HUMAN, &release("t9"), 1, "refused.unknown_task");
    world.refused(&HUMAN, &["lock", "release", "t1", "--reason", ""], 1, "refused.incomplete");
    world.json(&HUMAN, &["lock", "release", "t1"]).exits(2);
    world.json(&HUMAN, &["status", "--reason", "why"]).exits(2);
    world.human(&["task", "release", "t1"]).ok();
    let commit = world.submit_work(&one, "t1", "one.md", "one\n");
    let error = world.refused(&HUMAN, &release("t1"), 1, "refused.transition");
    assert!(error["hint"].as_str().unwrap().contains("liza task block t1"), "{error}");
    world.approve(&reviewer, "t1", &commit);
    let error = world.refused(&HUMAN, &release("t1"), 1, "refused.transition");
    assert!(error["hint"].as_str().unwrap().contains("liza merge t1"), "{error}");
    // The command in the hint works: once t1 is blocked, its paths are free at once.
    world.human(&["task", "block", "t1", "--reason", "it must wait", "--question", "go on?"]).ok();
    let held = locks(&world);
    assert_eq!(held[0]["ends_with"], "blocked_hold");
    world.human(&release("t1")).ok();
    assert!(locks(&world).is_empty());
    world.claim(&one, "t2");
    world.refused(&HUMAN, &["task", "unblock", "t1", "--answer", "go on"], 1, "refused.paths_overlap");
    world.human(&["task", "abandon", "t2", "--reason", "done with it"]).ok();
    world.human(&["task", "unblock", "t1", "--answer", "go on"]).ok();
    world.liza(&reviewer, &["merge", "t1"]).ok();
    world.sound();
}

#[test]
fn repeated_lock_release_counts_once() {
    let (world, ..) = scene();
    let args = ["--request-id", "r1", "lock", "release", "t1", "--reason", "it hangs"];
    let first = world.json(&HUMAN, &args).ok().data();
    let revision = world.revision();
    assert_eq!(world.json(&HUMAN, &args).ok().data(), first);
    assert_eq!(world.revision(), revision);
}

/// An agent below a runner: it presents its claim, so all it does after the release is refused, even before its runner stops it.
#[test]
fn agent_cannot_submit_after_lock_release() {
    let world = team::scripted(
        r#"
        if [ -e "$OUT/ready" ]; then liza task block "$LIZA_TASK" --reason "not again" --question "why?"; exit 0; fi
        liza task checkpoint "$LIZA_TASK" --intent "the file says hello" --risks "none, a new file" \
          --validate "cat t1.txt" --expect hello --file t1.txt --file tests/test_t1.sh || exit 1
        mkdir -p tests; echo hello > t1.txt; echo "grep -q hello t1.txt" > tests/test_t1.sh
        git add -A; git commit -qm work
        touch "$OUT/ready"
        tries=0
        while [ ! -e "$OUT/go" ] && [ $tries -lt 600 ]; do sleep 0.1; tries=$((tries + 1)); done
        liza task submit "$LIZA_TASK"; echo $? > "$OUT/exit"
        "#,
    );
    team::add(&world, "t1");
    let child = team::start(&world, &["--json", "agent", "run", "--role", "coder", "--once"]);
    team::until("the agent has committed", || world.home().join("out/ready").exists());
    world.human(&["lock", "release", "t1", "--reason", "it is in the way"]).ok();
    std::fs::write(world.home().join("out/go"), "").unwrap();
    let ran = crate::support::Ran::of(child.wait_with_output().expect("the runner ends"));
    let exit = team::out(&world, "exit");
    // If the runner noticed first, there is no answer.
    assert!(["3", ""].contains(&exit.trim()), "{exit}: {}", ran.stdout);
    let row = world.row("t1");
    assert!(["IDLE", "BLOCKED"].contains(&row["status"].as_str().unwrap()), "{row}\n{}", ran.stdout);
    let log = world.json(&HUMAN, &["log", "--task", "t1"]).ok().data()["records"].to_string();
    assert!(!log.contains("\"submit\""), "{log}");
    assert_eq!(world.violations(), 0, "a late agent is not accused of anything");
    world.sound();
}

#[test]
fn endless_next_wait_causes_no_panic() {
    let world = World::new();
    let coder = world.register("coder", "coder-1");
    world.task("t1", &["a.txt"]);
    let data = world.json(&coder, &["next", "--role", "coder", "--wait", "18446744073709551615"]).ok().data();
    assert_eq!(data["task"], "t1", "{data}");
}
