//! Kills between the steps of a merge, and integration branches that move while gates run.

use std::process::Stdio;

use super::{asked, gate_with, status, tree_recording_gate};
use crate::merging::Team;
use crate::support::Ran;
use crate::support::process::Bounded as _;
use crate::team::until;

#[test]
fn killed_merge_reuses_its_gate_results() {
    for point in ["merge.commit", "merge.gated", "merge.recorded", "merge.moved"] {
        let team = Team::new();
        let world = &team.world;
        world.approved(&team.one, &team.reviewer, "t1", "a.sh", "echo a\n");
        gate_with(&team, &tree_recording_gate(&team, "g", "", "true"));
        let mut killed = world.liza_command(&team.reviewer, &world.path("."), &["merge", "t1"]);
        killed.env("LIZA_CRASH_AT", point);
        assert!(!killed.finish().expect("ran").status.success(), "{point}");
        let ran = world.liza(&team.reviewer, &["merge", "t1"]);
        // Once the branch has moved, the next command only records the merge.
        assert!(ran.exit == 0 || point == "merge.moved", "{point}: {}", ran.stderr);
        assert_eq!(status(&team, "t1"), "MERGED", "{point}");
        assert_eq!(asked(&team, "g").len(), 1, "{point}: what was said stays said");
        world.sound();
    }
}

/// An approved task, and a person's commit on another branch that contains integration.
fn beside(file: &str) -> Team {
    let team = Team::new();
    let world = &team.world;
    world.approved(&team.one, &team.reviewer, "t1", "a.sh", "echo a\n");
    world.git(&["checkout", "-q", "-b", "by-hand", "integration"]);
    world.write(file, "x\n");
    world.git(&["add", file]);
    world.git(&["commit", "-q", "-m", "by hand"]);
    world.git(&["checkout", "-q", "main"]);
    team
}

#[test]
fn merge_restarts_after_advance_during_gates() {
    let team = beside("by-hand.txt");
    let world = &team.world;
    let (begun, go) = (world.home().join("begun"), world.home().join("go"));
    let wait = format!(
        "test -e '{0}' || {{ touch '{0}'; until test -e '{1}'; do sleep 0.02; done; }}",
        begun.display(),
        go.display()
    );
    gate_with(&team, &tree_recording_gate(&team, "g", "", &wait));
    let mut merge = world.liza_command(&team.reviewer, &world.path("."), &["--json", "merge", "t1"]);
    let merge = merge.stdout(Stdio::piped()).stderr(Stdio::piped()).start().expect("started");
    until("the gate runs", || begun.exists());
    world.human(&["integration", "advance", "by-hand", "--reason", "upstream"]).ok();
    std::fs::write(&go, "").unwrap();
    let ran = Ran::of(merge.wait_with_output().expect("ended")).ok();
    assert_eq!(ran.data()["outcome"], "merged");
    assert_eq!(world.git(&["rev-parse", "integration^1"]), world.git(&["rev-parse", "by-hand"]));
    // Gates ran on the merge onto the old head, on the new head alone, and on the merge onto the new head.
    let trees = asked(&team, "g");
    assert_eq!(trees.len(), 3, "{trees:?}");
    assert_eq!(trees[1], world.git(&["rev-parse", "by-hand^{tree}"]));
    assert_eq!(trees[2], world.git(&["rev-parse", "integration^{tree}"]));
    world.sound();
}

/// If a process moves integration with git while a gate runs (even a test of that task), liza does not build on it.
#[test]
fn integration_moved_during_gates_waits_for_person() {
    let team = beside("by-hand.txt");
    let world = &team.world;
    let once = world.home().join("moved");
    let step = format!(
        "test -e '{0}' || {{ touch '{0}'; git update-ref refs/heads/integration by-hand; }}",
        once.display()
    );
    gate_with(&team, &tree_recording_gate(&team, "g", "", &step));
    let ran = world.json(&team.reviewer, &["merge", "t1"]).exits(6);
    assert_eq!(ran.code(), "board.integration_moved");
    let error = ran.json()["error"].clone();
    assert_eq!(error["details"]["gates"][0]["status"], "pass", "{error}");
    assert_eq!(status(&team, "t1"), "APPROVED");
    assert_eq!(asked(&team, "g")[1], world.git(&["rev-parse", "by-hand^{tree}"]));
    world.human(&["integration", "advance", "integration", "--reason", "it was me"]).ok();
    world.liza(&team.reviewer, &["merge", "t1"]).ok();
    assert_eq!(world.git(&["rev-parse", "integration^1"]), world.git(&["rev-parse", "by-hand"]));
    world.sound();
}

#[test]
fn red_head_during_gates_stops_the_merge() {
    let team = beside("red.txt");
    let world = &team.world;
    let once = world.home().join("moved");
    let step = format!(
        "test -e '{0}' || {{ touch '{0}'; git update-ref refs/heads/integration by-hand; }}; test ! -e red.txt",
        once.display()
    );
    gate_with(&team, &tree_recording_gate(&team, "g", "", &step));
    let ran = world.json(&team.reviewer, &["merge", "t1"]).exits(7);
    assert_eq!(ran.code(), "gate.integration_red");
    assert_eq!(status(&team, "t1"), "APPROVED");
    assert_eq!(world.git(&["rev-parse", "integration"]), world.git(&["rev-parse", "by-hand"]));
}
