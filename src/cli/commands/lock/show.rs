use super::{board, table};
use crate::cli::prelude::*;
use crate::policy::locks::locks_on;

/// Show which task holds a file, a directory or a pattern
///
/// Example: liza lock show src/main.rs
#[derive(Args)]
pub struct ShowArgs {
    /// File, directory with a final slash, or pattern, relative to the root of the repository
    #[arg(value_hint = ValueHint::AnyPath)]
    pub path: String,
}

impl OnBoard for ShowArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let path = PathPattern::new(&self.path).map_err(|why| {
            Failure::usage(format!("`{}` is not a valid path: {why}", self.path)).hint(
            "a file, a directory with a final slash, or a pattern, relative to the root of the repository",
        )
        })?;
        let board = board(session)?;
        let found = locks_on(&board, &session.ctx.now, &path);
        let text = if found.is_empty() { format!("{path} is free") } else { table(session, &found) };
        Ok(Answer::new(json!({ "path": path, "free": found.is_empty(), "locks": found }), text)
            .at(board.revision))
    }
}
