use super::compose::post;
use crate::cli::prelude::*;

/// Ask the planner to give the work to an agent of another role
///
/// Short for a message of type request_input to role:planner that wants an answer. To leave work to whoever comes next,
/// see `liza task handoff`.
///
/// Example: liza message request-handoff --to-role test_engineer --reason "needs a load test" --task t1
#[derive(Args)]
pub struct HandoffArgs {
    /// The role that should take it
    #[arg(long = "to-role", value_name = "ROLE")]
    pub role: Role,
    /// Why, as text, @file, or - for standard input
    #[arg(long)]
    pub reason: String,
    /// The task it is about
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
