//! Who may do what in which state: every actor, every verb, every state, against the table of the specification.

use crate::board::records::{AnomalyKind, Urgency};
use crate::board::review::Severity;
use crate::board::rules::Transition;
use crate::board::rules::*;
use crate::board::task::Status;
use crate::board::testing::*;

use super::editing::other_title;

/// `coder-2` holds or last held the task, `reviewer-2` holds its review; the others only have their role.
pub(super) const ACTORS: [&str; 9] = [
    "planner-1",
    "coder-1",
    "coder-2",
    "reviewer-1",
    "reviewer-2",
    "red-1",
    "overseer-1",
    "auditor-1",
    "human",
];

pub(super) const VERBS: [&str; 22] = [
    "edit",
    "finalize",
    "claim",
    "checkpoint",
    "renew",
    "sync",
    "submit",
    "block",
    "unblock",
    "rescope",
    "abandon",
    "release",
    "handoff",
    "lock release",
    "review claim",
    "review renew",
    "review release",
    "approve",
    "reject",
    "discuss",
    "merge",
    "bless",
];

/// A board with task `t` in this state, and `other` beside it.
pub(super) fn in_state(status: Status) -> Bench {
    let mut bench = Bench::with_tasks(&["other"]);
    let mut draft = plan_of(vec![new_task("t", "t/")]);
    draft.finalize = false;
    bench.ok("planner-1", draft);
    if status != Status::Draft {
        bench
            .ok("planner-1", Finalize { tasks: vec![id("t")], specs_found: vec![id("t")], pins: Vec::new() });
    }
    match status {
        Status::Draft | Status::Idle => {}
        Status::Working => {
            bench.claim("coder-2", "t");
            bench.ok("coder-2", bench.checkpoint("t"));
        }
        Status::ReadyForReview => {
            bench.hand_in("coder-2", "t");
            bench.ok("reviewer-2", StartReview { task: id("t"), caps: Default::default() });
        }
        Status::Approved => bench.approved("coder-2", "t"),
        Status::Rejected => {
            bench.rejected("coder-2", "t", REASONS[0]);
        }
        Status::Blocked => {
            bench.claim("coder-2", "t");
            bench.ok("planner-1", bench.block("t"));
        }
        Status::IntegrationFailed => bench.failed_to_merge("coder-2", "t", MergeFailure::RedGate),
        Status::Merged => {
            bench.approved("coder-2", "t");
            bench.merge("t");
        }
        Status::Superseded => {
            bench.ok("planner-1", bench.replace("t", "other"));
        }
        Status::Abandoned => {
            bench.ok("planner-1", bench.abandon("t"));
        }
    }
    assert_eq!(bench.status("t"), status);
    bench
}

pub(super) fn transition(bench: &Bench, verb: &str) -> Transition {
    let t = || id("t");
    match verb {
        "edit" => other_title(bench, "t").into(),
        "finalize" => Finalize { tasks: vec![t()], specs_found: vec![t()], pins: Vec::new() }.into(),
        "claim" => bench.begin("t").into(),
        "checkpoint" => bench.checkpoint("t").into(),
        "renew" => Renew { task: t(), epoch: None }.into(),
        "sync" => {
            RecordSync { task: t(), epoch: None, base: commit(3), conflicts: Vec::new(), handout: None }
                .into()
        }
        "submit" => bench.submit("t").into(),
        "block" => bench.block("t").into(),
        "unblock" => bench.unblock("t").into(),
        "rescope" => bench.replace("t", "other").into(),
        "abandon" => bench.abandon("t").into(),
        "release" => bench.release("t").into(),
        "handoff" => bench.hand_off("t").into(),
        "lock release" => bench.unlock("t").into(),
        "review claim" => bench.start_review("t").into(),
        "review renew" => RenewReview { task: t() }.into(),
        "review release" => ReleaseReview { task: t() }.into(),
        "approve" => bench.approve("t").into(),
        "reject" => bench.reject("t", REASONS[1]).into(),
        "discuss" => bench.discuss("t").into(),
        "merge" => bench.begin_merge("t").into(),
        "bless" => bless(Some("t")).into(),
        other => panic!("no such verb: {other}"),
    }
}

fn bless(task: Option<&str>) -> BlessGate {
    BlessGate {
        gate: "replay".to_owned(),
        hash: "a1b2c3d4".to_owned(),
        task: task.map(id),
        reason: "one more step".to_owned(),
    }
}

/// The table of states, written out: `ok`, or the code of the refusal.
fn expected(verb: &str, status: Status, by: &str) -> &'static str {
    use Status::*;
    let plans = matches!(by, "planner-1" | "human");
    let codes = matches!(by, "coder-1" | "coder-2" | "human");
    let reviews = matches!(by, "reviewer-1" | "reviewer-2" | "human");
    let holder = by == "coder-2";
    let review_holder = by == "reviewer-2";
    let above = matches!(by, "overseer-1" | "human");
    let wrong_state = "refused.transition";
    match verb {
        "edit" | "finalize" | "unblock" | "rescope" | "abandon" if !plans => "refused.role",
        "edit" => match status {
            Draft | Idle | Blocked => "ok",
            _ => wrong_state,
        },
        "finalize" => {
            if status == Draft {
                "ok"
            } else {
                wrong_state
            }
        }
        "unblock" => {
            if status == Blocked {
                "ok"
            } else {
                wrong_state
            }
        }
        "rescope" | "abandon" => {
            if status.is_terminal() {
                wrong_state
            } else {
                "ok"
            }
        }

        "claim" if !codes => "tier0.role_boundary",
        "claim" => match status {
            Idle => "ok",
            Rejected | IntegrationFailed => {
                if holder {
                    "ok"
                } else {
                    "stale.reserved"
                }
            }
            Working => {
                if holder {
                    wrong_state
                } else {
                    "stale.held"
                }
            }
            _ => wrong_state,
        },

        "submit" if matches!(status, Draft | Idle) => "tier0.skipped_state",
        "checkpoint" | "renew" | "sync" | "submit" => match status {
            Working => {
                if holder {
                    "ok"
                } else {
                    "stale.lease_lost"
                }
            }
            _ => wrong_state,
        },

        "block" => match status {
            Blocked | Merged | Superseded | Abandoned => wrong_state,
            _ if plans || above => "ok",
            Working => {
                if holder {
                    "ok"
                } else {
                    "stale.lease_lost"
                }
            }
            ReadyForReview if review_holder => "ok",
            _ => "refused.role",
        },

        "release" => match status {
            Working => {
                if holder || above {
                    "ok"
                } else {
                    "stale.lease_lost"
                }
            }
            Rejected | IntegrationFailed if holder || above => "ok",
            _ => wrong_state,
        },
        "handoff" => match status {
            Working => {
                if holder || above {
                    "ok"
                } else {
                    "stale.lease_lost"
                }
            }
            _ => wrong_state,
        },

        "lock release" if by != "human" => "refused.human_only",
        "lock release" => match status {
            Working | Rejected | Blocked | IntegrationFailed => "ok",
            _ => wrong_state,
        },

        "review renew" | "review release" => match status {
            ReadyForReview if review_holder => "ok",
            ReadyForReview if by == "human" && verb == "review release" => "ok",
            ReadyForReview => "stale.lease_lost",
            _ => wrong_state,
        },
        "review claim" | "approve" | "reject" | "discuss" | "merge" | "bless" if !reviews => {
            "tier0.role_boundary"
        }
        "bless" => {
            if status.is_terminal() {
                wrong_state
            } else {
                "ok"
            }
        }
        "review claim" => match status {
            ReadyForReview => {
                if review_holder {
                    "ok"
                } else {
                    "stale.held"
                }
            }
            _ => wrong_state,
        },
        "approve" | "reject" | "discuss" => match status {
            Draft | Idle | Working => "tier0.skipped_state",
            ReadyForReview => {
                if review_holder {
                    "ok"
                } else {
                    "stale.lease_lost"
                }
            }
            _ => wrong_state,
        },
        "merge" => match status {
            Approved | IntegrationFailed => "ok",
            Blocked | Merged | Superseded | Abandoned => wrong_state,
            _ => "tier0.unapproved_merge",
        },
        other => panic!("no such verb: {other}"),
    }
}

#[test]
fn every_actor_verb_and_state_agree_with_matrix() {
    for status in Status::ALL {
        let ready = in_state(status);
        for verb in VERBS {
            for by in ACTORS {
                let mut bench = ready.clone();
                let what = transition(&bench, verb);
                // The bench itself checks that a refusal changes nothing.
                let found = match bench.attempt(bench.actor(by), what, None) {
                    Ok(_) => "ok",
                    Err(refusal) => refusal.code.as_str(),
                };
                assert_eq!(found, expected(verb, status, by), "{by} tries {verb} on a {status} task");
            }
        }
    }
}

/// A breach of Tier 0 is counted by its own record, and no task changes.
#[test]
fn a_recorded_violation_counts_and_touches_no_task() {
    let mut bench = in_state(Status::Working);
    bench.tick(1);
    let tasks = bench.board.tasks.clone();
    let note = RecordViolation { code: "tier0.role_boundary".to_owned(), message: "tried".to_owned() };
    bench.ok("coder-2", note);
    assert_eq!(bench.board.rest.circuit_breaker.tier0_violations, 1);
    assert_eq!(bench.board.tasks, tasks);
}

#[test]
fn planner_verbs_are_refused_to_others() {
    let mut bench = Bench::with_tasks(&["t"]);
    let mut number = 0;
    for by in ACTORS {
        number += 1;
        let name = format!("n{number}");
        let add = plan_of(vec![new_task(&name, &format!("{name}/"))]);
        let change = ChangeSpec {
            spec: "specs/vision.md".to_owned(),
            change: "more".to_owned(),
            affects: Vec::new(),
            pin: None,
        };
        if matches!(by, "planner-1" | "human") {
            bench.ok(by, add);
            bench.ok(by, change);
        } else {
            assert_eq!(bench.refused(by, add).as_str(), "refused.role", "{by}");
            assert_eq!(bench.refused(by, change).as_str(), "refused.role", "{by}");
            let mark = MarkProcessed { ids: vec!["note-1".to_owned()] };
            assert_eq!(bench.refused(by, mark).as_str(), "refused.role", "{by}");
        }
    }
}

#[test]
fn person_verbs_are_refused_to_agents() {
    let bench = Bench::with_tasks(&["t"]);
    let human_only: [Transition; 6] = [
        RegisterAgent {
            id: agent("coder-9"),
            roles: vec![role("coder")],
            token_hash: "h".to_owned(),
            configured_roles: Vec::new(),
            runner: None,
            fresh: false,
            grants: Default::default(),
            former_runner_lives: false,
        }
        .into(),
        RetireAgent { id: agent("both-1") }.into(),
        ExtendLeases { seconds: 1 }.into(),
        BeginMove {
            kind: MoveKind::Advance,
            branch: "integration".to_owned(),
            reason: "upstream".to_owned(),
            owner: process(1),
            checkout: None,
            audited: false,
        }
        .into(),
        AdoptEdit { goal_description: Some("another goal".to_owned()), ..AdoptEdit::default() }.into(),
        bless(None).into(),
    ];
    for what in human_only {
        for by in ACTORS {
            let mut bench = bench.clone();
            if by == "human" {
                bench.ok(by, what.clone());
            } else {
                assert_eq!(bench.refused(by, what.clone()).as_str(), "refused.human_only", "{by}");
            }
        }
    }
}

#[test]
fn every_role_may_report() {
    let mut bench = Bench::with_tasks(&["t"]);
    for by in ACTORS {
        bench.ok(by, bench.note("hello"));
        let anomaly = LogAnomaly {
            kind: AnomalyKind::SpecAmbiguity,
            task: id("t"),
            details: details(&[("question", "which?")]),
        };
        bench.ok(by, anomaly);
        let found = Discover {
            text: "a leak".to_owned(),
            task: id("t"),
            severity: Severity::Minor,
            urgency: Urgency::Deferred,
        };
        bench.ok(by, found);
    }
}

/// The list of commands a switch stops; everything else goes on.
#[test]
fn each_switch_stops_exactly_its_listed_verbs() {
    use Status::*;
    for (verb, status, by) in [
        ("finalize", Draft, "planner-1"),
        ("claim", Idle, "coder-1"),
        ("checkpoint", Working, "coder-2"),
        ("renew", Working, "coder-2"),
        ("sync", Working, "coder-2"),
        ("submit", Working, "coder-2"),
        ("block", Working, "coder-2"),
        ("unblock", Blocked, "planner-1"),
        ("rescope", Idle, "planner-1"),
        ("abandon", Idle, "planner-1"),
        ("release", Working, "coder-2"),
        ("handoff", Working, "coder-2"),
        ("lock release", Working, "human"),
        ("review claim", ReadyForReview, "reviewer-2"),
        ("review renew", ReadyForReview, "reviewer-2"),
        ("review release", ReadyForReview, "reviewer-2"),
        ("approve", ReadyForReview, "reviewer-2"),
        ("reject", ReadyForReview, "reviewer-2"),
        ("discuss", ReadyForReview, "reviewer-2"),
        ("merge", Approved, "reviewer-1"),
        ("bless", ReadyForReview, "reviewer-1"),
    ] {
        let stopped = matches!(
            verb,
            "finalize"
                | "claim"
                | "sync"
                | "submit"
                | "review claim"
                | "approve"
                | "reject"
                | "discuss"
                | "merge"
        );
        for subject in [None, Some("t"), Some("T"), Some(by)] {
            let mut bench = in_state(status);
            bench.world.switches.set.insert(pause(subject));
            let what = transition(&bench, verb);
            if stopped {
                assert_eq!(bench.refused(by, what).as_str(), "switch.set", "{verb} under {subject:?}");
            } else {
                bench.ok(by, what);
            }
        }
        let mut bench = in_state(status);
        bench.world.switches.set.insert(pause(Some("another-agent")));
        let what = transition(&bench, verb);
        bench.ok(by, what);
    }
}
