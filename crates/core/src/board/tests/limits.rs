//! Sizes, each at one below, at, and one above its limit.

use crate::board::history::Assumption;
use crate::board::refusal::Code;
use crate::board::rules::*;
use crate::board::testing::*;

const TITLE: usize = 200;
const TEXT: usize = 64 * 1024;
const ITEMS: usize = 200;

/// Tries sizes around a limit; `make` builds the transition of that size on a fresh board.
fn around(limit: usize, what: &str, mut accepted: impl FnMut(usize) -> Result<(), Code>) {
    assert_eq!(accepted(limit - 1), Ok(()), "{what} of {limit} - 1");
    assert_eq!(accepted(limit), Ok(()), "{what} of {limit}");
    assert_eq!(accepted(limit + 1), Err(Code::Limit), "{what} of {limit} + 1");
}

fn adding(change: impl FnOnce(&mut NewTask)) -> Result<(), Code> {
    let mut bench = Bench::new();
    let mut task = new_task("t", "t/");
    change(&mut task);
    let draft = AddTasks { finalize: false, ..plan_of(vec![task]) };
    bench.attempt(bench.actor("planner-1"), draft, None).map(drop).map_err(|refusal| refusal.code)
}

#[test]
fn titles_count_characters_and_texts_bytes() {
    around(TITLE, "title", |size| adding(|task| task.title = "é".repeat(size)));
    around(TEXT, "description", |size| adding(|task| task.description = "x".repeat(size)));
    around(TEXT, "done_when", |size| adding(|task| task.done_when = vec!["x".repeat(size)]));
    around(TEXT, "spec_ref", |size| adding(|task| task.spec_ref = Some("x".repeat(size))));
}

#[test]
fn lists_have_an_end() {
    around(ITEMS, "done_when", |size| adding(|task| task.done_when = vec!["x".to_owned(); size]));
    around(ITEMS, "tags", |size| adding(|task| task.tags = vec!["x".to_owned(); size]));
    around(ITEMS, "scope.in", |size| adding(|task| task.scope.inside = patterns(&vec!["x/"; size])));
    around(ITEMS, "scope.out", |size| adding(|task| task.scope.outside = patterns(&vec!["x/"; size])));
    around(ITEMS, "owns", |size| adding(|task| task.owns = patterns(&vec!["x/"; size])));
    around(ITEMS, "depends_on", |size| {
        adding(|task| task.depends_on = (0..size).map(|number| id(&format!("d{number}"))).collect())
    });
}

#[test]
fn limits_of_a_task_are_at_least_one() {
    assert_eq!(adding(|task| task.max_review_cycles = Some(0)), Err(Code::Value));
    assert_eq!(adding(|task| task.max_coder_iterations = Some(0)), Err(Code::Value));
    assert_eq!(adding(|task| task.max_review_cycles = Some(1)), Ok(()));
}

#[test]
fn checkpoints_have_their_limits() {
    let mut bench = Bench::with_tasks(&["t"]);
    bench.claim("coder-1", "t");
    let write = |change: &dyn Fn(&mut WriteCheckpoint)| {
        let mut bench = bench.clone();
        let mut write = bench.checkpoint("t");
        change(&mut write);
        bench.attempt(bench.actor("coder-1"), write, None).map(drop).map_err(|refusal| refusal.code)
    };
    let intent = "The parser accepts ";
    around(TEXT, "intent", |size| {
        write(&|write| write.checkpoint.intent = format!("{intent}{}", "x".repeat(size - intent.len())))
    });
    around(TEXT, "risks", |size| write(&|write| write.checkpoint.risks = "x".repeat(size)));
    around(TEXT, "expect", |size| write(&|write| write.checkpoint.validation.expect = "x".repeat(size)));
    let assume = |text: &str| Assumption { text: text.to_owned(), critical: false };
    around(TEXT, "assumption", |size| {
        write(&|write| write.checkpoint.assumptions = vec![assume(&"x".repeat(size))])
    });
    around(ITEMS, "assumptions", |size| {
        write(&|write| write.checkpoint.assumptions = vec![assume("so"); size])
    });
    around(ITEMS, "files", |size| {
        write(&|write| write.checkpoint.files_to_modify = vec!["t/lib.rs".to_owned(); size])
    });
}

#[test]
fn reviews_have_their_limits() {
    let mut bench = Bench::with_tasks(&["t"]);
    bench.hand_in("coder-1", "t");
    bench.ok("reviewer-1", bench.start_review("t"));
    let reject = |change: &dyn Fn(&mut Reject)| {
        let mut bench = bench.clone();
        let mut reject = bench.reject("t", REASONS[0]);
        change(&mut reject);
        bench.attempt(bench.actor("reviewer-1"), reject, None).map(drop).map_err(|refusal| refusal.code)
    };
    around(TEXT, "reason", |size| reject(&|reject| reject.feedback.summary = "x".repeat(size)));
    around(TEXT, "issue", |size| reject(&|reject| reject.feedback.issues[0].issue = "x".repeat(size)));
    around(TEXT, "suggestion", |size| {
        reject(&|reject| reject.feedback.issues[0].suggestion = Some("x".repeat(size)))
    });
    around(ITEMS, "issues", |size| {
        reject(&|reject| {
            let one = reject.feedback.issues[0].clone();
            reject.feedback.issues = vec![one; size];
        })
    });
    around(ITEMS, "strengths", |size| {
        reject(&|reject| reject.feedback.strengths = vec!["clear".to_owned(); size])
    });
}

#[test]
fn notes_and_reports_have_their_limits() {
    let note = |size: usize| {
        let mut bench = Bench::new();
        let note = bench.note(&"x".repeat(size));
        bench.attempt(bench.actor("human"), note, None).map(drop).map_err(|refusal| refusal.code)
    };
    around(TEXT, "note", note);
    let block = |size: usize| {
        let mut bench = Bench::with_tasks(&["t"]);
        let block = Block { reason: "x".repeat(size), ..bench.block("t") };
        bench.attempt(bench.actor("planner-1"), block, None).map(drop).map_err(|refusal| refusal.code)
    };
    around(TEXT, "reason", block);
}

#[test]
fn invalid_board_settings_are_refused() {
    type Spoil = fn(&mut crate::board::Config);
    let cases: [Spoil; 8] = [
        |config| config.max_coder_iterations = 0,
        |config| config.max_review_cycles = 0,
        |config| config.breaker_rejections = 0,
        |config| config.lease_seconds = 0,
        |config| config.heartbeat_seconds = 0,
        |config| config.lease_seconds = 89,
        |config| config.same_reason_ratio = 1.1,
        |config| config.same_reason_ratio = f64::NAN,
    ];
    for spoil in cases {
        let mut config = crate::board::Config::new("integration");
        spoil(&mut config);
        let init = Init {
            goal: "a goal".to_owned(),
            spec_ref: "specs/vision.md".to_owned(),
            config,
            integration_head: commit(1),
            git_settings: None,
            made_below: None,
        };
        assert_eq!(Bench::empty().refused("human", init), Code::Value);
    }
}

#[test]
fn a_board_is_started_once_by_a_person_with_a_goal() {
    let init = |goal: &str| Init {
        goal: goal.to_owned(),
        spec_ref: "specs/vision.md".to_owned(),
        config: crate::board::Config::new("integration"),
        integration_head: commit(1),
        git_settings: None,
        made_below: None,
    };
    assert_eq!(Bench::empty().refused("human", init(" ")), Code::Incomplete);
    assert_eq!(Bench::empty().refused("coder-1", init("goal")), Code::HumanOnly);
    assert_eq!(Bench::new().refused("human", init("goal")), Code::BoardExists);
}
