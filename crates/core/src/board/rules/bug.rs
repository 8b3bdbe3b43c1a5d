//! A failing test becomes a task: the reporter shows that the test runs on the integration branch and fails there.

use super::add_tasks::{NewTask, add, check_new, named};
use super::prelude::*;
use super::report::room_for;

logged! {
    pub struct ReportBug {
        pub task: NewTask,
        /// A commit on integration that adds the failing test.
        pub commit: CommitId,
        /// The command that runs the test.
        pub command: String,
        /// The result when liza ran that command on exactly this commit.
        pub outcome: GateOutcome,
        /// The text of the task's spec.
        pub pins: Vec<SpecPin>,
    }
}

/// Refuses callers that may not report bugs.
pub fn check_reporter(board: &Board, call: &Call) -> Result<(), Refusal> {
    if call.by.has_role(board, &Role::test_engineer()) {
        return Ok(());
    }
    Err(refusal!(Code::Role, "`{}` is not a test_engineer, so it cannot report bugs", call.by.id())
        .hint("say what you found: `liza discover \"…\" --task ID --severity … --urgency …`"))
}

/// Refuses a test that passes or cannot run: only a failing test shows a bug.
pub fn shows_a_bug(outcome: &GateOutcome) -> Result<(), Refusal> {
    let log = || outcome.log.clone().unwrap_or_default();
    match outcome.status {
        GateStatus::Fail => Ok(()),
        GateStatus::Pass => Err(refusal!(Code::NoBug, "the test passes on integration: it shows no bug")
            .hint(
                "check that --test names every file of the test and that --run runs it; nothing was changed",
            )
            .detail("log", log())),
        GateStatus::CouldNotRun => Err(refusal!(
            Code::GateNotRun,
            "the test could not run on integration{}",
            outcome.reason.as_ref().map_or(String::new(), |why| format!(": {why}"))
        )
        .hint("give a --run command that works in a fresh checkout of integration; nothing was changed")
        .detail("log", log())),
    }
}

outcome!(BugReported { task: TaskId, status: Status, commit: CommitId, discovery: String, outcome: GateOutcome, inputs: Vec<String> });

impl Verb for ReportBug {
    const OPERATION: Option<Operation> = Some(Operation::Report);
    type Outcome = BugReported;

    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        check_reporter(board, call)?;
        text_given("--run", &self.command)?;
        shows_a_bug(&self.outcome)?;
        room_for("discoveries", board.rest.discovered.len())?;
        check_new(board, call, std::slice::from_ref(&self.task), false)?;
        // The task may have been split from another one.
        self.task.parent.as_ref().map_or(Ok(()), |parent| find(board, parent).map(|_| ()))
    }

    fn change(&self, board: &mut Board, call: &Call) -> Self::Outcome {
        add(board, call, std::slice::from_ref(&self.task), false, &self.pins);
        if let Some(task) = board.task_mut(&self.task.id) {
            let (_, body) = task.parts_mut();
            if let Some(created) = body.history.last_mut() {
                created.commit = Some(self.commit.clone());
                created.detail = Some(format!("a failing test: {}", self.command));
            }
        }
        let id = &self.task.id;
        let text = format!(
            "{id}: {}. `{}` fails on integration. Make it claimable: `liza task finalize {id}`, or cut it anew \
             with the paths its repair needs: `liza task rescope {id} --into FILE --reason …`",
            self.task.title, self.command
        );
        let severity = if self.task.risk == Risk::High { Severity::Critical } else { Severity::Major };
        let discovery = note_discovery(board, call, id, text, severity, Urgency::Immediate);
        BugReported {
            task: id.clone(),
            status: Status::Draft,
            commit: self.commit.clone(),
            discovery,
            outcome: self.outcome.clone(),
            inputs: self.task.inputs.clone(),
        }
    }

    fn asks_archive(&self, _: &Board) -> Vec<TaskId> {
        named(std::slice::from_ref(&self.task))
    }
}
