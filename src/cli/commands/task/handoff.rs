use crate::cli::prelude::*;

/// Release a task with instructions for the next agent
///
/// With --to-role the next claim belongs to that role: a coder hands its work to a test_engineer, which hands it back
/// or submits it. Both agents are implementers then, and neither may review the task.
///
/// Example: liza task handoff t1 --summary "parser done" --next "write the tests for empty input" --to-role test_engineer
#[derive(Args)]
pub struct HandoffArgs {
    /// Id of the task
    #[arg(add = Completer::Tasks(|status| status == Status::Working))]
    pub id: TaskId,
    /// What is done
    #[arg(long)]
    pub summary: String,
    /// What to do next
    #[arg(long)]
    pub next: String,
    /// Role of the next agent, such as test_engineer (default: the same role)
    #[arg(long, value_name = "ROLE")]
    pub to_role: Option<Role>,
}

impl OnBoard for HandoffArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let id = &self.id;
        if let Some(role) = &self.to_role {
            session.known_role(role)?;
        }
        let handoff = HandOff {
            epoch: session.ctx.epoch_of(id),
            summary: session.input.text(&self.summary)?,
            next_action: session.input.text(&self.next)?,
            to_role: self.to_role.clone(),
            task: id.clone(),
            package: None,
            edition: Edition::NOW,
        };
        let handoff = crate::flow::handoff::with_facts(&session.ctx, handoff);
        attempt::keep_uncommitted(&session.ctx, id, &handoff)?;
        session.commit(handoff, |handed_off| match handed_off.status {
            Status::Blocked => format!(
                "{id} is BLOCKED: it was handed off too often without a submission (`max_handoffs`); a planner or a person decides"
            ),
            _ => format!("{id} is handed off; an agent with the role {} can claim it", handed_off.role),
        })
    }
}
