use super::{board, table};
use crate::cli::prelude::*;
use crate::policy::locks::locks;

/// List held paths with their task, times and state of the holder
///
/// Example: liza lock list --json
#[derive(Args)]
pub struct ListArgs {}

impl OnBoard for ListArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let board = board(session)?;
        let all = locks(&board, &session.ctx.now);
        views::refresh(&session.ctx);
        let text = if all.is_empty() { "no paths are held".to_owned() } else { table(session, &all) };
        Ok(Answer::new(json!({ "locks": all }), text).at(board.revision))
    }
}
