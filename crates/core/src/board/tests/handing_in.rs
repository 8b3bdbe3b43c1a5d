//! Checkpoint and submit: what a coder announces, and what it submits.

use crate::board::history::Assumption;
use crate::board::refusal::{Class, Code};
use crate::board::rules::*;
use crate::board::task::{Handout, Status};
use crate::board::testing::*;

fn working() -> Bench {
    let mut bench = Bench::with_tasks(&["t"]);
    bench.claim("coder-1", "t");
    bench
}

fn announced() -> Bench {
    let mut bench = working();
    bench.ok("coder-1", bench.checkpoint("t"));
    bench
}

#[test]
fn every_weak_part_of_a_checkpoint_is_named() {
    type Spoil = fn(&mut WriteCheckpoint);
    let cases: [(&str, Spoil); 10] = [
        ("intent", |write| write.checkpoint.intent.clear()),
        ("intent", |write| write.checkpoint.intent = "TBD".to_owned()),
        ("intent", |write| write.checkpoint.intent = "fix it".to_owned()),
        ("risks", |write| write.checkpoint.risks = " \n".to_owned()),
        ("validation", |write| write.checkpoint.validation.command.clear()),
        ("validation", |write| write.checkpoint.validation.command = " true ".to_owned()),
        ("validation", |write| write.checkpoint.validation.command = ":".to_owned()),
        ("validation", |write| write.checkpoint.validation.expect.clear()),
        ("files_to_modify", |write| write.checkpoint.files_to_modify.clear()),
        ("assumptions", |write| write.checkpoint.assumptions[0].text.clear()),
    ];
    let mut bench = working();
    for (part, spoil) in cases {
        let mut write = bench.checkpoint("t");
        spoil(&mut write);
        let refusal = bench.refusal("coder-1", write);
        assert_eq!(refusal.code, Code::CheckpointWeak, "{part}");
        assert!(refusal.message.contains(part), "{part}: {}", refusal.message);
    }
    let mut empty = bench.checkpoint("t");
    for (_, spoil) in cases {
        spoil(&mut empty);
    }
    let refusal = bench.refusal("coder-1", empty);
    for part in ["intent", "risks", "validation", "files_to_modify", "assumptions"] {
        assert!(refusal.message.contains(part), "all at once: {}", refusal.message);
    }
}

#[test]
fn checkpoint_refuses_files_outside_scope() {
    let mut bench = Bench::with_tasks(&["other"]);
    let mut task = new_task("t", "t/");
    task.scope.inside.extend(patterns(&["common/", "other/"]));
    task.scope.outside = patterns(&["common/secret/"]);
    task.owns = patterns(&["t/"]);
    bench.ok("planner-1", plan_of(vec![task]));
    bench.claim("coder-2", "other");
    bench.claim("coder-1", "t");
    for (file, code) in [
        ("elsewhere.rs", Code::Scope),
        ("common/secret/key", Code::Scope),
        ("other/lib.rs", Code::Scope),
        ("../up", Code::Value),
        ("/root", Code::Value),
        (".git/config", Code::Value),
        (".liza/state.yaml", Code::Value),
    ] {
        let mut write = bench.checkpoint("t");
        write.checkpoint.files_to_modify.push(file.to_owned());
        let refusal = bench.refusal("coder-1", write);
        assert_eq!(refusal.code, code, "{file}");
        assert!(refusal.message.contains(file), "{}", refusal.message);
    }
    let mut shared = bench.checkpoint("t");
    shared.checkpoint.files_to_modify = vec!["common/a.rs".to_owned(), "t/a.rs".to_owned()];
    bench.ok("coder-1", shared);
}

#[test]
fn work_that_began_before_the_checkpoint_is_noticed() {
    let changed: [fn(&mut Handout); 3] = [
        |found| found.head = commit(8),
        |found| found.tree = commit(8),
        |found| found.merge_head = Some(commit(8)),
    ];
    let mut bench = working();
    for change in changed {
        let mut write = bench.checkpoint("t");
        change(&mut write.found);
        assert_eq!(bench.refused("coder-1", write), Code::CheckpointLate);
    }
    bench.ok("coder-1", bench.checkpoint("t"));
}

#[test]
fn too_many_critical_assumptions_block_the_task() {
    for (count, status) in [(2, Status::Working), (3, Status::Working), (4, Status::Blocked)] {
        let mut bench = working();
        let epoch = bench.task("t").epoch;
        let mut write = bench.checkpoint("t");
        write.checkpoint.assumptions = (0..count)
            .map(|number| Assumption { text: format!("assumption {number}"), critical: true })
            .collect();
        let outcome = bench.ok("coder-1", write);
        assert_eq!(outcome["status"], status.as_str(), "{count}");
        assert_eq!(bench.status("t"), status, "{count}");
        if status == Status::Blocked {
            let task = bench.task("t");
            assert_eq!(task.body().blocked_from, Some(Status::Working));
            assert_eq!(task.body().blocked_questions.len(), 3);
            assert!(task.body().blocked_questions[0].contains("assumption 0"));
            assert_eq!(task.epoch, epoch + 1);
            assert_eq!(task.failed_by, [agent("coder-1")]);
        }
    }
}

#[test]
fn submit_needs_a_checkpoint_of_this_iteration() {
    let mut bench = working();
    assert_eq!(bench.refused("coder-1", bench.submit("t")), Code::CheckpointMissing);
    bench.ok("coder-1", bench.checkpoint("t"));
    bench.ok("coder-1", bench.submit("t"));
    bench.ok("reviewer-1", bench.start_review("t"));
    bench.ok("reviewer-1", bench.reject("t", REASONS[0]));
    bench.claim("coder-1", "t");
    assert_eq!(bench.refused("coder-1", bench.submit("t")), Code::CheckpointMissing);
    // Another agent's checkpoint does not count either.
    bench.ok("coder-1", bench.checkpoint("t"));
    bench.tick(LEASE);
    bench.claim("coder-2", "t");
    assert_eq!(bench.refused("coder-2", bench.submit("t")), Code::CheckpointMissing);
}

#[test]
fn submit_refuses_incomplete_evidence() {
    type Spoil = fn(&mut Submit);
    let cases: [(Code, Spoil, &str); 12] = [
        (Code::WorktreeDirty, |submit| submit.evidence.dirty = vec!["t/new.rs".to_owned()], "t/new.rs"),
        (Code::BaseMissing, |submit| submit.evidence.contains_base = false, "started from"),
        (Code::NothingSubmitted, |submit| submit.evidence.files.clear(), "nothing"),
        (Code::Scope, |submit| submit.evidence.files.push("other.rs".to_owned()), "not inside scope IN"),
        (Code::Scope, |submit| submit.evidence.files.push("t/out/a.rs".to_owned()), "inside scope OUT"),
        (Code::Scope, |submit| submit.evidence.files.push("t/more.rs".to_owned()), "files_to_modify"),
        (Code::Scope, |submit| submit.evidence.files.push("t/held/a.rs".to_owned()), "owned by task held"),
        (Code::Scope, |submit| submit.evidence.files.push(".liza/state.yaml".to_owned()), ".liza"),
        (Code::ValidationRed, |submit| submit.evidence.validation = None, "not run"),
        (
            Code::ValidationRed,
            |submit| submit.evidence.validation.as_mut().expect("ran").exit = Some(1),
            "exited with 1",
        ),
        (
            Code::ValidationRed,
            |submit| submit.evidence.validation.as_mut().expect("ran").output_matched = false,
            "does not contain",
        ),
        (
            Code::Epoch,
            |submit| submit.evidence.validation.as_mut().expect("ran").command = "echo ok".to_owned(),
            "changed while",
        ),
    ];
    let mut bench = Bench::new();
    let mut task = new_task("t", "t/");
    task.scope.outside = patterns(&["t/out/"]);
    task.owns = patterns(&["t/lib.rs"]);
    bench.ok("planner-1", plan_of(vec![task, new_task("held", "t/held/")]));
    bench.claim("coder-1", "t");
    bench.ok("coder-1", bench.checkpoint("t"));
    bench.claim("coder-2", "held");
    for (code, spoil, phrase) in cases {
        let mut submit = bench.submit("t");
        spoil(&mut submit);
        let refusal = bench.refusal("coder-1", submit);
        assert_eq!(refusal.code, code, "{phrase}");
        assert!(refusal.message.contains(phrase), "{phrase}: {}", refusal.message);
    }
    let mut killed = bench.submit("t");
    killed.evidence.validation.as_mut().expect("ran").exit = None;
    assert_eq!(bench.refused("coder-1", killed).class(), Class::Gate);
    bench.ok("coder-1", bench.submit("t"));
}

/// Files announced in an earlier round of the same attempt need not be announced again; those of another agent do.
#[test]
fn announced_files_hold_for_the_attempt() {
    let mut bench = working();
    let mut wide = bench.checkpoint("t");
    wide.checkpoint.files_to_modify = vec!["t/old.rs".to_owned()];
    bench.ok("coder-1", wide);
    bench.tick(LEASE);
    bench.claim("coder-1", "t");
    bench.ok("coder-1", bench.checkpoint("t"));
    let touching = |bench: &Bench, file: &str| {
        let mut submit = bench.submit("t");
        submit.evidence.files.push(file.to_owned());
        submit
    };
    let mut same = bench.clone();
    same.ok("coder-1", touching(&same, "t/old.rs"));

    // coder-2 takes over and announces a file; coder-1 takes over again: neither inherits the other's announcement.
    bench.tick(LEASE);
    bench.claim("coder-2", "t");
    let mut theirs = bench.checkpoint("t");
    theirs.checkpoint.files_to_modify = vec!["t/theirs.rs".to_owned()];
    bench.ok("coder-2", theirs);
    bench.tick(LEASE);
    bench.claim("coder-1", "t");
    bench.ok("coder-1", bench.checkpoint("t"));
    for file in ["t/old.rs", "t/theirs.rs"] {
        assert_eq!(bench.refused("coder-1", touching(&bench, file)), Code::Scope, "{file}");
    }
    bench.ok("coder-1", bench.submit("t"));
}

#[test]
fn a_submission_ends_the_lease_and_names_the_commit() {
    let mut bench = announced();
    let submit = bench.submit("t");
    let head = submit.evidence.head.clone();
    let outcome = bench.ok("coder-1", submit);
    assert_eq!(outcome["review_commit"], head.as_str());
    let task = bench.task("t");
    assert_eq!((task.status, task.lease.is_none()), (Status::ReadyForReview, true));
    assert_eq!(task.review_commit.as_ref(), Some(&head));
    assert!(task.holds_paths);
}

/// A late writer gets a stale refusal (exit 3), whatever the task's status; this is no rule breach (Tier 0).
#[test]
fn every_holder_verb_refuses_an_old_epoch() {
    let bench = announced();
    let epoch = Some(bench.task("t").epoch);
    let mut taken = bench.clone();
    taken.tick(LEASE);
    taken.claim("coder-2", "t");
    let mut freed = bench.clone();
    freed.ok("overseer-1", freed.hand_off("t"));
    let mut blocked = bench.clone();
    blocked.ok("planner-1", blocked.block("t"));
    let mut gone = bench.clone();
    gone.ok("planner-1", gone.abandon("t"));
    for mut after in [taken, freed, blocked, gone] {
        let status = after.status("t");
        assert_eq!(after.refused("coder-1", Submit { epoch, ..after.submit("t") }), Code::Epoch, "{status}");
        assert_eq!(after.refused("coder-1", Renew { task: id("t"), epoch }), Code::Epoch, "{status}");
        let checkpoint = WriteCheckpoint { epoch, ..after.checkpoint("t") };
        assert_eq!(after.refused("coder-1", checkpoint), Code::Epoch, "{status}");
        assert_eq!(
            after.refused("coder-1", Release { epoch, ..after.release("t") }),
            Code::Epoch,
            "{status}"
        );
        assert_eq!(
            after.refused("coder-1", HandOff { epoch, ..after.hand_off("t") }),
            Code::Epoch,
            "{status}"
        );
        assert_eq!(after.refused("coder-1", Block { epoch, ..after.block("t") }), Code::Epoch, "{status}");
        let sync = RecordSync { task: id("t"), epoch, base: commit(4), conflicts: Vec::new(), handout: None };
        assert_eq!(after.refused("coder-1", sync), Code::Epoch, "{status}");
    }
}

#[test]
fn a_sync_moves_the_base_only_when_it_is_clean() {
    let mut bench = announced();
    let sync = |conflicts: Vec<String>| RecordSync {
        task: id("t"),
        epoch: None,
        base: commit(5),
        conflicts,
        handout: None,
    };
    bench.ok("coder-1", sync(vec!["t/lib.rs".to_owned()]));
    assert_eq!(bench.task("t").body().attempts[0].base_commit, commit(1));
    bench.ok("coder-1", sync(Vec::new()));
    assert_eq!(bench.task("t").body().attempts[0].base_commit, commit(5));
    // A sync before the checkpoint counts as a new start of the worktree.
    let mut bench = working();
    let moved = Handout { head: commit(9), ..untouched() };
    bench.ok("coder-1", RecordSync { handout: Some(moved.clone()), ..sync(Vec::new()) });
    assert_eq!(bench.refused("coder-1", bench.checkpoint("t")), Code::CheckpointLate);
    bench.ok("coder-1", WriteCheckpoint { found: moved, ..bench.checkpoint("t") });
}
