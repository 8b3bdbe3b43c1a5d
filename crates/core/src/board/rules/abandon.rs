//! Ending a task without a merge: abandoned, or superseded by other tasks.

use super::add_tasks::{NewTask, add, check_finalizable, check_new, named};
use super::prelude::*;

logged! {
    pub struct Abandon {
        pub task: TaskId,
        pub reason: String,
    }
}

outcome!(Abandoned { task: TaskId, status: Status, stranded: Vec<TaskId> });

impl Verb for Abandon {
    const OPERATION: Option<Operation> = Some(Operation::Plan);
    type Outcome = Abandoned;

    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        plans(board, call, "abandon tasks")?;
        let task = find(board, &self.task)?;
        no_intent(board, &self.task)?;
        if task.status.is_terminal() {
            return Err(wrong_state(task, "abandoned", next_step(task)));
        }
        text_given("--reason", &self.reason)
    }

    fn change(&self, board: &mut Board, call: &Call) -> Self::Outcome {
        end(board, call, &self.task, Status::Abandoned, Event::Abandoned, &self.reason);
        let graph = Graph::of(&board.tasks);
        let by_id = board.by_id();
        let stranded: BTreeSet<TaskId> = graph
            .dependents(&self.task)
            .into_iter()
            .filter(|id| by_id.get(id).is_some_and(|task| !task.status.is_terminal()))
            .collect();
        Abandoned {
            task: self.task.clone(),
            status: Status::Abandoned,
            stranded: stranded.into_iter().collect(),
        }
    }
}

/// Ends a task that is given up with its goal.
pub(super) fn give_up(board: &mut Board, call: &Call, id: &TaskId, reason: &str) {
    end(board, call, id, Status::Abandoned, Event::Abandoned, reason);
}

fn end(board: &mut Board, call: &Call, id: &TaskId, to: Status, event: Event, reason: &str) {
    super::expectations::forget(board, id);
    let (head, body) = parts(board, id);
    let from = head.status;
    end_claim(head);
    head.status = to;
    head.reserved_until = None;
    head.holds_paths = false;
    head.holds_paths_until = None;
    body.end_reason = Some(reason.to_owned());
    body.history.push(entry(call, event).step(from, to).detail(reason));
}

logged! {
    pub struct Rescope {
        pub task: TaskId,
        /// New tasks that take its place.
        pub into: Vec<NewTask>,
        /// Tasks already there that take its place.
        pub existing: Vec<TaskId>,
        pub reason: String,
        #[serde(default)]
        always pub specs_found: Vec<TaskId>,
        /// The texts of those specs.
        pub pins: Vec<SpecPin>,
        /// As of new tasks.
        pub strict: bool,
        /// As of new tasks.
        pub slices: bool,
    }
}

outcome!(Rescoped { task: TaskId, status: Status, superseded_by: Vec<TaskId> });

impl Rescope {
    /// The new tasks; those that name no workstream stay in that of the old one.
    fn members(&self, board: &Board) -> Vec<NewTask> {
        let stream = board.task(&self.task).and_then(|task| task.workstream.clone());
        let labelled = |new: &NewTask| NewTask {
            workstream: new.workstream.clone().or_else(|| stream.clone()),
            ..new.clone()
        };
        self.into.iter().map(labelled).collect()
    }
}

impl Verb for Rescope {
    const OPERATION: Option<Operation> = Some(Operation::Plan);
    type Outcome = Rescoped;

    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        plans(board, call, "rescope tasks")?;
        check_spawn(board, call, self.into.iter().map(|task| &task.role))?;
        let task = find(board, &self.task)?;
        no_intent(board, &self.task)?;
        if task.status.is_terminal() {
            return Err(wrong_state(task, "rescoped", next_step(task)));
        }
        text_given("--reason", &self.reason)?;
        if self.into.is_empty() && self.existing.is_empty() {
            return Err(refusal!(Code::Incomplete, "a rescope names at least one task that takes its place")
                .hint("describe them in a file and pass it with --into, or `liza task abandon` if nothing takes its place"));
        }
        for id in &self.existing {
            let other = find(board, id)?;
            if other.id == task.id || matches!(other.status, Status::Superseded | Status::Abandoned) {
                return Err(refusal!(Code::Value, "task `{id}` cannot take the place of `{}`", task.id));
            }
        }
        if self.into.iter().any(|new| new.depends_on.contains(&self.task)) {
            return Err(Refusal::new(
                Code::Cycle,
                format!("a replacement cannot wait for `{}`, which it replaces", self.task),
            ));
        }
        // Tasks that wait for the old task will wait for its replacements: that must not close a cycle either.
        let replacements: Vec<TaskId> =
            self.into.iter().map(|new| new.id.clone()).chain(self.existing.iter().cloned()).collect();
        let graph = Graph::of(&board.tasks)
            .with(self.into.iter().map(|new| (&new.id, new.depends_on.as_slice())))
            .with([(&self.task, replacements.as_slice())]);
        super::add_tasks::no_cycle(&graph.below([&self.task]))?;
        if self.into.is_empty() {
            return Ok(());
        }
        check_new(board, call, &self.into, self.strict)?;
        if self.slices {
            self.into.iter().try_for_each(super::add_tasks::check_slice)?;
        }
        super::streams::check_members(board, call, &self.members(board), &[], None)?;
        check_finalizable(board, call, &self.into, &self.specs_found)
    }

    fn change(&self, board: &mut Board, call: &Call) -> Self::Outcome {
        let goal = board.task(&self.task).and_then(|task| task.goal.clone());
        let stream = board.task(&self.task).and_then(|task| task.workstream.clone());
        add(board, call, &self.into, true, &self.pins);
        let replacements: Vec<TaskId> =
            self.into.iter().map(|new| new.id.clone()).chain(self.existing.iter().cloned()).collect();
        for new in &self.into {
            let (head, body) = parts(board, &new.id);
            if body.parent.is_none() {
                body.parent = Some(self.task.clone());
            }
            head.goal.clone_from(&goal);
            if head.workstream.is_none() {
                head.workstream.clone_from(&stream);
            }
        }
        end(board, call, &self.task, Status::Superseded, Event::Superseded, &self.reason);
        let (head, _) = parts(board, &self.task);
        head.superseded_by = replacements.clone();
        Rescoped { task: self.task.clone(), status: Status::Superseded, superseded_by: replacements }
    }

    fn asks_archive(&self, _: &Board) -> Vec<TaskId> {
        named(&self.into)
    }
}
