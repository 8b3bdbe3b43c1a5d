//! The message to an agent for a slice: one JSON value, `task-dispatch/1`.

use std::collections::BTreeMap;

use serde_json::Value;

use super::reading::Problem;
use crate::board::fields::record;
use crate::board::names::{named_by, words};
use crate::board::result::EvidenceItem;
use crate::board::slice::{SliceKind, SliceShape, slice_problems};
use crate::board::task::Kind;
use crate::board::{PathPattern, Role, TaskId, WorkstreamId};

words! {
    pub enum DispatchSchema {
        V1 = "task-dispatch/1",
    }
}

words! {
    /// The type of an agent, in the terms of the playbook. A coder is `coder_spark` with the first provider of its role
    /// and `coder_codex` with the fallback, whichever programs these are.
    pub enum AgentType {
        Operator = "operator",
        CoderSpark = "coder_spark",
        CoderCodex = "coder_codex",
        Auditor = "auditor",
        Supervisor = "supervisor",
    }
}

named_by!(AgentType);

impl AgentType {
    /// The role of the board.
    pub fn role(self) -> Role {
        match self {
            Self::Operator => Role::operator(),
            Self::CoderSpark | Self::CoderCodex => Role::coder(),
            Self::Auditor => Role::auditor(),
            Self::Supervisor => Role::supervisor(),
        }
    }

    /// The type of an agent with this role; none for roles that take no slices.
    pub fn of(role: &Role, fallback: bool) -> Option<Self> {
        Some(match role.as_str() {
            "supervisor" => Self::Supervisor,
            "operator" => Self::Operator,
            "auditor" => Self::Auditor,
            _ if role.codes() && fallback => Self::CoderCodex,
            _ if role.codes() => Self::CoderSpark,
            _ => return None,
        })
    }
}

/// What a run may do to the repository.
pub use crate::board::route::RunMode as Mode;

record! {
    /// The requirements of a slice.
    pub struct TaskContract {
        pub goal: String,
        /// At least one.
        #[schemars(length(min = 1))]
        always pub acceptance: Vec<String>,
        pub constraints: Vec<String>,
        pub spec_ref: Option<String>,
        /// How the agent shows that the work is done.
        pub validation: Option<String>,
    }

    /// How the former attempt at the slice ended.
    pub struct PreviousAttempt {
        pub reason: String,
        pub evidence: Vec<EvidenceItem>,
    }

    /// The message that an agent is sent for a slice.
    pub struct TaskDispatch {
        pub schema: DispatchSchema,
        /// The scenario of the slice: `scenario-` and 12 hexadecimal digits.
        #[schemars(regex(pattern = "^scenario-[0-9a-f]{12}$"))]
        pub ssot_id: String,
        pub run_id: String,
        pub slice_id: TaskId,
        pub workstream: Option<WorkstreamId>,
        pub agent_type: AgentType,
        pub slice_kind: SliceKind,
        pub mode: Mode,
        #[schemars(range(min = 1))]
        pub timebox_minutes: u32,
        always pub ownership_paths: Vec<PathPattern>,
        always pub allowed_paths: Vec<PathPattern>,
        always pub forbidden_paths: Vec<PathPattern>,
        always pub depends_on: Vec<TaskId>,
        /// The results of the slices it depends on.
        #[serde(default)]
        pub inputs: BTreeMap<TaskId, Value>,
        pub task_contract: TaskContract,
        pub provider: String,
        pub model: Option<String>,
        /// The prompt of the role.
        pub instructions: String,
        /// The schema of the answer.
        pub result_schema: String,
        /// Counts the dispatches of the slice, from one.
        #[schemars(range(min = 1))]
        pub attempt: u32,
        pub previous: Option<PreviousAttempt>,
    }
}

impl TaskDispatch {
    /// The broken rules between the fields of a dispatch.
    pub fn problems(&self) -> Vec<Problem> {
        let mut found = cross_rules(&Slice {
            agent_type: self.agent_type,
            slice_kind: self.slice_kind,
            timebox_minutes: Some(self.timebox_minutes),
            ownership_paths: &self.ownership_paths,
            allowed_paths: &self.allowed_paths,
        });
        found.extend(self.task_contract.problems("task_contract"));
        if !super::reading::is_scenario(&self.ssot_id) {
            found.push(Problem::new("ssot_id", "must be `scenario-` and 12 hexadecimal digits"));
        }
        if self.attempt == 0 {
            found.push(Problem::new("attempt", "counts from 1"));
        }
        if self.attempt > 1 && self.previous.is_none() {
            found.push(Problem::new("previous", "a second attempt must say how the first one ended"));
        }
        let wanted = super::results::schema_of(&self.agent_type.role());
        if wanted != Some(self.result_schema.as_str()) {
            let why = format!("must be {} for {}", wanted.unwrap_or("none"), self.agent_type.as_str());
            found.push(Problem::new("result_schema", why));
        }
        found
    }
}

impl TaskContract {
    pub fn problems(&self, field: &str) -> Vec<Problem> {
        let mut found = Vec::new();
        if self.goal.trim().is_empty() {
            found.push(Problem::new(format!("{field}.goal"), "is empty"));
        }
        if self.acceptance.iter().all(|criterion| criterion.trim().is_empty()) {
            found.push(Problem::new(format!("{field}.acceptance"), "names at least one criterion"));
        }
        found
    }
}

/// The fields that the rules between them read: the same for a dispatch and for a slice of a plan.
#[derive(Debug, Clone, Copy)]
pub struct Slice<'s> {
    pub agent_type: AgentType,
    pub slice_kind: SliceKind,
    pub timebox_minutes: Option<u32>,
    pub ownership_paths: &'s [PathPattern],
    pub allowed_paths: &'s [PathPattern],
}

impl Slice<'_> {
    /// The kind of the task for such a slice.
    pub fn kind(&self) -> Kind {
        match (self.agent_type, self.slice_kind) {
            (AgentType::CoderSpark | AgentType::CoderCodex, _) | (_, SliceKind::Merge) => Kind::Code,
            _ => Kind::Report,
        }
    }
}

/// Every broken rule between the fields: which agent takes what, how long, and which paths. This is the only place that
/// decides it.
pub fn cross_rules(slice: &Slice<'_>) -> Vec<Problem> {
    let shape = SliceShape {
        role: &slice.agent_type.role(),
        kind: slice.kind(),
        slice_kind: Some(slice.slice_kind),
        timebox_minutes: slice.timebox_minutes,
        owns: slice.ownership_paths,
    };
    let named = |field: &'static str| match field {
        "owns" => "ownership_paths",
        "role" => "agent_type",
        "kind" => "slice_kind",
        other => other,
    };
    let mut found: Vec<Problem> = slice_problems(&shape)
        .into_iter()
        .map(|problem| Problem::new(named(problem.field), problem.why))
        .collect();
    if slice.timebox_minutes == Some(0) {
        found.push(Problem::new("timebox_minutes", "must be at least 1"));
    }
    if slice.kind() != Kind::Report && slice.ownership_paths.is_empty() {
        found.push(Problem::new("ownership_paths", "a slice that changes files owns at least one path"));
    }
    for (at, owned) in slice.ownership_paths.iter().enumerate() {
        if !slice.allowed_paths.iter().any(|allowed| covers(allowed, owned)) {
            let why = format!("`{owned}` is not inside allowed_paths");
            found.push(Problem::new(format!("ownership_paths[{at}]"), why));
        }
    }
    found
}

/// Whether `outer` contains every path of `inner`: the same pattern, or a directory above it.
pub fn covers(outer: &PathPattern, inner: &PathPattern) -> bool {
    let (outer, inner) = (outer.as_str(), inner.as_str());
    outer == inner
        || matches!(outer, "**" | "**/*")
        || outer.strip_suffix("**").is_some_and(|dir| !dir.contains(['*', '?']) && inner.starts_with(dir))
        || (outer.ends_with('/') && !outer.contains(['*', '?']) && inner.starts_with(outer))
}
