//! Kills between the steps, and a branch that moves while its gates run.

use super::{asked, gate_with, noting, status};
use crate::merging::Team;

#[test]
fn a_merge_killed_around_its_gates_goes_on_with_what_was_said() {
    for point in ["merge.commit", "merge.gated", "merge.recorded", "merge.moved"] {
        let team = Team::new();
        let world = &team.world;
        world.approved(&team.one, &team.reviewer, "t1", "a.sh", "echo a\n");
        gate_with(&team, &noting(&team, "g", "", "true"));
        let mut killed = world.liza_command(&team.reviewer, &world.path("."), &["merge", "t1"]);
        killed.env("LIZA_CRASH_AT", point);
        assert!(!killed.output().expect("ran").status.success(), "{point}");
        let ran = world.liza(&team.reviewer, &["merge", "t1"]);
        // Once the branch has moved, whoever comes next only puts it on record.
        assert!(ran.exit == 0 || point == "merge.moved", "{point}: {}", ran.stderr);
        assert_eq!(status(&team, "t1"), "MERGED", "{point}");
        assert_eq!(asked(&team, "g").len(), 1, "{point}: what was said stays said");
        world.sound();
    }
}

#[test]
fn a_branch_that_moves_while_gates_run_is_gated_itself_and_then_merged_onto() {
    let team = Team::new();
    let world = &team.world;
    world.approved(&team.one, &team.reviewer, "t1", "a.sh", "echo a\n");
    world.git(&["checkout", "-q", "-b", "by-hand", "integration"]);
    world.write("by-hand.txt", "x\n");
    world.git(&["add", "by-hand.txt"]);
    world.git(&["commit", "-q", "-m", "by hand"]);
    world.git(&["checkout", "-q", "main"]);
    let once = world.home().join("moved");
    let step = format!(
        "test -e '{0}' || {{ touch '{0}'; git update-ref refs/heads/integration by-hand; }}",
        once.display()
    );
    gate_with(&team, &noting(&team, "g", "", &step));
    let ran = world.json(&team.reviewer, &["merge", "t1"]).ok();
    assert_eq!(ran.data()["outcome"], "merged");
    let by_hand = world.git(&["rev-parse", "by-hand"]);
    assert_eq!(world.git(&["rev-parse", "integration^1"]), by_hand);
    // First the merge onto the old head, then the new head alone, then the merge onto it.
    let trees: Vec<String> = asked(&team, "g");
    assert_eq!(trees.len(), 3, "{trees:?}");
    assert_eq!(trees[1], world.git(&["rev-parse", "by-hand^{tree}"]));
    assert_eq!(trees[2], world.git(&["rev-parse", "integration^{tree}"]));
    // What came past review is not forgotten by that.
    assert!(ran.stderr.contains("somebody moved it"), "{}", ran.stderr);
    world.human(&["verify"]).exits(6);
}

#[test]
fn a_red_head_that_appears_while_gates_run_stops_the_merge() {
    let team = Team::new();
    let world = &team.world;
    world.approved(&team.one, &team.reviewer, "t1", "a.sh", "echo a\n");
    world.git(&["checkout", "-q", "-b", "by-hand", "integration"]);
    world.write("red.txt", "x\n");
    world.git(&["add", "red.txt"]);
    world.git(&["commit", "-q", "-m", "by hand"]);
    world.git(&["checkout", "-q", "main"]);
    let once = world.home().join("moved");
    let step = format!(
        "test -e '{0}' || {{ touch '{0}'; git update-ref refs/heads/integration by-hand; }}; test ! -e red.txt",
        once.display()
    );
    gate_with(&team, &noting(&team, "g", "", &step));
    let ran = world.json(&team.reviewer, &["merge", "t1"]).exits(7);
    assert_eq!(ran.code(), "gate.integration_red");
    assert_eq!(status(&team, "t1"), "APPROVED");
    assert_eq!(world.git(&["rev-parse", "integration"]), world.git(&["rev-parse", "by-hand"]));
}
