//! The queue of approved tasks: merged in order, one at a time, and only if compatible.

use std::process::Stdio;

use serde_json::json;

use super::{asked, gate_with, status, team, tree_recording_gate};
use crate::merging::Team;
use crate::support::process::Bounded as _;
use crate::support::{HUMAN, sweep};

fn merged_order(team: &Team) -> Vec<String> {
    let subjects = team.world.git(&["log", "--first-parent", "--reverse", "--format=%s", "integration"]);
    let ours = subjects.lines().filter_map(|line| line.strip_prefix("Merge ")?.split_once(':'));
    ours.map(|(id, _)| id.to_owned()).collect()
}

#[test]
fn queue_merges_by_priority_then_approval_time() {
    let team = Team::new();
    let world = &team.world;
    for (id, priority) in [("t1", "0"), ("t2", "5"), ("t3", "0"), ("t4", "5")] {
        let file = format!("{id}.sh");
        world.task_with(id, &[&file, &format!("tests/test_{id}.sh")], &["--priority", priority]);
    }
    // The tasks are not approved in the order they were added.
    for id in ["t4", "t3", "t2", "t1"] {
        let commit = world.submit_work(&team.one, id, &format!("{id}.sh"), "echo\n");
        world.approve(&team.reviewer, id, &commit);
        // Approvals are ordered by whole seconds.
        world.later(0, &HUMAN, &["note", "a moment"]).ok();
    }
    let data = world.json(&team.reviewer, &["merge", "--all"]).ok().data();
    let merged: Vec<&str> =
        data["merges"].as_array().unwrap().iter().filter_map(|m| m["task"].as_str()).collect();
    let urgent: Vec<&&str> = merged.iter().take(2).collect();
    assert!(urgent.contains(&&"t2") && urgent.contains(&&"t4"), "{merged:?}");
    assert_eq!(merged_order(&team), merged);
    world.sound();
}

#[test]
fn two_mergers_merge_each_task_once() {
    let team = Team::new();
    let world = &team.world;
    for number in 1..=6 {
        let id = format!("t{number}");
        world.approved(&team.one, &team.reviewer, &id, &format!("{id}.sh"), "echo\n");
    }
    gate_with(&team, &tree_recording_gate(&team, "g", "", "true"));
    let start = || {
        let mut command = world.liza_command(&team.reviewer, &world.path("."), &["--json", "merge", "--all"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).start().expect("started")
    };
    let both = [start(), start()];
    let mut merged = 0;
    for child in both {
        let output = child.wait_with_output().expect("ended");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let answer: serde_json::Value = serde_json::from_slice(&output.stdout).expect("json");
        merged += answer["data"]["merges"].as_array().map_or(0, Vec::len);
    }
    assert_eq!((merged, merged_order(&team).len()), (6, 6));
    // Every head but the first is a new tree, whose gates ran once.
    let mut trees = asked(&team, "g");
    trees.sort();
    trees.dedup();
    assert_eq!(trees.len(), 6);
    world.sound();
}

#[test]
fn red_or_conflicting_task_does_not_stop_queue() {
    let team = team("  - name: few\n    command: 'test $(ls parts 2>/dev/null | wc -l) -le 1'\n");
    let world = &team.world;
    for id in ["t1", "t2"] {
        world.approved(&team.one, &team.reviewer, id, &format!("parts/{id}"), "x\n");
    }
    world.approved(&team.two, &team.reviewer, "t3", "c.sh", "echo\n");
    let ran = world.json(&team.reviewer, &["merge", "--all"]).exits(7);
    let outcomes: Vec<String> = ran.data()["merges"]
        .as_array()
        .unwrap()
        .iter()
        .map(|m| format!("{}={}", m["task"].as_str().unwrap(), m["outcome"].as_str().unwrap()))
        .collect();
    assert_eq!(outcomes, ["t1=merged", "t2=integration_failed", "t3=merged"]);
}

#[test]
fn queue_continues_after_a_killed_merge() {
    for point in ["merge.begun", "merge.gated", "merge.recorded", "merge.moved", "merge.synced"] {
        let team = Team::new();
        let world = &team.world;
        for id in ["t1", "t2", "t3"] {
            world.approved(&team.one, &team.reviewer, id, &format!("{id}.sh"), "echo\n");
        }
        // The second of its merges.
        let at = format!("{point}:2");
        world.json_env(&team.reviewer, &["merge", "--all"], &[("LIZA_CRASH_AT", &at)]).exits(-1);
        world.json(&team.reviewer, &["merge", "--all"]).ok();
        assert_eq!(merged_order(&team).len(), 3, "{point}");
        assert!(["t1", "t2", "t3"].iter().all(|id| status(&team, id) == "MERGED"), "{point}");
        world.sound();
    }
}

/// Tasks from one base share a file; some conflict in its first line, and some break the tree only together with
/// another. Thirty tasks in the full sweep, nine in the suite.
#[test]
fn merge_all_lands_or_returns_each_approved_task() {
    let numbers: Vec<usize> = sweep(vec![0, 1, 2, 6, 7, 10, 17, 18, 29], (0..30).collect());
    let lines: Vec<String> = (0..60).map(|n| format!("line {n}")).collect();
    let team = Team::with_shared_file("shared.txt", &(lines.join("\n") + "\n"));
    let world = &team.world;
    let check = "test $(ls limit 2>/dev/null | wc -l) -le 1 && test $(wc -l < shared.txt) -eq 60";
    gate_with(&team, &format!("  - name: check\n    command: '{check}'\n"));
    let change = |at: usize, text: &str| {
        let mut new = lines.clone();
        new[at] = text.to_owned();
        new.join("\n") + "\n"
    };
    let mut right: Vec<(String, &str)> = Vec::new();
    for number in numbers {
        let id = format!("t{number:02}");
        let own = format!("tests/test_{id}.sh");
        let (file, text, end, priority) = match number {
            // The first of each kind is the most urgent, so the test knows which task wins.
            0 => ("shared.txt".to_owned(), change(0, "first"), "MERGED", "9"),
            1..=5 => ("shared.txt".to_owned(), change(0, &format!("also {id}")), "BLOCKED", "1"),
            6 => (format!("limit/{id}"), "x\n".to_owned(), "MERGED", "9"),
            7..=9 => (format!("limit/{id}"), "x\n".to_owned(), "INTEGRATION_FAILED", "1"),
            10..=17 => {
                let line = 5 + (number - 10) * 6;
                ("shared.txt".to_owned(), change(line, &format!("by {id}")), "MERGED", "1")
            }
            _ => (format!("{id}.txt"), "alone\n".to_owned(), "MERGED", "1"),
        };
        world.task_with(&id, &[&file, &own], &["--owns", &own, "--priority", priority]);
        let worktree = world.claim(&team.one, &id);
        world.checkpoint(&team.one, &id, &[&file, &own]);
        world.write_and_commit(&worktree, &[(&file, &text), (&own, "echo ok\n")]);
        let data = world.json(&team.one, &["task", "submit", &id]).ok().data();
        world.approve(&team.reviewer, &id, data["review_commit"].as_str().unwrap());
        right.push((id, end));
    }
    let base = team.head();
    let ran = world.json(&team.reviewer, &["merge", "--all"]);
    assert!([7, 11].contains(&ran.exit), "{}", ran.stderr);
    for (id, end) in &right {
        let task = world.show(id);
        assert_eq!(task["status"], *end, "{id}: {task}");
        match *end {
            "BLOCKED" => {
                assert!(task["blocked_reason"].as_str().unwrap().contains("shared.txt"), "{task}");
            }
            "INTEGRATION_FAILED" => assert_eq!(task["integration_failure"]["gate"], "check"),
            _ => assert_eq!(task["gates"]["results"][0]["status"], "pass"),
        }
    }
    // The gate passes at every commit of the first-parent history, checked with git alone.
    let history = world.git(&["rev-list", "--first-parent", &format!("{base}..integration")]);
    let commits: Vec<&str> = history.lines().collect();
    let ended = |end: &str| right.iter().filter(|(_, wanted)| *wanted == end).count();
    assert_eq!(commits.len(), ended("MERGED"));
    let place = world.home().join("looked-at");
    world.git(&["worktree", "add", "-q", "--detach", &place.to_string_lossy(), &base]);
    for commit in commits {
        world.git_in(&place, &["checkout", "-q", "--detach", commit]);
        let ran = world.command("sh", &place).args(["-c", check]).finish_status().expect("ran");
        assert!(ran.success(), "{commit} is red");
    }
    world.git(&["worktree", "remove", "--force", &place.to_string_lossy()]);
    let counts = &world.json(&HUMAN, &["status"]).ok().data()["counts"];
    assert_eq!((&counts["MERGED"], &counts["BLOCKED"]), (&json!(ended("MERGED")), &json!(ended("BLOCKED"))));
    assert_eq!(status(&team, "t07"), "INTEGRATION_FAILED");
    world.sound();
}
