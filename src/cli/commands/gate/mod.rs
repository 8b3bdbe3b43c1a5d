//! Gates from the command line.

mod bless;
mod list;
mod retire;
mod run;
mod show;

use clap::Subcommand;

use crate::flow::Failure;

use super::super::Session;
use super::super::ui::Answer;

/// Checks that a tree must pass: run them by hand, list them, see what they said
///
/// Example: liza gate list
#[derive(Subcommand)]
pub enum GateCommand {
    Run(run::RunArgs),
    List(list::ListArgs),
    Show(show::ShowArgs),
    Bless(bless::BlessArgs),
    Retire(retire::RetireArgs),
}

impl GateCommand {
    pub fn only_looks(&self) -> bool {
        matches!(self, Self::List(_) | Self::Show(_))
    }
}

pub fn run(session: &mut Session, command: GateCommand) -> Result<Answer, Failure> {
    match command {
        GateCommand::Run(args) => run::run(session, &args),
        GateCommand::List(args) => list::run(session, &args),
        GateCommand::Show(args) => show::run(session, &args),
        GateCommand::Bless(args) => bless::run(session, &args),
        GateCommand::Retire(args) => retire::run(session, &args),
    }
}
