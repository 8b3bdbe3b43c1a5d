use crate::cli::prelude::*;

/// Announce that a spec has changed
///
/// Example: liza spec-change --spec specs/vision.md "names may be empty" --affects t1
#[derive(Args)]
pub struct SpecChangeArgs {
    /// What changed
    pub change: String,
    /// The spec's file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::AnyPath)]
    pub spec: String,
    /// A task it touches, repeated for each
    #[arg(long, value_name = "TASK")]
    pub affects: Vec<TaskId>,
}

impl OnBoard for SpecChangeArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        session.ctx.spec_found(&self.spec)?;
        let affects = self.affects.clone();
        let change =
            ChangeSpec { spec: self.spec.clone(), change: session.input.text(&self.change)?, affects };
        session.commit(change, |record| format!("recorded as {}", record.id))
    }
}
