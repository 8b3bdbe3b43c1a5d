use super::add::{doubts, with_doubts};
use crate::board::goals::Specs;
use crate::cli::prelude::*;

/// Make drafts claimable
///
/// Example: liza task finalize t1 t2
#[derive(Args)]
pub struct FinalizeArgs {
    /// Ids of the drafts
    #[arg(required_unless_present = "all", add = Completer::Tasks(|status| status == Status::Draft))]
    pub ids: Vec<TaskId>,
    /// All drafts
    #[arg(long, conflicts_with = "ids")]
    pub all: bool,
}

impl OnBoard for FinalizeArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        // A manual edit of state.yaml may complete a draft.
        session.ctx.settle_edits()?;
        let snapshot = session.ctx.read(&Needs::Everything)?;
        let tasks: Vec<TaskId> = if self.all {
            let drafts = snapshot.board.tasks.iter().filter(|task| task.status == Status::Draft);
            drafts.map(|task| task.id.clone()).collect()
        } else {
            self.ids.clone()
        };
        let known = tasks.iter().filter_map(|id| snapshot.board.task(id));
        let named = known.filter_map(|task| Some((&task.id, task.body().spec_ref.as_deref()?)));
        let Specs { found: specs_found, pins } = session.ctx.pin_specs_of(named)?;
        let names = commas(&tasks);
        let drafts = tasks.iter().filter_map(|id| snapshot.board.task(id)).map(NewTask::of);
        let doubts = doubts(session, &snapshot.board, &drafts.collect::<Vec<_>>());
        let done =
            session.commit(Finalize { tasks, specs_found, pins }, |_| format!("claimable: {names}"))?;
        Ok(with_doubts(session, done, doubts))
    }
}
