use crate::cli::prelude::*;

/// Change what the open sprint is about (people only)
///
/// Example: liza sprint scope --add t1
#[derive(Args)]
pub struct ScopeArgs {
    /// A task it is about as well; repeat for several
    #[arg(long, value_name = "TASK", required_unless_present = "drop")]
    pub add: Vec<TaskId>,
    /// A task it is no longer about; repeat for several
    #[arg(long, value_name = "TASK")]
    pub drop: Vec<TaskId>,
}

impl OnBoard for ScopeArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        session.carry_out(
            |ctx| sprint::set_scope(ctx, self.add.clone(), self.drop.clone()),
            |data| format!("{} is about {}", data.id, data.scope.join(", ")),
        )
    }
}
