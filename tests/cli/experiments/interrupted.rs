use std::os::unix::process::ExitStatusExt as _;

use super::Bench;
use crate::concurrency::{signal, wait_for};
use crate::support::process::Bounded as _;
use crate::support::{HUMAN, sweep};

#[test]
fn killed_run_is_interrupted_and_continued() {
    let bench = Bench::new();
    bench.idea("a", "# Up\ndo: echo 12 > param; echo bad > note\nfix: rm note\n");
    let phases: Vec<String> = (1..=8).map(|nth| format!("experiment.phase:{nth}")).collect();
    let all = ["experiment.worktree_registered".to_owned(), "experiment.worktree".to_owned()];
    let own = all.iter().chain(phases.iter().step_by(sweep(3, 1)));
    for point in own.cloned().chain(["experiment.worktree_deleted".to_owned()]) {
        bench.world.dies_at(&point, &HUMAN, &["experiment", "run", "ideas", "--only", "up"]);
        let listed = bench.world.json(&HUMAN, &["experiment", "list"]).ok().data();
        let last =
            listed["runs"].as_array().expect("runs").iter().rfind(|run| run["status"] == "interrupted");
        assert!(last.is_some(), "{point}: {listed}");
    }
    bench.run(&[]).ok();
    let listed = bench.world.json(&HUMAN, &["experiment", "list"]).ok().data();
    assert!(listed["runs"].as_array().expect("runs").iter().any(|run| run["status"] == "scored"), "{listed}");
    bench.world.human(&["experiment", "prune"]).ok();
    assert_eq!(bench.world.git(&["worktree", "list"]).lines().count(), 1);
    bench.world.git(&["fsck", "--no-dangling"]);
}

#[test]
fn ctrl_c_ends_cleanly_and_the_rest_is_tried_later() {
    let bench = Bench::new();
    bench.agent("coder", "cat > /dev/null; echo 11 > param; touch $HOME/at-work; exec sleep 600\n");
    bench.idea("a", "# First\nx\n");
    bench.idea("b", "# Second\nx\n");
    let mut running = bench
        .world
        .liza_command(&HUMAN, &bench.world.root, &["experiment", "run", "ideas"])
        .start()
        .expect("started");
    wait_for("the coder", || bench.world.home().join("at-work").exists());
    signal(running.id(), "INT");
    let status = running.wait().expect("ended");
    assert_eq!((status.code(), status.signal()), (Some(130), None));
    assert_eq!(bench.summary("first")["status"], "interrupted");
    // What the coder had done is kept, and nothing of it is left running or lying about.
    let kept = bench.summary("first")["ref"].as_str().expect("a ref").to_owned();
    assert_eq!(bench.world.git(&["show", &format!("{kept}:param")]), "11");
    assert_eq!(bench.world.git(&["worktree", "list"]).lines().count(), 1);
    bench.agent("coder", "cat > /dev/null; echo 11 > param\n");
    bench.run(&[]).ok();
    assert_eq!(
        (bench.summary("first")["status"].as_str(), bench.summary("second")["status"].as_str()),
        (Some("scored"), Some("scored"))
    );
}
