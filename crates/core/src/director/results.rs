//! The answers of agents: one schema for each role.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::dispatch::{AgentType, TaskContract};
use crate::board::fields::record;
use crate::board::names::words;
use crate::board::result::{EvidenceItem, ResultStatus};
pub use crate::board::route::AuditVerdict;
use crate::board::slice::SliceKind;
use crate::board::{PathPattern, Role, TaskId, WorkstreamId};

/// The fields that every result has, and those of its role.
macro_rules! result {
    ($(#[$about:meta])* $name:ident, $marker:ident = $schema:literal { $($fields:tt)* }) => {
        words! {
            pub enum $marker {
                V1 = $schema,
            }
        }

        record! {
            $(#[$about])*
            pub struct $name {
                /// The name of the schema.
                pub schema: $marker,
                /// As in the dispatch.
                pub ssot_id: String,
                /// As in the dispatch.
                pub slice_id: TaskId,
                /// How the slice ended.
                pub status: ResultStatus,
                /// The result, in one or two sentences.
                pub summary: String,
                /// Required if the status is blocked.
                pub blocked_reason: Option<String>,
                /// The evidence.
                pub evidence: Vec<EvidenceItem>,
                $($fields)*
            }
        }

        impl $name {
            pub const SCHEMA: &'static str = $schema;

            fn common(&self) -> Common<'_> {
                Common {
                    ssot_id: &self.ssot_id,
                    slice_id: &self.slice_id,
                    status: self.status,
                    summary: &self.summary,
                    blocked_reason: self.blocked_reason.as_deref(),
                    evidence: &self.evidence,
                }
            }
        }
    };
}

/// The fields that every result has.
#[derive(Debug, Clone, Copy)]
pub struct Common<'r> {
    pub ssot_id: &'r str,
    pub slice_id: &'r TaskId,
    pub status: ResultStatus,
    pub summary: &'r str,
    pub blocked_reason: Option<&'r str>,
    pub evidence: &'r [EvidenceItem],
}

result! {
    /// A supervisor's answer: the plan of its workstream, or the result of its merge slice.
    SupervisorResult, SupervisorSchema = "worker-result.supervisor/1" {
        /// The slices of the workstream; absent for a merge slice.
        pub dispatch_plan: Option<DispatchPlan>,
        /// The files that a merge slice changed.
        pub files_changed: Vec<String>,
        /// The checks of a merge slice for the whole workstream.
        pub checks: Vec<Check>,
    }
}

result! {
    /// An operator's answer: its commands, findings and measurements.
    OperatorResult, OperatorSchema = "worker-result.operator/1" {
        pub commands: Vec<CommandRun>,
        pub findings: Vec<String>,
        /// Values by name, with their unit in the name.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        pub measurements: BTreeMap<String, Value>,
        pub next_steps: Vec<String>,
    }
}

result! {
    /// A coder's answer. It is evidence; only the submission on the board counts.
    CoderResult, CoderSchema = "worker-result.coder/1" {
        pub files_changed: Vec<String>,
        /// The submitted commit.
        pub commit: Option<String>,
        pub checks: Vec<Check>,
        pub follow_ups: Vec<String>,
    }
}

result! {
    /// An auditor's judgement of a run.
    AuditResult, AuditSchema = "review-result.auditor/1" {
        pub verdict: AuditVerdict,
        pub findings: Vec<String>,
        /// The evidence that a verdict of NEEDS_EVIDENCE requests from operators.
        pub evidence_requests: Vec<String>,
        /// The remaining risk.
        pub residual_risk: Option<String>,
    }
}

record! {
    /// A command that was run.
    pub struct CommandRun {
        pub cmd: String,
        pub exit: i32,
        pub seconds: Option<f64>,
    }

    /// One check and how it was made.
    pub struct Check {
        pub cmd: String,
        pub exit: i32,
        pub summary: Option<String>,
    }

    /// A supervisor's plan of its workstream.
    pub struct DispatchPlan {
        pub workstream: WorkstreamId,
        pub timebox_minutes: u32,
        pub depends_on: Vec<WorkstreamId>,
        always pub ownership_paths: Vec<PathPattern>,
        pub allowed_paths: Vec<PathPattern>,
        always pub slices: Vec<PlannedSlice>,
        pub ordering_notes: Option<String>,
        pub risks: Vec<String>,
        /// Its slices need no merge slice: there is nothing to integrate.
        pub nothing_to_integrate: bool,
    }

    /// A slice as a supervisor plans it.
    pub struct PlannedSlice {
        pub slice_id: TaskId,
        pub agent_type: AgentType,
        pub slice_kind: SliceKind,
        pub timebox_minutes: u32,
        pub ownership_paths: Vec<PathPattern>,
        pub allowed_paths: Vec<PathPattern>,
        pub depends_on: Vec<TaskId>,
        pub task_contract: TaskContract,
    }
}

/// A result of any role.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum SliceResult {
    Supervisor(SupervisorResult),
    Operator(OperatorResult),
    Coder(CoderResult),
    Audit(AuditResult),
}

impl SliceResult {
    pub fn common(&self) -> Common<'_> {
        match self {
            Self::Supervisor(result) => result.common(),
            Self::Operator(result) => result.common(),
            Self::Coder(result) => result.common(),
            Self::Audit(result) => result.common(),
        }
    }
}

/// The schema of a role's results; none for roles that do not answer with JSON.
pub fn schema_of(role: &Role) -> Option<&'static str> {
    Some(match role.as_str() {
        "supervisor" => SupervisorResult::SCHEMA,
        "operator" => OperatorResult::SCHEMA,
        "auditor" => AuditResult::SCHEMA,
        _ if role.codes() => CoderResult::SCHEMA,
        _ => return None,
    })
}
