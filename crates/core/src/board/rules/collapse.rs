//! A workstream that is blocked, or depends on another one, becomes read-only.

use super::abandon::give_up;
use super::prelude::*;

logged! {
    /// Makes a workstream read-only: its unclaimed tasks that would change files are abandoned.
    pub struct CollapseStream {
        pub stream: WorkstreamId,
        pub reason: String,
        /// What was blocked before any agent claimed it is given up, too, and claims in the making are waited for; not so in
        /// older records.
        pub unbegun: bool,
    }
}

outcome!(StreamCollapsed {
    stream: WorkstreamId,
    reason: String,
    /// Tasks that were given up.
    abandoned: Vec<TaskId>,
    /// Tasks that are under way and go on to their end.
    under_way: Vec<TaskId>,
});

impl CollapseStream {
    /// Tasks of the stream that change files and are not finished: those that are not claimed, and the others.
    fn members<'b>(&self, board: &'b Board) -> (Vec<&'b Task>, Vec<&'b Task>) {
        let of_it = |task: &&Task| {
            let named = task.workstream.as_ref().map(WorkstreamId::as_str).unwrap_or_default();
            named.eq_ignore_ascii_case(self.stream.as_str())
                && task.kind != Kind::Report
                && !task.status.is_terminal()
        };
        let unclaimed = |task: &&Task| match task.status {
            Status::Draft | Status::Idle => true,
            Status::Blocked => self.unbegun && task.implementers.is_empty(),
            _ => false,
        };
        board.tasks.iter().filter(of_it).partition(unclaimed)
    }
}

impl Verb for CollapseStream {
    const OPERATION: Option<Operation> = Some(Operation::Plan);
    type Outcome = StreamCollapsed;

    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        plans(board, call, "collapse a workstream")?;
        text_given("--reason", &self.reason)?;
        let Some(stream) = board.workstream(&self.stream) else {
            let known: Vec<&str> = board.rest.workstreams.iter().map(|stream| stream.id.as_str()).collect();
            return Err(refusal!(Code::UnknownRecord, "there is no workstream `{}`", self.stream).hint(
                if known.is_empty() {
                    "no plan has opened one".to_owned()
                } else {
                    format!("known: {}", known.join(", "))
                },
            ));
        };
        if stream.collapsed.is_some() {
            return Err(refusal!(Code::Transition, "the workstream `{}` only looks already", stream.id));
        }
        let (unclaimed, others) = self.members(board);
        // A claim that is being made may be undone, and the task would be there to be claimed again.
        let claims = |task: &&&Task| {
            let intent = board.intent_of(&task.id);
            self.unbegun && intent.is_some_and(|intent| matches!(intent.work, Work::Claim(_)))
        };
        unclaimed.iter().chain(others.iter().filter(claims)).try_for_each(|task| no_intent(board, &task.id))
    }

    fn change(&self, board: &mut Board, call: &Call) -> Self::Outcome {
        let ids = |tasks: Vec<&Task>| tasks.into_iter().map(|task| task.id.clone()).collect::<Vec<_>>();
        let (unclaimed, others) = self.members(board);
        let (abandoned, under_way) = (ids(unclaimed), ids(others));
        let reason = format!("the workstream {} only looks: {}", self.stream, self.reason);
        abandoned.iter().for_each(|id| give_up(board, call, id, &reason));
        let collapsed = Collapsed { reason: self.reason.clone(), by: call.by.id(), time: call.now.wall };
        if let Some(stream) = board.rest.workstreams.iter_mut().find(|stream| stream.is(&self.stream)) {
            stream.collapsed = Some(collapsed);
        }
        StreamCollapsed { stream: self.stream.clone(), reason: self.reason.clone(), abandoned, under_way }
    }

    fn needs(&self, board: &Board) -> Needs {
        Needs::Tasks(self.members(board).0.iter().map(|task| task.id.clone()).collect())
    }
}
