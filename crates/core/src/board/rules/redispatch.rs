//! A session ended without its slice: it is dispatched once more with what was learnt, or blocked.

use super::prelude::*;
use super::report::room_for;
use super::submit_result::again_or_blocked;

logged! {
    pub struct Redispatch {
        pub task: TaskId,
        pub epoch: Option<u64>,
        pub cause: EndCause,
        pub reason: String,
        /// What shows it: outputs that were refused, the last words of a session.
        pub evidence: Vec<EvidenceItem>,
    }
}

outcome!(Redispatched { task: TaskId, status: Status, attempt: u32 });

impl Verb for Redispatch {
    const OPERATION: Option<Operation> = Some(Operation::Work);
    type Outcome = Redispatched;

    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        let task = find(board, &self.task)?;
        no_intent(board, &self.task)?;
        holds_lease(task, call, self.epoch)?;
        if !task.is_slice() {
            return Err(refusal!(
                Code::KindMismatch,
                "task `{}` is no slice, so it is not dispatched again",
                task.id
            )
            .hint(format!(
                "`liza task release {}` or `liza task handoff {0} --summary … --next …` lets it go",
                task.id
            )));
        }
        text_given("reason", &self.reason)
    }

    fn change(&self, board: &mut Board, call: &Call) -> Self::Outcome {
        let config = board.config().clone();
        let (head, body) = parts(board, &self.task);
        let attempt = body.dispatch_attempt();
        again_or_blocked(head, body, call, &config, self.cause, &self.reason, &self.evidence);
        let status = head.status;
        // The planner hears of it, and may make the slice smaller before its second attempt ends.
        if self.cause == EndCause::Timebox && room_for("anomalies", board.rest.anomalies.len()).is_ok() {
            let details = [("count", attempt.to_string()), ("error_pattern", self.reason.clone())];
            let details = details.map(|(key, text)| (key.to_owned(), text));
            note_anomaly(board, call, AnomalyKind::RetryLoop, &self.task, BTreeMap::from(details));
        }
        Redispatched { task: self.task.clone(), status, attempt }
    }
}
