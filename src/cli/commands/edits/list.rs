use crate::cli::prelude::*;
use crate::flow::edits;

/// List waiting and refused manual edits of state.yaml
///
/// An edit waits if a command of an agent, a runner or `liza run` found it: the board continues without it. The next
/// command of a person applies or refuses it.
///
/// Example: liza edits list
#[derive(Args)]
pub struct ListArgs {}

impl OnBoard for ListArgs {
    const ACCESS: Access = Access::Reads;

    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let snapshot = session.ctx.read(&Needs::Nothing)?;
        let refused = edits::refused(&session.ctx);
        let pending = &snapshot.board.rest.pending_edits;
        let mut text = String::new();
        for edit in pending {
            let at_work = match edit.at_work.is_empty() {
                true => "no agent was at work".to_owned(),
                false => format!("at work: {}", commas(&edit.at_work)),
            };
            text.line(format!(
                "{} waits: found {} by a command of {}, made from revision {}; {at_work}",
                shown_line(&edit.file),
                edit.found,
                edit.by,
                edit.base
            ));
        }
        for name in &refused {
            text.line(format!("{} was refused", shown_line(name)));
        }
        if text.is_empty() {
            text.push_str("no edit of state.yaml waits for a person");
        }
        Ok(Answer::new(json!({ "pending": pending, "refused": refused }), text).at(snapshot.board.revision))
    }
}
