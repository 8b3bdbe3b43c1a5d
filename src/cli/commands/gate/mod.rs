mod bless;

use clap::Subcommand;

use crate::flow::Failure;

use super::super::Session;
use super::super::ui::Answer;

/// Checks that a tree must pass
///
/// Example: liza gate bless replay --hash a1b2c3d4e5f60718 --reason "one more step in the trace"
#[derive(Subcommand)]
pub enum GateCommand {
    Bless(bless::BlessArgs),
}

pub fn run(session: &mut Session, command: GateCommand) -> Result<Answer, Failure> {
    match command {
        GateCommand::Bless(args) => bless::run(session, &args),
    }
}
