use super::compose::{Extras, post};
use crate::cli::prelude::*;

/// Send a message to an agent, a role or a person
///
/// The role of an agent decides which roles it may write to; a question that requires an answer may always be
/// answered. An unknown type lists all types.
///
/// Example: liza message send --to role:planner --type request_clarification --subject "May a name be empty?" --task t1
#[derive(Args)]
pub struct SendArgs {
    /// Recipient: an agent, role:ROLE, or human
    #[arg(long, value_name = "RECIPIENT")]
    pub to: Recipient,
    /// Type of the message
    #[arg(long = "type", value_name = "TYPE")]
    pub kind: MessageKind,
    /// Subject, in one line
    #[arg(long)]
    pub subject: String,
    /// Text, @file, or - for standard input
    #[arg(long)]
    pub body: Option<String>,
    /// Task that the message is about
    #[arg(long, value_name = "TASK")]
    pub task: Option<TaskId>,
    #[command(flatten)]
    pub extras: Extras,
    /// Id of the message it replies to
    #[arg(long, value_name = "MESSAGE")]
    pub reply_to: Option<MessageId>,
}

impl OnBoard for SendArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        if let Recipient::Role(role) = &self.to {
            session.known_role(role)?;
        }
        let body = self.body.as_deref().map(|body| session.input.text(body)).transpose()?;
        let subject = session.input.text(&self.subject)?;
        let (to, body) = (self.to.clone(), body.unwrap_or_default());
        let mut message = self.extras.draft(session, to, self.kind, subject, body)?;
        message.task_id = self.task.clone();
        message.in_reply_to = self.reply_to.as_ref().map(ToString::to_string);
        post(session, message)
    }
}
