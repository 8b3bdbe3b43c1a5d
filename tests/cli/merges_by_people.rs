//! Branch commands that only people use. The rules are tested in src/flow/tests/merging_people.rs.

use serde_json::json;

use crate::merging::Team;
use crate::support::HUMAN;

#[test]
fn resolved_merge_lands_a_persons_branch() {
    let team = Team::with_shared_file("shared.sh", "one\n");
    team.approve_conflicting_tasks("shared.sh", "first\n", "second\n");
    let world = &team.world;
    world.liza(&team.reviewer, &["merge", "t1"]).ok();
    team.conflicts("t2", "blocked");
    let dir = world.home().join("mine");
    world.git(&["worktree", "add", "-q", "-b", "resolution", dir.to_str().unwrap(), "integration"]);
    world.git_in(&dir, &["merge", "-q", "-s", "ours", "--no-commit", "task/t2"]);
    world.write_and_commit(&dir, &[("shared.sh", "both\n"), ("tests/test_t2.sh", "echo ok\n")]);
    let merge = ["merge", "t2", "--resolved", "resolution"];
    world.refused(&team.reviewer, &merge, 1, "refused.human_only");
    world.refused(&HUMAN, &["merge", "t2", "--resolved", "nonsense"], 1, "refused.value");
    assert_eq!(world.json(&HUMAN, &merge).ok().data()["outcome"], "merged");
    assert_eq!(world.git(&["show", "integration:shared.sh"]), "both");
}

#[test]
fn advance_and_deliver_move_branches_for_people() {
    let Team { world, one, .. } = Team::new();
    world.git(&["checkout", "-q", "-b", "up"]);
    world.write("up.txt", "1\n");
    world.git(&["add", "up.txt"]);
    world.git(&["commit", "-q", "-m", "up"]);
    let advance = ["integration", "advance", "up", "--reason", "upstream"];
    world.refused(&one, &advance, 1, "refused.human_only");
    world.refused(&HUMAN, &["integration", "advance", "up"], 2, "usage.arguments");
    world.refused(&HUMAN, &["integration", "advance", "--reason", "r", "--", "--all"], 1, "refused.value");
    let data = world.json(&HUMAN, &advance).ok().data();
    let commit = world.git(&["rev-parse", "up"]);
    assert_eq!((&data["branch"], &data["new"]), (&json!("integration"), &json!(commit)));
    let log = world.human(&["log"]).ok().stdout;
    assert!(log.contains("upstream"), "{log}");
    world.refused(&one, &["deliver", "--to", "release"], 1, "refused.human_only");
    let data = world.json(&HUMAN, &["deliver", "--to", "main"]).ok().data();
    assert_eq!((&data["branch"], &data["new"]), (&json!("main"), &json!(commit)));
    world.refused(&HUMAN, &["deliver", "--to", "integration"], 2, "usage.argument");
    assert_eq!(world.json(&HUMAN, &["deliver", "--to", "-f"]).exit, 2);
    for bad in ["a..b", "x y", "refs/../x"] {
        let ran = world.json(&HUMAN, &["deliver", "--to", bad]);
        assert!(matches!(ran.exit, 1 | 2 | 8), "{bad}: {}", ran.stdout);
    }
}
