use crate::cli::prelude::*;

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
    pub name: GateName,
    /// Why it is no longer needed
    #[arg(long)]
    pub reason: String,
}

impl OnBoard for RetireArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let reason = session.input.text(&self.reason)?;
        session.seal_request()?;
        let still = session.ctx.project_config()?.gates;
        if still.iter().any(|gate| gate.name == self.name.as_str() && gate.is_required()) {
            let text = format!("liza.yaml still requires gate `{}`, so it would be back at once", self.name);
            return Err(Failure::new(Code::Value, text)
                .hint("take it out of liza.yaml, or write `optional: true` there, then retire it"));
        }
        let retire = RetireGate { gate: self.name.to_string(), reason };
        session.commit(retire, |_| format!("{} is no longer required", self.name))
    }
}
