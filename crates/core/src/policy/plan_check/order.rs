//! Which tasks can run in parallel, which wait for others, and the longest chain.

use super::{Finding, Severity};
use crate::policy::prelude::*;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Order {
    /// Tasks whose dependencies all lie in earlier groups.
    pub groups: Vec<Vec<TaskId>>,
    /// Pairs of unordered tasks that own the same paths: one waits for the other, whichever is claimed first.
    pub waits: Vec<Wait>,
    pub critical_path: CriticalPath,
    /// At least two tasks do not depend on each other's result.
    #[serde(skip)]
    pub branches: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Wait {
    pub tasks: (TaskId, TaskId),
    pub paths: (PathPattern, PathPattern),
}

/// The longest chain of dependent tasks: no team is faster.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct CriticalPath {
    pub tasks: Vec<TaskId>,
    /// The sum of its time limits; none if a task of the plan has no time limit.
    pub minutes: Option<u64>,
}

impl Wait {
    pub fn finding(&self) -> Finding {
        let ((one, other), (mine, theirs)) = (&self.tasks, &self.paths);
        let message = format!("{one} and {other} both own {mine} / {theirs}: one will wait for the other");
        let hint = "give each its own paths, let one depend on the other, or list under `owns` only what has to be exclusive";
        Finding::of_all(Severity::Advice, "paths_overlap", message, hint)
    }
}

/// The paths that a task owns.
pub fn owned(task: &NewTask) -> &[PathPattern] {
    if task.owns.is_empty() { &task.scope.inside } else { &task.owns }
}

impl Order {
    pub fn of(tasks: &[NewTask]) -> Self {
        let graph = Graph::new(tasks.iter().map(|task| (&task.id, task.depends_on.as_slice())));
        let groups = graph.layers();
        let sorted = Sorted::new(tasks, &groups);
        let branches = sorted.branches(tasks);
        // In a chain all tasks are ordered; only tasks on a cycle have no order.
        let in_chain = !branches && sorted.order.len() == tasks.len();
        let waits = if in_chain { Vec::new() } else { waits(tasks, &sorted) };
        let critical_path = sorted.critical_path(tasks, &waits);
        let ids = |(one, other): (usize, usize)| (tasks[one].id.clone(), tasks[other].id.clone());
        let waits = waits.into_iter().map(|(pair, paths)| Wait { tasks: ids(pair), paths }).collect();
        Self { groups, waits, critical_path, branches }
    }
}

/// The tasks by number, each after its dependencies. Tasks on a cycle are left out.
struct Sorted<'a> {
    numbers: BTreeMap<&'a TaskId, usize>,
    order: Vec<usize>,
    /// By task: a bit for every direct or indirect dependency.
    before: Vec<Vec<u64>>,
}

impl<'a> Sorted<'a> {
    fn new(tasks: &'a [NewTask], groups: &[Vec<TaskId>]) -> Self {
        let numbers: BTreeMap<&TaskId, usize> =
            tasks.iter().enumerate().map(|(number, task)| (&task.id, number)).collect();
        let order: Vec<usize> = groups.iter().flatten().filter_map(|id| numbers.get(id).copied()).collect();
        let mut before = vec![vec![0_u64; tasks.len().div_ceil(64)]; tasks.len()];
        for &number in &order {
            for dependency in &tasks[number].depends_on {
                let Some(&earlier) = numbers.get(dependency).filter(|earlier| **earlier != number) else {
                    continue;
                };
                let further = before[earlier].clone();
                for (mine, theirs) in before[number].iter_mut().zip(&further) {
                    *mine |= theirs;
                }
                before[number][earlier / 64] |= 1 << (earlier % 64);
            }
        }
        Self { numbers, order, before }
    }

    fn are_ordered(&self, one: usize, other: usize) -> bool {
        let is_before = |one: usize, other: usize| self.before[other][one / 64] >> (one % 64) & 1 == 1;
        is_before(one, other) || is_before(other, one)
    }

    /// Whether two tasks can be worked on without waiting for each other's result.
    fn branches(&self, tasks: &[NewTask]) -> bool {
        // In a chain, neighbours are ordered; an unordered pair is side by side somewhere.
        let in_chain = self.order.windows(2).all(|pair| self.are_ordered(pair[0], pair[1]));
        tasks.len() > 1 && !in_chain
    }

    /// Shared paths order two tasks like a dependency; which comes first is open, so the earlier in this order is used.
    fn critical_path(&self, tasks: &[NewTask], waits: &[Overlap]) -> CriticalPath {
        let timed = tasks.iter().all(|task| task.timebox_minutes.is_some());
        let weight = |number: usize| match tasks[number].timebox_minutes {
            Some(minutes) if timed => u64::from(minutes),
            _ => 1,
        };
        let mut place = vec![usize::MAX; tasks.len()];
        for (at, &number) in self.order.iter().enumerate() {
            place[number] = at;
        }
        let mut waits_for: Vec<Vec<usize>> = tasks
            .iter()
            .map(|task| task.depends_on.iter().filter_map(|id| self.numbers.get(id).copied()).collect())
            .collect();
        for ((one, other), _) in waits {
            let (first, second) = if place[*one] < place[*other] { (*one, *other) } else { (*other, *one) };
            waits_for[second].push(first);
        }
        let mut longest: Vec<(u64, Option<usize>)> = vec![(0, None); tasks.len()];
        for &number in &self.order {
            let before = waits_for[number].iter().copied().max_by_key(|before| longest[*before].0);
            let so_far = before.map_or(0, |before| longest[before].0);
            longest[number] = (so_far + weight(number), before);
        }
        let mut chain = Vec::new();
        let mut at = self.order.iter().copied().rev().max_by_key(|number| longest[*number].0);
        let total = at.map(|number| longest[number].0);
        while let Some(number) = at {
            chain.push(tasks[number].id.clone());
            at = longest[number].1;
        }
        chain.reverse();
        CriticalPath { tasks: chain, minutes: total.filter(|_| timed) }
    }
}

type Overlap = ((usize, usize), (PathPattern, PathPattern));

fn waits(tasks: &[NewTask], sorted: &Sorted) -> Vec<Overlap> {
    let index = PathIndex::of(tasks.iter().map(owned));
    let mut found = Vec::new();
    for one in 0..tasks.len() {
        for other in index.candidates(owned(&tasks[one])) {
            if other <= one || sorted.are_ordered(one, other) {
                continue;
            }
            if let Some((mine, theirs)) = any_overlap(owned(&tasks[one]), owned(&tasks[other])) {
                found.push(((one, other), (mine.clone(), theirs.clone())));
            }
        }
    }
    found
}
