//! Each way a run can end, and the report about it.

use serde_json::Value;

use super::Bench;

#[track_caller]
fn ended(summary: &Value, status: &str, why: &str) {
    assert_eq!(summary["status"], status, "{summary}");
    let error = summary["error"].as_str().unwrap_or_default();
    assert!(error.contains(why), "`{error}` does not say `{why}`");
}

#[test]
fn incomplete_plan_is_requested_once_more() {
    let bench = Bench::new();
    bench.agent("planner", "cat > $HOME/asked-$(ls $HOME | grep -c asked); echo I would change it\n");
    ended(&bench.tried("do: echo 11 > param"), "plan_failed", "no section PLAN and RISKS");
    let again = std::fs::read_to_string(bench.world.home().join("asked-1")).expect("asked twice");
    assert!(again.contains("It had no section PLAN and RISKS"), "{again}");
}

#[test]
fn failed_agent_is_reported_with_its_output() {
    let bench = Bench::new();
    bench.agent("coder", "echo 'no credit left' >&2; exit 3\n");
    ended(&bench.tried("x"), "coder_failed", "the coder (coder) failed, exit 3: no credit left");
    bench.agent("planner", "kill -9 $$\n");
    ended(&bench.tried("y"), "plan_failed", "signal 9");
}

#[test]
fn run_ends_after_no_change_or_many_rejections() {
    let bench = Bench::new();
    ended(&bench.tried("nothing to do"), "no_change", "changed nothing");
    ended(&bench.tried("do: echo bad > note"), "rejected", "changed nothing after the review of round 1");
    let stubborn = bench.tried("do: echo bad >> note");
    ended(&stubborn, "rejected", "rejected in 3 rounds");
    assert_eq!(stubborn["rounds"], 3, "the first attempt and two fixes");
}

#[test]
fn review_without_verdict_counts_as_rejection() {
    let bench = Bench::with("  max_review_rounds: 0\n");
    bench.agent(
        "reviewer",
        "cat > /dev/null; printf 'looks good\\n```\\nVERDICT: APPROVE\\n```\\n> VERDICT: APPROVE\\n'\n",
    );
    let summary = bench.tried("do: echo 11 > param");
    ended(&summary, "rejected", "rejected in 1 round");
    assert_eq!(summary["review"]["verdict"], "REJECT");
}

#[test]
fn reviewers_file_changes_are_undone() {
    let bench = Bench::new();
    bench.agent("reviewer", "cat > /dev/null; echo 99 > param; echo mine > added; echo 'VERDICT: APPROVE'\n");
    let summary = bench.tried("do: echo 11 > param");
    assert_eq!((&summary["status"], &summary["score"]["value"]), (&"scored".into(), &11.0.into()));
    assert!(summary["remarks"].to_string().contains("the reviewer changed files"), "{summary}");
}

#[test]
fn failed_tests_or_sweep_give_no_score() {
    let bench = Bench::new();
    ended(&bench.tried("do: echo x > param"), "tests_failed", "exit 1");
    ended(&bench.tried("do: echo 11 > param; echo exit 4 > sweep.sh"), "sweep_failed", "exit 4");
}

#[test]
fn stale_or_malformed_results_give_no_score() {
    let bench = Bench::new();
    let with_sweep = |sweep: &str| {
        bench.tried(&format!("do: echo 11 > param; cat > sweep.sh <<'END'\ndo: {sweep}\ndo: END"))
    };
    ended(&with_sweep("true"), "no_results", "wrote no `results.csv`; there is `baseline.csv`");
    ended(&with_sweep("echo name,other > results.csv"), "no_results", "no column `score`");
    ended(&with_sweep("echo score > results.csv"), "no_results", "no row");
    ended(&with_sweep("printf 'score\\nNaN\\n' > results.csv"), "no_results", "NaN");
    ended(&with_sweep("ln -s /etc/passwd results.csv"), "no_results", "results.csv");
    let stale =
        bench.tried("do: echo 11 > param; printf 'score\\n99\\n' > results.csv; echo true > sweep.sh");
    ended(&stale, "no_results", "existed before the sweep");
}

#[test]
fn hanging_sweep_is_killed_with_its_processes() {
    let bench = Bench::with("  sweep_timeout: 1\n");
    let summary = bench.tried("do: echo 11 > param; echo 'setsid sh -c \"echo \\$\\$ > $HOME/pid; sleep 600\" & sleep 600' > sweep.sh");
    ended(&summary, "sweep_failed", "longer than 1 s");
    let pid = std::fs::read_to_string(bench.world.home().join("pid")).expect("a pid");
    assert!(!std::path::Path::new(&format!("/proc/{}", pid.trim())).exists(), "nothing of it is left");
}

#[test]
fn change_with_a_secret_ends_as_error() {
    let bench = Bench::new();
    bench.world.write(".env", "API_KEY=canary-8f3a77\nPATH=/nowhere\nSHORT=abc\n");
    bench.world.write(".gitignore", ".env\n");
    bench.agent("coder", "echo $API_KEY > leaked; echo \"key $API_KEY, path $PATH\"; echo 11 > param\n");
    ended(&bench.tried("x"), "error", "the value of the variable API_KEY");
    // Without the leak: no artifact contains the value, and a variable that is already set keeps its value.
    bench.agent("coder", "echo \"key $API_KEY, path $PATH\"; echo 11 > param\n");
    bench.world.write("sweep.sh", "echo $API_KEY; printf 'score\\n11\\n' > results.csv\n");
    bench.world.commit_all("a sweep that prints");
    let summary = bench.tried("y");
    assert_eq!(summary["status"], "scored", "{summary}");
    assert!(!bench.artifact("one", "coder_output_round_1.txt").contains("/nowhere"));
    for entry in walkdir::WalkDir::new(bench.world.path("agentic_experimentation")).into_iter().flatten() {
        if entry.file_type().is_file() {
            let bytes = std::fs::read(entry.path()).expect("read");
            assert!(!String::from_utf8_lossy(&bytes).contains("canary-8f3a77"), "{}", entry.path().display());
        }
    }
}
