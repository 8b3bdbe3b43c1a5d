//! The scheduler on many small boards: it never offers a forbidden task, and never stops while a task could proceed.

use std::collections::BTreeSet;

use crate::board::oversight::{Action, Behaviour, Gravity, Intervention};
use crate::board::rules::{
    Abandon, Block, HandOff, Release, ReleaseReview, check_claimable, check_reviewable,
};
use crate::board::testing::*;
use crate::board::{Role, Status};
use crate::policy::overseer::{OverseerConfig, Question};
use crate::policy::run::{Cause, CauseKind, Next, Seat, State, Team, in_words, next};

fn seats(names: &[&str]) -> Vec<Seat> {
    let role_of = |name: &str| match name {
        name if name.starts_with("coder") => Role::coder(),
        name if name.starts_with("planner") => Role::planner(),
        name if name.starts_with("red") => Role::red_team(),
        _ => Role::code_reviewer(),
    };
    names.iter().map(|name| Seat { agent: agent(name), role: role_of(name) }).collect()
}

fn team(names: &[&str], window: usize) -> Team {
    Team { seats: seats(names), window, ..Team::default() }
}

fn decide(bench: &Bench, team: &Team) -> Next {
    next(&bench.board, &bench.world, &bench.now, team)
}

fn started(next: &Next) -> Vec<String> {
    next.starts
        .iter()
        .map(|start| format!("{} {}", start.agent, start.task.as_ref().map_or("-", |task| task.as_str())))
        .collect()
}

#[test]
fn the_window_is_filled_and_no_more() {
    let bench = Bench::with_tasks(&["a", "b", "c"]);
    let mut team = team(&["coder-1", "coder-2"], 1);
    assert_eq!(started(&decide(&bench, &team)), ["coder-1 a"]);
    team.window = 5;
    assert_eq!(started(&decide(&bench, &team)), ["coder-1 a", "coder-2 b"]);
    team.busy.insert(agent("coder-1"), Some(id("a")));
    assert_eq!(started(&decide(&bench, &team)), ["coder-2 b"]);
}

#[test]
fn overlapping_tasks_do_not_start_together() {
    let mut bench = Bench::new();
    bench.ok("human", plan_of(vec![new_task("a", "src/"), new_task("b", "src/x.rs"), new_task("c", "doc/")]));
    let team = team(&["coder-1", "coder-2"], 4);
    assert_eq!(started(&decide(&bench, &team)), ["coder-1 a", "coder-2 c"]);
}

#[test]
fn finishing_work_comes_before_new_work() {
    let mut bench = Bench::with_tasks(&["a", "b"]);
    bench.hand_in("coder-1", "a");
    let team = team(&["coder-1", "coder-2", "reviewer-1"], 1);
    assert_eq!(started(&decide(&bench, &team)), ["reviewer-1 a"]);
}

/// No agent is offered a merge that the registry denies it, and if all agents are denied it, the cause says so.
#[test]
fn merge_denied_to_all_is_reported_as_denied() {
    use crate::board::grants::Operation;
    let mut bench = Bench::with_tasks(&["a"]);
    bench.approved("coder-1", "a");
    let team = team(&["coder-1", "reviewer-1", "reviewer-2"], 4);
    let deny = |bench: &mut Bench, who: &str| {
        let agent = bench.board.rest.agents.get_mut(&agent(who)).expect("registered");
        agent.grants.denied = vec![Operation::Merge];
    };
    deny(&mut bench, "reviewer-1");
    assert_eq!(started(&decide(&bench, &team)), ["reviewer-2 a"]);
    deny(&mut bench, "reviewer-2");
    let State::Stuck(causes) = decide(&bench, &team).state else { panic!("the run should be stuck") };
    assert!(causes[0].why.contains("liza.yaml, roles.code_reviewer.deny"), "{}", causes[0].why);
    assert!(causes[0].hint.contains("liza merge a"), "{}", causes[0].hint);
}

/// The red team is started for its turn, others merge tasks without a turn meanwhile, and without a red team the run
/// says so.
#[test]
fn the_red_team_has_its_turn_before_the_merge() {
    let mut bench = Bench::with_tasks(&["a", "b"]);
    bench.awaiting_red_team("coder-1", "a");
    let mut with = team(&["coder-1", "reviewer-1", "red-1"], 4);
    assert_eq!(started(&decide(&bench, &with)), ["red-1 a", "coder-1 b"]);
    with.busy.insert(agent("red-1"), Some(id("a")));
    bench.ok("red-1", bench.start_review("a"));
    bench.approved("coder-1", "b");
    assert_eq!(started(&decide(&bench, &with)), ["reviewer-1 b"], "what needs no turn is not kept waiting");
    with.busy.clear();
    bench.ok("red-1", bench.clear("a"));
    bench.merge("b");
    assert_eq!(started(&decide(&bench, &with)), ["reviewer-1 a"]);

    let mut bench = Bench::with_tasks(&["a"]);
    bench.awaiting_red_team("coder-1", "a");
    let stuck = |bench: &Bench, team: &Team| match decide(bench, team).state {
        State::Stuck(causes) => causes[0].clone(),
        other => panic!("{other:?}"),
    };
    let cause = stuck(&bench, &team(&["coder-1", "reviewer-1"], 4));
    assert_eq!(cause.kind, CauseKind::MissingRole);
    assert!(cause.why.contains("the team has no red_team"), "{}", cause.why);
    assert!(cause.hint.contains("liza agent run --role red_team"), "{}", cause.hint);
    // A red-team agent that is an implementer does not count.
    let mut bench = Bench::with_tasks(&["a"]);
    bench.awaiting_red_team("both-1", "a");
    let both =
        Team { seats: vec![Seat { agent: agent("both-1"), role: Role::red_team() }], ..Team::default() };
    let cause = stuck(&bench, &Team { window: 4, ..both });
    assert_eq!(cause.kind, CauseKind::MissingRole);
    assert!(cause.why.contains("both-1 worked on it, reviewer-1 approved it"), "{}", cause.why);
}

#[test]
fn crashed_agent_resumes_its_task() {
    let mut bench = Bench::with_tasks(&["a", "b"]);
    bench.claim("coder-2", "a");
    let team = team(&["coder-1", "coder-2"], 4);
    assert_eq!(started(&decide(&bench, &team)), ["coder-2 a", "coder-1 b"]);
}

#[test]
fn the_planner_is_woken_once_for_each_occasion() {
    let mut bench = Bench::new();
    let mut team = team(&["planner-1", "coder-1"], 1);
    let first = decide(&bench, &team);
    assert_eq!(started(&first), ["planner-1 -"]);
    team.handled.extend(first.starts[0].woken.clone());
    assert!(
        matches!(decide(&bench, &team).state, State::Stuck(causes) if causes[0].kind == CauseKind::Person)
    );
    bench.add(&["a"]);
    bench.claim("coder-1", "a");
    let block = |epoch| Block {
        from_first_claim: true,
        task: id("a"),
        epoch: Some(epoch),
        reason: "two ways to read it".to_owned(),
        questions: vec!["which one?".to_owned()],
    };
    bench.ok("coder-1", block(1));
    let second = decide(&bench, &team);
    assert_eq!(second.starts[0].woken, ["blocked:a@2"]);
    team.handled.extend(second.starts[0].woken.clone());
    assert!(matches!(decide(&bench, &team).state, State::Stuck(_)));
}

#[test]
fn stuck_team_names_its_causes() {
    let mut bench = Bench::new();
    bench.ok("human", plan_of(vec![new_task("a", "src/"), new_task("b", "src/b.rs")]));
    let depends = crate::board::rules::NewTask { depends_on: vec![id("a")], ..new_task("c", "c/") };
    bench.ok("human", plan_of(vec![depends]));
    bench.claim("coder-1", "a");
    let ask = Block {
        from_first_claim: true,
        task: id("a"),
        epoch: Some(1),
        reason: "unclear".to_owned(),
        questions: vec!["what?".to_owned()],
    };
    bench.ok("coder-1", ask);
    let team = team(&["coder-1"], 4);
    let State::Stuck(causes) = decide(&bench, &team).state else { panic!("it is stuck") };
    let kinds: Vec<CauseKind> = causes.iter().map(|cause| cause.kind).collect();
    assert_eq!(kinds, [CauseKind::Person, CauseKind::OwnershipDeadlock, CauseKind::Dependency]);
    // An agent outside the team holds it: the run waits for it.
    let mut bench = Bench::with_tasks(&["a"]);
    bench.claim("coder-2", "a");
    let causes = match decide(&bench, &team).state {
        State::Waiting(causes) => causes,
        other => panic!("{other:?}"),
    };
    assert_eq!(causes[0].kind, CauseKind::Elsewhere);
    // A reviewer is missing, or has stopped.
    let mut bench = Bench::with_tasks(&["a"]);
    bench.hand_in("coder-1", "a");
    let mut reviewed = Team { seats: seats(&["coder-1"]), ..team.clone() };
    let kind = |bench: &Bench, team: &Team| match decide(bench, team).state {
        State::Stuck(causes) => (causes[0].kind, causes[0].why.clone()),
        other => panic!("{other:?}"),
    };
    assert_eq!(kind(&bench, &reviewed).0, CauseKind::MissingRole);
    reviewed.seats = seats(&["coder-1", "reviewer-1"]);
    reviewed.out.insert(agent("reviewer-1"), "it crashed".to_owned());
    let (found, why) = kind(&bench, &reviewed);
    assert_eq!(found, CauseKind::MissingRole);
    assert!(why.contains("it crashed"), "{why}");
    // Paused: nothing starts, and the run waits.
    bench.world.switches.set.insert(pause(None));
    assert!(decide(&bench, &team).starts.is_empty());
    assert!(matches!(decide(&bench, &team).state, State::Waiting(_)));
}

#[test]
fn abandoned_work_is_not_complete() {
    let mut bench = Bench::with_tasks(&["a", "b"]);
    for name in ["a", "b"] {
        bench.ok("human", Abandon { task: id(name), reason: "not needed".to_owned() });
    }
    let mut team = team(&["coder-1"], 4);
    let why = |state: State| match state {
        State::Stuck(causes) => (causes[0].kind, causes[0].why.clone()),
        other => panic!("{other:?}"),
    };
    assert_eq!(why(decide(&bench, &team).state), (CauseKind::Person, "everything was abandoned".to_owned()));
    team.only = Some(id("a"));
    assert!(why(decide(&bench, &team).state).1.contains("ABANDONED"));
    // Archived tasks count for the goal.
    team.only = None;
    bench.board.rest.archived = 1;
    assert_eq!(decide(&bench, &team).state, State::Complete);
}

/// The cause is that a person has not answered.
#[test]
fn unanswered_question_is_the_cause_of_a_standstill() {
    let mut bench = Bench::with_tasks(&["a"]);
    bench.claim("coder-1", "a");
    let mut team = team(&["coder-1", "reviewer-1"], 4);
    team.elsewhere.insert(agent("coder-1"));
    let asked = Intervention {
        id: "intervention-7".to_owned(),
        time: bench.now.wall,
        agent: agent("coder-1"),
        incarnation: 1,
        task_id: Some(id("a")),
        epoch: Some(1),
        behaviour: Behaviour::InfiniteLoop,
        action: Action::Escalate,
        severity: Gravity::Warning,
        confidence: 0.7,
        evidence: vec!["`Bash` was called 9 times".to_owned()],
        by: agent("human"),
    };
    team.questions = vec![Question::of_record(&asked, &OverseerConfig::default())];
    let State::Waiting(causes) = decide(&bench, &team).state else { panic!("it waits") };
    let said = in_words(&causes).concat();
    for part in [
        "a person was asked at",
        "about coder-1, which shows infinite_loop (`Bash` was called 9 times)",
        "Without an answer `coder-1` is halted at",
        "yes: `liza overseer halt coder-1 --reason infinite_loop`",
        "no: `liza overseer nudge coder-1 --reason \"go on\"`",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn agent_run_elsewhere_is_awaited_if_it_can_work() {
    let mut bench = Bench::with_tasks(&["a"]);
    let mut team = team(&["coder-1"], 4);
    team.elsewhere.insert(agent("coder-1"));
    let kind = |state: &State| match state {
        State::Waiting(causes) | State::Stuck(causes) => causes[0].kind,
        other => panic!("{other:?}"),
    };
    // First the agent may claim the task, then it holds it.
    let state = decide(&bench, &team).state;
    assert!(matches!(state, State::Waiting(_)) && kind(&state) == CauseKind::Elsewhere, "{state:?}");
    bench.claim("coder-1", "a");
    let state = decide(&bench, &team).state;
    assert!(matches!(state, State::Waiting(_)) && kind(&state) == CauseKind::Elsewhere, "{state:?}");
    let block = Block {
        from_first_claim: true,
        task: id("a"),
        epoch: Some(1),
        reason: "two ways to read it".to_owned(),
        questions: vec!["which one?".to_owned()],
    };
    bench.ok("coder-1", block);
    let state = decide(&bench, &team).state;
    assert!(matches!(state, State::Stuck(_)) && kind(&state) == CauseKind::Person, "{state:?}");
}

#[test]
fn task_held_by_stopped_agent_is_named() {
    let mut bench = Bench::with_tasks(&["a"]);
    bench.claim("coder-1", "a");
    let mut team = team(&["coder-1"], 4);
    team.out.insert(agent("coder-1"), "it crashed".to_owned());
    let State::Stuck(causes) = decide(&bench, &team).state else { panic!("it is stuck") };
    assert!(causes[0].why.contains("coder-1 holds it and has stopped (it crashed)"), "{causes:?}");
    // For tasks that no agent can claim any more, the hint names the log.
    let bench = Bench::with_tasks(&["a", "b"]);
    team.logs.insert(agent("coder-1"), "runner.log".to_owned());
    let State::Stuck(causes) = decide(&bench, &team).state else { panic!("it is stuck") };
    assert_eq!(causes.len(), 2);
    assert!(causes[0].hint.contains("runner.log"), "{causes:?}");
    let words = in_words(&causes);
    assert_eq!(words.len(), 1, "{words:?}");
    assert!(words[0].starts_with("a, b: "), "{words:?}");
}

#[test]
fn different_causes_are_listed_separately() {
    let made = |task: &str, hint: &str| Cause {
        task: Some(task.to_owned()),
        kind: CauseKind::Person,
        why: "why".to_owned(),
        hint: hint.to_owned(),
    };
    assert_eq!(in_words(&[made("a", "x"), made("b", "y"), made("c", "x")]), ["a, c: why (x)", "b: why (y)"]);
}

/// A small random number generator, the same in every run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// Random events for a team on a board of up to six tasks, many times.
#[test]
fn team_never_stops_while_work_is_possible() {
    let mut looked_at = 0u64;
    let mut complete = 0u32;
    let seeds = crate::testing::sweep(150, 700u64);
    for seed in 0..seeds {
        let mut chance = Chance(seed * 7919 + 1);
        let mut bench = Bench::new();
        let names = ["a", "b", "c", "d", "e", "f"];
        let count = 1 + chance.below(6) as usize;
        for (at, name) in names[..count].iter().enumerate() {
            let mut task = new_task(name, &format!("{name}/"));
            let owned = ["x/", "y/", "x/y/", "z/"][chance.below(4) as usize];
            task.scope.inside.extend(patterns(&[owned]));
            task.owns = patterns(&[owned]);
            task.depends_on =
                names[..at].iter().filter(|_| chance.below(4) == 0).map(|name| id(name)).collect();
            task.priority = chance.below(3) as i64;
            bench.ok("human", plan_of(vec![task]));
        }
        let reviewers = 1 + chance.below(2) as usize;
        let mut seats = vec!["coder-1", "coder-2"];
        seats.extend(&["reviewer-1", "reviewer-2"][..reviewers]);
        let mut team = team(&seats, 1 + chance.below(4) as usize);
        for _ in 0..120 {
            looked_at += 1;
            let decided = decide(&bench, &team);
            let mut given = BTreeSet::new();
            for start in &decided.starts {
                assert!(given.insert(start.agent.clone()) && !team.busy.contains_key(&start.agent));
                let (by, task) = (start.agent.to_string(), start.task.clone().expect("a task").to_string());
                // Every offer is allowed: the bench refuses the others.
                match bench.status(&task) {
                    Status::ReadyForReview => {
                        let review = bench.start_review(&task);
                        bench.ok(&by, review);
                    }
                    Status::Approved => {}
                    Status::Working => {
                        bench.register(&by, &["coder"]);
                        bench.claim(&by, &task);
                    }
                    _ => {
                        bench.claim(&by, &task);
                    }
                }
                team.busy.insert(start.agent.clone(), start.task.clone());
            }
            assert!(team.busy.len() <= team.window, "seed {seed}");
            if team.busy.is_empty() {
                check_standstill(&bench, &team, &decided.state, seed);
                if decided.state == State::Complete {
                    complete += 1;
                    break;
                }
                bench.tick(60);
                continue;
            }
            let at = chance.below(team.busy.len() as u64) as usize;
            let (who, task) =
                team.busy.iter().nth(at).map(|(who, task)| (who.clone(), task.clone())).expect("one");
            team.busy.remove(&who);
            one_ends(&mut bench, &mut chance, who.as_str(), task.expect("a task").as_str());
        }
    }
    assert!(
        looked_at > 15 * seeds && u64::from(complete) > seeds / 3,
        "{looked_at} boards, {complete} complete"
    );
}

/// No free agent could start any of the waiting tasks.
fn check_standstill(bench: &Bench, team: &Team, state: &State, seed: u64) {
    let open = bench.board.tasks.iter().filter(|task| !task.status.is_terminal());
    match state {
        State::Running => panic!("seed {seed}: running, and no agent runs"),
        State::Complete => assert_eq!(open.count(), 0, "seed {seed}"),
        State::Waiting(_) | State::Stuck(_) => {
            for task in open {
                for seat in &team.seats {
                    let call = bench.call(bench.actor(seat.agent.as_str()));
                    let could = match task.status {
                        Status::ReadyForReview => check_reviewable(&bench.board, &call, task).is_ok(),
                        Status::Approved => seat.role == Role::code_reviewer(),
                        _ => seat.role == Role::coder() && check_claimable(&bench.board, &call, task).is_ok(),
                    };
                    assert!(!could, "seed {seed}: {} could take {} ({})", seat.agent, task.id, task.status);
                }
            }
        }
    }
}

/// The possible ends of a session.
fn one_ends(bench: &mut Bench, chance: &mut Chance, who: &str, task: &str) {
    let name = task;
    let epoch = Some(bench.task(name).epoch);
    match bench.status(name) {
        Status::Working => match chance.below(8) {
            0 => drop(bench.ok(who, Release { task: id(name), epoch, reason: String::new() })),
            1 => drop(bench.ok(
                who,
                HandOff {
                    task: id(name),
                    epoch,
                    summary: "half of it".to_owned(),
                    next_action: "the rest".to_owned(),
                    to_role: None,
                    package: None,
                    edition: Default::default(),
                },
            )),
            // Killed: the task is still its own.
            2 => {}
            _ => {
                let checkpoint = bench.checkpoint(name);
                bench.ok(who, checkpoint);
                let submit = bench.submit(name);
                bench.ok(who, submit);
            }
        },
        Status::ReadyForReview => match chance.below(6) {
            0 => {
                let reject = bench.reject(name, REASONS[chance.below(6) as usize]);
                bench.ok(who, reject);
            }
            1 => drop(bench.ok(who, ReleaseReview { task: id(name) })),
            2 => {}
            _ => {
                let approve = bench.approve(name);
                bench.ok(who, approve);
                bench.merge(name);
            }
        },
        Status::Approved => bench.merge(name),
        _ => {}
    }
}
