use super::compose::post;
use crate::cli::prelude::*;

/// Ask the planner to give the work to another role
///
/// Sends a message of type request_input to role:planner that requires an answer. To release a task to the next
/// agent, see `liza task handoff`.
///
/// Example: liza message request-handoff --to-role test_engineer --reason "needs a load test" --task t1
#[derive(Args)]
pub struct HandoffArgs {
    /// Role that should take the work
    #[arg(long = "to-role", value_name = "ROLE")]
    pub role: Role,
    /// Reason: text, @file, or - for standard input
    #[arg(long)]
    pub reason: String,
    /// Task that the request is about
    #[arg(long, value_name = "TASK")]
    pub task: Option<TaskId>,
}

impl OnBoard for HandoffArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let role = &self.role;
        session.known_role(role)?;
        let (planner, subject) = (Recipient::Role(Role::planner()), format!("Request handoff to {role}"));
        let body = session.input.text(&self.reason)?;
        let message = Draft {
            payload: BTreeMap::from([("handoff_to".to_owned(), role.to_string())]),
            task_id: self.task.clone(),
            requires_response: true,
            ..Draft::new(planner, MessageKind::RequestInput, subject, body)
        };
        post(session, message)
    }
}
