//! Every way the board can change, and the one place that maps each to its rule.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::call::{Actor, Call};
use super::ids::{AgentId, TaskId};
use super::intent::RequestKey;
use super::refusal::Refusal;
use super::rules::*;
use super::state::Board;

/// Which task bodies a transition reads or changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Needs {
    Nothing,
    Tasks(Vec<TaskId>),
    Everything,
}

impl Needs {
    pub fn task(id: &TaskId) -> Self {
        Self::Tasks(vec![id.clone()])
    }

    /// The task an intent is about.
    pub fn intent(board: &Board, id: u64) -> Self {
        match board.intent(id).and_then(|intent| intent.task.as_ref()) {
            Some(task) => Self::task(task),
            None => Self::Nothing,
        }
    }
}

/// One verb: `check` may refuse and changes nothing, `change` cannot fail once `check` has passed.
pub trait Rule {
    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal>;

    /// Makes the change and says what came of it, as the command will answer.
    fn change(&self, board: &mut Board, call: &Call) -> Value;

    /// Which bodies `check` and `change` will ask for; the board it is told may hold heads only.
    fn needs(&self, board: &Board) -> Needs;

    /// Tasks that, if they are not on the board, are looked for in the archive, and after them whatever replaced them.
    fn asks_archive(&self, _: &Board) -> Vec<TaskId> {
        Vec::new()
    }

    /// The messages it puts on the board, in their order: whoever reads the log finds every message by them.
    fn drafts(&self) -> &[Draft] {
        &[]
    }

    /// In whose name they are sent.
    fn speaker(&self, by: &Actor) -> AgentId {
        by.id()
    }

    /// The request this transition begins (answered only when its git work has ended).
    fn begins_request(&self) -> Option<&RequestKey> {
        None
    }
}

macro_rules! transitions {
    ($($variant:ident $name:literal),* $(,)?) => {
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Transition { $($variant($variant)),* }

        impl Transition {
            pub const NAMES: &'static [&'static str] = &[$($name),*];

            pub fn rule(&self) -> &dyn Rule {
                match self { $(Self::$variant(rule) => rule),* }
            }

            /// The name it has in the log.
            pub fn name(&self) -> &'static str {
                match self { $(Self::$variant(_) => $name),* }
            }
        }

        $(impl From<$variant> for Transition {
            fn from(rule: $variant) -> Self {
                Self::$variant(rule)
            }
        })*
    };
}

transitions! {
    Init "init",
    Migrate "migrate",
    RefoundLog "refound_log",
    AddTasks "add_tasks",
    Finalize "finalize",
    BeginClaim "begin_claim",
    FinishClaim "finish_claim",
    CancelClaim "cancel_claim",
    Renew "renew",
    WriteCheckpoint "write_checkpoint",
    Submit "submit",
    RecordSync "record_sync",
    RecordBundle "record_bundle",
    BeginApply "begin_apply",
    FinishApply "finish_apply",
    CancelApply "cancel_apply",
    ReviewBundle "review_bundle",
    Block "block",
    Unblock "unblock",
    Rescope "rescope",
    Abandon "abandon",
    Release "release",
    HandOff "hand_off",
    ReleaseLock "release_lock",
    StartReview "start_review",
    RenewReview "renew_review",
    ReleaseReview "release_review",
    Approve "approve",
    Reject "reject",
    Discuss "discuss",
    RecordGates "record_gates",
    ClearByRedTeam "clear_by_red_team",
    RejectByRedTeam "reject_by_red_team",
    BeginMerge "begin_merge",
    RecordMove "record_move",
    FinishMerge "finish_merge",
    FailMerge "fail_merge",
    CancelMerge "cancel_merge",
    VoidApproval "void_approval",
    BeginMove "begin_move",
    FinishMove "finish_move",
    CancelMove "cancel_move",
    JudgeIntegration "judge_integration",
    RetireGate "retire_gate",
    TakeOver "take_over",
    RegisterAgent "register_agent",
    RetireAgent "retire_agent",
    Heartbeat "heartbeat",
    AddNote "add_note",
    LogAnomaly "log_anomaly",
    Discover "discover",
    ReportBug "report_bug",
    ChangeSpec "change_spec",
    MarkProcessed "mark_processed",
    SendMessage "send_message",
    SeeMessages "see_messages",
    Intervene "intervene",
    RecordCrash "record_crash",
    TripBreaker "trip_breaker",
    AnswerTrip "answer_trip",
    ResolveBreaker "resolve_breaker",
    RecordUsage "record_usage",
    BeginRun "begin_run",
    StartSprint "start_sprint",
    CloseSprint "close_sprint",
    SetSprintScope "set_sprint_scope",
    PassDeadline "pass_deadline",
    ExtendLeases "extend_leases",
    AdoptEdit "adopt_edit",
    RestoreRevision "restore_revision",
    RecordViolation "record_violation",
    ArchiveTasks "archive_tasks",
    CompleteGoal "complete_goal",
    BlessGate "bless_gate",
}
