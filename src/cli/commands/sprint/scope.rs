use crate::cli::prelude::*;

/// Add or drop tasks of the open sprint (people only)
///
/// Example: liza sprint scope --add t1
#[derive(Args)]
pub struct ScopeArgs {
    /// Task to add; repeat
    #[arg(long, value_name = "TASK", required_unless_present = "drop")]
    pub add: Vec<TaskId>,
    /// Task to drop; repeat
    #[arg(long, value_name = "TASK")]
    pub drop: Vec<TaskId>,
}

impl OnBoard for ScopeArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        session.carry_out(
            |ctx| sprint::set_scope(ctx, self.add.clone(), self.drop.clone()),
            |data| format!("{} covers {}", data.id, data.scope.join(", ")),
        )
    }
}
