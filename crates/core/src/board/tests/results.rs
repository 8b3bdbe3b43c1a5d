//! Tasks that deliver a result instead of a commit: how they end, who decides, and a walk through everything that can happen.

use crate::board::result::ResultStatus;
use crate::board::rules::*;
use crate::board::slice::SliceKind;
use crate::board::task::{Kind, Status};
use crate::board::testing::*;
use crate::board::{Code, Transition, violations};

const DIGEST: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

fn report(name: &str, by: &str, slice_kind: SliceKind) -> NewTask {
    NewTask {
        kind: Kind::Report,
        role: role(by),
        slice_kind: Some(slice_kind),
        scope: Default::default(),
        ..new_task(name, "unused/")
    }
}

/// `probe` for operators, `plan` for supervisors, and the agents for them.
fn bench() -> Bench {
    let mut bench = Bench::new();
    for (name, own) in [
        ("operator-1", &["operator"][..]),
        ("operator-2", &["operator"]),
        ("supervisor-1", &["supervisor"]),
        ("director-1", &["planner", "supervisor"]),
    ] {
        bench.register(name, own);
    }
    let tasks = vec![
        report("probe", "operator", SliceKind::Probe),
        report("plan", "supervisor", SliceKind::Work),
        NewTask { depends_on: vec![id("probe")], ..new_task("after", "after/") },
    ];
    bench.ok("human", plan_of(tasks));
    bench
}

fn submit(bench: &Bench, name: &str, status: ResultStatus) -> SubmitResult {
    let blocked = status == ResultStatus::Blocked;
    SubmitResult {
        task: id(name),
        epoch: Some(bench.task(name).epoch),
        status,
        summary: format!("{name} looked"),
        blocked_reason: blocked.then(|| "no network".to_owned()),
        evidence: Vec::new(),
        digest: DIGEST.to_owned(),
        found: Unchanged { head: untouched().head, changed: Vec::new(), untracked: Vec::new() },
    }
}

fn accept(name: &str) -> AcceptResult {
    AcceptResult {
        task: id(name),
        digest: DIGEST.to_owned(),
        tasks: Vec::new(),
        specs_found: Vec::new(),
        pins: Vec::new(),
    }
}

fn reject(name: &str, reason: &str) -> RejectResult {
    let findings = vec!["slice w-1 has no criterion".to_owned()];
    RejectResult { task: id(name), digest: DIGEST.to_owned(), reason: reason.to_owned(), findings }
}

#[test]
fn blessed_report_can_end() {
    let mut bench = bench();
    for name in ["probe", "plan"] {
        let (gate, hash, reason) = ("replay".to_owned(), "a1b2c3d4".to_owned(), "one more step".to_owned());
        bench.ok("human", BlessGate { task: Some(id(name)), gate, hash, reason });
    }
    bench.claim("operator-1", "probe");
    bench.ok("operator-1", submit(&bench, "probe", ResultStatus::Complete));
    bench.claim("supervisor-1", "plan");
    bench.ok("supervisor-1", submit(&bench, "plan", ResultStatus::Complete));
    bench.ok("planner-1", accept("plan"));
    assert!(bench.board.rest.expectations.is_empty());
    assert_eq!(violations(&bench.board), []);
}

#[test]
fn rejection_has_bounded_findings() {
    let mut bench = bench();
    bench.claim("supervisor-1", "plan");
    bench.ok("supervisor-1", submit(&bench, "plan", ResultStatus::Complete));
    let many = RejectResult { findings: vec!["x".to_owned(); 201], ..reject("plan", "too much") };
    assert_eq!(bench.refused("planner-1", many), Code::Limit);
    let long = RejectResult { findings: vec!["x".repeat(1 << 20)], ..reject("plan", "too long") };
    assert_ne!(bench.refused("planner-1", long), Code::Transition);
}

#[test]
fn complete_probe_ends_merged_with_nothing_merged() {
    let mut bench = bench();
    bench.claim("operator-1", "probe");
    assert_eq!(bench.refused("coder-1", bench.begin("after")), Code::DependencyUnmet);
    bench.ok("operator-1", submit(&bench, "probe", ResultStatus::Complete));
    let task = bench.task("probe");
    let merge = task.body().merge.as_ref().expect("a record");
    assert!(task.status == Status::Merged && merge.nothing && merge.commit.is_none());
    assert_eq!(task.result.as_ref().map(|result| result.digest.as_str()), Some(DIGEST));
    assert!(task.owns.is_empty() && task.review_commit.is_none() && task.body().approval.is_none());
    // What depends on it may start.
    bench.claim("coder-1", "after");
}

#[test]
fn blocked_and_partial_results_end_the_claim() {
    let mut bench = bench();
    bench.claim("operator-1", "probe");
    bench.ok("operator-1", submit(&bench, "probe", ResultStatus::Partial));
    assert_eq!(bench.status("probe"), Status::Idle);
    assert_eq!(bench.task("probe").body().dispatch_attempt(), 2);
    bench.claim("operator-2", "probe");
    let answer = bench.ok("operator-2", submit(&bench, "probe", ResultStatus::Partial));
    assert_eq!((answer["status"].as_str(), answer["attempt"].as_u64()), (Some("BLOCKED"), Some(2)));
    let reason = bench.task("probe").body().blocked_reason.clone().unwrap_or_default();
    assert!(reason.contains("attempt 2: partial result"), "{reason}");
    // An answer is worth another try.
    bench.ok("planner-1", bench.unblock("probe"));
    bench.claim("operator-2", "probe");
    bench.ok("operator-2", submit(&bench, "probe", ResultStatus::Blocked));
    assert_eq!(bench.task("probe").body().blocked_reason.as_deref(), Some("no network"));
}

#[test]
fn result_needs_an_unchanged_worktree_and_the_claim() {
    let mut bench = bench();
    assert_eq!(
        bench.refused("operator-1", submit(&bench, "probe", ResultStatus::Complete)),
        Code::Tier0SkippedState
    );
    bench.claim("operator-1", "probe");
    let good = submit(&bench, "probe", ResultStatus::Complete);
    let mut moved = good.clone();
    moved.found.head = commit(77);
    assert_eq!(bench.refused("operator-1", moved), Code::WorktreeDirty);
    let mut changed = good.clone();
    changed.found.changed = vec!["src/a.rs".to_owned()];
    assert_eq!(bench.refused("operator-1", changed), Code::WorktreeDirty);
    let late = SubmitResult { epoch: good.epoch.map(|epoch| epoch - 1), ..good.clone() };
    assert_eq!(bench.refused("operator-1", late), Code::Epoch);
    assert_eq!(bench.refused("operator-2", good.clone()), Code::LeaseLost);
    assert_eq!(bench.refused("operator-1", bench.submit("probe")), Code::KindMismatch);
    let mut silent = submit(&bench, "probe", ResultStatus::Blocked);
    silent.blocked_reason = None;
    assert_eq!(bench.refused("operator-1", silent), Code::Incomplete);
    let mut listed = good;
    listed.found.untracked = vec!["notes.txt".to_owned()];
    assert_eq!(bench.ok("operator-1", listed)["untracked"][0], "notes.txt");
    // A code task takes no result.
    bench.claim("coder-1", "after");
    assert_eq!(bench.refused("coder-1", submit(&bench, "after", ResultStatus::Complete)), Code::KindMismatch);
}

#[test]
fn plan_is_accepted_by_others_than_its_author() {
    let mut bench = bench();
    bench.claim("director-1", "plan");
    bench.ok("director-1", submit(&bench, "plan", ResultStatus::Complete));
    assert_eq!(bench.status("plan"), Status::ReadyForReview);
    assert_eq!(bench.task("plan").judged_by(), None);
    assert_eq!(bench.refused("reviewer-1", bench.start_review("plan")), Code::KindMismatch);
    assert_eq!(bench.refused("director-1", accept("plan")), Code::Tier0SelfApproval);
    assert_eq!(bench.refused("coder-1", accept("plan")), Code::Role);
    let other = AcceptResult { digest: DIGEST.replace('0', "1"), ..accept("plan") };
    assert_eq!(bench.refused("planner-1", other), Code::Commit);
    for by in ["planner-1", "human", "liza"] {
        let mut bench = bench.clone();
        bench.ok(by, accept("plan"));
        assert_eq!(bench.status("plan"), Status::Merged, "{by}");
    }
    // The tasks of the plan come in the same commit, or nothing does.
    let mut wrong = accept("plan");
    wrong.tasks = vec![report("w-probe", "coder", SliceKind::Probe)];
    wrong.specs_found = vec![id("w-probe")];
    assert_eq!(bench.refused("liza", wrong.clone()), Code::Slice);
    wrong.tasks[0].role = role("operator");
    bench.ok("liza", wrong);
    assert_eq!(bench.status("w-probe"), Status::Idle);
}

#[test]
fn rejected_plan_goes_back_until_a_limit() {
    let mut bench = bench();
    bench.claim("supervisor-1", "plan");
    bench.ok("supervisor-1", submit(&bench, "plan", ResultStatus::Complete));
    bench.ok("planner-1", reject("plan", "a slice lacks its criteria"));
    let task = bench.task("plan");
    assert_eq!((task.status, task.review_cycles_total), (Status::Rejected, 1));
    assert!(task.body().rejection_feedback.as_deref().unwrap_or_default().contains("slice w-1"));
    bench.claim("supervisor-1", "plan");
    assert_eq!(bench.task("plan").result, None);
    bench.ok("supervisor-1", submit(&bench, "plan", ResultStatus::Complete));
    let answer = bench.ok("human", reject("plan", "a slice lacks its criteria"));
    assert_eq!(answer["status"], "BLOCKED");
    assert_eq!(answer["blocked_reason"], "Same rejection reason twice in a row");
}

#[test]
fn slices_that_fit_no_role_are_not_planned() {
    let mut bench = bench();
    let mut owner = report("x", "operator", SliceKind::Probe);
    owner.owns = patterns(&["src/"]);
    for (task, code) in [
        (owner, Code::Slice),
        (report("x", "coder", SliceKind::Work), Code::Slice),
        (report("x", "operator", SliceKind::Merge), Code::Slice),
        (
            NewTask { role: role("test_engineer"), timebox_minutes: Some(13), ..new_task("x", "x/") },
            Code::Limit,
        ),
    ] {
        assert_eq!(bench.refused("human", plan_of(vec![task])), code);
    }
    // What is on record from before is judged as it was then.
    let former = NewTask { role: role("test_engineer"), timebox_minutes: Some(13), ..new_task("x", "x/") };
    bench.ok("human", AddTasks { slices: false, ..plan_of(vec![former]) });
}

#[test]
fn every_walk_of_a_report_keeps_the_invariants() {
    let (mut ended, mut refused) = (std::collections::BTreeSet::new(), 0u32);
    for seed in 1..=150u64 {
        let mut dice = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut roll = |sides: usize| {
            dice ^= dice << 13;
            dice ^= dice >> 7;
            dice ^= dice << 17;
            ((dice >> 33) % sides as u64) as usize
        };
        let mut bench = bench();
        for _ in 0..30 {
            let name = ["probe", "plan"][roll(2)];
            let by = match name {
                "probe" => ["operator-1", "operator-2", "planner-1", "human"][roll(4)],
                _ => ["supervisor-1", "director-1", "planner-1", "liza"][roll(4)],
            };
            let epochs: Vec<u64> = ["probe", "plan"].map(|name| bench.task(name).epoch).to_vec();
            let open = bench.board.intent_of(&id(name)).is_some();
            let status = ResultStatus::ALL[roll(3)];
            let what: Transition = match roll(11) {
                0..=2 if open => bench.finish(name).into(),
                0..=2 => bench.begin(name).into(),
                3 if open => bench.cancel(name).into(),
                3 => bench.release(name).into(),
                4 | 5 => submit(&bench, name, status).into(),
                6 => SubmitResult { epoch: Some(0), ..submit(&bench, name, status) }.into(),
                7 => accept(name).into(),
                8 => reject(name, REASONS[roll(3)]).into(),
                9 if bench.status(name) == Status::Blocked => bench.unblock(name).into(),
                9 => bench.block(name).into(),
                _ => {
                    bench.tick(LEASE);
                    bench.hand_off(name).into()
                }
            };
            let late = matches!(&what, Transition::SubmitResult(result) if result.epoch == Some(0));
            let before = bench.status(name);
            let actor = bench.actor(by);
            // The bench itself checks every invariant after each change.
            let done = bench.attempt(actor, what.clone(), None).is_ok();
            refused += u32::from(!done);
            assert!(!(late && done), "a late result got through");
            assert!(!before.is_terminal() || !done || bench.status(name) == before, "{before} was left");
            for (former, name) in epochs.iter().zip(["probe", "plan"]) {
                assert!(bench.task(name).epoch >= *former, "the epoch went back");
            }
            if done && bench.status(name) == Status::Merged && before != Status::Merged {
                let task = bench.task(name);
                assert!(
                    task.result.is_some() && task.body().merge.as_ref().is_some_and(|merge| merge.nothing)
                );
                if name == "plan" {
                    assert!(matches!(what, Transition::AcceptResult(_)), "a plan ended without acceptance");
                }
            }
            ended.insert((name, bench.status(name)));
        }
    }
    for status in [Status::Merged, Status::Blocked, Status::Idle, Status::Working] {
        assert!(ended.contains(&("probe", status)), "no walk came to {status}");
    }
    assert!(ended.contains(&("plan", Status::ReadyForReview)) && ended.contains(&("plan", Status::Merged)));
    assert!(refused > 100, "{refused}");
}
