//! Sprints: periods of work that end with a retrospective. One is open at a time; former ones stay on the board.

use super::prelude::*;

/// The most tasks that one sprint names.
const MOST_TASKS: usize = 10_000;

logged! {
    pub struct StartSprint {
        pub id: String,
        pub goal: Option<String>,
        pub scope: Vec<TaskId>,
        pub deadline: Option<Wall>,
    }
}

outcome!(SprintStarted { id: String, scope: Vec<TaskId>, started: Wall, deadline: Option<Wall>, goal: Option<String> });

impl Verb for StartSprint {
    const OPERATION: Option<Operation> = None;
    type Outcome = SprintStarted;

    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        human_only(call, "start a sprint")?;
        let open = &board.rest.sprint;
        if open.is_open() {
            return Err(refusal!(Code::Transition, "sprint `{}` is open", open.id)
                .hint("close it first: `liza sprint close`; `liza sprint show` says how it stands")
                .detail("sprint", open.id.as_str()));
        }
        check_id(&self.id)?;
        let taken = |known: &Sprint| known.id.eq_ignore_ascii_case(&self.id);
        if taken(open) || board.rest.former_sprints.iter().any(taken) {
            return Err(refusal!(Code::IdTaken, "there was a sprint `{}` already", self.id)
                .hint("choose another id, or leave it out for the next number"));
        }
        if let Some(goal) = &self.goal {
            text_given("--goal", goal)?;
        }
        if let Some(deadline) = self.deadline.filter(|deadline| *deadline <= call.now.wall) {
            return Err(refusal!(Code::Value, "the deadline {deadline} has passed already")
                .hint("give a time that lies ahead, or how long it may take: --deadline 8h"));
        }
        check_scope(board, &self.scope)
    }

    fn change(&self, board: &mut Board, call: &Call) -> Self::Outcome {
        let mut sprint = Sprint::begin(&self.id, call.now.wall);
        sprint.goal.clone_from(&self.goal);
        sprint.take_in(&self.scope);
        sprint.timeline.deadline = self.deadline;
        sprint.spent_before = board.rest.spent;
        sprint.planning_before = board.rest.spent_planning;
        sprint.before = marks(board, &self.scope, call.now.wall);
        let outcome = SprintStarted {
            id: sprint.id.clone(),
            scope: sprint.scope.clone(),
            started: sprint.timeline.started,
            deadline: sprint.timeline.deadline,
            goal: sprint.goal.clone(),
        };
        let mut former = std::mem::replace(&mut board.rest.sprint, sprint);
        // The figures stay; the marks from which they were computed are not needed again.
        former.before.clear();
        let past = &mut board.rest.former_sprints;
        past.push(former);
        let too_many = past.len().saturating_sub(SPRINTS_KEPT);
        past.drain(..too_many);
        outcome
    }

    fn needs(&self, _: &Board) -> Needs {
        Needs::Everything
    }
}

/// Marks of unfinished tasks, of named tasks, and of tasks that ended within this second. Other tasks had ended before.
fn marks(board: &Board, scope: &[TaskId], now: Wall) -> BTreeMap<TaskId, TaskMark> {
    let loaded = board.tasks.iter().filter(|task| !task.is_light());
    let counts = loaded.filter(|task| {
        let last = task.body().history.last();
        !task.status.is_terminal() || scope.contains(&task.id) || last.is_some_and(|line| line.time >= now)
    });
    counts.map(|task| (task.id.clone(), TaskMark::of(task))).collect()
}

/// The id is also the name of a file.
fn check_id(id: &str) -> Result<(), Refusal> {
    match TaskId::new(id) {
        Ok(_) => Ok(()),
        Err(why) => Err(refusal!(Code::Value, "`{}` cannot be a sprint's id: {why}", id.escape_debug())
            .hint("use letters, digits, `-` and `_`, such as sprint-2")),
    }
}

fn check_scope(board: &Board, scope: &[TaskId]) -> Result<(), Refusal> {
    if scope.len() > MOST_TASKS {
        return Err(refusal!(Code::Limit, "a sprint names at most {MOST_TASKS} tasks")
            .hint("leave the scope out: then the sprint covers all unfinished tasks"));
    }
    scope.iter().try_for_each(|task| find(board, task).map(|_| ()))
}

/// The open sprint, if it has the given id.
fn open<'b>(board: &'b Board, id: &str) -> Result<&'b Sprint, Refusal> {
    let sprint = &board.rest.sprint;
    if sprint.is_open() && sprint.id == id {
        return Ok(sprint);
    }
    Err(refusal!(Code::Transition, "sprint `{}` is not open", id.escape_debug())
        .hint("`liza sprint show` names the open sprint; `liza sprint start` starts one"))
}

logged! {
    pub struct CloseSprint {
        pub id: String,
        /// The figures computed from the sprint's history.
        #[serde(default)]
        pub metrics: BTreeMap<String, f64>,
        /// The path of the retrospective.
        pub retrospective: Option<String>,
        pub note: Option<String>,
    }
}

outcome!(SprintClosed { id: String, ended: Option<Wall>, retrospective: Option<String> });

impl Verb for CloseSprint {
    const OPERATION: Option<Operation> = None;
    type Outcome = SprintClosed;

    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        human_only(call, "close a sprint")?;
        open(board, &self.id)?;
        if self.metrics.values().any(|value| !value.is_finite()) {
            return Err(refusal!(Code::Value, "a figure of the sprint is not a number"));
        }
        self.note.as_ref().map_or(Ok(()), |note| text_fits("--note", note))
    }

    fn change(&self, board: &mut Board, call: &Call) -> Self::Outcome {
        let sprint = &mut board.rest.sprint;
        sprint.status = SprintStatus::Closed;
        sprint.timeline.ended = Some(call.now.wall);
        sprint.metrics.clone_from(&self.metrics);
        sprint.retrospective.clone_from(&self.retrospective);
        sprint.note.clone_from(&self.note);
        SprintClosed {
            id: sprint.id.clone(),
            ended: sprint.timeline.ended,
            retrospective: sprint.retrospective.clone(),
        }
    }
}

logged! {
    pub struct SetSprintScope {
        pub id: String,
        pub add: Vec<TaskId>,
        pub drop: Vec<TaskId>,
    }
}

outcome!(SprintScope { id: String, scope: Vec<TaskId> });

impl Verb for SetSprintScope {
    const OPERATION: Option<Operation> = None;
    type Outcome = SprintScope;

    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        human_only(call, "change the scope of a sprint")?;
        let sprint = open(board, &self.id)?;
        check_scope(board, &self.add)?;
        if let Some(other) = self.drop.iter().find(|task| !sprint.scope.contains(task)) {
            return Err(refusal!(Code::UnknownTask, "task `{other}` is not in the scope of `{}`", sprint.id)
            .hint(
                "`liza sprint show` lists its tasks; a sprint without a scope covers all unfinished tasks",
            ));
        }
        let left = sprint.scope.iter().filter(|task| !self.drop.contains(task)).count();
        if self.add.is_empty() && left == 0 {
            return Err(refusal!(Code::Incomplete, "an empty scope would cover all unfinished tasks")
                .hint("name at least one task that stays, or close the sprint: `liza sprint close`"));
        }
        Ok(())
    }

    fn change(&self, board: &mut Board, _: &Call) -> Self::Outcome {
        let sprint = &mut board.rest.sprint;
        sprint.scope.retain(|task| !self.drop.contains(task));
        sprint.take_in(&self.add);
        SprintScope { id: sprint.id.clone(), scope: sprint.scope.clone() }
    }
}

logged! {
    /// The deadline has passed: recorded before liza sets the CHECKPOINT switch, and again afterwards.
    pub struct PassDeadline {
        pub id: String,
        pub halt: DeadlineHalt,
    }
}

outcome!(DeadlinePassed { id: String, deadline: Option<Wall> });

impl Verb for PassDeadline {
    const OPERATION: Option<Operation> = None;
    type Outcome = DeadlinePassed;

    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        liza_only(call, "end a sprint's time")?;
        let timeline = &open(board, &self.id)?.timeline;
        let due = timeline.deadline.is_some_and(|deadline| deadline <= call.now.wall);
        let next = match self.halt {
            DeadlineHalt::Begun => due && timeline.halt.is_none(),
            DeadlineHalt::Done => timeline.halt == Some(DeadlineHalt::Begun),
        };
        if next {
            return Ok(());
        }
        Err(refusal!(
            Code::Transition,
            "the deadline of `{}` was handled already or has not passed yet",
            self.id
        )
        .hint("`liza sprint show` says when it is"))
    }

    fn change(&self, board: &mut Board, _: &Call) -> Self::Outcome {
        board.rest.sprint.timeline.halt = Some(self.halt);
        DeadlinePassed { id: self.id.clone(), deadline: board.rest.sprint.timeline.deadline }
    }
}
