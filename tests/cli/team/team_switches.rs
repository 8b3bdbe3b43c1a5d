//! Switches made by `touch` while agents work.

use super::*;

fn touch(world: &World, name: &str) {
    std::fs::write(world.path(&format!(".liza/{name}")), "").expect("a switch");
}

const SLOW: &str = r#"
case "$LIZA_ROLE" in coder)
  n=$(ls $OUT | grep -c begun); touch $OUT/begun$n
  liza task checkpoint t1 --intent "the file of t1 says hello" --risks "none, a new file" --validate "cat t1.txt" --expect hello --file t1.txt --file tests/test_t1.sh
  mkdir -p tests; echo hello > t1.txt; echo true > tests/test_t1.sh
  until [ -e $OUT/go ]; do sleep 0.05; done
  git add -A; git commit -qm t1; liza task submit t1; echo "exit $?" >> $OUT/submit; exit 0;;
esac"#;

#[test]
fn paused_runner_resumes_in_its_worktree() {
    let world = scripted(SLOW);
    add(&world, "t1");
    add(&world, "t2");
    let mut child = start(&world, &["--json", "agent", "run", "--role", "coder"]);
    until("the agent works", || world.home().join("out/begun0").exists());
    touch(&world, "PAUSE");
    std::fs::write(world.home().join("out/go"), "").unwrap();
    until("its submission is answered", || out(&world, "submit").contains("exit 5"));
    until("the pause is noticed", || world.path(".liza/runs/t1/1-1/coder-1-1.usage.json").exists());
    // Worktree, lease and claim are unchanged.
    assert_eq!(world.row("t1")["status"], "WORKING");
    assert_eq!(world.row("t2")["status"], "IDLE");
    world.human(&["resume"]).ok();
    until("it is submitted", || world.row("t1")["status"] == "READY_FOR_REVIEW");
    let task = world.json(&HUMAN, &["task", "show", "t1"]).ok().data();
    assert_eq!((&task["epoch"], &task["iteration"]), (&1.into(), &1.into()));
    signal(child.id(), "-TERM");
    child.wait().expect("it ends");
}

#[test]
fn abort_ends_agents_and_keeps_their_work() {
    let world = scripted(&format!("trap '' TERM\n(trap '' TERM; sleep 600) & \n{SLOW}"));
    add(&world, "t1");
    let child = start(&world, &["--json", "agent", "run", "--role", "coder"]);
    until("the agent works", || world.path(".worktrees/t1/tests/test_t1.sh").exists());
    touch(&world, "ABORT");
    let ran = Ran::of(child.wait_with_output().expect("it ends"));
    assert_eq!(ran.exit, 5, "{}", ran.stdout);
    assert_eq!(agents_of(&world).len(), 0);
    assert_eq!(world.git(&["show", "refs/liza/wip/t1/1:t1.txt"]), "hello");
    assert_eq!(world.row("t1")["status"], "WORKING");
    agent_run(&world, &["--role", "coder", "--once"]).exits(5);
    world.human(&["resume"]).ok();
    std::fs::write(world.home().join("out/go"), "").unwrap();
    // The same agent goes on in its worktree.
    play(&world, "ls > $OUT/ls; liza task release t1");
    agent_run(&world, &["--role", "coder", "--id", "coder-1", "--once"]).ok();
    assert!(out(&world, "ls").contains("t1.txt"));
}

#[test]
fn each_pause_and_resume_is_reported_once() {
    for args in [&["agent", "run", "--role", "coder"][..], &["run", "--team", "coder"]] {
        let world = scripted("exit 0");
        // A task that no agent of this team may claim, so the run waits.
        world.task_with("t1", &["t1.txt"], &["--role", "test_engineer"]);
        let held = world.register("test_engineer", "me");
        world.liza(&held, &["task", "claim", "t1"]).ok();
        let mut child = start(&world, &[&["--json"], args].concat());
        let (sender, received) = std::sync::mpsc::channel();
        let lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().expect("a pipe")));
        std::thread::spawn(move || lines.map_while(Result::ok).try_for_each(|line| sender.send(line)));
        let next = |kind: &str| {
            let mut others = 0;
            loop {
                let line = received.recv_timeout(Duration::from_secs(60)).expect("it is said in time");
                let event: Value = serde_json::from_str(&line).unwrap_or_default();
                if event["event"] == kind && !event["text"].as_str().unwrap_or_default().contains("t1") {
                    return others;
                }
                others += u32::from(event["event"] == "paused" || event["event"] == "resumed");
            }
        };
        for round in 0..3 {
            touch(&world, "PAUSE");
            let before = next("paused");
            // A run first says what it waits for.
            assert!(before <= u32::from(args[0] == "run"), "{args:?} {round}");
            for number in 0..3 {
                touch(&world, &format!("{round}-{number}.txt"));
            }
            std::fs::remove_file(world.path(".liza/PAUSE")).expect("removed");
            assert_eq!(next("resumed"), 0, "{args:?} {round}");
        }
        signal(child.id(), "-TERM");
        child.wait().expect("it ends");
    }
}

#[test]
fn switch_for_agent_or_task_stops_only_it() {
    let world = scripted(EVERY_ROLE);
    add(&world, "t1");
    add(&world, "t2");
    touch(&world, "PAUSE-t1");
    touch(&world, "PAUSE-coder-2");
    let ran = world.json(&HUMAN, &["run", "--team", "coder=2", "--team", "code_reviewer"]).exits(1);
    assert_eq!(world.row("t2")["status"], "MERGED");
    assert_eq!(world.row("t1")["status"], "IDLE");
    let text = ran.stdout.clone();
    assert!(text.contains("PAUSE is set for it"), "{text}");
    assert!(!events(&ran).iter().any(|event| event["agent"] == "coder-2"), "{text}");
}

#[test]
fn checkpoint_switch_halts_team_with_one_summary() {
    let world = scripted(SLOW);
    add(&world, "t1");
    let child = start(&world, &["--json", "run", "--team", "coder", "--team", "code_reviewer"]);
    until("the agent works", || world.home().join("out/begun0").exists());
    touch(&world, "CHECKPOINT");
    let summaries = || {
        let all = std::fs::read_dir(world.path(".liza/reports")).unwrap().flatten();
        all.filter(|entry| entry.file_name().to_string_lossy().starts_with("checkpoint")).count()
    };
    until("the summary is there", || summaries() == 1);
    std::fs::write(world.home().join("out/go"), "").unwrap();
    until("its submission is answered", || out(&world, "submit").contains("exit 5"));
    play(
        &world,
        EVERY_ROLE.replace("good_coder", "git add -A; git commit -qm t1; liza task submit t1").as_str(),
    );
    world.human(&["resume"]).ok();
    let ran = Ran::of(child.wait_with_output().expect("it ends"));
    assert_eq!(ran.exit, 0, "{}", ran.stdout);
    assert_eq!(summaries(), 1);
    assert_eq!(world.row("t1")["status"], "MERGED");
}
