use super::Bench;

#[test]
fn adopted_run_is_reviewed_and_merge_names_it() {
    let bench = Bench::new();
    bench.world.write("tests/test_param.sh", "grep -qx '[0-9]*' param\n");
    bench.world.commit_all("a test");
    bench.world.human(&["init", "improve the number"]).ok();
    bench.idea("a", "# Up\ndo: echo 12 > param; echo '# more' >> tests/test_param.sh\n");
    bench.idea("b", "# Bad\ndo: echo bad > note\n");
    bench.run(&[]).ok();
    bench.world.task("better", &["param", "tests/"]);
    let refused = bench.world.human(&["experiment", "adopt", "bad", "--task", "better"]).exits(1);
    assert!(refused.stderr.contains("no change that its reviewer approved"), "{}", refused.stderr);
    let coder = bench.world.register_roles(&["coder", "code_reviewer"], "coder-1");
    let reviewer = bench.world.register("code_reviewer", "reviewer-1");
    let adopted = bench.world.json(&coder, &["experiment", "adopt", "up", "--task", "better"]).ok().data();
    let run_id = adopted["run_id"].as_str().expect("a run").to_owned();
    let commit = bench.world.json(&coder, &["task", "submit", "better"]).ok().data()["review_commit"]
        .as_str()
        .unwrap()
        .to_owned();
    let message = bench.world.git(&["log", "-1", "--format=%B", &commit]);
    assert!(message.contains(&format!("Liza-Experiment: {run_id}")), "{message}");
    // The agent that adopts the run is its implementer, and so are the coder and the reviewer of the run.
    bench.world.tier0(&coder, &["review", "claim", "better"], "tier0.self_approval");
    let end = run_id.rsplit('-').next().expect("four digits").to_owned();
    for name in ["coder", "reviewer"] {
        let one = bench.world.register("code_reviewer", &format!("experiment-{name}-{end}"));
        bench.world.tier0(&one, &["review", "claim", "better"], "tier0.self_approval");
    }
    bench.world.approve(&reviewer, "better", &commit);
    bench.world.json(&reviewer, &["merge", "better"]).ok();
    assert_eq!(bench.world.git(&["show", "integration:param"]), "12");
    bench.world.sound();
}

#[test]
fn only_what_the_reviewer_saw_is_adopted() {
    let bench = Bench::new();
    bench.world.human(&["init", "improve the number"]).ok();
    bench.idea("a", "# Up\ndo: echo 12 > param\n");
    bench.run(&["--keep-worktrees"]).ok();
    let worktree = bench.summary("up")["worktree"].as_str().expect("kept").to_owned();
    std::fs::write(format!("{worktree}/later"), "nobody reviewed this\n").expect("written");
    bench.world.human(&["experiment", "prune"]).ok();
    bench.world.task("better", &["param", "later"]);
    let coder = bench.world.register("coder", "coder-1");
    let adopted = bench.world.json(&coder, &["experiment", "adopt", "up", "--task", "better"]).ok().data();
    assert_eq!(adopted["files"], serde_json::json!(["param"]));
    // A ref that moved since then is not the approved one.
    let kept = bench.summary("up")["ref"].as_str().expect("a ref").to_owned();
    bench.world.git(&["update-ref", &kept, "HEAD"]);
    bench.world.task("again", &["src/"]);
    let refused = bench.world.liza(&coder, &["experiment", "adopt", "up", "--task", "again"]);
    assert!(refused.exit != 0 && refused.stderr.contains("is not at"), "{}", refused.stderr);
}
