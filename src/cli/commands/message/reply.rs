use super::compose::{Extras, post};
use crate::cli::prelude::*;

/// Answer a message
///
/// The reply goes to the sender, about the same task, with the same subject.
///
/// Example: liza message reply message-1 --body "yes, it may"
#[derive(Args)]
pub struct ReplyArgs {
    /// Id of the message
    #[arg(value_name = "MESSAGE")]
    pub id: MessageId,
    /// Text, @file, or - for standard input
    #[arg(long)]
    pub body: String,
    /// Type of the reply (default: a plain answer)
    #[arg(long = "type", value_name = "TYPE")]
    pub kind: Option<MessageKind>,
    /// Subject (default: the subject of the message)
    #[arg(long)]
    pub subject: Option<String>,
    #[command(flatten)]
    pub extras: Extras,
}

impl OnBoard for ReplyArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let original = mail::find(&session.ctx, &self.id)?;
        let board = session.ctx.read(&Needs::Nothing)?.board;
        let me = board.identify(&session.ctx.credentials)?.id();
        let subject = match &self.subject {
            Some(subject) => session.input.text(subject)?,
            None => {
                let former = original.subject.strip_prefix("Re: ").unwrap_or(&original.subject);
                clipped(&format!("Re: {former}"), 200).into_owned()
            }
        };
        // A reply to the sender's own message goes to the recipient of that message.
        let to = if original.from == me { original.to } else { Recipient::One(original.from) };
        let kind = self.kind.unwrap_or(original.kind.answer());
        let body = session.input.text(&self.body)?;
        let mut message = self.extras.draft(session, to, kind, subject, body)?;
        message.task_id = original.task_id.filter(|task| board.task(task).is_some());
        message.in_reply_to = Some(original.id);
        post(session, message)
    }
}
