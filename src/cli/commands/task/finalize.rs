use super::add::{doubts, with_doubts};
use crate::cli::prelude::*;

/// Make drafts claimable
///
/// Example: liza task finalize t1 t2
#[derive(Args)]
pub struct FinalizeArgs {
    /// The drafts
    #[arg(required_unless_present = "all", add = Completer::Tasks(|status| status == Status::Draft))]
    pub ids: Vec<TaskId>,
    /// Every draft
    #[arg(long, conflicts_with = "ids")]
    pub all: bool,
}

impl OnBoard for FinalizeArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let snapshot = session.ctx.read(&Needs::Everything)?;
        let tasks: Vec<TaskId> = if self.all {
            let drafts = snapshot.board.tasks.iter().filter(|task| task.status == Status::Draft);
            drafts.map(|task| task.id.clone()).collect()
        } else {
            self.ids.clone()
        };
        let mut specs_found = Vec::new();
        for id in &tasks {
            let spec = snapshot.board.task(id).and_then(|task| task.body().spec_ref.clone());
            if let Some(spec) = spec
                && session.ctx.spec_found(&spec)?
            {
                specs_found.push(id.clone());
            }
        }
        let names = commas(&tasks);
        let drafts = tasks.iter().filter_map(|id| snapshot.board.task(id)).map(NewTask::of);
        let doubts = doubts(session, &snapshot.board, &drafts.collect::<Vec<_>>());
        let done = session.commit(Finalize { tasks, specs_found }, |_| format!("claimable: {names}"))?;
        Ok(with_doubts(session, done, doubts))
    }
}
