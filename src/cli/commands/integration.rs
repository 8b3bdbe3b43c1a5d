use clap::{Args, Subcommand};

use crate::flow::{Failure, advance};

use super::super::Session;
use super::super::ui::Answer;

/// The integration branch
///
/// Example: liza integration advance main --reason "upstream fix"
#[derive(Subcommand)]
pub enum IntegrationCommand {
    Advance(AdvanceArgs),
}

/// Bring a commit that liza did not make into integration (people only)
///
/// Fast-forward if possible, else merged; recorded before and after, like any merge.
///
/// Example: liza integration advance main --reason "upstream fix"
#[derive(Args)]
pub struct AdvanceArgs {
    /// A branch, tag or commit
    pub rev: String,
    /// Why
    #[arg(long)]
    pub reason: String,
}

/// Bring integration to another branch (people only)
///
/// Only as a fast-forward. If that branch is checked out, prints the git command for you instead.
///
/// Example: liza deliver --to main
#[derive(Args)]
pub struct DeliverArgs {
    /// The branch to move
    #[arg(long, value_name = "BRANCH", default_value = "main")]
    pub to: String,
}

pub fn run(session: &mut Session, command: IntegrationCommand) -> Result<Answer, Failure> {
    let IntegrationCommand::Advance(args) = command;
    let reason = session.input.text(&args.reason)?;
    let (data, revision) = advance::advance(&session.ctx, &args.rev, &reason)?;
    let text = format!(
        "{} is at {}",
        data["branch"].as_str().unwrap_or_default(),
        data["new"].as_str().unwrap_or_default()
    );
    Ok(Answer::new(data, text).at(revision))
}

pub fn deliver(session: &mut Session, args: &DeliverArgs) -> Result<Answer, Failure> {
    let (data, revision) = advance::deliver(&session.ctx, &args.to)?;
    let text = format!(
        "{} is at {}",
        data["branch"].as_str().unwrap_or_default(),
        data["new"].as_str().unwrap_or_default()
    );
    Ok(Answer::new(data, text).at(revision))
}
