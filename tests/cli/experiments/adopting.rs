use super::Bench;

#[test]
fn an_adopted_run_is_reviewed_and_merged_with_its_origin() {
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
    // Who adopted it is its implementer.
    bench.world.tier0(&coder, &["review", "claim", "better"], "tier0.self_approval");
    bench.world.approve(&reviewer, "better", &commit);
    bench.world.json(&reviewer, &["merge", "better"]).ok();
    assert_eq!(bench.world.git(&["show", "integration:param"]), "12");
    bench.world.sound();
}
