//! Repeated commands get the first answer again, or a refusal.

use crate::board::apply::Applied;
use crate::board::refusal::Code;
use crate::board::rules::*;
use crate::board::state::REQUESTS_KEPT;
use crate::board::testing::*;

#[test]
fn a_repeated_request_gets_the_first_answer() {
    let mut bench = Bench::new();
    let key = request("r1", "digest");
    let note = bench.note("hello");
    let first = bench.attempt(bench.actor("human"), note.clone(), Some(&key)).expect("accepted");
    let Applied::Changed(answer) = first else { panic!("nothing changed") };
    bench.ok("human", bench.note("another"));
    let again = bench.attempt(bench.actor("human"), note.clone(), Some(&key)).expect("accepted");
    assert_eq!(format!("{again:?}"), format!("repeated: {}", answer.to_json()));
    assert_eq!(bench.board.rest.human_notes.len(), 2);
    // Other arguments are another command.
    let other = request("r1", "other digest");
    let refusal = bench.attempt(bench.actor("human"), note.clone(), Some(&other)).expect_err("reused");
    assert_eq!(refusal.code, Code::RequestReused);
    // Another actor has its own request ids.
    let theirs = bench.attempt(bench.actor("coder-1"), note, Some(&other)).expect("accepted");
    assert!(matches!(theirs, Applied::Changed(_)));
}

#[test]
fn a_refused_request_is_not_remembered() {
    let mut bench = Bench::with_tasks(&["t"]);
    let key = request("r1", "digest");
    bench.attempt(bench.actor("planner-1"), bench.unblock("t"), Some(&key)).expect_err("not blocked");
    bench.ok("planner-1", bench.block("t"));
    let now = bench.attempt(bench.actor("planner-1"), bench.unblock("t"), Some(&key)).expect("accepted");
    assert!(matches!(now, Applied::Changed(_)));
}

#[test]
fn the_last_sixty_four_of_each_actor_are_kept() {
    let mut bench = Bench::new();
    let key = |number: usize| request(&format!("r{number}"), "digest");
    let other = key(0);
    bench.attempt(bench.actor("coder-1"), bench.note("mine"), Some(&other)).expect("accepted");
    let note = bench.note("hello");
    for number in 0..=REQUESTS_KEPT {
        bench.attempt(bench.actor("human"), note.clone(), Some(&key(number))).expect("accepted");
    }
    let kept =
        |name: &str| bench.board.rest.requests.iter().filter(|known| known.actor == agent(name)).count();
    assert_eq!((kept("human"), kept("coder-1")), (REQUESTS_KEPT, 1));
    let mut repeat = |number: usize| {
        let outcome =
            bench.attempt(bench.actor("human"), note.clone(), Some(&key(number))).expect("accepted");
        matches!(outcome, Applied::Repeated(_))
    };
    assert!(repeat(1), "the sixty-fourth last is kept");
    assert!(repeat(REQUESTS_KEPT), "the last is kept");
    assert!(!repeat(0), "the one before is forgotten");
}

#[test]
fn a_claim_is_answered_once_its_worktree_is_there() {
    let mut bench = Bench::with_tasks(&["t"]);
    let begin = BeginClaim { request: Some(request("r1", "claim t")), ..bench.begin("t") };
    bench.ok("coder-1", begin.clone());
    // The command was interrupted: a repetition resumes it, and the board shows it as in progress.
    assert_eq!(bench.refused("coder-1", begin.clone()), Code::IntentOpen);
    let answer = bench.ok("coder-1", bench.finish("t"));
    let again = bench.attempt(bench.actor("coder-1"), begin.clone(), None).expect("known");
    assert_eq!(format!("{again:?}"), format!("repeated: {answer}"));
    let other = BeginClaim { request: Some(request("r1", "claim u")), ..begin.clone() };
    assert_eq!(bench.refused("coder-1", other), Code::RequestReused);
    // Another agent's request with the same id is another request.
    assert_eq!(bench.refused("coder-2", begin), Code::Held);
}

#[test]
fn an_undone_claim_may_be_asked_for_again() {
    let mut bench = Bench::with_tasks(&["t"]);
    let begin = BeginClaim { request: Some(request("r1", "claim t")), ..bench.begin("t") };
    bench.ok("coder-1", begin.clone());
    bench.ok("coder-1", bench.cancel("t"));
    bench.ok("coder-1", begin);
}

#[test]
fn merge_answer_goes_to_its_first_requester() {
    for fails in [false, true] {
        let mut bench = Bench::with_tasks(&["t"]);
        bench.approved("coder-1", "t");
        let begin = BeginMerge { request: Some(request("m1", "merge t")), ..bench.begin_merge("t") };
        bench.ok("reviewer-1", begin.clone());
        // The process died; a person's command finishes the merge.
        let answer = if fails {
            bench.ok("human", bench.fail_merge("t", MergeFailure::RedGate))
        } else {
            bench.ok("human", bench.record_move("t"));
            bench.ok("human", bench.finish_merge("t"))
        };
        let again = bench.attempt(bench.actor("reviewer-1"), begin, None).expect("known");
        assert_eq!(format!("{again:?}"), format!("repeated: {answer}"));
    }
}
