//! Reviewers who approve everything, and reviewers who only seem to do so.

use super::Desk;
use crate::board::testing::{Bench, REASONS};
use crate::policy::alerts::Kind;

/// Approves each of these tasks, so many seconds after the review was claimed.
fn approve(desk: &mut Desk, names: &[&str], seconds: u64) {
    for name in names {
        desk.bench.hand_in("coder-1", name);
        let start = desk.bench.start_review(name);
        desk.bench.ok("reviewer-1", start);
        desk.bench.tick(seconds);
        let approve = desk.bench.approve(name);
        desk.bench.ok("reviewer-1", approve);
    }
}

const NAMES: [&str; 11] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"];

#[test]
fn five_quick_approvals_are_reported_once() {
    let mut desk = Desk::new(Bench::with_tasks(&NAMES));
    approve(&mut desk, &NAMES[..4], 3);
    assert!(desk.news(Kind::RubberStamp).is_empty(), "four say nothing");
    approve(&mut desk, &NAMES[4..5], 3);
    assert_eq!(desk.news(Kind::RubberStamp), ["reviewer-1"]);
    let text = desk.text(Kind::RubberStamp);
    for part in ["no issue raised in 5", "3 s from taking", "median of 5"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    approve(&mut desk, &NAMES[5..10], 3);
    assert!(desk.news(Kind::RubberStamp).is_empty(), "the same is reported once");
    assert!(desk.text(Kind::RubberStamp).contains("10 of 10 verdicts are approvals"));
}

#[test]
fn slow_approvals_are_reported_after_ten() {
    let mut desk = Desk::new(Bench::with_tasks(&NAMES));
    approve(&mut desk, &NAMES[..9], 20);
    assert!(desk.news(Kind::RubberStamp).is_empty(), "twenty seconds are enough to look");
    approve(&mut desk, &NAMES[9..10], 20);
    assert_eq!(desk.news(Kind::RubberStamp), ["reviewer-1"]);
}

#[test]
fn reviewer_who_raised_an_issue_is_not_reported() {
    let mut desk = Desk::new(Bench::with_tasks(&NAMES));
    desk.bench.rejected("coder-1", NAMES[10], REASONS[0]);
    approve(&mut desk, &NAMES[..8], 60);
    assert!(desk.news(Kind::RubberStamp).is_empty());
    // Quick, and mostly approvals: one sign alone.
    let mut desk = Desk::new(Bench::with_tasks(&NAMES));
    desk.bench.rejected("coder-1", NAMES[10], REASONS[0]);
    approve(&mut desk, &NAMES[..8], 1);
    assert!(desk.news(Kind::RubberStamp).is_empty(), "8 of 9, an issue raised");
}
