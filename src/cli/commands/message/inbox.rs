use super::words;
use crate::cli::prelude::*;

/// Show messages to you, the most urgent first, and mark them seen
///
/// Example: liza message inbox
#[derive(Args)]
pub struct InboxArgs {
    /// Include seen messages that are still on the board
    #[arg(long)]
    pub all: bool,
    /// Show the inbox of this agent without marking it seen (people only)
    #[arg(long, value_name = "AGENT")]
    pub agent: Option<AgentId>,
}

impl OnBoard for InboxArgs {
    const ANNOUNCES_MESSAGES: bool = false;

    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        if let Some(id) = &self.agent {
            session.people_only("read the inbox of an agent")?;
            let board = session.ctx.read(&Needs::Nothing)?.board;
            if board.agent(id).is_none() {
                return Err(view::unknown_agent(&board, id));
            }
            return Ok(inbox_answer(&board, id, self.all));
        }
        let snapshot = session.ctx.read(&Needs::Nothing)?;
        let me = snapshot.board.identify(&session.ctx.credentials)?.id();
        let mut answer = inbox_answer(&snapshot.board, &me, self.all);
        let ids: Vec<_> = snapshot.board.unseen_by(&me).iter().map(|message| message.id.clone()).collect();
        if !ids.is_empty() {
            session.seal_request()?;
            let committed = session.ctx.commit(SeeMessages { ids })?;
            answer.revision = Some(committed.board.revision);
        }
        Ok(answer)
    }
}

/// Messages to this agent or person: unseen ones, then with --all the others, newest first.
fn inbox_answer(board: &Board, id: &AgentId, all: bool) -> Answer {
    let unseen = board.unseen_by(id);
    let count = unseen.len();
    let seen = board.rest.messages.iter().rev();
    let seen = seen.filter(|message| all && board.is_for(message, id) && message.seen_by.contains(id));
    let messages: Vec<&Message> = unseen.into_iter().chain(seen).collect();
    let mut text: String = messages.iter().map(|message| words(message)).collect();
    if messages.is_empty() {
        text.push_str("no messages");
    }
    let data = json!({ "agent": id, "unseen": count, "messages": messages });
    Answer::new(data, text).at(board.revision)
}
