//! For any old board: no panic, no loss, and the result satisfies every invariant.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::board::task::{Submission, Validation};
use crate::board::time::Stamp;
use crate::board::{CommitId, Status, Wall, violations};

use super::{OldBoard, Repository, read, settle};
use crate::wire::state::Decoded;

const FIXTURES: [&str; 3] = [
    include_str!("../../../../../tests/cli/fixtures/v1-fresh.yaml"),
    include_str!("../../../../../tests/cli/fixtures/v1-mid-sprint.yaml"),
    include_str!("../../../../../tests/cli/fixtures/v1-odd.yaml"),
];

fn now() -> Stamp {
    Stamp { wall: Wall(1_768_923_000), monotonic: 1, boot: "b".to_owned() }
}

fn commit(digit: char) -> CommitId {
    CommitId::new(&digit.to_string().repeat(40)).expect("an id")
}

/// A repository that has every commit, or none.
struct Fake {
    commits: bool,
    branches: bool,
    landed: bool,
}

impl Repository for Fake {
    fn commit(&self, _: &str) -> Option<CommitId> {
        self.commits.then(|| commit('a'))
    }
    fn head_of(&self, _: &str) -> Option<CommitId> {
        self.branches.then(|| commit('a'))
    }
    fn base_of(&self, _: &CommitId) -> Option<CommitId> {
        self.commits.then(|| commit('b'))
    }
    fn in_integration(&self, _: &CommitId) -> bool {
        self.landed
    }
    fn parent_of(&self, _: &CommitId) -> Option<CommitId> {
        Some(commit('c'))
    }
    fn submission(&self, commit: &CommitId) -> Option<Submission> {
        Some(Submission {
            commit: commit.clone(),
            tree: None,
            merge_base: commit.clone(),
            time: Wall(0),
            files: Vec::new(),
            tests: Vec::new(),
            protected: Vec::new(),
            authors: Vec::new(),
            validation: Validation {
                command: String::new(),
                expect: String::new(),
                exit: None,
                output_matched: false,
                duration_ms: 0,
                log: String::new(),
                problem: None,
            },
        })
    }
}

fn repositories() -> Vec<Fake> {
    let mut all = Vec::new();
    for bits in 0..8 {
        all.push(Fake { commits: bits & 1 > 0, branches: bits & 2 > 0, landed: bits & 4 > 0 });
    }
    all
}

/// Settles the board in every repository; the result must be valid.
#[track_caller]
fn sound(old: &OldBoard, context: &str) {
    for git in repositories() {
        let (_, board) = settle(old.clone(), &git, &commit('d'), &now());
        assert_eq!(violations(&board), [], "{context}");
        for task in &board.tasks {
            assert!(task.lease.is_none() && task.review_lease.is_none(), "{context}: {}", task.id);
            assert_ne!(task.status, Status::Working, "{context}");
        }
        assert!(Decoded::unwritten(board).content().is_ok(), "{context}");
    }
}

#[test]
fn every_state_with_anything_missing_ends_sound() {
    let states = [
        "DRAFT",
        "UNCLAIMED",
        "CLAIMED",
        "READY_FOR_REVIEW",
        "APPROVED",
        "REJECTED",
        "BLOCKED",
        "INTEGRATION_FAILED",
        "MERGED",
        "SUPERSEDED",
        "ABANDONED",
        "READY",
        "nonsense",
    ];
    let whole = json!({
        "id": "t", "description": "d", "assigned_to": "coder-1", "worktree": ".worktrees/t", "base_commit": "b".repeat(40),
        "review_commit": "a".repeat(40), "merge_commit": "a".repeat(40), "approved_by": "reviewer-1",
        "done_when": "done", "spec_ref": "s.md", "scope": "IN: a.txt", "blocked_reason": "r", "blocked_questions": ["q"],
        "superseded_by": ["u"], "history": [{"time": "2026-01-20T15:30:00Z", "event": "claimed", "agent": "coder-1"}],
    });
    let keys: Vec<String> = whole.as_object().expect("a map").keys().cloned().collect();
    for state in states {
        for missing in keys.iter().map(Some).chain([None]) {
            for approver in ["reviewer-1", "coder-1"] {
                let mut task = whole.clone();
                task["status"] = json!(state);
                task["approved_by"] = json!(approver);
                if let Some(key) = missing {
                    task.as_object_mut().expect("a map").remove(key);
                }
                // A second started task with the same paths.
                let other = json!({ "id": "u", "description": "d", "status": "REJECTED", "assigned_to": "coder-2",
                    "done_when": "x", "scope": "IN: a.txt" });
                let board = json!({ "version": 1, "goal": { "spec_ref": "s.md" }, "tasks": [task, other] });
                let text = board.to_string();
                let old = read(text.as_bytes(), &now()).expect("it is read");
                sound(&old, &format!("{state} without {missing:?}, approved by {approver}"));
            }
        }
    }
}

fn settled(task: &Value) -> crate::board::Board {
    let board = json!({ "version": 1, "tasks": [task] });
    let old = read(board.to_string().as_bytes(), &now()).expect("it is read");
    settle(old, &Fake { commits: true, branches: true, landed: true }, &commit('d'), &now()).1
}

/// No approval is carried over, and every possible implementer is barred from reviewing.
#[test]
fn v1_implementers_are_kept_and_approvals_dropped() {
    let line = |event: &str, agent: &str| json!({ "event": event, "agent": agent });
    for (assigned, approved, history, status, implementers) in [
        (json!("coder-1"), "Coder-1", json!([]), Status::ReadyForReview, vec!["coder-1"]),
        (json!("coder-1"), "reviewer-1", json!([]), Status::ReadyForReview, vec!["coder-1"]),
        (json!(null), "coder-1", json!([]), Status::Idle, vec![]),
        (json!("nobody"), "coder-1", json!([line("claimed", "NOBODY")]), Status::Idle, vec![]),
        // An agent that only planned the task is no known implementer.
        (json!(null), "coder-1", json!([line("finalized", "planner-1")]), Status::Idle, vec!["planner-1"]),
        (
            json!("coder-2"),
            "coder-1",
            json!([line("Created", "planner-1"), line("CLAIMED", "coder-1"), line("APPROVED", "reviewer-1")]),
            Status::ReadyForReview,
            vec!["coder-2", "coder-1"],
        ),
        (
            json!("coder-2"),
            "coder-1",
            json!([line("implementation_complete", "coder-1"), { "event": "handoff", "from": "coder-3", "to": "Coder-2" }]),
            Status::ReadyForReview,
            vec!["coder-2", "coder-1", "coder-3"],
        ),
        (json!("coder 2"), "coder  2", json!([]), Status::ReadyForReview, vec!["coder-2"]),
        (json!("Human"), "human", json!([]), Status::ReadyForReview, vec!["human"]),
    ] {
        for state in ["APPROVED", "READY_FOR_REVIEW"] {
            let task = json!({ "id": "t", "description": "d", "status": state, "assigned_to": assigned, "done_when": "x",
                "approved_by": approved, "review_commit": "a".repeat(40), "history": history });
            let made = settled(&task);
            assert_eq!(violations(&made), [], "{task}");
            let (head, body) = (&made.tasks[0], made.tasks[0].body());
            assert_eq!(head.status, status, "{task}");
            let found: Vec<&str> = head.implementers.iter().map(|agent| agent.as_str()).collect();
            assert_eq!(found, implementers, "{task}");
            assert!(body.approval.is_none() && body.extra.contains_key("approved_by"), "{task}");
            assert_eq!(body.attempts.len(), 1, "the work is kept: {task}");
            assert_eq!(head.review_commit.is_some(), status == Status::ReadyForReview, "{task}");
            let detail = body.history.last().and_then(|line| line.detail.clone()).unwrap_or_default();
            assert_eq!(detail.contains("approvals are not carried over"), state == "APPROVED", "{detail}");
        }
    }
}

#[test]
fn a_task_that_was_only_planned_is_not_begun() {
    let task = json!({ "id": "t", "description": "d", "status": "UNCLAIMED", "done_when": "x",
        "history": [{ "event": "finalized", "agent": "planner-1" }] });
    let board = json!({ "version": 1, "tasks": [task] });
    let old = read(board.to_string().as_bytes(), &now()).expect("it is read");
    let git = Fake { commits: true, branches: false, landed: false };
    let (_, made) = settle(old, &git, &commit('d'), &now());
    assert_eq!((made.tasks[0].epoch, made.tasks[0].holds_paths), (0, false));
}

#[test]
fn long_keys_with_equal_prefix_stay_distinct() {
    let long = "k".repeat(250);
    let task = json!({ "id": "t", "description": "d", "status": "UNCLAIMED", "done_when": "x",
        (format!("{long}1")): "first", (format!("{long}2")): "second" });
    let made = settled(&task);
    assert_eq!(made.tasks[0].body().extra.len(), 2);
    assert!(Decoded::unwritten(made).content().is_ok());
}

/// A board that names the user's checkout or another branch sends no agent there.
#[test]
fn work_is_looked_for_only_where_tasks_work() {
    for (worktree, branch) in [
        (".", "main"),
        ("/home/me/repo", "integration"),
        ("../x", "main"),
        (".worktrees/../x", "HEAD"),
        (".worktrees/.merge", "x"),
    ] {
        let task = json!({ "id": "t", "description": "d", "status": "CLAIMED", "assigned_to": "c", "done_when": "x",
            "worktree": worktree, "branch": branch });
        let board = json!({ "version": 1, "tasks": [task] });
        let old = read(board.to_string().as_bytes(), &now()).expect("it is read");
        let (_, made) =
            settle(old, &Fake { commits: true, branches: true, landed: true }, &commit('d'), &now());
        let body = made.tasks[0].body();
        let attempt = body.attempt().expect("its branch is there");
        assert_eq!((attempt.worktree.as_str(), attempt.branch.as_str()), (".worktrees/t", "task/t"));
        assert!(body.extra.contains_key("worktree") && body.extra.contains_key("branch"), "{:?}", body.extra);
    }
}

#[test]
fn v1_dependency_cycles_are_broken() {
    let task = |id: &str, on: Value| json!({ "id": id, "description": id, "status": "UNCLAIMED", "done_when": "x", "depends_on": on });
    let superseded =
        json!({ "id": "s", "description": "s", "status": "SUPERSEDED", "superseded_by": ["s2"] });
    let back = json!({ "id": "s2", "description": "s2", "status": "SUPERSEDED", "superseded_by": ["s"] });
    let board = json!({ "version": 1, "tasks": [
        task("a", json!(["b"])), task("b", json!(["c"])), task("c", json!(["a"])), task("waits", json!(["a"])),
        task("me", json!(["me"])), superseded, back,
    ] });
    let old = read(board.to_string().as_bytes(), &now()).expect("it is read");
    sound(&old, "circles");
    let (_, made) =
        settle(old, &Fake { commits: true, branches: false, landed: false }, &commit('d'), &now());
    let waits = made.tasks.iter().find(|task| task.id.as_str() == "waits").expect("it is there");
    assert_eq!(waits.depends_on.len(), 1, "only what closes the circle is cut");
}

#[test]
fn damaged_boards_never_panic() {
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    let mut chance = move |below: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        usize::try_from(seed % below as u64).unwrap_or(0)
    };
    let mut read_whole = 0;
    for round in 0..600 {
        let mut bytes = FIXTURES[round % 3].as_bytes().to_vec();
        for _ in 0..=chance(4) {
            let at = chance(bytes.len());
            match chance(4) {
                0 => bytes[at] = b"\n :-[]{}'\"#&*|>,?x1"[chance(19)],
                1 => {
                    bytes.remove(at);
                }
                2 => bytes.truncate(at.max(1)),
                _ => {
                    let end = (at + chance(60)).min(bytes.len());
                    let piece = bytes[at..end].to_vec();
                    let to = chance(bytes.len());
                    bytes.splice(to..to, piece);
                }
            }
        }
        if let Ok(old) = read(&bytes, &now()) {
            read_whole += 1;
            let (_, board) =
                settle(old, &Fake { commits: true, branches: true, landed: true }, &commit('d'), &now());
            assert_eq!(violations(&board), [], "{}", String::from_utf8_lossy(&bytes));
        }
        let _ = super::read_log(&bytes);
        let _ = crate::wire::newer::read(&bytes);
    }
    assert!(read_whole > 50, "only {read_whole} could be read");
}

/// Every value of the old file is in the new one; keys with a new field may change their names.
#[test]
fn every_value_is_kept() {
    for fixture in FIXTURES {
        let fixture = fixture.replace("@REVIEW1@", "aaaaaaa").replace("@MERGE1@", "aaaaaaab");
        let fixture = fixture.replace("@BASE@", "b0b0b0b").replace("@REVIEW2@", "c0c0c0c");
        let fixture = fixture.replace("@REVIEW5@", "d0d0d0d").replace("@REVIEW7@", "e0e0e0e");
        let old = read(fixture.as_bytes(), &now()).expect("it is read");
        let git = Fake { commits: false, branches: false, landed: false };
        let (_, board) = settle(old, &git, &commit('d'), &now());
        let made = serde_json::to_string(&board_value(&board)).expect("JSON");
        let mut lost = BTreeSet::new();
        let value = crate::wire::read_foreign_value(fixture.as_bytes(), Default::default()).expect("YAML");
        leaves(&value, &mut |text| {
            let known = super::task::status(text).is_some() || super::loose_time(text).is_some();
            let escaped = serde_json::to_string(text).expect("JSON");
            let escaped = escaped.trim_matches('"');
            // A value may be inside the JSON text of an extra, escaped once more.
            let twice = serde_json::to_string(escaped).expect("JSON");
            let parts = escaped
                .split("\\n")
                .map(|line| line.trim().trim_start_matches("- "))
                .filter(|line| !line.is_empty());
            let found = known
                || made.contains(escaped)
                || made.contains(twice.trim_matches('"'))
                || parts.clone().all(|part| {
                    part.split(", ").all(|piece| {
                        made.contains(piece.trim_start_matches("IN: ").trim_start_matches("OUT: "))
                    })
                });
            if !found {
                lost.insert(text.to_owned());
            }
        });
        // Events have new names here; a renamed event is not lost.
        for renamed in [
            "ready_for_review",
            "reclaimed_after_rejection",
            "coder 1",
            "fix.auth flow",
            "medium",
            "disc-1",
            "COMPLETED",
            "ABORTED",
        ] {
            lost.remove(renamed);
        }
        assert!(lost.is_empty(), "{lost:?}\n{made}");
    }
}

fn leaves(value: &Value, see: &mut dyn FnMut(&str)) {
    match value {
        Value::String(text) => see(text),
        Value::Array(items) => items.iter().for_each(|item| leaves(item, see)),
        Value::Object(map) => map.values().for_each(|item| leaves(item, see)),
        _ => {}
    }
}

/// The whole board, in the order of the file.
fn board_value(board: &crate::board::Board) -> Value {
    let mut map = serde_json::Map::new();
    map.insert("version".to_owned(), crate::board::state::VERSION.into());
    map.insert("revision".to_owned(), board.revision.into());
    map.insert("journal".to_owned(), serde_json::to_value(&board.journal).unwrap_or_default());
    if let Ok(Value::Object(rest)) = serde_json::to_value(&board.rest) {
        map.extend(rest);
    }
    map.insert("tasks".to_owned(), board.tasks.iter().map(crate::wire::flat::task_value).collect());
    Value::Object(map)
}
