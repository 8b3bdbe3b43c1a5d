use super::Bench;
use crate::support::HUMAN;

#[test]
fn ideas_are_scored_and_leave_all_artifacts() {
    let bench = Bench::new();
    bench.idea("a", "# Up\ndo: echo 12 > param\n");
    bench.idea("b", "# Fixed\ndo: printf '11\\n' > param; echo bad > note\nfix: rm note\n");
    let before = bench.world.git(&["status", "--porcelain"]);
    let ran = bench.run(&[]).ok();
    assert!(ran.stdout.contains("up") && ran.stdout.contains("sweep"), "progress: {}", ran.stdout);
    let (up, fixed) = (bench.summary("up"), bench.summary("fixed"));
    assert_eq!(
        (&up["status"], &up["score"]["value"], &up["score"]["delta_pct"]),
        (&"scored".into(), &12.0.into(), &20.0.into())
    );
    assert_eq!(
        (&fixed["status"], &fixed["rounds"], &fixed["review"]["verdict"]),
        (&"scored".into(), &2.into(), &"APPROVE".into())
    );
    let shown = bench.world.json(&HUMAN, &["experiment", "show", "fixed"]).ok().data();
    let names: Vec<&str> =
        shown["artifacts"].as_array().expect("names").iter().filter_map(|name| name.as_str()).collect();
    assert_eq!(
        names,
        [
            "agents_trace.jsonl",
            "coder_fix_prompt_round_2.txt",
            "coder_output_round_1.txt",
            "coder_output_round_2.txt",
            "coder_prompt_round_1.txt",
            "coder_prompt_round_2.txt",
            "diff_round_1.diff",
            "diff_round_2.diff",
            "idea.md",
            "meta_config_sweep_results.csv",
            "plan.md",
            "planner_prompt.txt",
            "review_round_1.md",
            "review_round_2.md",
            "reviewer_prompt_round_1.txt",
            "reviewer_prompt_round_2.txt",
            "summary.json",
            "sweep.log",
            "tests.log",
        ]
    );
    // The prompt of a fix contains the feedback and the rest of the coder's prompt.
    let feedback = bench.artifact("fixed", "coder_fix_prompt_round_2.txt");
    assert!(feedback.contains("the line bad has to go"), "{feedback}");
    assert!(bench.artifact("fixed", "coder_prompt_round_2.txt").starts_with(&feedback));
    let spans = bench.artifact("fixed", "agents_trace.jsonl");
    assert_eq!(spans.matches("\"step\":\"coder\"").count(), 2, "{spans}");
    // The person's checkout is unchanged, and no worktree is left.
    assert_eq!(bench.world.git(&["status", "--porcelain"]), before);
    assert_eq!(bench.world.git(&["worktree", "list"]).lines().count(), 1);
    let kept = up["ref"].as_str().expect("a ref");
    assert_eq!(bench.world.git(&["show", &format!("{kept}:param")]), "12");
}

#[test]
fn recorded_diff_rebuilds_the_exact_tree() {
    let bench = Bench::new();
    let steps = "do: echo 11 > param; printf '\\000\\377' > blob; mkdir -p new/dir; echo '#!/bin/sh' > new/dir/run; chmod +x new/dir/run; rm sweep.sh; ln -s param link; printf 'no end' > 'a name'\n";
    bench.agent("reviewer", "cat > /dev/null; echo 'VERDICT: APPROVE'\n");
    let summary = bench.tried(&format!("{steps}do: git checkout -q -- sweep.sh"));
    assert_eq!(summary["status"], "scored", "{summary}");
    let other = tempfile::tempdir().expect("a directory");
    let clone = other.path().join("clone");
    bench.world.git(&["clone", "-q", bench.world.root.to_str().unwrap(), clone.to_str().unwrap()]);
    bench.world.git_in(&clone, &["checkout", "-q", summary["base_commit"].as_str().unwrap()]);
    let diff = bench.dir("one").join("diff_round_1.diff");
    bench.world.git_in(&clone, &["apply", "--index", diff.to_str().unwrap()]);
    let kept = summary["ref"].as_str().unwrap();
    let tree = bench.world.git(&["rev-parse", &format!("{kept}^{{tree}}")]);
    assert_eq!(bench.world.git_in(&clone, &["write-tree"]), tree);
}

#[test]
fn experiment_needs_no_board_but_obeys_switches() {
    let bench = Bench::new();
    bench.idea("a", "# Up\ndo: echo 12 > param\n");
    bench.world.human(&["init", "improve the number"]).ok();
    bench.world.human(&["pause", "--reason", "lunch"]).ok();
    let ran = bench.run(&[]).exits(5);
    assert!(ran.stderr.contains("PAUSE is set; 1 idea not finished"), "{}", ran.stderr);
    bench.world.human(&["resume"]).ok();
    bench.run(&[]).ok();
    assert_eq!(bench.summary("up")["status"], "scored");
    // `verify` accepts the refs of runs.
    bench.world.sound();
    assert!(!bench.world.human(&["doctor"]).stdout.contains("experiments"), "no orphans");
}

#[test]
fn agents_of_an_experiment_cannot_change_the_board() {
    let bench = Bench::new();
    bench.world.human(&["init", "improve the number"]).ok();
    let liza = env!("CARGO_BIN_EXE_liza");
    bench.agent(
        "coder",
        &format!(
            "echo 11 > param; cd {}; {liza} note mine > $HOME/said 2>&1; echo $? >> $HOME/said\n",
            bench.world.root.display()
        ),
    );
    let before = bench.world.bytes();
    assert_eq!(bench.tried("x")["status"], "scored");
    let said = std::fs::read_to_string(bench.world.home().join("said")).expect("said");
    assert!(said.contains("refused") || said.trim().ends_with('1'), "{said}");
    assert_eq!(bench.world.bytes().0, before.0, "the board is as it was");
}

#[test]
fn working_tree_can_be_the_base() {
    let bench = Bench::new();
    bench.world.write("param", "20\n");
    bench.world.write("new.txt", "not committed\n");
    bench.idea("a", "# Up\ndo: echo 21 > param\n");
    bench.run(&["--base-on-working-tree"]).ok();
    let diff = bench.artifact("up", "diff_round_1.diff");
    assert!(diff.contains("-20") && diff.contains("+21") && !diff.contains("not committed"), "{diff}");
    assert_eq!(bench.world.read("param"), "20\n");
}

#[test]
fn parallel_runs_get_slots_and_temp_directories() {
    let bench = Bench::new();
    bench.world.write(
        "sweep.sh",
        "test -d \"$TMPDIR\" && printf 'score\\n%s\\n' \"$LIZA_EXPERIMENT_SLOT\" > results.csv\n",
    );
    bench.world.commit_all("a sweep that tells its slot");
    for name in ["a", "b", "c", "d"] {
        bench.idea(name, &format!("# {name} idea\ndo: echo 11 > param\n"));
    }
    bench.run(&["--parallel", "3"]).ok();
    let listed = bench.world.json(&HUMAN, &["experiment", "list"]).ok().data();
    let runs = listed["runs"].as_array().expect("runs");
    assert_eq!(runs.len(), 4);
    assert!(runs.iter().all(|run| run["status"] == "scored"), "{listed}");
    assert!(
        runs.iter().all(|run| run["score"]["value"].as_f64().is_some_and(|slot| (1.0..=3.0).contains(&slot))),
        "{listed}"
    );
    // A second call has nothing left to do.
    let again = bench.run(&[]).ok();
    assert!(again.stdout.contains("Every idea was tried before"), "{}", again.stdout);
    let planned =
        bench.world.json(&HUMAN, &["experiment", "run", "ideas", "--again", "--dry-run"]).ok().data();
    assert_eq!(planned["ideas"].as_array().map(Vec::len), Some(4));
}

#[test]
fn kept_worktrees_are_unlocked_and_pruned_later() {
    let bench = Bench::new();
    bench.idea("a", "# Up\ndo: echo 12 > param; echo scrap > scrap\n");
    bench.run(&["--keep-worktrees"]).ok();
    let worktree = bench.summary("up")["worktree"].as_str().expect("kept").to_owned();
    assert!(!bench.world.git(&["worktree", "list", "--porcelain"]).contains("locked"));
    std::fs::write(format!("{worktree}/later"), "typed by a person\n").expect("written");
    bench.world.human(&["experiment", "prune", "--older-than", "7d"]).ok();
    assert!(std::path::Path::new(&worktree).exists(), "too young");
    bench.world.human(&["experiment", "prune"]).ok();
    assert!(!std::path::Path::new(&worktree).exists());
    let kept = bench.summary("up")["ref"].as_str().expect("a ref").to_owned();
    assert_eq!(bench.world.git(&["show", &format!("{kept}-rest:later")]), "typed by a person");
    assert!(!bench.world.git(&["ls-tree", "--name-only", &kept]).contains("later"), "nobody reviewed it");
}

#[test]
fn report_has_five_formats() {
    let bench = Bench::new();
    bench.idea("a", "# Up\ndo: echo 12 > param\n");
    bench.idea("b", "# Down\ndo: echo 9 > param\n");
    bench.run(&[]).ok();
    let form = |format: &str| bench.world.human(&["experiment", "report", "--format", format]).ok().stdout;
    let table = form("table");
    assert!(table.lines().nth(1).is_some_and(|line| line.starts_with('1') && line.contains("up")), "{table}");
    assert!(form("markdown").contains("| 1 | up | scored |"));
    assert_eq!(form("csv").lines().count(), 3);
    assert!(serde_json::from_str::<serde_json::Value>(&form("json")).is_ok());
    bench.world.human(&["experiment", "report", "--format", "html", "--out", "report.html"]).ok();
    let page = bench.world.read("report.html");
    assert!(
        page.contains("Best: up with score 12")
            && page.contains("href=\"agentic_experimentation/experiments/"),
        "{page}"
    );
    let wrong = bench.world.human(&["experiment", "report", "--format", "pdf"]).exits(2);
    assert!(wrong.stderr.contains("choose one of table, markdown, csv, json, html"), "{}", wrong.stderr);
}

#[test]
fn idea_removed_during_the_run_is_skipped() {
    let bench = Bench::new();
    for name in ["a", "b", "c"] {
        bench.idea(name, &format!("# {name} idea\ndo: echo 11 > param\n"));
    }
    let gone = bench.world.path("ideas/c.md");
    bench.agent("planner", &format!("rm -f {}; {}", gone.display(), super::PLANNER));
    let ran = bench.run(&["--parallel", "2"]).exits(1);
    assert!(ran.stdout.contains("there is no idea `c-idea`"), "{}", ran.stdout);
    assert!(ran.stdout.contains("1 idea could not be finished"), "{}", ran.stdout);
    assert_eq!(bench.summary("a-idea")["status"], "scored");
}

#[test]
fn worktrees_of_experiments_are_listed_as_such() {
    let bench = Bench::new();
    bench.world.human(&["init", "improve the number"]).ok();
    bench.idea("a", "# Up\ndo: echo 12 > param\n");
    bench.run(&["--keep-worktrees"]).ok();
    let listed = bench.world.json(&HUMAN, &["worktree", "list"]).ok().data();
    let place = &listed["worktrees"][0];
    assert_eq!((&place["purpose"], &place["prunable"]), (&"experiment".into(), &false.into()), "{listed}");
    let pruned = bench.world.human(&["worktree", "prune"]).ok().stdout;
    assert!(pruned.contains("stays") && pruned.contains("`liza experiment prune` removes it"), "{pruned}");
    assert_eq!(bench.world.git(&["worktree", "list"]).lines().count(), 2);
    bench.world.human(&["experiment", "prune"]).ok();
    assert!(bench.world.human(&["worktree", "list"]).ok().stdout.contains("there are no worktrees"));
    bench.world.sound();
}
