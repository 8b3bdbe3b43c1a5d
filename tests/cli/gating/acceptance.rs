//! Gates run as a person accepted them, and only passes that liza recorded count.

use serde_json::json;

use super::{ends, gate_with, status};
use crate::gating::team;
use crate::support::HUMAN;

const STRICT: &str = "  - name: words\n    command: '! grep -rq BAD --include=*.sh .'\n";

#[test]
fn changed_definition_stops_approval_and_merge() {
    let team = team(STRICT);
    let world = &team.world;
    let commit = world.submitted(&team.one, "t1", "a.sh", "echo a\n");
    world.liza(&team.reviewer, &["review", "claim", "t1"]).ok();
    let weaken = || world.write("liza.yaml", "version: 1\ngates:\n  - name: words\n    command: 'true'\n");
    let strict = || world.write("liza.yaml", &format!("version: 1\ngates:\n{STRICT}"));
    weaken();
    let approve = ["review", "approve", "t1", "--commit", &commit];
    let error = world.refused(&team.reviewer, &approve, 7, "gate.not_accepted");
    assert!(error["hint"].as_str().unwrap().contains("liza gate accept"), "{error}");
    world.refused(&team.reviewer, &["gate", "accept"], 1, "refused.human_only");
    strict();
    world.liza(&team.reviewer, &approve).ok();
    weaken();
    ends(&team, &team.reviewer, &["merge", "t1"], 7, "gate.not_accepted");
    assert_eq!(status(&team, "t1"), "APPROVED");
    let shown = world.human(&["gate", "accept", "--dry-run"]).ok();
    assert!(shown.stdout.contains("- {") && shown.stdout.contains("+ {"), "{}", shown.stdout);
    ends(&team, &HUMAN, &["merge", "t1"], 7, "gate.not_accepted");
    world.human(&["gate", "accept"]).ok();
    world.liza(&team.reviewer, &["merge", "t1"]).ok();
    world.sound();
}

#[test]
fn forged_cache_entry_is_ignored() {
    let team = team(STRICT);
    let world = &team.world;
    let good = world.submitted(&team.one, "t1", "a.sh", "echo a\n");
    world.liza(&team.reviewer, &["review", "claim", "t1"]).ok();
    world.liza(&team.reviewer, &["review", "approve", "t1", "--commit", &good]).ok();
    let cache = world.path(".liza/gates/cache");
    let entries =
        || -> Vec<_> { std::fs::read_dir(&cache).unwrap().map(|entry| entry.unwrap().path()).collect() };
    let [honest] = &entries()[..] else { panic!("one pass") };
    let mut forged: serde_json::Value = serde_json::from_slice(&std::fs::read(honest).unwrap()).unwrap();
    let bad = world.submitted(&team.two, "t2", "b.sh", "echo BAD\n");
    world.liza(&team.reviewer, &["review", "claim", "t2"]).ok();
    let approve = ["review", "approve", "t2", "--commit", &bad];
    // A gate run by hand leaves a cache entry for another tree.
    world.refused(&team.reviewer, &approve, 7, "gate.red");
    gate_with(&team, "  - name: words\n    command: 'true'\n");
    world.human(&["gate", "run", "--tree", &bad]).ok();
    let other = entries().into_iter().find(|path| path != honest).expect("a second pass");
    // A pass by hand is not recorded on the board, whatever its file says.
    forged["key"] = json!(other.file_stem().unwrap().to_str().unwrap());
    std::fs::write(&other, forged.to_string()).unwrap();
    let shown = world.liza(&team.reviewer, &approve).ok();
    assert!(!shown.stderr.contains("from an earlier run"), "{}", shown.stderr);
}
