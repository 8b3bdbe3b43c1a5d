//! The view of a task: its node state in the work graph, and what the task waits for.

use super::prelude::*;
use crate::board::rules::held_words;

words! {
    /// The node state of a task in the work graph.
    pub enum NodeState {
        Pending = "pending",
        Ready = "ready",
        Running = "running",
        Blocked = "blocked",
        Failed = "failed",
        Passed = "passed",
    }
}

impl NodeState {
    /// The node state, if the status alone decides it; none for claimable tasks, which may wait for others.
    pub fn of_status(status: Status) -> Option<Self> {
        Some(match status {
            Status::Idle => return None,
            Status::Draft => Self::Pending,
            Status::Blocked => Self::Blocked,
            Status::Working | Status::ReadyForReview | Status::Rejected | Status::Approved => Self::Running,
            Status::IntegrationFailed | Status::Abandoned | Status::Superseded => Self::Failed,
            Status::Merged => Self::Passed,
        })
    }
}

/// Why no agent works on the task now, and whom it waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Waiting {
    /// Task ids, an agent's id, a role, or `human`.
    pub on: Vec<String>,
    pub why: String,
}

/// A board at a moment, with indexes, so that each task is checked without scanning all others.
pub struct Scene<'b> {
    board: &'b Board,
    world: &'b World,
    now: &'b Stamp,
    by_id: HashMap<&'b TaskId, &'b Task>,
    live: Vec<&'b Task>,
    /// The paths of the live tasks, by their index in `live`.
    owned: PathIndex,
}

impl<'b> Scene<'b> {
    pub fn new(board: &'b Board, world: &'b World, now: &'b Stamp) -> Self {
        let live: Vec<&Task> = board.tasks.iter().filter(|task| task.is_live(now)).collect();
        let owned = PathIndex::of(live.iter().map(|task| task.owns.as_slice()));
        Self { board, world, now, by_id: board.by_id(), live, owned }
    }

    /// The first live task that holds paths of this one, and the two overlapping patterns.
    fn rival(&self, task: &'b Task) -> Option<(&'b Task, &'b PathPattern, &'b PathPattern)> {
        let near = self.owned.candidates(&task.owns);
        path_rival(near.into_iter().map(|at| self.live[at]), task, self.now)
    }

    /// Dependencies that are not merged yet.
    fn unmet(&self, task: &'b Task) -> Vec<&'b TaskId> {
        let find = |id: &TaskId| self.by_id.get(id).copied();
        task.depends_on.iter().filter(|id| !dependency_met_by(&find, self.world, id)).collect()
    }

    pub fn node_state(&self, task: &'b Task) -> NodeState {
        NodeState::of_status(task.status).unwrap_or_else(|| {
            if !self.unmet(task).is_empty() {
                NodeState::Pending
            } else if self.rival(task).is_some() {
                NodeState::Blocked
            } else {
                NodeState::Ready
            }
        })
    }

    /// Every task of the board by its id.
    pub fn by_id(&self) -> &HashMap<&'b TaskId, &'b Task> {
        &self.by_id
    }

    /// What the task waits for; none if it is finished or an agent works on it.
    pub fn waiting(&self, task: &'b Task) -> Option<Waiting> {
        match task.status {
            Status::Draft => one("planner", "a draft; the planner finalizes it"),
            Status::Idle | Status::Rejected | Status::IntegrationFailed => {
                let unmet = self.unmet(task);
                if !unmet.is_empty() {
                    let on: Vec<String> = unmet.iter().map(|id| id.to_string()).collect();
                    let why = self.dependency_words(&unmet);
                    return Some(Waiting { on, why });
                }
                if task.hypothesis_exhausted() {
                    return one("planner", "two agents failed at it; split or replan it (rescope)");
                }
                if let Some((other, mine, theirs)) = self.rival(task) {
                    let held = held_words(self.board, other, theirs, self.now);
                    return one(other.id.as_str(), format!("its path `{mine}` overlaps {held}"));
                }
                match (&task.assigned_to, &task.reserved_until) {
                    (Some(agent), Some(until)) if !until.passed(self.now) => {
                        one(agent.as_str(), format!("reserved for {agent} until {}", until.at))
                    }
                    _ => one(task.role.as_str(), format!("ready for a {}", task.role)),
                }
            }
            Status::Working => match &task.lease {
                Some(lease) if lease_over(self.board, lease, self.now) => {
                    let why = format!("the lease of {} has ended; it may be taken over", lease.agent);
                    one(task.role.as_str(), why)
                }
                _ => None,
            },
            Status::ReadyForReview if task.judged_by().is_none() => {
                one("planner", "its result waits to be accepted")
            }
            Status::ReadyForReview => match &task.review_lease {
                Some(lease) if !lease_over(self.board, lease, self.now) => None,
                _ => one("code_reviewer", self.reviewer_words(task)),
            },
            Status::Approved if task.awaits_red_team() => match &task.review_lease {
                Some(lease) if !lease_over(self.board, lease, self.now) => None,
                _ => one("red_team", "approved; the red team has its turn before the merge"),
            },
            Status::Approved => one("code_reviewer", "approved; ready to merge"),
            Status::Blocked => one("human", "its questions wait for an answer"),
            Status::Merged | Status::Superseded | Status::Abandoned => None,
        }
    }

    fn dependency_words(&self, unmet: &[&TaskId]) -> String {
        let words: Vec<String> = unmet
            .iter()
            .map(|id| match (self.by_id.get(*id), self.world.archived.get(*id)) {
                (None, None) => format!("{id} (missing)"),
                (Some(task), _) if task.status == Status::Abandoned => {
                    format!("{id} (ABANDONED: it will never merge)")
                }
                (Some(task), _) => format!("{id} ({})", task.status),
                (None, Some(known)) => format!("{id} ({}, archived: it will never merge)", known.status),
            })
            .collect();
        format!("waits for {}", words.join(", "))
    }

    /// If one approval is not enough: how many there are, and whether another reviewer can give one.
    fn reviewer_words(&self, task: &Task) -> String {
        let Some(approvals) = &task.approvals else { return "ready for a reviewer".to_owned() };
        let so_far = approvals.words();
        let may = self.board.rest.agents.iter().any(|(id, agent)| {
            agent.is_active()
                && agent.has(&Role::code_reviewer())
                && !approvals.has(id)
                && !task.was_implemented_by(id)
        });
        if may {
            return format!("{so_far}; ready for another reviewer");
        }
        let id = &task.id;
        format!(
            "{so_far}; no other registered reviewer may judge it: register one, or a person takes it with `liza review claim {id}`"
        )
    }
}

fn one(on: &str, why: impl Into<String>) -> Option<Waiting> {
    Some(Waiting { on: vec![on.to_owned()], why: why.into() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::rules::MergeFailure;
    use crate::board::testing::{Bench, REASONS, id, new_task, plan_of};

    fn state(bench: &Bench, name: &str) -> NodeState {
        let scene = Scene::new(&bench.board, &bench.world, &bench.now);
        scene.node_state(bench.task(name))
    }

    /// Every status, and every variant of IDLE.
    #[test]
    fn the_node_state_of_every_task_state() {
        use NodeState::{Blocked, Failed, Passed, Pending, Ready, Running};
        type Scene = fn(&mut Bench);
        let scenes: [(&str, Scene, NodeState); 13] = [
            ("IDLE", |_| {}, Ready),
            (
                "DRAFT",
                |bench| {
                    let mut draft = plan_of(vec![new_task("sketch", "sketch/")]);
                    draft.finalize = false;
                    bench.ok("planner-1", draft);
                    let name = id("sketch");
                    bench.board.tasks.retain(|task| task.id == name);
                },
                Pending,
            ),
            (
                "IDLE behind a dependency",
                |bench| {
                    let mut after = new_task("after", "after/");
                    after.depends_on = vec![id("t")];
                    bench.ok("planner-1", plan_of(vec![after]));
                },
                Pending,
            ),
            (
                "IDLE whose paths are held",
                |bench| {
                    bench.claim("coder-1", "t");
                    bench.ok("planner-1", plan_of(vec![new_task("rival", "t/")]));
                },
                Blocked,
            ),
            ("WORKING", |bench| drop(bench.claim("coder-1", "t")), Running),
            ("READY_FOR_REVIEW", |bench| bench.hand_in("coder-1", "t"), Running),
            ("APPROVED", |bench| bench.approved("coder-1", "t"), Running),
            (
                "REJECTED",
                |bench| {
                    bench.rejected("coder-1", "t", REASONS[0]);
                },
                Running,
            ),
            (
                "BLOCKED",
                |bench| {
                    bench.ok("planner-1", bench.block("t"));
                },
                Blocked,
            ),
            (
                "INTEGRATION_FAILED",
                |bench| bench.failed_to_merge("coder-1", "t", MergeFailure::RedGate),
                Failed,
            ),
            (
                "ABANDONED",
                |bench| {
                    bench.ok("planner-1", bench.abandon("t"));
                },
                Failed,
            ),
            (
                "SUPERSEDED",
                |bench| {
                    bench.add(&["better"]);
                    bench.ok("planner-1", bench.replace("t", "better"));
                    let name = id("t");
                    bench.board.tasks.retain(|task| task.id == name);
                },
                Failed,
            ),
            (
                "MERGED",
                |bench| {
                    bench.approved("coder-1", "t");
                    bench.merge("t");
                },
                Passed,
            ),
        ];
        for (name, scene, expected) in scenes {
            let mut bench = Bench::with_tasks(&["t"]);
            scene(&mut bench);
            // The last task is the subject of the scene.
            let last = bench.board.tasks.last().expect("a task").id.to_string();
            assert_eq!(state(&bench, &last), expected, "{name}");
            let status = bench.status(&last);
            assert!(name.starts_with(status.as_str()), "{name} is {status}");
        }
    }

    #[test]
    fn waiting_task_names_holder_and_lease_end() {
        let mut bench = Bench::with_tasks(&["t"]);
        bench.claim("coder-1", "t");
        bench.ok("planner-1", plan_of(vec![new_task("rival", "t/")]));
        let scene = Scene::new(&bench.board, &bench.world, &bench.now);
        let waiting = scene.waiting(bench.task("rival")).expect("it waits");
        assert_eq!(waiting.on, ["t"]);
        for part in ["`t/`", "WORKING", "coder-1", "lease until "] {
            assert!(waiting.why.contains(part), "{part} in {}", waiting.why);
        }
    }
}
