//! Agents that misbehave, and full disks.

use super::Bench;
use crate::directory_trees::{can_mount, mounted};
use crate::support::HUMAN;

/// HEAD, index and files of the person's checkout.
fn checkout(bench: &Bench) -> [String; 3] {
    let git = |args: &[&str]| bench.world.git(args);
    [git(&["symbolic-ref", "HEAD"]), git(&["ls-files", "--stage"]), git(&["status", "--porcelain", "param"])]
}

#[test]
fn unlinked_worktree_never_reaches_the_checkout() {
    let bench = Bench::new();
    bench.world.write("param", "typed by a person\n");
    let before = checkout(&bench);
    for link in ["rm .git", "echo \"gitdir: $(git rev-parse --git-common-dir)\" > .git"] {
        for (agent, said) in
            [("planner", "PLAN\\nx\\nRISKS\\ny"), ("coder", "did it"), ("reviewer", "VERDICT: APPROVE")]
        {
            let bench = &bench;
            bench.agent("planner", super::PLANNER);
            bench.agent("coder", super::CODER);
            bench.agent("reviewer", super::REVIEWER);
            bench.agent(agent, &format!("cat > /dev/null; echo 77 > param; {link}; printf '{said}\\n'\n"));
            let summary = bench.tried("do: echo 11 > param");
            assert_eq!(summary["status"], "error", "{agent}, {link}: {summary}");
            assert!(summary["error"].to_string().contains("manipulated"), "{summary}");
            assert_eq!(checkout(bench), before, "{agent}, {link}");
            assert_eq!(bench.world.read("param"), "typed by a person\n");
        }
    }
    // Files that are saved nowhere stay for the person to look at.
    let pruned = bench.world.json(&HUMAN, &["experiment", "prune"]).ok().data();
    assert!(!pruned["stay"].as_array().expect("some").is_empty(), "{pruned}");
}

#[test]
fn summary_in_a_foreign_directory_is_no_run() {
    let bench = Bench::new();
    bench.idea("a", "# Up\ndo: echo 12 > param\n");
    bench.run(&[]).ok();
    let forged = bench.dir("up").with_file_name("forged");
    std::fs::create_dir(&forged).unwrap();
    let elsewhere = bench.world.home().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    let mut summary = bench.summary("up");
    summary["run_id"] = elsewhere.to_str().unwrap().into();
    std::fs::write(forged.join("summary.json"), summary.to_string()).unwrap();
    let pruned = bench.world.json(&HUMAN, &["experiment", "prune"]).ok().data();
    assert_eq!((&pruned["pruned"], &pruned["stay"]), (&serde_json::json!([]), &serde_json::json!([])));
    assert_eq!(
        bench.world.json(&HUMAN, &["experiment", "list"]).ok().data()["runs"].as_array().unwrap().len(),
        1
    );
    assert!(elsewhere.exists());
}

#[test]
fn secrets_reach_no_artifact_in_any_form() {
    let bench = Bench::new();
    let pem = "-----BEGIN KEY-----\nMIIEcanaryAAAA\nMIIEcanaryBBBB\n-----END KEY-----";
    bench.world.write(".env", &format!("TOKEN='quo\"ted canary-1'\nPEM=\"{pem}\"\n"));
    bench.world.write(".gitignore", ".env\nresults.csv\n");
    bench.world.commit_all("ignored");
    bench.agent("planner", "cat > /dev/null; printf 'PLAN\\nuse %s\\n\\nRISKS\\nnone\\n' \"$TOKEN\"\n");
    bench
        .world
        .write("sweep.sh", "printf 'score,note\\n11,%s\\n' \"$(echo \"$PEM\" | sed -n 2p)\" > results.csv\n");
    bench.world.commit_all("a sweep that tells");
    assert_eq!(bench.tried("do: echo 11 > param")["status"], "scored");
    // A key in a binary file, or one line of a key, is found too.
    for leak in ["printf '\\000%s' \"$TOKEN\" > blob", "echo \"$PEM\" > key"] {
        bench.agent(
            "coder",
            &format!("cat > /dev/null; {leak}; echo '{{\"key\":\"'\"$TOKEN\"'\"}}'; exit 0\n"),
        );
        let summary = bench.tried("x");
        assert!(summary["error"].to_string().contains("the value of the variable"), "{leak}: {summary}");
    }
    bench.agent("coder", "echo \"no: $TOKEN\" >&2; exit 3\n");
    assert_eq!(bench.tried("y")["status"], "coder_failed");
    for entry in walkdir::WalkDir::new(bench.world.path("agentic_experimentation")).into_iter().flatten() {
        if entry.file_type().is_file() {
            let text = String::from_utf8_lossy(&std::fs::read(entry.path()).expect("read")).into_owned();
            assert!(!text.contains("canary"), "{}: {text}", entry.path().display());
        }
    }
}

#[test]
fn run_continues_after_a_full_disk() {
    if !can_mount() {
        return;
    }
    for phase in ["planner", "coder", "reviewer", "tests", "sweep"] {
        let bench = Bench::new();
        bench.world.write(".gitignore", "results.csv\nideas/\n");
        match phase {
            "tests" => bench.world.write(
                "liza.yaml",
                &bench.world.read("liza.yaml").replace("test_command: ", "test_command: sh fill.sh; "),
            ),
            "sweep" => bench.world.write("sweep.sh", &format!("sh fill.sh; {}", super::SWEEP)),
            agent => {
                let usual = match agent {
                    "planner" => super::PLANNER,
                    "coder" => super::CODER,
                    _ => super::REVIEWER,
                };
                bench.agent(agent, &format!("sh fill.sh; {usual}"));
            }
        }
        let place = bench.world.path("agentic_experimentation").display().to_string();
        let fill = format!("test -e {place}/roomy || cat /dev/zero > {place}/fill 2> /dev/null\n");
        bench.world.write("fill.sh", &fill);
        bench.world.commit_all("a disk to fill");
        bench.idea("a", "# Up\ndo: echo 12 > param\n");
        let ran = mounted(
            &bench.world,
            r#"mkdir agentic_experimentation
            mount -t tmpfs -o size=2m none agentic_experimentation
            "$LIZA" experiment run ideas > first.out 2>&1 && echo "first 0" || echo "first $?"
            rm agentic_experimentation/fill && touch agentic_experimentation/roomy
            "$LIZA" experiment run ideas > second.out 2>&1 && echo "second 0" || echo "second $?"
            "$LIZA" experiment list
            "$LIZA" experiment prune > /dev/null
            git worktree list | wc -l
            git status --porcelain param"#,
        );
        let said = bench.world.read("first.out");
        assert!(
            ran.exit == 0 && ran.stdout.contains("second 0") && ran.stdout.contains("  scored"),
            "{phase}: {ran:?}\n{said}"
        );
        assert!(ran.stdout.contains("first 1"), "{phase}: {ran:?}");
        assert!(said.contains("No space left") || said.contains("is full"), "{phase}: {said}");
        assert!(ran.stdout.lines().any(|line| line.trim() == "1"), "{phase}: {ran:?}");
        bench.world.git(&["fsck", "--no-dangling"]);
    }
}

#[test]
fn file_size_limit_ends_run_without_loss() {
    let bench = Bench::new();
    bench.idea("a", "# Up\ndo: echo 12 > param\n");
    let before = bench.world.git(&["status", "--porcelain", "param"]);
    let mut failed = 0;
    for blocks in [0, 1, 2, 3, 4, 6] {
        let ran = bench.world.limited(
            &format!("ulimit -f {blocks}"),
            &HUMAN,
            &["experiment", "run", "ideas", "--only", "up"],
        );
        failed += u32::from(ran.exit != 0);
        assert!([0, 1, 8, 9].contains(&ran.exit), "{blocks}: {ran:?}");
        assert!(
            ran.exit == 0 || ran.stdout.contains("too large") || ran.stderr.contains("too large"),
            "{blocks}: {ran:?}"
        );
    }
    assert!(failed >= 2, "the limit was met only {failed} times");
    bench.run(&["--only", "up"]).ok();
    assert_eq!(bench.summary("up")["status"], "scored");
    bench.world.human(&["experiment", "prune"]).ok();
    assert_eq!(bench.world.git(&["worktree", "list"]).lines().count(), 1);
    assert_eq!(bench.world.git(&["status", "--porcelain", "param"]), before);
    bench.world.git(&["fsck", "--no-dangling"]);
}
