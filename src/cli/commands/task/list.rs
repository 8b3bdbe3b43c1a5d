use crate::cli::prelude::*;

/// List tasks
///
/// Example: liza task list --status READY_FOR_REVIEW
#[derive(Args)]
pub struct ListArgs {
    /// Only tasks in this state; repeat for several
    #[arg(long, value_name = "STATUS")]
    pub status: Vec<Status>,
    /// Only tasks of this agent
    #[arg(long, value_name = "AGENT")]
    pub agent: Option<AgentId>,
    /// Only tasks that an agent can claim now
    #[arg(long)]
    pub ready: bool,
}

impl OnBoard for ListArgs {
    const ACCESS: Access = Access::ReadsAnyVersion;

    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let snapshot = session.ctx.read_with(|board| view::needed_for_rows(board.tasks.iter()))?;
        let frame = view::Frame::new(&session.ctx, &snapshot.board)?;
        let picture = view::Picture::new(&frame, &snapshot.board);
        let wanted = |task: &&Task| {
            (self.status.is_empty() || self.status.contains(&task.status))
                && (self.agent.is_none() || self.agent == task.assigned_to)
        };
        let ready = |task: &&Task| !self.ready || picture.node(task) == NodeState::Ready;
        let chosen: Vec<_> = snapshot.board.tasks.iter().filter(wanted).filter(ready).collect();
        let data = || json!({ "tasks": chosen.iter().map(|task| picture.row(task)).collect::<Vec<_>>() });
        let text = || match (chosen.is_empty(), snapshot.board.tasks.is_empty()) {
            (true, true) => "no tasks on the board; `liza task add --help` shows how to add one".to_owned(),
            (true, false) => "no task matches; `liza task list` shows all".to_owned(),
            _ => picture.table(&chosen),
        };
        Ok(session.answer(data, text).at(snapshot.board.revision))
    }
}
