mod abandon;
mod add;
mod edit;
mod list;
mod show;

use crate::board::GoalId;
use crate::board::goals::Goal;
use crate::board::state::GoalStatus;
use crate::cli::prelude::*;

commands! {
    pub enum GoalCommand {
        List(list::ListArgs),
        Show(show::ShowArgs),
        Edit(edit::EditArgs),
        Abandon(abandon::AbandonArgs),
    }
}

/// Give the team its next goal
///
/// People only. The goal starts at once if the current goal is complete; otherwise it waits in the queue, and `liza
/// run` starts it after the goals before it. Without TEXT, lists the goals. Plans, completion, reports and metrics
/// are about the current goal.
///
/// Example: liza goal "Greetings in two languages"
///
/// Example: liza goal "A new parser" --spec specs/parser.md
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct GoalArgs {
    #[command(flatten)]
    pub add: add::AddArgs,
    #[command(subcommand)]
    pub command: Option<GoalCommand>,
}

impl Execute for GoalArgs {
    fn execute(&self, call: &Invocation) -> Result<Answer, Failure> {
        match &self.command {
            Some(command) => command.execute(call),
            None if self.add.text.is_none() => list::ListArgs {}.execute(call),
            None => self.add.execute(call),
        }
    }
}

/// The name of a goal's state.
pub(super) fn word(status: GoalStatus) -> &'static str {
    match status {
        GoalStatus::InProgress => "in progress",
        GoalStatus::Complete => "complete",
        GoalStatus::Abandoned => "abandoned",
        GoalStatus::Queued => "queued",
    }
}

/// The goal of this id; the current one without an id.
fn find<'b>(board: &'b Board, id: Option<&GoalId>) -> Result<&'b Goal, Failure> {
    let Some(id) = id else { return Ok(&board.rest.goal) };
    board.goal(id.as_str()).ok_or_else(|| {
        let known = commas(board.all_goals().map(|goal| goal.id.as_str()));
        Failure::new(Code::UnknownRecord, format!("there is no goal `{}`", id))
            .hint(format!("known: {known}"))
    })
}
