//! A failing test becomes a task: whoever reports it shows that it runs on integration and fails there.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::board::call::Call;
use crate::board::gates::{GateOutcome, GateStatus};
use crate::board::ids::{CommitId, Role, TaskId};
use crate::board::records::{Discovery, Urgency, next_number};
use crate::board::refusal::{Code, Refusal};
use crate::board::review::Severity;
use crate::board::state::Board;
use crate::board::task::{Risk, Status};
use crate::board::transition::{Needs, Rule};

use super::add_tasks::{NewTask, add, check_new, named};
use super::common::{find, text_given};
use super::report::room_for;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReportBug {
    pub task: NewTask,
    /// Integration with the failing test.
    pub commit: CommitId,
    /// The command that shows it.
    pub command: String,
    /// What liza found when it ran that on exactly this commit.
    pub outcome: GateOutcome,
}

/// Who may report one.
pub fn check_reporter(board: &Board, call: &Call) -> Result<(), Refusal> {
    if call.by.has_role(board, &Role::test_engineer()) {
        return Ok(());
    }
    Refusal::new(Code::Role, format!("`{}` is not a test_engineer, so it cannot report bugs", call.by.id()))
        .hint("say what you found: `liza discover \"…\" --task ID --severity … --urgency …`")
        .err()
}

/// Only a test that runs and fails shows anything.
pub fn shows_a_bug(outcome: &GateOutcome) -> Result<(), Refusal> {
    let log = || outcome.log.clone().unwrap_or_default();
    match outcome.status {
        GateStatus::Fail => Ok(()),
        GateStatus::Pass => Refusal::new(Code::NoBug, "the test passes on integration: it shows no bug")
            .hint("see that --test names every file it needs and --run runs it; nothing was changed")
            .detail("log", log())
            .err(),
        GateStatus::CouldNotRun => Refusal::new(
            Code::GateNotRun,
            format!(
                "the test could not run on integration{}",
                outcome.reason.as_ref().map_or(String::new(), |why| format!(": {why}"))
            ),
        )
        .hint("give a --run command that works in a fresh checkout of integration; nothing was changed")
        .detail("log", log())
        .err(),
    }
}

impl Rule for ReportBug {
    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        check_reporter(board, call)?;
        text_given("--run", &self.command)?;
        shows_a_bug(&self.outcome)?;
        room_for("discoveries", board.rest.discovered.len())?;
        check_new(board, call, std::slice::from_ref(&self.task))?;
        // It may have been cut from another.
        self.task.parent.as_ref().map_or(Ok(()), |parent| find(board, parent).map(|_| ()))
    }

    fn change(&self, board: &mut Board, call: &Call) -> Value {
        add(board, call, std::slice::from_ref(&self.task), false);
        if let Some(task) = board.task_mut(&self.task.id) {
            let (_, body) = task.parts_mut();
            if let Some(created) = body.history.last_mut() {
                created.commit = Some(self.commit.clone());
                created.detail = Some(format!("a failing test: {}", self.command));
            }
        }
        let number = next_number("discovery", board.rest.discovered.iter().map(|found| found.id.as_str()));
        let id = &self.task.id;
        let discovery = Discovery {
            id: format!("discovery-{number}"),
            time: call.now.wall,
            by: call.by.id(),
            task_id: id.clone(),
            text: format!(
                "{id}: {}. `{}` fails on integration. Make it claimable: `liza task finalize {id}`, or cut it anew \
                 with the paths its repair needs: `liza task rescope {id} --into FILE --reason …`",
                self.task.title, self.command
            ),
            severity: if self.task.risk == Risk::High { Severity::Critical } else { Severity::Major },
            urgency: Urgency::Immediate,
            processed_by: None,
        };
        let told = discovery.id.clone();
        board.rest.discovered.push(discovery);
        json!({
            "task": id, "status": Status::Draft, "commit": self.commit, "discovery": told,
            "outcome": self.outcome, "inputs": self.task.inputs,
        })
    }

    fn asks_archive(&self, _: &Board) -> Vec<TaskId> {
        named(std::slice::from_ref(&self.task))
    }

    fn needs(&self, _: &Board) -> Needs {
        Needs::Nothing
    }
}
