use crate::cli::prelude::*;

/// Declare a gate no longer required (people only)
///
/// A gate that was required once still stops approvals and merges when liza.yaml no longer names it as required: the
/// file may only be missing on your current branch. This command confirms that the gate is removed on purpose. Remove
/// it from liza.yaml as well, or the next run of the gates requires it again.
///
/// Example: liza gate retire lint --reason "the compiler says it all"
#[derive(Args)]
pub struct RetireArgs {
    /// Name of the gate
    #[arg(value_name = "GATE")]
    pub name: GateName,
    /// Why the gate is no longer needed
    #[arg(long)]
    pub reason: String,
}

impl OnBoard for RetireArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let reason = session.input.text(&self.reason)?;
        session.seal_request()?;
        let still = session.ctx.project_config()?.gates;
        if still.iter().any(|gate| gate.name == self.name.as_str() && gate.is_required()) {
            let text = format!(
                "liza.yaml still requires gate `{}`, so it would be required again at once",
                self.name
            );
            return Err(Failure::new(Code::Value, text)
                .hint("remove it from liza.yaml, or write `optional: true` there, then retire it"));
        }
        let retire = RetireGate { gate: self.name.to_string(), reason };
        session.commit(retire, |_| format!("{} is no longer required", self.name))
    }
}
