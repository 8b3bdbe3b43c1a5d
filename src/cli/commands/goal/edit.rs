use super::find;
use crate::board::GoalId;
use crate::cli::prelude::*;
use crate::flow::specs;

/// Change the text or spec of an unfinished goal (people only)
///
/// DRAFT and IDLE tasks whose spec is the goal use the new text; liza writes a message to the agents of the other
/// tasks.
///
/// Example: liza goal edit goal-1 "Greetings in three languages"
#[derive(Args)]
pub struct EditArgs {
    /// Id of the goal
    #[arg(value_hint = ValueHint::Other)]
    pub id: GoalId,
    /// New text of the goal
    #[arg(required_unless_present = "spec", value_hint = ValueHint::Other)]
    pub text: Option<String>,
    /// File that describes the goal in detail, or `goal` for the text alone
    #[arg(long, value_name = "FILE", value_hint = ValueHint::AnyPath)]
    pub spec: Option<String>,
}

impl OnBoard for EditArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let text = self.text.as_ref().map(|text| session.input.text(text)).transpose()?;
        if let Some(spec) = &self.spec
            && !session.ctx.spec_found(spec)?
        {
            return Err(Failure::new(Code::Value, format!("there is no spec `{spec}`"))
                .hint("write it first, or give --spec goal: the goal's text is enough"));
        }
        let board = session.ctx.read(&Needs::Nothing)?.board;
        let id = find(&board, Some(&self.id))?.id.clone();
        let (edited, revision) = specs::edit_goal(&session.ctx, &board, &id, text, self.spec.clone())?;
        let mut words = format!("{} is edited", edited.goal);
        for (tasks, what) in [
            (&edited.pinned, "use the new text"),
            (&edited.under_way, "are under way and keep their text; their agents got a message"),
        ] {
            if !tasks.is_empty() {
                words.push_str(&format!("\n{}: {what}", commas(tasks)));
            }
        }
        Ok(Answer::new(edited, words).at(revision))
    }
}
