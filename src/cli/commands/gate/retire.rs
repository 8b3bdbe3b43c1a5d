use clap::Args;

use crate::board::rules::RetireGate;
use crate::flow::Failure;

use super::super::super::Session;
use super::super::super::ui::Answer;

/// Say that a gate is no longer required (people only)
///
/// A gate that was required once keeps stopping approvals and merges when liza.yaml no longer names it as required: the
/// file may only be missing on the branch you are on. This is how a person says that it is meant. Take it out of
/// liza.yaml as well, or the next judgement requires it again.
///
/// Example: liza gate retire lint --reason "the compiler says it all"
#[derive(Args)]
pub struct RetireArgs {
    /// The gate
    #[arg(value_name = "GATE")]
    pub name: String,
    /// Why it is no longer needed
    #[arg(long)]
    pub reason: String,
}

pub fn run(session: &mut Session, args: &RetireArgs) -> Result<Answer, Failure> {
    let reason = session.input.text(&args.reason)?;
    session.seal_request()?;
    let still = session.ctx.project_config()?.gates;
    if still.iter().any(|gate| gate.name == args.name && gate.is_required()) {
        return Err(Failure::new(
            "refused.value",
            format!("liza.yaml still requires gate `{}`, so it would be back at once", args.name),
        )
        .hint("take it out of liza.yaml, or write `optional: true` there, then retire it"));
    }
    let committed = session.ctx.commit(RetireGate { gate: args.name.clone(), reason })?;
    Ok(Answer::new(committed.outcome, format!("{} is no longer required", args.name))
        .at(committed.board.revision))
}
