use crate::cli::prelude::*;

/// End an agent's identity and free its reserved tasks
///
/// Example: liza agent retire coder-1
#[derive(Args)]
pub struct RetireArgs {
    /// Id of the agent
    pub id: AgentId,
}

impl OnBoard for RetireArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let id = &self.id;
        session.commit(RetireAgent { id: id.clone() }, |_| format!("{id} is retired"))
    }
}
