use crate::board::goals::GOAL_SPEC;
use crate::board::state::GoalStatus;
use crate::cli::prelude::*;

#[derive(Args)]
pub struct AddArgs {
    /// Goal of the team, in one sentence
    #[arg(value_hint = ValueHint::Other)]
    pub text: Option<String>,
    /// File that describes the goal in detail (optional)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::AnyPath)]
    pub spec: Option<String>,
}

impl OnBoard for AddArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let goal = session.input.text(self.text.as_deref().unwrap_or_default())?;
        if !goal.trim().contains(char::is_whitespace) {
            return Err(Failure::usage(format!("`{}` is a single word, not a goal", shown_line(&goal))).hint(
                "`liza goal list`, `show`, `edit` and `abandon` are commands; a goal is a sentence in quotes",
            ));
        }
        if let Some(spec) = &self.spec
            && !session.ctx.spec_found(spec)?
        {
            return Err(Failure::new(Code::Value, format!("there is no spec `{spec}`"))
                .hint("write it first, or leave --spec out: the goal's text is enough"));
        }
        let spec_ref = self.spec.clone().unwrap_or_else(|| GOAL_SPEC.to_owned());
        session.commit(AddGoal { goal, spec_ref, routing: None, audited: true }, |added| match added.status {
            GoalStatus::InProgress => {
                format!("{} is the current goal\nnext: liza run", added.goal)
            }
            _ => format!(
                "{} is queued behind {}; `liza run` starts it when they are complete",
                added.goal,
                plural(usize::try_from(added.ahead).unwrap_or(usize::MAX), "goal")
            ),
        })
    }
}
