use crate::cli::prelude::*;
use crate::flow::specs;

/// Announce that a spec has changed
///
/// DRAFT and IDLE tasks with this spec use its new text from now on. Tasks under way keep the text they were planned
/// with; liza writes a message to their agents, and the planner decides what the change means for them.
///
/// Example: liza spec-change --spec specs/vision.md "names may be empty" --affects t1
#[derive(Args)]
pub struct SpecChangeArgs {
    /// What changed
    pub change: String,
    /// File of the spec
    #[arg(long, value_name = "FILE", value_hint = ValueHint::AnyPath)]
    pub spec: String,
    /// Affected task; repeat
    #[arg(long, value_name = "TASK")]
    pub affects: Vec<TaskId>,
}

impl OnBoard for SpecChangeArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let change = session.input.text(&self.change)?;
        let (changed, revision) = specs::change(&session.ctx, &self.spec, change, self.affects.clone())?;
        let mut text = format!("recorded as {}", changed.id);
        for (tasks, what) in [
            (&changed.pinned, "now use the new text"),
            (&changed.under_way, "are under way and keep their text; their agents got a message"),
        ] {
            if !tasks.is_empty() {
                text.push_str(&format!("\n{what}: {}", commas(tasks)));
            }
        }
        Ok(Answer::new(changed, text).at(revision))
    }
}
