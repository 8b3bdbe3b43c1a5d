//! The order of merges, and how many run at the same time.

use crate::board::testing::*;
use crate::board::{Status, Wall};
use crate::policy::run::{Seat, Team, next};
use crate::policy::schedule::merge_order;

fn order(bench: &Bench) -> Vec<String> {
    merge_order(&bench.board).into_iter().map(|task| task.id.to_string()).collect()
}

fn approved(tasks: &[(&str, i64, i64, &str)]) -> Bench {
    let mut bench = Bench::new();
    bench.ok("human", plan_of(tasks.iter().map(|(name, _, _, path)| new_task(name, path)).collect()));
    for (name, priority, time, _) in tasks {
        let task = bench.board.task_mut(&id(name)).expect("there");
        let (head, body) = task.parts_mut();
        head.status = Status::Approved;
        head.priority = *priority;
        body.approval = Some(crate::board::review::Approval {
            reviewer: agent("reviewer-1"),
            commit: commit(1),
            time: Wall(*time),
            protected_paths_allowed: false,
            notes: Vec::new(),
        });
    }
    bench
}

#[test]
fn urgency_then_age_then_the_smaller_ownership() {
    let bench = approved(&[
        ("broad", 0, 10, "src/"),
        ("late", 0, 20, "a.rs"),
        ("narrow", 0, 10, "b.rs"),
        ("urgent", 5, 30, "docs/"),
    ]);
    assert_eq!(order(&bench), ["urgent", "narrow", "broad", "late"]);
}

#[test]
fn one_merger_is_enough_and_takes_the_first() {
    let bench = approved(&[("a", 0, 10, "a.rs"), ("b", 5, 20, "b.rs")]);
    let seats: Vec<Seat> = ["reviewer-1", "reviewer-2"]
        .iter()
        .map(|name| Seat { agent: agent(name), role: crate::board::Role::code_reviewer() })
        .collect();
    let mut team = Team { seats, window: 4, ..Team::default() };
    let started = |team: &Team| -> Vec<String> {
        let starts = next(&bench.board, &bench.world, &bench.now, team).starts;
        starts.iter().filter_map(|start| Some(format!("{} {}", start.agent, start.task.as_ref()?))).collect()
    };
    assert_eq!(started(&team), ["reviewer-1 b"]);
    team.busy.insert(agent("reviewer-1"), Some(id("b")));
    assert!(started(&team).is_empty(), "merges wait for each other");
}
