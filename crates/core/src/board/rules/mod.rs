//! One file per verb or family of verbs: its condition, its change and its answer.

mod abandon;
mod accept_git;
mod accept_result;
mod add_tasks;
mod adopt_edit;
mod agents;
mod apply_bundle;
mod approve;
mod archive;
mod audit;
mod bless;
mod block;
mod breaker;
mod bug;
mod bundle;
mod checkpoint;
mod claim;
mod collapse;
mod commit;
mod common;
mod contradiction;
mod edit;
mod expectations;
mod finalize;
mod gate_ledger;
mod goal;
mod init;
mod intervene;
mod leases;
mod limit;
mod merge;
mod message;
mod migrate;
mod moves;
mod prelude;
mod quorum;
mod red_team;
mod redispatch;
mod refound;
mod reject;
mod release;
mod report;
mod restore;
mod review_lease;
mod reviewers;
mod route;
mod sent_back;
mod set_aside_edit;
mod sprint;
mod streams;
mod submit;
mod submit_result;
mod sync;
mod take_over;
mod unlock;
mod usage;
mod verdict;
mod violation;

use serde::{Deserialize, Serialize};

use super::state::Board;
use super::verb::{AnyVerb, Listed, Needs};

pub use super::edition::Edition;
pub use abandon::*;
pub use accept_git::*;
pub use accept_result::*;
pub use add_tasks::*;
pub use adopt_edit::*;
pub use agents::*;
pub use apply_bundle::*;
pub use approve::*;
pub use archive::*;
pub use audit::*;
pub use bless::*;
pub use block::*;
pub use breaker::*;
pub use bug::*;
pub use bundle::*;
pub use checkpoint::*;
pub use claim::*;
pub use collapse::*;
pub use commit::WorktreeCommit;
pub use common::{dependency_met, dependency_met_by, lease_over};
pub use edit::*;
pub use finalize::*;
pub use gate_ledger::*;
pub use goal::*;
pub use init::*;
pub use intervene::*;
pub use leases::*;
pub use limit::*;
pub use merge::*;
pub use message::*;
pub use migrate::*;
pub use moves::*;
pub use red_team::*;
pub use redispatch::*;
pub use refound::*;
pub use reject::*;
pub use release::*;
pub use report::*;
pub use restore::*;
pub use review_lease::*;
pub use route::*;
pub use sent_back::*;
pub use set_aside_edit::*;
pub use sprint::*;
pub use streams::*;
pub use submit::*;
pub use submit_result::*;
pub use sync::*;
pub use take_over::*;
pub use unlock::*;
pub use usage::*;
pub use verdict::*;
pub use violation::*;

macro_rules! about {
    ($verb:ident, $board:ident) => {
        Needs::Nothing
    };
    ($verb:ident, $board:ident, task) => {
        Needs::task(&$verb.task)
    };
    ($verb:ident, $board:ident, intent) => {
        Needs::intent($board, $verb.intent)
    };
}

macro_rules! transitions {
    ($($variant:ident $name:literal $($about:ident)?),* $(,)?) => {
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        pub enum Transition { $(#[serde(rename = $name)] $variant($variant)),* }

        impl Transition {
            pub const NAMES: &'static [&'static str] = &[$($name),*];

            pub fn verb(&self) -> &dyn AnyVerb {
                match self { $(Self::$variant(verb) => verb),* }
            }

            /// The verb's name in the journal.
            pub fn name(&self) -> &'static str {
                match self { $(Self::$variant(_) => $name),* }
            }
        }

        $(impl From<$variant> for Transition {
            fn from(verb: $variant) -> Self {
                Self::$variant(verb)
            }
        }

        impl Listed for $variant {
            fn about(&self, _board: &Board) -> Needs {
                about!(self, _board $(, $about)?)
            }
        })*
    };
}

// Each verb with its name in the journal, and the field that names the task whose body it reads: `task`, or `intent`
// (the task of that intent). A verb that reads the bodies of other tasks implements `Verb::needs`.
transitions! {
    Init "init",
    Migrate "migrate",
    RefoundLog "refound_log",
    AddTasks "add_tasks",
    EditTask "edit_task",
    Finalize "finalize",
    BeginClaim "begin_claim" task,
    FinishClaim "finish_claim" intent,
    CancelClaim "cancel_claim" intent,
    Renew "renew" task,
    WriteCheckpoint "write_checkpoint" task,
    Submit "submit" task,
    RecordSync "record_sync" task,
    RecordBundle "record_bundle" task,
    BeginApply "begin_apply" task,
    FinishApply "finish_apply" intent,
    CancelApply "cancel_apply",
    ReviewBundle "review_bundle",
    Block "block" task,
    Unblock "unblock" task,
    Rescope "rescope" task,
    Abandon "abandon" task,
    Release "release" task,
    HandOff "hand_off" task,
    BlockAtLimit "block_at_limit" task,
    ReleaseLock "release_lock" task,
    StartReview "start_review" task,
    RenewReview "renew_review" task,
    ReleaseReview "release_review" task,
    Approve "approve" task,
    Reject "reject" task,
    Discuss "discuss" task,
    RecordGates "record_gates" task,
    ClearByRedTeam "clear_by_red_team" task,
    RejectByRedTeam "reject_by_red_team" task,
    BeginMerge "begin_merge" task,
    RecordMove "record_move",
    FinishMerge "finish_merge" intent,
    FailMerge "fail_merge" intent,
    CancelMerge "cancel_merge" intent,
    VoidApproval "void_approval" task,
    BeginMove "begin_move",
    FinishMove "finish_move",
    CancelMove "cancel_move",
    RecordRequest "record_request",
    JudgeIntegration "judge_integration",
    RetireGate "retire_gate",
    AcceptGates "accept_gates",
    RecordPass "record_pass",
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
    SetAsideEdit "set_aside_edit",
    RefuseEdit "refuse_edit",
    RestoreRevision "restore_revision",
    RecordViolation "record_violation",
    ArchiveTasks "archive_tasks",
    CompleteGoal "complete_goal",
    AddGoal "add_goal",
    StartGoal "start_goal",
    EditGoal "edit_goal",
    AbandonGoal "abandon_goal",
    BlessGate "bless_gate",
    AcceptGit "accept_git",
    SubmitResult "submit_result" task,
    AcceptResult "accept_result" task,
    RejectResult "reject_result" task,
    Redispatch "redispatch" task,
    RecordRoute "record_route",
    RecordAudit "record_audit",
    WaiveAudit "waive_audit",
    CollapseStream "collapse_stream",
}
