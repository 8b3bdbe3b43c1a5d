//! Identity of agents: registration, incarnations, tokens, retirement.

use crate::board::agent::default_id;
use crate::board::call::{Actor, Credentials, Descent, Mark};
use crate::board::refusal::Code;
use crate::board::rules::*;
use crate::board::testing::*;

fn registration(name: &str, roles: &[&str], token: &str) -> RegisterAgent {
    RegisterAgent {
        id: agent(name),
        roles: roles.iter().map(|text| role(text)).collect(),
        token_hash: token.to_owned(),
        configured_roles: Vec::new(),
        runner: None,
        fresh: false,
        grants: Default::default(),
        former_runner_lives: false,
    }
}

fn shows(name: &str, token: &str) -> Credentials {
    Credentials::Agent { id: agent(name), token_hash: token.to_owned() }
}

#[test]
fn invalid_registration_is_refused() {
    let mut bench = Bench::new();
    for (what, code) in [
        (registration("human", &["coder"], "x"), Code::IdReserved),
        (registration("Runner", &["coder"], "x"), Code::IdReserved),
        (registration("liza", &["coder"], "x"), Code::IdReserved),
        (registration("CODER-1", &["coder"], "x"), Code::IdTaken),
        (registration("coder-9", &[], "x"), Code::Incomplete),
        (registration("coder-9", &["wizard"], "x"), Code::UnknownRole),
        (registration("coder-9", &["coder", "runner"], "x"), Code::UnknownRole),
        (RegisterAgent { fresh: true, ..registration("coder-1", &["coder"], "x") }, Code::IdTaken),
        (
            RegisterAgent { former_runner_lives: true, ..registration("coder-1", &["coder"], "x") },
            Code::AgentRunning,
        ),
    ] {
        assert_eq!(bench.refused("human", what.clone()), code, "{what:?}");
    }
    let configured = RegisterAgent {
        configured_roles: vec![role("wizard"), role("runner")],
        ..registration("merlin", &["wizard"], "x")
    };
    bench.ok("human", configured.clone());
    // `runner` is not a role, whatever the configuration says.
    let runner = RegisterAgent { roles: vec![role("runner")], ..configured };
    assert_eq!(bench.refused("human", runner), Code::UnknownRole);
}

#[test]
fn token_is_valid_for_its_incarnation_only() {
    let mut bench = Bench::new();
    bench.ok("human", registration("coder-9", &["coder"], "first"));
    let first = bench.board.identify(&shows("coder-9", "first")).expect("known");
    assert_eq!(first, Actor::Agent { id: agent("coder-9"), incarnation: 1 });
    let outcome = bench.ok("human", registration("coder-9", &["coder"], "second"));
    assert_eq!(outcome["incarnation"], 2);
    for credentials in [shows("coder-9", "first"), shows("coder-9", ""), shows("stranger", "first")] {
        let refusal = bench.board.identify(&credentials).expect_err("a stranger");
        assert_eq!(refusal.code, Code::Identity);
        assert!(!refusal.message.contains("first"), "the message shows a token: {}", refusal.message);
    }
    let second = bench.board.identify(&shows("coder-9", "second")).expect("known");
    assert_eq!(second.incarnation(), 2);
    bench.ok("coder-9", RetireAgent { id: agent("coder-9") });
    assert_eq!(bench.board.identify(&shows("coder-9", "second")).expect_err("retired").code, Code::Identity);
    assert_eq!(bench.refused("human", RetireAgent { id: agent("coder-9") }), Code::Transition);
    // A repeated registration raises the incarnation; an old token stays invalid.
    assert_eq!(bench.ok("human", registration("coder-9", &["coder"], "third"))["incarnation"], 3);
    assert!(bench.board.identify(&shows("coder-9", "second")).is_err());
    assert_eq!(bench.board.identify(&Credentials::Human), Ok(Actor::Human));
}

#[test]
fn a_restarted_agent_cannot_act_for_the_former_one() {
    let mut bench = Bench::with_tasks(&["t"]);
    bench.claim("coder-1", "t");
    bench.ok("coder-1", bench.checkpoint("t"));
    bench.register("coder-1", &["coder"]);
    assert_eq!(bench.refused("coder-1", bench.submit("t")), Code::LeaseLost);
    assert_eq!(bench.refused("coder-1", Renew { task: id("t"), epoch: None }), Code::LeaseLost);
    // Its lease counts as expired: any coder may take over at once, the new incarnation with its worktree.
    let mut other = bench.clone();
    other.claim("coder-2", "t");
    bench.claim("coder-1", "t");
    let task = bench.task("t");
    assert_eq!((task.iteration, task.body().attempts.len()), (2, 1));
    assert_eq!(task.lease.as_ref().map(|lease| lease.incarnation), Some(2));
}

#[test]
fn a_retired_agent_loses_its_leases() {
    let mut bench = Bench::with_tasks(&["t", "u"]);
    bench.claim("coder-1", "t");
    bench.hand_in("coder-2", "u");
    bench.ok("reviewer-1", bench.start_review("u"));
    assert_eq!(bench.refused("coder-2", bench.begin("t")), Code::Held);
    bench.ok("human", RetireAgent { id: agent("coder-1") });
    bench.ok("human", RetireAgent { id: agent("reviewer-1") });
    bench.claim("coder-2", "t");
    bench.ok("reviewer-2", bench.start_review("u"));
}

#[test]
fn a_heartbeat_renews_whatever_its_agent_holds() {
    let mut bench = Bench::with_tasks(&["t"]);
    bench.claim("coder-1", "t");
    bench.tick(LEASE - 1);
    bench.ok("coder-1", Heartbeat {});
    bench.tick(LEASE - 1);
    assert_eq!(bench.refused("coder-2", bench.begin("t")), Code::Held);
    assert_eq!(bench.refused("human", Heartbeat {}), Code::Identity);
    // Heartbeats of other agents renew nothing.
    bench.ok("coder-2", Heartbeat {});
    bench.tick(1);
    bench.claim("coder-2", "t");
}

#[test]
fn ids_are_numbered_by_role() {
    let taken = ["coder-1", "coder-2", "code-reviewer-1"];
    for (text, expected) in
        [("coder", "coder-3"), ("code_reviewer", "code-reviewer-2"), ("planner", "planner-1")]
    {
        let given = default_id(&role(text), |id| taken.contains(&id.as_str()));
        assert_eq!(given, Some(agent(expected)));
    }
}

#[test]
fn process_below_a_runner_is_its_agent() {
    use crate::board::agent::Process;
    let process =
        |pid: u32| Process { pid, started: 7, boot: "boot".to_owned(), namespace: "here".to_owned() };
    let mut bench = Bench::new();
    bench.ok(
        "human",
        RegisterAgent { runner: Some(process(40)), ..registration("coder-8", &["coder"], "eight") },
    );
    bench.ok(
        "human",
        RegisterAgent {
            runner: Some(process(50)),
            ..registration("reviewer-8", &["code_reviewer"], "other")
        },
    );
    let descent = |ancestors: Vec<Process>| Descent { ancestors, ..Descent::default() };
    let under = |pids: &[u32], shown: Credentials| Credentials::Descendant {
        of: descent(pids.iter().map(|pid| process(*pid)).collect()),
        shown: Box::new(shown),
    };
    let coder = Actor::Agent { id: agent("coder-8"), incarnation: 1 };
    for shown in
        [Credentials::Human, shows("reviewer-8", "other"), shows("coder-8", "wrong"), shows("x", "y")]
    {
        assert_eq!(bench.board.identify(&under(&[90, 40, 50, 1], shown.clone())), Ok(coder.clone()));
        // The same pid with another start time is another process.
        let reused = Credentials::Descendant {
            of: descent(vec![Process { started: 8, ..process(40) }]),
            shown: Box::new(shown.clone()),
        };
        assert_eq!(bench.board.identify(&reused).ok(), bench.board.identify(&shown).ok());
    }
    assert_eq!(bench.board.identify(&under(&[90, 1], Credentials::Human)), Ok(Actor::Human));
    // If its origin is in doubt, the caller is refused, unless it shows a token.
    for of in [
        Descent { unseen: Some(agent("coder-8")), ..descent(Vec::new()) },
        Descent { orphan: true, ..descent(vec![process(1)]) },
    ] {
        let nothing = Credentials::Descendant { of: of.clone(), shown: Box::new(Credentials::Human) };
        assert_eq!(bench.board.identify(&nothing).expect_err("refused").code, Code::Identity);
        let token = Credentials::Descendant { of, shown: Box::new(shows("reviewer-8", "other")) };
        assert!(bench.board.identify(&token).is_ok());
    }
    // A mark whose runner the board does not know makes neither a person nor another agent.
    let mark = Mark::of(&process(77));
    let marked = |mark: Mark, shown: Credentials| Credentials::Descendant {
        of: Descent { mark: Some(mark), ..descent(vec![process(1)]) },
        shown: Box::new(shown),
    };
    let lowered = Mark { locks: 5, ..Mark::of(&process(40)) };
    for mark in [mark, lowered, Mark::of_gate(1, 2)] {
        for shown in [Credentials::Human, shows("reviewer-8", "other")] {
            let refused = bench.board.identify(&marked(mark, shown)).expect_err("refused");
            assert_eq!(refused.code, Code::Identity);
        }
    }
    assert_eq!(bench.board.identify(&marked(Mark::of(&process(40)), Credentials::Human)), Ok(coder));
    // On a board that was made below the same mark, as by a test, the caller counts as unmarked; a person always does.
    bench.board.rest.made_below = Some(mark);
    assert_eq!(bench.board.identify(&marked(mark, Credentials::Human)), Ok(Actor::Human));
    assert_eq!(bench.board.identify(&under(&[90, 1], Credentials::Human)), Ok(Actor::Human));
    bench.board.rest.made_below = None;
    // A process of a retired agent is refused, not taken for a person.
    bench.ok("coder-8", RetireAgent { id: agent("coder-8") });
    let refused = bench.board.identify(&under(&[40], Credentials::Human)).expect_err("retired");
    assert_eq!(refused.code, Code::Identity);
}
