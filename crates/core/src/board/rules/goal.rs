//! The goal is reached when nothing is left to do for it; a new task opens it again.

use super::audit::check_goal_audited;
use super::prelude::*;

logged! {
    pub struct CompleteGoal {
        /// The auditor of a routed goal was asked; not so in older records.
        pub audited: bool,
    }
}

outcome!(GoalCompleted { goal: String, status: GoalStatus });

impl Verb for CompleteGoal {
    const OPERATION: Option<Operation> = None;
    type Outcome = GoalCompleted;

    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        human_only(call, "say that the goal is reached")?;
        reached(board)?;
        if self.audited { check_goal_audited(board, call) } else { Ok(()) }
    }

    fn change(&self, board: &mut Board, call: &Call) -> Self::Outcome {
        let goal = &mut board.rest.goal;
        goal.status = GoalStatus::Complete;
        if goal.started.is_some() {
            goal.ended = Some(call.now.wall);
        }
        GoalCompleted { goal: goal.id.clone(), status: goal.status }
    }
}

/// Whether the current goal is reached: work for it was merged, and no task of it is open.
fn reached(board: &Board) -> Result<(), Refusal> {
    let open: Vec<&str> = board.open_of_goal().map(|task| task.id.as_str()).collect();
    if !open.is_empty() {
        return Err(refusal!(Code::Transition, "these are not finished: {}", open.join(", "))
            .hint("`liza status` says what each waits for"));
    }
    if !board.is_planned() {
        return Err(
            refusal!(Code::Transition, "nothing was done for the goal yet").hint("plan it: `liza plan FILE`")
        );
    }
    if !board.has_merged_for_goal() {
        return Err(refusal!(Code::Transition, "nothing was merged for the goal; everything was abandoned")
            .hint("plan it again: `liza plan FILE`"));
    }
    Ok(())
}

/// Whether another goal may take the place of the current one. `audited` means that its auditor is asked, too.
fn is_over(board: &Board, call: &Call, audited: bool) -> bool {
    let approved = || !audited || check_goal_audited(board, call).is_ok();
    !board.rest.goal.is_open() || reached(board).is_ok() && approved()
}

/// Makes this the current goal; the one before it is kept.
fn begin(board: &mut Board, call: &Call, mut goal: Goal) {
    goal.status = GoalStatus::InProgress;
    goal.started = Some(call.now.wall);
    goal.spent_before = board.rest.spent;
    goal.planning_before = board.rest.spent_planning;
    let mut former = std::mem::replace(&mut board.rest.goal, goal);
    if former.is_open() {
        former.status = GoalStatus::Complete;
    }
    former.ended.get_or_insert(call.now.wall);
    former.graph_id = board.rest.graph_id.take();
    let goals = &mut board.rest.goals;
    goals.push(former);
    // The first stays: tasks that name no goal belong to it.
    let over: Vec<usize> = (0..goals.len()).filter(|at| !goals[*at].is_queued()).collect();
    if let Some(oldest) = over.get(1).filter(|_| over.len() > GOALS_KEPT + 1) {
        goals.remove(*oldest);
    }
}

logged! {
    /// The next goal: the current one if the one before it is reached, else it waits.
    pub struct AddGoal {
        pub goal: String,
        pub spec_ref: String,
        /// It was given to `liza run`, which routes it when it starts.
        pub routing: Option<Routing>,
        /// A routed goal before it is over only when its auditor approves; not so in older records.
        pub audited: bool,
    }
}

outcome!(GoalAdded { goal: String, description: String, spec_ref: String, status: GoalStatus, ahead: u64 });

impl Verb for AddGoal {
    const OPERATION: Option<Operation> = None;
    type Outcome = GoalAdded;

    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        human_only(call, "give the team a goal")?;
        text_given("the goal", &self.goal)?;
        text_given("--spec", &self.spec_ref)?;
        if board.queued_goals().count() >= MOST_QUEUED {
            return Err(refusal!(Code::Limit, "{MOST_QUEUED} goals wait already")
                .hint("`liza goal list` shows them, `liza goal abandon ID --reason …` removes one"));
        }
        Ok(())
    }

    fn change(&self, board: &mut Board, call: &Call) -> Self::Outcome {
        let mut goal = Goal::new(&board.next_goal_id(), &self.goal, &self.spec_ref);
        goal.created = Some(call.now.wall);
        goal.routing.clone_from(&self.routing);
        let waiting = board.queued_goals().count() as u64;
        let over = is_over(board, call, self.audited);
        let starts = over && waiting == 0;
        let status = if starts { GoalStatus::InProgress } else { GoalStatus::Queued };
        let outcome = GoalAdded {
            goal: goal.id.clone(),
            description: goal.description.clone(),
            spec_ref: goal.spec_ref.clone(),
            status,
            ahead: if starts { 0 } else { waiting + u64::from(!over) },
        };
        if starts {
            begin(board, call, goal);
        } else {
            goal.status = status;
            board.rest.goals.push(goal);
        }
        outcome
    }
}

logged! {
    /// The first goal of the queue becomes the current one.
    pub struct StartGoal {
        /// The goal before it is over only when its auditor approves; not so in older records.
        pub audited: bool,
    }
}

outcome!(GoalStarted { goal: String, description: String });

impl Verb for StartGoal {
    const OPERATION: Option<Operation> = None;
    type Outcome = GoalStarted;

    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        human_only(call, "start the next goal")?;
        if board.queued_goals().next().is_none() {
            return Err(refusal!(Code::Transition, "no goal waits").hint("give one: `liza goal \"TEXT\"`"));
        }
        if self.audited && board.rest.goal.is_open() && reached(board).is_ok() {
            check_goal_audited(board, call)?;
        }
        if !is_over(board, call, self.audited) {
            let id = &board.rest.goal.id;
            return Err(refusal!(Code::Transition, "{id} is not complete")
                .hint(format!("`liza run` works on it, `liza goal abandon {id} --reason …` gives it up")));
        }
        Ok(())
    }

    fn change(&self, board: &mut Board, call: &Call) -> Self::Outcome {
        if let Some(at) = board.rest.goals.iter().position(Goal::is_queued) {
            let goal = board.rest.goals.remove(at);
            begin(board, call, goal);
        }
        let goal = &board.rest.goal;
        GoalStarted { goal: goal.id.clone(), description: goal.description.clone() }
    }
}

logged! {
    /// Rewords a goal that is not finished.
    pub struct EditGoal {
        pub goal: String,
        pub description: Option<String>,
        pub spec_ref: Option<String>,
        /// The new text, for tasks whose spec is the goal.
        pub pin: Option<PinnedSpec>,
    }
}

outcome!(GoalEdited {
    goal: String,
    description: String,
    spec_ref: String,
    /// Tasks that go by the new text.
    pinned: Vec<TaskId>,
    /// Tasks that are under way and go by the text they had.
    under_way: Vec<TaskId>,
});

impl Verb for EditGoal {
    const OPERATION: Option<Operation> = None;
    type Outcome = GoalEdited;

    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        human_only(call, "edit a goal")?;
        let goal = find_goal(board, &self.goal)?;
        not_over(goal, "edited")?;
        if self.description.is_none() && self.spec_ref.is_none() {
            return Err(refusal!(Code::Incomplete, "it is not said what is to change")
                .hint(format!("`liza goal edit {} \"NEW TEXT\"`, or --spec FILE", goal.id)));
        }
        if let Some(text) = &self.description {
            text_given("the goal", text)?;
        }
        self.spec_ref.as_ref().map_or(Ok(()), |spec| text_given("--spec", spec))
    }

    fn change(&self, board: &mut Board, call: &Call) -> Self::Outcome {
        let current = board.rest.goal.id.eq_ignore_ascii_case(&self.goal);
        let queued = board.rest.goals.iter_mut().find(|goal| goal.id.eq_ignore_ascii_case(&self.goal));
        let goal = match queued.filter(|_| !current) {
            Some(goal) => goal,
            None => &mut board.rest.goal,
        };
        if let Some(text) = &self.description {
            goal.description.clone_from(text);
        }
        if let Some(spec) = &self.spec_ref {
            goal.spec_ref.clone_from(spec);
        }
        let (id, description, spec_ref) = (goal.id.clone(), goal.description.clone(), goal.spec_ref.clone());
        let (mut pinned, mut under_way) = (Vec::new(), Vec::new());
        if let Some(pin) = self.pin.as_ref().filter(|_| current) {
            let of_goal = |board: &Board, task: &Task| {
                board.is_of_current_goal(task)
                    && task.body().spec.as_ref().is_some_and(|known| known.of == GOAL_SPEC)
            };
            (pinned, under_way) = pin_anew(board, call, pin, of_goal);
        }
        GoalEdited { goal: id, description, spec_ref, pinned, under_way }
    }

    fn needs(&self, _: &Board) -> Needs {
        if self.pin.is_some() { Needs::Everything } else { Needs::Nothing }
    }
}

/// Pins another text with the DRAFT and IDLE tasks among these; returns them, and those that are under way.
pub(super) fn pin_anew(
    board: &mut Board,
    call: &Call,
    pin: &PinnedSpec,
    meant: impl Fn(&Board, &Task) -> bool,
) -> (Vec<TaskId>, Vec<TaskId>) {
    let open = board.tasks.iter().filter(|task| !task.status.is_terminal() && meant(board, task));
    let (fresh, under_way): (Vec<&Task>, Vec<&Task>) =
        open.partition(|task| matches!(task.status, Status::Draft | Status::Idle));
    let ids = |tasks: Vec<&Task>| tasks.into_iter().map(|task| task.id.clone()).collect::<Vec<_>>();
    let (fresh, under_way) = (ids(fresh), ids(under_way));
    for id in &fresh {
        let (_, body) = parts(board, id);
        if body.spec.as_ref() != Some(pin) {
            body.spec = Some(pin.clone());
            body.history.push(entry(call, Event::Edited).detail(format!("spec {} pinned anew", pin.of)));
        }
    }
    (fresh, under_way)
}

fn find_goal<'b>(board: &'b Board, id: &str) -> Result<&'b Goal, Refusal> {
    board.goal(id).ok_or_else(|| {
        let known: Vec<&str> = board.all_goals().map(|goal| goal.id.as_str()).collect();
        refusal!(Code::UnknownRecord, "there is no goal `{}` on this board", id.escape_debug())
            .hint(format!("known: {}", known.join(", ")))
    })
}

fn not_over(goal: &Goal, what: &str) -> Result<(), Refusal> {
    let word = match goal.status {
        GoalStatus::InProgress | GoalStatus::Queued => return Ok(()),
        GoalStatus::Complete => "complete",
        GoalStatus::Abandoned => "abandoned",
    };
    Err(refusal!(Code::Transition, "{} is {word} and cannot be {what}", goal.id)
        .hint("give the next one: `liza goal \"TEXT\"`"))
}

logged! {
    /// Gives a goal up, and with it its tasks that are not finished.
    pub struct AbandonGoal {
        pub goal: String,
        pub reason: String,
    }
}

outcome!(GoalAbandoned { goal: String, tasks: Vec<TaskId> });

impl Verb for AbandonGoal {
    const OPERATION: Option<Operation> = None;
    type Outcome = GoalAbandoned;

    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        human_only(call, "abandon a goal")?;
        let goal = find_goal(board, &self.goal)?;
        not_over(goal, "abandoned")?;
        text_given("--reason", &self.reason)?;
        if goal.id == board.rest.goal.id {
            board.open_of_goal().try_for_each(|task| no_intent(board, &task.id))?;
        }
        Ok(())
    }

    fn change(&self, board: &mut Board, call: &Call) -> Self::Outcome {
        let current = board.rest.goal.id.eq_ignore_ascii_case(&self.goal);
        let mut tasks = Vec::new();
        if current {
            tasks = board.open_of_goal().map(|task| task.id.clone()).collect();
            let reason = format!("{} was abandoned: {}", board.rest.goal.id, self.reason);
            tasks.iter().for_each(|id| super::abandon::give_up(board, call, id, &reason));
        }
        let queued = board.rest.goals.iter_mut().find(|goal| goal.id.eq_ignore_ascii_case(&self.goal));
        let goal = match queued.filter(|_| !current) {
            Some(goal) => goal,
            None => &mut board.rest.goal,
        };
        goal.status = GoalStatus::Abandoned;
        goal.ended = Some(call.now.wall);
        goal.end_reason = Some(self.reason.clone());
        GoalAbandoned { goal: goal.id.clone(), tasks }
    }

    fn needs(&self, board: &Board) -> Needs {
        Needs::Tasks(board.open_of_goal().map(|task| task.id.clone()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::rules::Abandon;
    use crate::board::testing::*;

    #[test]
    fn new_task_reopens_a_completed_goal() {
        let mut bench = Bench::with_tasks(&["t", "v"]);
        assert_eq!(bench.refused("human", CompleteGoal { audited: true }), Code::Transition);
        bench.ok("human", Abandon { task: id("t"), reason: "not needed".to_owned() });
        bench.hand_in("coder-1", "v");
        let review = bench.start_review("v");
        bench.ok("reviewer-1", review);
        let approve = bench.approve("v");
        bench.ok("reviewer-1", approve);
        bench.merge("v");
        assert_eq!(bench.refused("planner-1", CompleteGoal { audited: true }), Code::HumanOnly);
        bench.ok("human", CompleteGoal { audited: true });
        assert_eq!(bench.board.rest.goal.status, GoalStatus::Complete);
        bench.ok("human", plan_of(vec![new_task("u", "src/u.rs")]));
        assert_eq!(bench.board.rest.goal.status, GoalStatus::InProgress);
        assert_eq!(Bench::new().refused("human", CompleteGoal { audited: true }), Code::Transition);
    }

    #[test]
    fn goal_with_only_abandoned_tasks_is_not_reached() {
        let mut bench = Bench::with_tasks(&["t"]);
        bench.ok("human", Abandon { task: id("t"), reason: "not needed".to_owned() });
        assert_eq!(bench.refused("human", CompleteGoal { audited: true }), Code::Transition);
        bench.board.rest.archived = 1;
        bench.ok("human", CompleteGoal { audited: true });
    }
}
