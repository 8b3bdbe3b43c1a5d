use super::{board, table};
use crate::cli::prelude::*;
use crate::policy::locks::locks;

/// List every path that a task keeps from others: since when, until when, and whether anybody is still there
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
