//! The goal is reached when nothing is left to do for it; a new task opens it again.

use super::prelude::*;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CompleteGoal {}

outcome!(GoalCompleted { goal: String, status: GoalStatus });

impl Verb for CompleteGoal {
    const OPERATION: Option<Operation> = None;
    type Outcome = GoalCompleted;

    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        human_only(call, "say that the goal is reached")?;
        let open: Vec<&str> = board
            .tasks
            .iter()
            .filter(|task| !task.status.is_terminal())
            .map(|task| task.id.as_str())
            .collect();
        if !open.is_empty() {
            return Err(refusal!(Code::Transition, "these are not finished: {}", open.join(", "))
                .hint("`liza status` says what each waits for"));
        }
        if board.tasks.is_empty() && board.rest.archived == 0 {
            return Err(refusal!(Code::Transition, "nothing was done for the goal yet")
                .hint("plan it: `liza plan FILE`"));
        }
        if board.rest.archived == 0 && !board.tasks.iter().any(|task| task.status == Status::Merged) {
            return Err(refusal!(
                Code::Transition,
                "nothing was merged for the goal; everything was abandoned"
            )
            .hint("plan it anew: `liza plan FILE`"));
        }
        Ok(())
    }

    fn change(&self, board: &mut Board, _: &Call) -> Self::Outcome {
        board.rest.goal.status = GoalStatus::Complete;
        GoalCompleted { goal: board.rest.goal.id.clone(), status: board.rest.goal.status }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::rules::Abandon;
    use crate::board::testing::*;

    #[test]
    fn a_goal_is_reached_when_nothing_is_open_and_opens_again_with_a_task() {
        let mut bench = Bench::with_tasks(&["t", "v"]);
        assert_eq!(bench.refused("human", CompleteGoal {}), Code::Transition);
        bench.ok("human", Abandon { task: id("t"), reason: "not needed".to_owned() });
        bench.hand_in("coder-1", "v");
        let review = bench.start_review("v");
        bench.ok("reviewer-1", review);
        let approve = bench.approve("v");
        bench.ok("reviewer-1", approve);
        bench.merge("v");
        assert_eq!(bench.refused("planner-1", CompleteGoal {}), Code::HumanOnly);
        bench.ok("human", CompleteGoal {});
        assert_eq!(bench.board.rest.goal.status, GoalStatus::Complete);
        bench.ok("human", plan_of(vec![new_task("u", "src/u.rs")]));
        assert_eq!(bench.board.rest.goal.status, GoalStatus::InProgress);
        assert_eq!(Bench::new().refused("human", CompleteGoal {}), Code::Transition);
    }

    #[test]
    fn a_goal_for_which_everything_was_abandoned_is_not_reached() {
        let mut bench = Bench::with_tasks(&["t"]);
        bench.ok("human", Abandon { task: id("t"), reason: "not needed".to_owned() });
        assert_eq!(bench.refused("human", CompleteGoal {}), Code::Transition);
        bench.board.rest.archived = 1;
        bench.ok("human", CompleteGoal {});
    }
}
