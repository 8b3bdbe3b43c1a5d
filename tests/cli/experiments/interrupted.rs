use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;

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
    for point in own {
        bench.world.dies_at(point, &HUMAN, &["experiment", "run", "ideas", "--only", "up"]);
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
fn ctrl_c_leaves_remaining_ideas_for_next_run() {
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
    // The coder's work is kept, and no process and no file of it is left.
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

#[test]
fn interrupted_fix_does_not_change_reviewed_ref() {
    let bench = Bench::new();
    bench.agent(
        "coder",
        "p=$(cat); case \"$p\" in *'# Review'*) echo 12 > param; touch $HOME/at-work; exec sleep 600 ;; esac; echo bad > note\n",
    );
    bench.idea("a", "# Up\nx\n");
    let mut running = bench
        .world
        .liza_command(&HUMAN, &bench.world.root, &["experiment", "run", "ideas"])
        .start()
        .expect("started");
    wait_for("the second round", || bench.world.home().join("at-work").exists());
    signal(running.id(), "INT");
    assert_eq!(running.wait().expect("ended").code(), Some(130));
    let kept = bench.summary("up")["ref"].as_str().expect("a ref").to_owned();
    assert_eq!(bench.world.git(&["show", &format!("{kept}:param")]), "10", "what the reviewer saw");
    assert_eq!(bench.world.git(&["show", &format!("{kept}-rest:param")]), "12", "what came after it");
}

#[test]
fn worktree_with_unsaved_files_stays() {
    let bench = Bench::new();
    let nested = "git init -q inner && echo mine > inner/file && git -C inner add . && \
                  git -C inner -c user.name=x -c user.email=x@x commit -qm inner";
    bench.agent("coder", &format!("{nested}; exit 3\n"));
    bench.idea("a", "# Up\nx\n");
    bench.run(&[]);
    let all = bench.world.git(&["worktree", "list", "--porcelain"]);
    let path = all.lines().filter_map(|line| line.strip_prefix("worktree ")).nth(1);
    let path = PathBuf::from(path.expect("its worktree"));
    assert!(bench.summary("up")["remarks"].to_string().contains("inner"), "{}", bench.summary("up"));
    let pruned = bench.world.json(&HUMAN, &["experiment", "prune"]).ok().data();
    assert!(pruned["stay"][0]["why"].as_str().unwrap().contains("inner"), "{pruned}");
    assert_eq!(std::fs::read_to_string(path.join("inner/file")).unwrap(), "mine\n");
    std::fs::remove_dir_all(path.join("inner")).unwrap();
    bench.world.human(&["experiment", "prune"]).ok();
    assert!(!path.exists());
}

#[test]
fn kill_during_cleanup_keeps_the_result() {
    let bench = Bench::new();
    bench.idea("a", "# Up\ndo: echo 12 > param\n");
    for point in ["experiment.ended", "experiment.worktree_deleted"] {
        bench.world.dies_at(point, &HUMAN, &["experiment", "run", "ideas", "--only", "up"]);
        assert_eq!(bench.summary("up")["status"], "scored", "{point}");
    }
    assert!(bench.run(&[]).ok().stdout.contains("Every idea was tried before"));
    bench.world.human(&["experiment", "prune"]).ok();
    assert_eq!(bench.world.git(&["worktree", "list"]).lines().count(), 1);
}

#[test]
fn pause_lets_phase_finish_and_abort_ends_it() {
    let bench = Bench::new();
    bench.world.human(&["init", "improve the number"]).ok();
    let liza = &["experiment", "run", "ideas"];
    let start = || bench.world.liza_command(&HUMAN, &bench.world.root, liza).start().expect("started");
    // ABORT ends the running agent.
    bench.agent("coder", "echo 11 > param; touch $HOME/at-work; exec sleep 600\n");
    bench.idea("a", "# Up\nx\n");
    let mut running = start();
    wait_for("the coder", || bench.world.home().join("at-work").exists());
    std::fs::write(bench.world.path(".liza/ABORT"), "").expect("set");
    assert_eq!(running.wait().expect("ended").code(), Some(5));
    let summary = bench.summary("up");
    assert_eq!((&summary["status"], &summary["error"]), (&"interrupted".into(), &"ABORT is set".into()));
    std::fs::remove_file(bench.world.path(".liza/ABORT")).expect("taken away");
    // PAUSE lets the coder finish and starts nothing else.
    bench.agent("coder", &format!("echo 11 > param; touch {}\n", bench.world.path(".liza/PAUSE").display()));
    bench.run(&[]).exits(5);
    let summary = bench.summary("up");
    assert_eq!((&summary["status"], &summary["error"]), (&"interrupted".into(), &"PAUSE is set".into()));
    assert!(bench.dir("up").join("coder_output_round_1.txt").exists());
    bench.run(&[]).exits(5);
    bench.agent("coder", "echo 11 > param\n");
    bench.world.human(&["resume"]).ok();
    bench.run(&[]).ok();
    assert_eq!(bench.summary("up")["status"], "scored");
}
