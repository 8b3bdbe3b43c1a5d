use super::Bench;
use crate::support::HUMAN;

#[test]
fn invalid_idea_sources_are_refused_by_name() {
    let bench = Bench::new();
    let said = |path: &str, exit: i32| bench.world.human(&["experiment", "run", path]).exits(exit).stderr;
    assert!(said("nowhere", 9).contains("nowhere"));
    bench.world.write("empty.md", "\n\n");
    assert!(said("empty.md", 1).contains("there is no idea in empty.md"));
    std::fs::write(bench.world.path("latin.md"), b"caf\xe9\n").expect("written");
    assert!(said("latin.md", 1).contains("is not UTF-8 text"));
    let many: String = (0..200).map(|nth| format!("## Idea {nth}\ndo it\n")).collect();
    bench.world.write("many.md", &many);
    let planned = bench.world.json(&HUMAN, &["experiment", "run", "many.md", "--dry-run"]).ok().data();
    assert_eq!(planned["ideas"].as_array().map(Vec::len), Some(200));
    let wrong = bench.world.human(&["experiment", "run", "many.md", "--only", "idea-x"]).exits(1);
    assert!(wrong.stderr.contains("there is no idea `idea-x`"), "{}", wrong.stderr);
}

#[test]
fn bad_settings_are_refused_before_any_run() {
    let bench = Bench::new();
    bench.idea("a", "# Up\nx\n");
    for (more, named) in [
        ("  max_turn: 3\n", "max_turn"),
        ("  agents_sdk: {tracing: true}\n", "tracing"),
        ("  test_cwd: ../..\n", "experiment.test_cwd"),
    ] {
        bench.settings(more);
        let ran = bench.run(&[]);
        assert!(ran.exit != 0 && ran.stderr.contains(named), "{more}: {}", ran.stderr);
    }
    bench.world.write("liza.yaml", "version: 1\n");
    let ran = bench.run(&[]).exits(2);
    assert!(ran.stderr.contains("liza.yaml names no provider for the planner"), "{}", ran.stderr);
    assert!(!bench.world.path("agentic_experimentation").exists());
}

#[test]
fn planner_gets_listed_files_and_custom_prompts() {
    let bench = Bench::with("  planner_repo_files: shown.txt\n  prompts: {planner: my-planner.md}\n");
    bench.world.write("shown.txt", "# what to show\nsweep.sh\n*.csv\n");
    bench.world.write("my-planner.md", "Plan as I like it.\n");
    bench.world.commit_all("a list");
    bench.tried("do: echo 11 > param");
    let prompt = bench.artifact("one", "planner_prompt.txt");
    assert!(
        prompt.starts_with("Plan as I like it.")
            && prompt.contains("# File baseline.csv")
            && prompt.contains("# File sweep.sh"),
        "{prompt}"
    );
    assert!(!prompt.contains("# File param"), "{prompt}");
}
