//! For any tasks, window and order of ends: the scheduler stays inside its window, never has two tasks in flight with
//! overlapping paths, and fills a free seat at once.

use proptest::prelude::*;

use crate::board::route::RunMode;
use crate::board::rules::check_claimable;
use crate::board::testing::*;
use crate::board::{Role, Status, any_overlap};
use crate::policy::run::{Seat, State, Team, next};
use crate::policy::team::RunConfig;

const OWNED: [&str; 8] = ["a/", "b/", "a/b/", "c/", "d/x.rs", "d/", "e/*.rs", "e/f.rs"];
const MOST_SEATS: usize = 16;

/// One task of a random board: its paths, and its dependencies among earlier tasks.
#[derive(Debug, Clone)]
struct Sketch {
    owned: usize,
    waits_for: Option<usize>,
}

fn sketches() -> impl Strategy<Value = Vec<Sketch>> {
    let one = (0..OWNED.len(), proptest::option::weighted(0.3, 0..20usize));
    proptest::collection::vec(one.prop_map(|(owned, waits_for)| Sketch { owned, waits_for }), 1..20)
}

fn modes() -> impl Strategy<Value = RunMode> {
    prop_oneof![Just(RunMode::ReadOnly), Just(RunMode::Write), Just(RunMode::Mixed)]
}

fn board(sketches: &[Sketch]) -> Bench {
    let mut bench = Bench::new();
    for number in 1..=MOST_SEATS {
        bench.register(&format!("coder-{number}"), &["coder"]);
    }
    let tasks = sketches.iter().enumerate().map(|(at, sketch)| {
        let mut task = new_task(&format!("t{at}"), &format!("t{at}/"));
        // Half of them have separate paths, so that many can run at the same time.
        if at % 2 == 0 {
            task.scope.inside.extend(patterns(&[OWNED[sketch.owned]]));
            task.owns = patterns(&[OWNED[sketch.owned]]);
        }
        task.depends_on = sketch
            .waits_for
            .filter(|other| *other < at)
            .map(|other| id(&format!("t{other}")))
            .into_iter()
            .collect();
        task
    });
    bench.ok("human", plan_of(tasks.collect()));
    bench
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn schedule_keeps_window_and_disjoint_paths(
        sketches in sketches(),
        mode in modes(),
        wanted in 1u32..60,
        threads in 1u32..60,
        ends in proptest::collection::vec(0usize..64, 60),
    ) {
        let config = RunConfig { max_threads: threads, ..RunConfig::default() };
        let window = config.capped(wanted, mode);
        let most = if mode == RunMode::ReadOnly { 16 } else { 12 };
        prop_assert!(window <= most);
        prop_assert!(window == 1 || window <= (threads as usize).saturating_sub(4));
        let mut bench = board(&sketches);
        let seats = (1..=MOST_SEATS).map(|number| Seat { agent: agent(&format!("coder-{number}")), role: Role::coder() });
        let mut team = Team { seats: seats.collect(), window, ..Team::default() };
        for end in ends {
            let decided = next(&bench.board, &bench.world, &bench.now, &team);
            for start in &decided.starts {
                let task = start.task.clone().expect("a task");
                bench.claim(start.agent.as_str(), task.as_str());
                prop_assert!(team.busy.insert(start.agent.clone(), Some(task)).is_none());
            }
            prop_assert!(team.busy.len() <= window);
            let in_flight: Vec<_> = team.busy.values().flatten().filter_map(|task| bench.board.task(task)).collect();
            for (at, task) in in_flight.iter().enumerate() {
                for other in &in_flight[..at] {
                    prop_assert!(any_overlap(&task.owns, &other.owns).is_none(), "{} and {}", task.id, other.id);
                }
            }
            // A seat stays free only if no task could take it.
            if team.busy.len() < window
                && let Some(seat) = team.seats.iter().find(|seat| !team.busy.contains_key(&seat.agent))
            {
                let call = bench.call(bench.actor(seat.agent.as_str()));
                let could = bench.board.tasks.iter().find(|task| {
                    task.status == Status::Idle && check_claimable(&bench.board, &call, task).is_ok()
                });
                prop_assert!(could.is_none(), "{:?} waits beside a free place", could.map(|task| task.id.clone()));
            }
            // The run never ends while a task is in flight.
            prop_assert!(team.busy.is_empty() || decided.state == State::Running);
            if team.busy.is_empty() {
                break;
            }
            let at = end % team.busy.len();
            let (who, task) = team.busy.iter().nth(at).map(|(who, task)| (who.clone(), task.clone())).expect("one");
            team.busy.remove(&who);
            let task = task.expect("a task");
            let checkpoint = bench.checkpoint(task.as_str());
            bench.ok(who.as_str(), checkpoint);
            let submit = bench.submit(task.as_str());
            bench.ok(who.as_str(), submit);
            let review = bench.start_review(task.as_str());
            bench.ok("reviewer-1", review);
            let approve = bench.approve(task.as_str());
            bench.ok("reviewer-1", approve);
            bench.merge(task.as_str());
        }
    }
}
