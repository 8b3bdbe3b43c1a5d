//! Gates from the command line.

pub mod list;
pub mod run;
pub mod show;

use clap::Subcommand;

use crate::flow::Failure;

use super::super::Session;
use super::super::ui::Answer;

/// Run the gates of this project by hand, list them, and see what they said
///
/// Example: liza gate list
#[derive(Subcommand)]
pub enum GateCommand {
    Run(run::RunArgs),
    List(list::ListArgs),
    Show(show::ShowArgs),
}

pub fn run(session: &mut Session, command: &GateCommand) -> Result<Answer, Failure> {
    match command {
        GateCommand::Run(args) => run::run(session, args),
        GateCommand::List(args) => list::run(session, args),
        GateCommand::Show(args) => show::run(session, args),
    }
}
