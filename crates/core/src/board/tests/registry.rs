//! The role registry inside the transition function: every operation as an agent of every role.

use crate::board::agent::BUILT_IN_ROLES;
use crate::board::grants::{Grants, Operation, allowed_by_rules};
use crate::board::ids::{AgentId, Role};
use crate::board::oversight::{Action, Behaviour, Gravity};
use crate::board::records::{Draft, MessageKind, Recipient};
use crate::board::refusal::{Code, Refusal};
use crate::board::rights::{Stopped, check_switch};
use crate::board::rules::Transition;
use crate::board::rules::*;
use crate::board::testing::*;

const ACTOR: &str = "actor-1";

fn register(bench: &mut Bench, roles: &[&str], grants: Grants) {
    let roles: Vec<Role> = roles.iter().map(|name| role(name)).collect();
    bench.ok(
        "human",
        RegisterAgent {
            id: agent(ACTOR),
            configured_roles: roles.clone(),
            roles,
            token_hash: "hash".to_owned(),
            runner: None,
            fresh: false,
            grants,
            former_runner_lives: false,
        },
    );
}

/// A message to a person, which every agent may send.
fn message() -> SendMessage {
    SendMessage {
        message: Draft {
            to: Recipient::One(AgentId::human()),
            kind: MessageKind::RequestInput,
            subject: "which of the two?".to_owned(),
            body: String::new(),
            payload: Default::default(),
            task_id: None,
            in_reply_to: None,
            priority: 0,
            requires_response: false,
            respond_by: None,
        },
    }
}

/// A scene in which an agent of this role may do the operation, if its role allows it.
fn best_chance(operation: Operation, name: &str) -> (Bench, Transition) {
    let mut bench = Bench::with_tasks(&["t"]);
    register(&mut bench, &[name], Grants::default());
    let of_its_own = |bench: &mut Bench| {
        let mut own = new_task("own", "own/");
        own.role = role(name);
        bench.ok("human", plan_of(vec![own]));
    };
    let what: Transition = match operation {
        Operation::Plan => plan_of(vec![new_task("new", "new/")]).into(),
        Operation::Work => {
            of_its_own(&mut bench);
            bench.begin("own").into()
        }
        Operation::Stop => bench.block("t").into(),
        Operation::Review => {
            bench.hand_in("coder-1", "t");
            bench.start_review("t").into()
        }
        Operation::Attack => {
            bench.awaiting_red_team("coder-1", "t");
            bench.start_review("t").into()
        }
        Operation::Merge => {
            bench.approved("coder-1", "t");
            bench.begin_merge("t").into()
        }
        Operation::Bundle => {
            of_its_own(&mut bench);
            bench.claim(ACTOR, "own");
            RecordBundle {
                task: id("own"),
                id: "own-1".to_owned(),
                path: ".liza/bundles/own-1.json".to_owned(),
                blake3: "0".to_owned(),
            }
            .into()
        }
        Operation::Bless => {
            bench.claim("coder-1", "t");
            BlessGate {
                gate: "replay".to_owned(),
                hash: "a1b2c3d4".to_owned(),
                task: Some(id("t")),
                reason: "one more step".to_owned(),
            }
            .into()
        }
        Operation::Report => bench.note("hello").into(),
        Operation::Message => message().into(),
        Operation::Oversee => Intervene {
            agent: agent("coder-1"),
            incarnation: 1,
            task: None,
            epoch: None,
            behaviour: Behaviour::ALL[0],
            action: Action::Nudge,
            severity: Gravity::Warning,
            confidence: 0.9,
            evidence: vec!["the same call 9 times".to_owned()],
            bounds: None,
            messages: Vec::new(),
        }
        .into(),
    };
    assert_eq!(what.verb().operation(&bench.board, &bench.actor(ACTOR)), Some(operation), "{}", what.name());
    (bench, what)
}

fn of_the_registry(refusal: &Refusal) -> bool {
    refusal.code == Code::Role && refusal.message.starts_with("the role registry (liza.yaml, roles.")
}

/// `liza roles` prints what the rules do; and one function refuses what the registry denies.
#[test]
fn every_cell_of_the_role_matrix_holds() {
    for name in BUILT_IN_ROLES.into_iter().chain(["technical_writer"]) {
        for operation in Operation::ALL.iter().copied() {
            let (mut bench, what) = best_chance(operation, name);
            let allowed = match bench.attempt(bench.actor(ACTOR), what.clone(), None) {
                Ok(_) => true,
                Err(refusal) => {
                    // The reviewer has already reviewed the approved task: no rule breach, but still refused.
                    let had_its_turn = (name, operation) == ("code_reviewer", Operation::Attack)
                        && refusal.code == Code::Transition;
                    assert!(
                        had_its_turn
                            || matches!(refusal.code, Code::Role | Code::Tier0Role | Code::HumanOnly),
                        "{name} was refused {} for another reason: {}",
                        operation.as_str(),
                        refusal.message
                    );
                    false
                }
            };
            assert_eq!(allowed, allowed_by_rules(&role(name), operation), "{name}: {}", operation.as_str());
            if !allowed {
                continue;
            }
            let (mut bench, what) = best_chance(operation, name);
            let denied = Grants { denied: vec![operation], ..Grants::default() };
            // The same incarnation: it still holds its task.
            bench.board.rest.agents.get_mut(&agent(ACTOR)).expect("registered").grants = denied;
            let refusal = bench.refusal(ACTOR, what);
            assert!(of_the_registry(&refusal), "{name}: {}: {}", operation.as_str(), refusal.message);
            assert!(refusal.message.contains(&format!("roles.{name}.deny")), "{}", refusal.message);
            assert!(refusal.hint.is_some_and(|hint| hint.contains("liza roles")));
        }
    }
}

/// A rule breach comes first, whatever the registry says; a refusal by the task's status comes after a refusal by role.
#[test]
fn tier0_refusal_comes_first_state_last() {
    let mut bench = Bench::with_tasks(&["t"]);
    register(
        &mut bench,
        &["coder"],
        Grants { denied: vec![Operation::Review, Operation::Work], ..Grants::default() },
    );
    bench.hand_in("coder-1", "t");
    assert_eq!(bench.refused(ACTOR, bench.start_review("t")).as_str(), "tier0.role_boundary");
    let claim = bench.begin("t");
    let refusal = bench.refusal(ACTOR, claim);
    assert!(of_the_registry(&refusal), "{}", refusal.message);
}

/// A runner gives back its agent's task; the registry can deny neither that nor the heartbeat.
#[test]
fn denied_agent_may_give_its_task_back() {
    let everything = Grants { denied: Operation::ALL.to_vec(), ..Grants::default() };
    let handing_off = |bench: &Bench| Transition::from(bench.hand_off("t"));
    let releasing = |bench: &Bench| Transition::from(bench.release("t"));
    // The runner of an agent that was halted, crashed or reached its limits repeatedly blocks the task.
    let blocking = |bench: &Bench| Transition::from(bench.block("t"));
    for giving_back in [handing_off, releasing, blocking] {
        let mut bench = Bench::with_tasks(&["t"]);
        register(&mut bench, &["coder"], Grants::default());
        bench.claim(ACTOR, "t");
        bench.board.rest.agents.get_mut(&agent(ACTOR)).expect("registered").grants = everything.clone();
        bench.ok(ACTOR, Heartbeat {});
        bench.ok(ACTOR, Renew { task: id("t"), epoch: None });
        let what = giving_back(&bench);
        bench.ok(ACTOR, what);
    }
    let mut bench = Bench::with_tasks(&["t"]);
    register(&mut bench, &["code_reviewer"], Grants::default());
    bench.hand_in("coder-1", "t");
    bench.ok(ACTOR, bench.start_review("t"));
    bench.board.rest.agents.get_mut(&agent(ACTOR)).expect("registered").grants = everything.clone();
    let block = bench.block("t");
    bench.ok(ACTOR, block);
    let mut bench = Bench::with_tasks(&["t"]);
    register(&mut bench, &["overseer"], everything);
    bench.claim("coder-1", "t");
    let (release, block) = (bench.release("t"), bench.block("t"));
    assert!(of_the_registry(&bench.refusal(ACTOR, release)));
    assert!(of_the_registry(&bench.refusal(ACTOR, block)));
}

/// An agent may stop itself and its own task; only planner and overseer may stop others, unless denied.
#[test]
fn only_permitted_roles_stop_others() {
    for (name, above) in [("coder", false), ("code_reviewer", false), ("planner", true), ("overseer", true)] {
        for denied in [false, true] {
            let mut bench = Bench::with_tasks(&["own", "t"]);
            register(&mut bench, &[name, "coder"], Grants::default());
            bench.claim(ACTOR, "own");
            bench.claim("coder-1", "t");
            if denied {
                bench.board.rest.agents.get_mut(&agent(ACTOR)).expect("registered").grants.denied =
                    Operation::ALL.to_vec();
            }
            let by = bench.actor(ACTOR);
            let asked = |whom: Stopped| check_switch(&bench.board, &by, &whom);
            for own in [Stopped::Agent(agent(ACTOR)), Stopped::Task(id("own"))] {
                assert_eq!(asked(own), Ok(()), "{name}");
            }
            for others in [Stopped::AllAgents, Stopped::Agent(agent("coder-1")), Stopped::Task(id("t"))] {
                let answer = asked(others.clone());
                assert_eq!(answer.is_ok(), above && !denied, "{name}: {others:?}");
                if let Err(refusal) = answer {
                    assert_eq!((refusal.code, of_the_registry(&refusal)), (Code::Role, above), "{refusal}");
                }
            }
            assert_eq!(check_switch(&bench.board, &bench.actor("human"), &Stopped::AllAgents), Ok(()));
        }
    }
}

/// The hint of a refusal names only allowed commands.
#[test]
fn hint_names_no_denied_operation() {
    let mut bench = Bench::with_tasks(&["t"]);
    register(&mut bench, &["coder"], Grants::default());
    let mut hint = |denied: &[Operation]| {
        let grants = Grants { denied: denied.to_vec(), ..Grants::default() };
        bench.board.rest.agents.get_mut(&agent(ACTOR)).expect("registered").grants = grants;
        let claim = bench.begin("t");
        bench.refusal(ACTOR, claim).hint.expect("a hint")
    };
    assert!(hint(&[Operation::Work]).contains("`liza note`"));
    let shown = hint(&[Operation::Work, Operation::Report]);
    assert!(shown.contains("liza message send --to human") && !shown.contains("liza note"), "{shown}");
    let shown = hint(Operation::ALL);
    assert!(shown.contains("liza task block") && !shown.contains("liza message"), "{shown}");
}

#[test]
fn planner_adds_tasks_for_granted_roles() {
    let for_role = |bench: &mut Bench, by: &str, name: &str| {
        let mut task = new_task(&format!("for-{name}"), &format!("{name}/"));
        task.role = role(name);
        let actor = bench.actor(by);
        bench.attempt(actor, plan_of(vec![task]), None)
    };
    let mut bench = Bench::with_tasks(&["t"]);
    register(&mut bench, &["planner"], Grants::default());
    assert!(
        for_role(&mut bench, ACTOR, "coder").is_ok() && for_role(&mut bench, ACTOR, "test_engineer").is_ok()
    );
    for name in ["supervisor", "operator", "auditor"] {
        assert!(for_role(&mut bench, ACTOR, name).is_ok(), "{name}");
    }
    let refusal = for_role(&mut bench, ACTOR, "overseer").expect_err("not by default");
    assert!(of_the_registry(&refusal) && refusal.message.contains("roles.planner.may_spawn"), "{refusal}");
    assert!(for_role(&mut bench, "human", "overseer").is_ok(), "people plan for all roles");
    let only = Grants { may_spawn: Some(vec![role("red_team")]), ..Grants::default() };
    register(&mut bench, &["planner"], only);
    assert!(for_role(&mut bench, ACTOR, "red_team").is_ok());
    let mut rescope = bench.replace("t", "for-coder");
    rescope.into = vec![new_task("again", "again/")];
    rescope.specs_found = vec![id("again")];
    assert_eq!(bench.refused(ACTOR, rescope), Code::Role);
}

#[test]
fn paths_outside_the_role_are_refused() {
    let mut bench = Bench::with_tasks(&["t"]);
    register(&mut bench, &["coder"], Grants { paths: patterns(&["t/docs/"]), ..Grants::default() });
    bench.claim(ACTOR, "t");
    bench.ok(ACTOR, bench.checkpoint("t"));
    let refusal = bench.refusal(ACTOR, bench.submit("t"));
    assert_eq!(refusal.code, Code::Scope);
    assert!(refusal.message.contains("roles.coder.paths"), "{}", refusal.message);
    let worktree = bench.task("t").body().attempt().expect("an attempt").worktree.clone();
    let commit = WorktreeCommit { task: id("t"), epoch: None, worktree };
    let call = bench.call(bench.actor(ACTOR));
    let early = commit.check(&bench.board, &call, &[file_of("t")], &[]).expect_err("outside");
    assert_eq!(early.message, refusal.message);
    let wider = Grants { paths: patterns(&["t/docs/", "t/*.rs"]), ..Grants::default() };
    bench.board.rest.agents.get_mut(&agent(ACTOR)).expect("registered").grants = wider;
    bench.ok(ACTOR, bench.submit("t"));
}

/// Each agent is responsible only for its own changes: it may build on others' changes outside its paths, and a handoff
/// to an agent without limits does not hide changes that were out of bounds.
#[test]
fn each_agent_is_judged_by_its_own_changes() {
    let touched = |who: &str, files: &[String]| Touched { agent: agent(who), files: files.to_vec() };
    let elsewhere = || Grants { paths: patterns(&["t/docs/"]), ..Grants::default() };
    let file = file_of("t");
    let mut bench = Bench::with_tasks(&["t"]);
    register(&mut bench, &["coder"], elsewhere());
    bench.claim(ACTOR, "t");
    bench.ok(ACTOR, bench.checkpoint("t"));
    let mut submit = bench.submit("t");
    submit.evidence.touched = vec![touched("coder-1", std::slice::from_ref(&file)), touched(ACTOR, &[])];
    bench.board.rest.agents.get_mut(&agent("coder-1")).expect("registered").grants = elsewhere();
    let refusal = bench.refusal(ACTOR, submit.clone());
    assert_eq!(refusal.code, Code::Scope);
    assert!(refusal.message.contains("changed by `coder-1`"), "{}", refusal.message);
    assert!(refusal.message.contains("roles.coder.paths"), "{}", refusal.message);
    bench.board.rest.agents.get_mut(&agent("coder-1")).expect("registered").grants = Grants::default();
    bench.ok(ACTOR, submit);
}
