//! The dependency graph: cycles, and which task waits for which.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::ids::TaskId;
use super::task::{Status, Task};

/// The tasks that must be merged before this task: none once it has ended, its replacements if it was superseded.
pub fn waits_for(task: &Task) -> &[TaskId] {
    match task.status {
        Status::Merged | Status::Abandoned => &[],
        Status::Superseded => &task.superseded_by,
        _ => &task.depends_on,
    }
}

/// The dependencies between the tasks of a set.
#[derive(Debug, Default, Clone)]
pub struct Graph {
    edges: BTreeMap<TaskId, Vec<TaskId>>,
}

impl Graph {
    pub fn new<'a>(edges: impl IntoIterator<Item = (&'a TaskId, &'a [TaskId])>) -> Self {
        Self { edges: edges.into_iter().map(|(id, on)| (id.clone(), on.to_vec())).collect() }
    }

    /// The dependencies between the tasks of a board.
    pub fn of<'a>(tasks: impl IntoIterator<Item = &'a Task>) -> Self {
        Self::new(tasks.into_iter().map(|task| (&task.id, waits_for(task))))
    }

    /// Only these tasks and their dependencies, direct and indirect.
    pub fn below<'a>(&self, ids: impl IntoIterator<Item = &'a TaskId>) -> Self {
        let mut edges = BTreeMap::new();
        let mut open: Vec<TaskId> = ids.into_iter().cloned().collect();
        while let Some(id) = open.pop() {
            if edges.contains_key(&id) {
                continue;
            }
            if let Some(on) = self.edges.get(&id) {
                open.extend(on.iter().cloned());
                edges.insert(id, on.clone());
            }
        }
        Self { edges }
    }

    /// The same graph with these edges added; they replace the edges of a known task.
    pub fn with<'a>(mut self, edges: impl IntoIterator<Item = (&'a TaskId, &'a [TaskId])>) -> Self {
        self.edges.extend(edges.into_iter().map(|(id, on)| (id.clone(), on.to_vec())));
        self
    }

    /// A cycle as the tasks on it in order, or none. Ids outside the set are leaves.
    pub fn cycle(&self) -> Option<Vec<TaskId>> {
        // Iterative, because a chain of ten thousand tasks must not overflow the stack.
        let mut done: BTreeSet<&TaskId> = BTreeSet::new();
        for root in self.edges.keys() {
            if done.contains(root) {
                continue;
            }
            let mut path: Vec<(&TaskId, usize)> = vec![(root, 0)];
            let mut on_path: BTreeSet<&TaskId> = BTreeSet::from([root]);
            while let Some((id, next)) = path.last_mut() {
                let targets = self.edges.get(*id).map(Vec::as_slice).unwrap_or_default();
                let Some(target) = targets.get(*next) else {
                    done.insert(id);
                    on_path.remove(*id);
                    path.pop();
                    continue;
                };
                *next += 1;
                if on_path.contains(target) {
                    let start = path.iter().position(|(id, _)| *id == target).unwrap_or(0);
                    return Some(path[start..].iter().map(|(id, _)| (*id).clone()).collect());
                }
                if !done.contains(target) && self.edges.contains_key(target) {
                    on_path.insert(target);
                    path.push((target, 0));
                }
            }
        }
        None
    }

    /// Groups of tasks whose dependencies all lie in earlier groups. Tasks on a cycle appear in none.
    pub fn layers(&self) -> Vec<Vec<TaskId>> {
        let dependents = self.direct_dependents();
        let known = |on: &[TaskId]| on.iter().filter(|id| self.edges.contains_key(*id)).count();
        let mut waiting: HashMap<&TaskId, usize> =
            self.edges.iter().map(|(id, on)| (id, known(on))).collect();
        let mut layer: Vec<&TaskId> = self.edges.keys().filter(|id| waiting[id] == 0).collect();
        let mut layers = Vec::new();
        while !layer.is_empty() {
            let mut next = Vec::new();
            for dependent in layer.iter().flat_map(|id| dependents.get(*id)).flatten() {
                if let Some(left) = waiting.get_mut(dependent) {
                    *left -= 1;
                    next.extend((*left == 0).then_some(*dependent));
                }
            }
            layers.push(layer.into_iter().cloned().collect());
            next.sort_unstable();
            layer = next;
        }
        layers
    }

    /// For each task, the tasks that name it as a dependency, as often as they name it.
    fn direct_dependents(&self) -> HashMap<&TaskId, Vec<&TaskId>> {
        let mut dependents: HashMap<&TaskId, Vec<&TaskId>> = HashMap::new();
        for (id, on) in &self.edges {
            on.iter().for_each(|dependency| dependents.entry(dependency).or_default().push(id));
        }
        dependents
    }

    /// Every task that waits for `id`, directly or indirectly.
    pub fn dependents(&self, id: &TaskId) -> BTreeSet<TaskId> {
        let direct = self.direct_dependents();
        let mut found = BTreeSet::new();
        let mut open = vec![id];
        while let Some(id) = open.pop() {
            for dependent in direct.get(id).into_iter().flatten() {
                if found.insert((*dependent).clone()) {
                    open.push(dependent);
                }
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn id(n: usize) -> TaskId {
        TaskId::new(&format!("t{n}")).expect("valid")
    }

    fn graph(edges: &[Vec<usize>]) -> Graph {
        let lists: Vec<(TaskId, Vec<TaskId>)> =
            edges.iter().enumerate().map(|(n, on)| (id(n), on.iter().copied().map(id).collect())).collect();
        Graph::new(lists.iter().map(|(id, on)| (id, on.as_slice())))
    }

    #[test]
    fn a_cycle_is_reported_as_itself() {
        assert_eq!(graph(&[vec![1], vec![2], vec![1]]).cycle(), Some(vec![id(1), id(2)]));
        assert_eq!(graph(&[vec![0]]).cycle(), Some(vec![id(0)]));
        assert_eq!(graph(&[vec![1, 2], vec![2], vec![]]).cycle(), None);
    }

    #[test]
    fn a_long_chain_does_not_overflow() {
        let edges: Vec<Vec<usize>> = (0..10_000).map(|n| vec![n + 1]).collect();
        assert_eq!(graph(&edges).cycle(), None);
    }

    #[test]
    fn groups_put_tasks_after_their_dependencies() {
        // 4 depends on 3 twice and on a task outside the set; 5 and 6 depend on each other, 7 on 6.
        let edges =
            [vec![], vec![0], vec![0], vec![1, 2], vec![3, 3, 99], vec![6], vec![5], vec![6], vec![8]];
        let ids = |numbers: &[usize]| numbers.iter().copied().map(id).collect::<Vec<_>>();
        assert_eq!(graph(&edges).layers(), [ids(&[0]), ids(&[1, 2]), ids(&[3]), ids(&[4])]);
        assert_eq!(graph(&edges).dependents(&id(2)), ids(&[3, 4]).into_iter().collect());
        assert_eq!(graph(&edges).dependents(&id(6)), ids(&[5, 6, 7]).into_iter().collect());
        let chain: Vec<Vec<usize>> = (0..10_000).map(|n| vec![n + 1]).collect();
        assert_eq!(graph(&chain).layers().len(), 10_000);
        assert_eq!(graph(&chain).dependents(&id(10_000)).len(), 10_000);
    }

    /// Reference: repeatedly remove the tasks that depend on no remaining task.
    fn has_cycle(edges: &[Vec<usize>]) -> bool {
        let mut left: BTreeSet<usize> = (0..edges.len()).collect();
        loop {
            let free: Vec<usize> =
                left.iter().copied().filter(|n| edges[*n].iter().all(|on| !left.contains(on))).collect();
            if free.is_empty() {
                return !left.is_empty();
            }
            for n in free {
                left.remove(&n);
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(10_000))]
        #[test]
        fn cycles_agree_with_the_reference(edges in prop::collection::vec(prop::collection::vec(0usize..8, 0..3), 1..8)) {
            let cycle = graph(&edges).cycle();
            prop_assert_eq!(cycle.is_some(), has_cycle(&edges));
            if let Some(cycle) = cycle {
                for (n, from) in cycle.iter().enumerate() {
                    let to = &cycle[(n + 1) % cycle.len()];
                    let from: usize = from.as_str()[1..].parse().expect("number");
                    let to: usize = to.as_str()[1..].parse().expect("number");
                    prop_assert!(edges[from].contains(&to));
                }
            }
        }
    }
}
