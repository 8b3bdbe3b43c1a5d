//! The red team's turn, the reviewer's checklist, and work handed to another role.

use crate::board::checklist::{Answer, GivenAnswer, ItemName};
use crate::board::intent::Work;
use crate::board::review::{Feedback, Severity};
use crate::board::rules::*;
use crate::board::task::{Risk, Status, TurnStatus};
use crate::board::testing::*;
use crate::board::{Code, violations};

fn pending() -> Bench {
    let mut bench = Bench::with_tasks(&["t"]);
    bench.awaiting_red_team("coder-2", "t");
    bench
}

fn taken() -> Bench {
    let mut bench = pending();
    bench.ok("red-1", bench.start_review("t"));
    bench
}

#[test]
fn the_turn_depends_on_the_risk() {
    for (from, has_turn) in
        [(None, false), (Some(Risk::Low), true), (Some(Risk::Medium), true), (Some(Risk::High), false)]
    {
        let mut bench = Bench::new();
        let task = NewTask { risk: Risk::Medium, ..new_task("t", "t/") };
        bench.ok("planner-1", plan_of(vec![task]));
        bench.hand_in("coder-1", "t");
        bench.ok("reviewer-1", bench.start_review("t"));
        bench.ok("reviewer-1", Approve { red_team_from: from, ..bench.approve("t") });
        assert_eq!(bench.task("t").awaits_red_team(), has_turn, "{from:?}");
    }
}

#[test]
fn nothing_is_merged_before_the_turn_is_over() {
    let mut bench = pending();
    let refusal = bench.refusal("reviewer-1", bench.begin_merge("t"));
    assert_eq!(refusal.code, Code::RedTeam);
    assert!(refusal.hint.is_some_and(|hint| hint.contains("liza review claim t")));
    assert_eq!(bench.refused("human", bench.begin_merge("t")), Code::RedTeam);
    bench.ok("red-1", bench.start_review("t"));
    let refusal = bench.refusal("reviewer-1", bench.begin_merge("t"));
    assert!(refusal.message.contains("`red-1` reviews it now"), "{refusal}");
    bench.ok("red-1", bench.clear("t"));
    assert_eq!(bench.status("t"), Status::Approved);
    assert!(bench.task("t").review_lease.is_none());
    bench.merge("t");
    let turn = bench.task("t").red_team.clone().expect("it is kept");
    assert_eq!((turn.status, turn.by), (TurnStatus::Cleared, Some(agent("red-1"))));
}

/// Not even a person's resolution of a conflict skips the turn.
#[test]
fn a_blocked_task_waits_for_its_turn_too() {
    let mut bench = taken();
    bench.ok("planner-1", bench.block("t"));
    assert!(bench.task("t").review_lease.is_none());
    let resolved = BeginMerge { resolved: Some(commit(60)), ..bench.begin_merge("t") };
    assert_eq!(bench.refused("human", resolved), Code::RedTeam);
    bench.ok("planner-1", bench.unblock("t"));
    assert!(bench.task("t").awaits_red_team());
}

#[test]
fn red_team_or_person_takes_the_turn() {
    let code = |by: &str| {
        let mut bench = pending();
        let start = bench.start_review("t");
        match bench.attempt(bench.actor(by), start, None) {
            Ok(_) => "ok",
            Err(refusal) => refusal.code.as_str(),
        }
    };
    assert_eq!(code("red-1"), "ok");
    assert_eq!(code("both-1"), "ok");
    assert_eq!(code("human"), "ok");
    // A code reviewer is refused by status; the other roles are refused by role.
    assert_eq!(code("reviewer-1"), "refused.transition");
    assert_eq!(code("reviewer-2"), "refused.transition");
    for by in ["coder-1", "coder-2", "planner-1", "overseer-1", "auditor-1"] {
        assert_eq!(code(by), "tier0.role_boundary", "{by}");
    }
}

#[test]
fn neither_implementer_nor_approver_attacks() {
    let mut bench = Bench::with_tasks(&["t", "u", "v"]);
    bench.awaiting_red_team("both-1", "t");
    assert_eq!(bench.refused("both-1", bench.start_review("t")), Code::Tier0SelfApproval);
    for (name, approver) in [("u", "both-1"), ("v", "human")] {
        bench.hand_in("coder-1", name);
        bench.ok(approver, bench.start_review(name));
        bench.ok(approver, Approve { red_team_from: Some(Risk::Low), ..bench.approve(name) });
        assert_eq!(bench.refused(approver, bench.start_review(name)), Code::Tier0SelfApproval);
        assert_eq!(bench.refused(approver, bench.clear(name)), Code::Tier0SelfApproval);
        assert_eq!(
            bench.refused(approver, bench.finding_of_red_team(name, REASONS[0])),
            Code::Tier0SelfApproval
        );
    }
}

#[test]
fn a_verdict_is_bound_to_lease_and_commit() {
    let mut bench = taken();
    assert_eq!(bench.refused("human", bench.clear("t")), Code::LeaseLost);
    assert_eq!(bench.refused("both-1", bench.start_review("t")), Code::Held);
    let other = ClearByRedTeam { commit: commit(5), ..bench.clear("t") };
    assert_eq!(bench.refused("red-1", other), Code::Commit);
    let moved = ClearByRedTeam { branch_head: Some(commit(5)), ..bench.clear("t") };
    assert_eq!(bench.refused("red-1", moved), Code::Commit);
    let silent = ClearByRedTeam { feedback: Feedback::default(), ..bench.clear("t") };
    assert_eq!(bench.refused("red-1", silent), Code::Incomplete);
    let mut found = bench.clear("t");
    found.feedback.issues = vec![finding(Severity::Nitpick)];
    assert_eq!(bench.refused("red-1", found), Code::IssuesOpen);
    let mut nothing = bench.finding_of_red_team("t", REASONS[0]);
    nothing.feedback.issues.clear();
    assert_eq!(bench.refused("red-1", nothing), Code::FeedbackIncomplete);
    // A new incarnation has to claim the turn again.
    bench.register("red-1", &["red_team"]);
    assert_eq!(bench.refused("red-1", bench.clear("t")), Code::LeaseLost);
    bench.ok("red-1", bench.start_review("t"));
    bench.ok("red-1", RenewReview { task: id("t") });
    bench.ok("red-1", ReleaseReview { task: id("t") });
    bench.ok("both-1", bench.start_review("t"));
}

#[test]
fn a_switch_stops_the_turn() {
    for subject in [None, Some("t"), Some("red-1")] {
        let mut bench = taken();
        bench.world.switches.set.insert(pause(subject));
        assert_eq!(bench.refused("red-1", bench.start_review("t")), Code::Switched);
        assert_eq!(bench.refused("red-1", bench.clear("t")), Code::Switched);
        assert_eq!(bench.refused("red-1", bench.finding_of_red_team("t", REASONS[0])), Code::Switched);
    }
}

#[test]
fn red_team_finding_rejects_and_next_turn_begins() {
    let mut bench = taken();
    bench.ok("red-1", bench.finding_of_red_team("t", REASONS[0]));
    let task = bench.task("t");
    assert_eq!(task.status, Status::Rejected);
    assert_eq!((task.red_team.clone(), task.body().approval.clone()), (None, None));
    assert_eq!((task.review_cycles_total, task.body().consecutive_rejections), (1, 1));
    assert!(task.body().reviews.last().is_some_and(|review| review.red_team));
    assert_eq!(task.body().issues.iter().filter(|issue| issue.is_open()).count(), 1);
    bench.awaiting_red_team("coder-2", "t");
    assert!(bench.task("t").awaits_red_team());
    assert_eq!(bench.refused("reviewer-1", bench.begin_merge("t")), Code::RedTeam);
    bench.ok("red-1", bench.start_review("t"));
    bench.ok("red-1", bench.clear("t"));
    bench.merge("t");
    assert_eq!(violations(&bench.board), []);
}

/// The approval in between does not make it a new complaint.
#[test]
fn the_same_finding_twice_blocks() {
    let mut bench = taken();
    bench.ok("red-1", bench.finding_of_red_team("t", REASONS[0]));
    bench.awaiting_red_team("coder-2", "t");
    bench.ok("red-1", bench.start_review("t"));
    bench.ok("red-1", bench.finding_of_red_team("t", REASONS[0]));
    assert_eq!(bench.status("t"), Status::Blocked);
    assert_eq!(bench.task("t").failed_by, [agent("coder-2")]);
}

#[test]
fn a_branch_that_moves_voids_approval_and_turn() {
    let mut bench = taken();
    let moved = BeginMerge { branch_head: Some(commit(7)), ..bench.begin_merge("t") };
    assert_eq!(bench.refused("reviewer-1", moved), Code::ApprovalVoid);
    bench.ok("reviewer-1", VoidApproval { task: id("t"), branch_head: Some(commit(7)) });
    let task = bench.task("t");
    assert_eq!(
        (task.status, task.red_team.clone(), task.review_lease.clone()),
        (Status::Rejected, None, None)
    );
}

fn answer(number: usize, answer: Answer, note: Option<&str>) -> GivenAnswer {
    GivenAnswer { item: ItemName::Number(number), answer, note: note.map(str::to_owned) }
}

fn with_checklist() -> Bench {
    let mut bench = Bench::new();
    let task = NewTask { checklist: vec!["no race?".to_owned()], ..new_task("t", "t/") };
    bench.ok("planner-1", plan_of(vec![task]));
    bench.hand_in("coder-1", "t");
    bench.ok("reviewer-1", bench.start_review("t"));
    bench
}

#[test]
fn verdict_answers_every_checklist_item() {
    let mut bench = with_checklist();
    let of_risk = vec!["no secret in the log?".to_owned()];
    let mut approve = Approve { of_risk: of_risk.clone(), ..bench.approve("t") };
    let refusal = bench.refusal("reviewer-1", approve.clone());
    assert_eq!(refusal.code, Code::FeedbackIncomplete);
    assert!(refusal.message.contains("1. no race?; 2. no secret in the log?"), "{refusal}");
    let mut reject = Reject { of_risk, ..bench.reject("t", REASONS[0]) };
    assert_eq!(bench.refused("reviewer-1", reject.clone()), Code::FeedbackIncomplete);
    // A discussion needs no answers.
    bench.clone().ok("reviewer-1", bench.discuss("t"));

    approve.feedback.checklist = vec![answer(1, Answer::Yes, None), answer(2, Answer::No, None)];
    assert_eq!(bench.refused("reviewer-1", approve.clone()), Code::IssuesOpen);
    reject.feedback.checklist =
        vec![answer(1, Answer::Yes, None), answer(2, Answer::No, Some("the token is"))];
    let mut rejected = bench.clone();
    rejected.ok("reviewer-1", reject);
    let feedback = rejected.task("t").body().rejection_feedback.clone().unwrap_or_default();
    assert!(feedback.contains("answered with no: no secret in the log? (the token is)"), "{feedback}");

    approve.feedback.checklist = vec![answer(1, Answer::Yes, None), answer(2, Answer::NotApplicable, None)];
    assert_eq!(bench.refused("reviewer-1", approve.clone()), Code::FeedbackIncomplete);
    approve.feedback.checklist[1].note = Some("it logs nothing".to_owned());
    bench.ok("reviewer-1", approve);
    let review = bench.task("t").body().reviews.last().cloned().expect("a review");
    let kept: Vec<_> = review.checklist.iter().map(|one| (one.item.as_str(), one.answer)).collect();
    assert_eq!(kept, [("no race?", Answer::Yes), ("no secret in the log?", Answer::NotApplicable)]);
}

#[test]
fn a_handoff_to_another_role_and_back() {
    let mut bench = Bench::with_tasks(&["t"]);
    bench.register("tester-1", &["test_engineer"]);
    bench.claim("coder-1", "t");
    let to = |bench: &Bench, name: &str| HandOff { to_role: Some(role(name)), ..bench.hand_off("t") };
    for wrong in ["code_reviewer", "planner", "red_team", "overseer"] {
        assert_eq!(bench.refused("coder-1", to(&bench, wrong)), Code::Value);
    }
    bench.ok("coder-1", to(&bench, "test_engineer"));
    assert_eq!(bench.task("t").role, role("test_engineer"));
    assert_eq!(bench.task("t").body().planned_role, Some(role("coder")));
    assert_eq!(bench.refused("coder-2", bench.begin("t")), Code::Tier0Role);
    bench.ok("tester-1", bench.begin("t"));
    let intent = bench.board.intent_of(&id("t")).expect("a claim under way");
    let Work::Claim(claim) = &intent.work else { panic!("not a claim") };
    assert_eq!(claim.start, commit(99), "it starts at the former head");
    bench.ok("tester-1", bench.finish("t"));
    bench.ok("tester-1", to(&bench, "coder"));
    assert_eq!(
        (bench.task("t").role.clone(), bench.task("t").body().planned_role.clone()),
        (role("coder"), None)
    );
    let handoffs: Vec<_> = bench
        .task("t")
        .body()
        .history
        .iter()
        .filter(|line| line.event == crate::board::history::Event::HandedOff)
        .filter_map(|line| line.detail.clone())
        .collect();
    assert!(handoffs[0].starts_with("from coder to test_engineer:"), "{handoffs:?}");
    bench.hand_in("coder-1", "t");
    bench.register("tester-1", &["test_engineer", "code_reviewer"]);
    assert_eq!(bench.refused("tester-1", bench.start_review("t")), Code::Tier0SelfApproval);
    // Without a role, the task keeps its role.
    let mut other = Bench::with_tasks(&["t"]);
    other.claim("coder-1", "t");
    other.ok("coder-1", other.hand_off("t"));
    assert_eq!(other.task("t").role, role("coder"));
}

#[test]
fn finding_reopens_issues_closed_by_silence() {
    let mut bench = Bench::with_tasks(&["t"]);
    bench.rejected("coder-2", "t", REASONS[0]);
    assert!(bench.task("t").body().issues[0].is_open());
    bench.awaiting_red_team("coder-2", "t");
    assert!(!bench.task("t").body().issues[0].is_open(), "closed by an approval without a word");
    bench.ok("red-1", bench.start_review("t"));
    let mut reject = bench.finding_of_red_team("t", REASONS[1]);
    reject.feedback.prior = Vec::new();
    bench.ok("red-1", reject);
    assert!(bench.task("t").body().issues[0].is_open());
    assert_eq!(violations(&bench.board), []);
}
