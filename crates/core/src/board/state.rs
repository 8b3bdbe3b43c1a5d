//! The board: the content of `.liza/state.yaml`.

use std::collections::{BTreeMap, HashMap};

use super::agent::Agent;
use super::breaker::Breaker;
use super::config::Config;
use super::expectation::Expectation;
use super::gate_ledger::GateLedger;
pub use super::goals::{Alignment, Goal, GoalStatus};
use super::intent::Intent;
use super::marks::{RunMark, TaskMark};
use super::oversight::Intervention;
use super::prelude::*;
use super::records::{Anomaly, Discovery, Handoff, Message, Note, SpecChange};
use super::route::Route;
use super::spent::Spent;
use super::task::Task;
use super::workstream::Workstream;
use crate::text::nearest;

/// The format this program writes.
pub const VERSION: u32 = 2;

#[derive(Debug, Clone, PartialEq)]
pub struct Board {
    pub revision: u64,
    pub journal: JournalMark,
    pub rest: Rest,
    /// In the order in which they were added.
    pub tasks: Vec<Task>,
}

/// The part of the journal that belongs to this board.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JournalMark {
    /// Bytes of `log.yaml` up to and including the record of this revision.
    pub length: u64,
    /// Hash of that record's line; every line holds the hash of the one before.
    pub hash: String,
}

record! {
    /// Everything except the tasks, in the order in which it is written.
    pub struct Rest {
        pub goal: Goal,
        /// Ended goals and waiting goals.
        pub goals: Vec<Goal>,
        pub sprint: Sprint,
        pub config: Config,
        #[serde(default)]
        pub agents: BTreeMap<AgentId, Agent>,
        #[serde(default)]
        always pub intents: Vec<Intent>,
        #[serde(default)]
        always pub requests: Vec<Request>,
        #[serde(default)]
        always pub discovered: Vec<Discovery>,
        #[serde(default)]
        always pub handoff: Vec<Handoff>,
        #[serde(default)]
        always pub human_notes: Vec<Note>,
        #[serde(default)]
        always pub messages: Vec<Message>,
        #[serde(default)]
        always pub anomalies: Vec<Anomaly>,
        #[serde(default)]
        always pub spec_changes: Vec<SpecChange>,
        #[serde(default)]
        pub circuit_breaker: Breaker,
        #[serde(default)]
        pub integration: Integration,
        /// Hashes that gates must find, as `liza gate bless` recorded them.
        pub expectations: Vec<Expectation>,
        /// Accepted definitions of gates, and passes that liza observed.
        #[serde(default, skip_serializing_if = "GateLedger::is_empty")]
        pub gate_ledger: GateLedger,
        /// The last interventions of the overseer, with their reasons.
        pub interventions: Vec<Intervention>,
        /// The cost of all agent sessions.
        #[serde(default, skip_serializing_if = "Spent::is_nothing")]
        pub spent: Spent,
        /// The part of the cost that went into planning, and so into no task.
        #[serde(default, skip_serializing_if = "Spent::is_nothing")]
        pub spent_planning: Spent,
        /// The last run with a cap.
        pub run: Option<RunMark>,
        /// The last of the former sprints; `.liza/reports` has the retrospectives.
        pub former_sprints: Vec<Sprint>,
        /// How many tasks were moved to the archive.
        #[serde(default, skip_serializing_if = "is_zero")]
        pub archived: u64,
        /// The name of this board's work graph, from the plan that named it; without one, the goal's id is the name.
        pub graph_id: Option<GraphId>,
        /// The git settings that a person accepted last.
        pub git_settings: Option<GitSettings>,
        /// Edits of the file that wait for a person.
        pub pending_edits: Vec<PendingEdit>,
        /// The mark that the process which made this board had inherited from an agent or a gate of another board, for
        /// instance in a test that uses liza. A process with the same mark counts as unmarked here; every other mark is
        /// an agent's or a gate's.
        pub made_below: Option<super::origin::Mark>,
        /// The last routes of goals and jobs given to `liza run`.
        pub routes: Vec<Route>,
        /// The parts that the current goal was split into, each with a supervisor's plan.
        pub workstreams: Vec<Workstream>,
        /// Values of another version's board that this version does not know, as JSON; liza keeps them and never reads
        /// them.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        pub extra: BTreeMap<String, String>,
    }
}

record! {
    /// Git settings that a person accepted: liza's own git commands use no others.
    #[derive(Eq)]
    pub struct GitSettings {
        /// Names the record of the settings, by its content.
        pub settings: String,
        pub by: AgentId,
        pub time: Wall,
    }
}

record! {
    /// An edit of `state.yaml` that liza set aside: the board continues without it until a person's command applies or
    /// refuses it.
    #[derive(Eq)]
    pub struct PendingEdit {
        /// The file's name below `edits/pending`.
        pub file: String,
        /// Hash of its bytes: liza applies exactly the edit that it found.
        pub hash: String,
        /// The revision that was edited.
        pub base: u64,
        pub found: Wall,
        /// The agent or person whose command found the edit.
        pub by: AgentId,
        /// Agents that were at work then: each of them could have written the file.
        pub at_work: Vec<AgentId>,
    }
}

pub(super) fn is_zero(count: &u64) -> bool {
    *count == 0
}

record! {
    pub struct Sprint {
        pub id: String,
        pub status: SprintStatus,
        /// The goal of the sprint.
        pub goal: Option<String>,
        /// The tasks of the sprint; an empty list means every task that is unfinished while it lasts.
        #[serde(default)]
        always pub scope: Vec<TaskId>,
        pub timeline: Timeline,
        /// The figures when the sprint was closed.
        #[serde(default)]
        pub metrics: BTreeMap<String, f64>,
        /// The path of the retrospective, or the text of an older board.
        pub retrospective: Option<String>,
        /// The remark at its close.
        pub note: Option<String>,
        /// The cost of all sessions when the sprint began.
        #[serde(default, skip_serializing_if = "Spent::is_nothing")]
        pub spent_before: Spent,
        #[serde(default, skip_serializing_if = "Spent::is_nothing")]
        pub planning_before: Spent,
        /// The state of tasks when the sprint began: of unfinished tasks, and of tasks that the sprint names.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        pub before: BTreeMap<TaskId, TaskMark>,
    }
}

/// How many former sprints the board remembers.
pub const SPRINTS_KEPT: usize = 50;

impl Sprint {
    pub fn begin(id: &str, started: Wall) -> Self {
        Self {
            id: id.to_owned(),
            status: SprintStatus::InProgress,
            goal: None,
            scope: Vec::new(),
            timeline: Timeline { started, deadline: None, halt: None, ended: None },
            metrics: BTreeMap::new(),
            retrospective: None,
            note: None,
            spent_before: Spent::default(),
            planning_before: Spent::default(),
            before: BTreeMap::new(),
        }
    }

    pub fn is_open(&self) -> bool {
        self.status == SprintStatus::InProgress
    }

    /// Adds these tasks to the scope of the sprint.
    pub fn take_in(&mut self, tasks: &[TaskId]) {
        for task in tasks {
            if !self.scope.contains(task) {
                self.scope.push(task.clone());
            }
        }
    }

    /// Whether it is the unchanged sprint that every board begins with.
    pub fn is_undeclared(&self) -> bool {
        self.is_open() && self.goal.is_none() && self.scope.is_empty() && self.timeline.deadline.is_none()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum SprintStatus {
    InProgress,
    Closed,
}

record! {
    pub struct Timeline {
        pub started: Wall,
        pub deadline: Option<Wall>,
        /// The progress of the halt for a passed deadline: once for each sprint.
        pub halt: Option<DeadlineHalt>,
        pub ended: Option<Wall>,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeadlineHalt {
    /// liza is about to set the CHECKPOINT switch.
    Begun,
    /// The switch was set; liza does not set it again after a person removes it.
    Done,
}

record! {
    /// A finished command that may be repeated without being executed twice.
    pub struct Request {
        pub actor: AgentId,
        pub id: String,
        /// Hash over the command and its arguments.
        pub digest: String,
        /// The first answer, as JSON.
        pub outcome: String,
    }
}

/// How many finished requests of one actor are remembered.
pub const REQUESTS_KEPT: usize = 64;

record! {
    /// The state of the integration branch.
    #[derive(Default)]
    pub struct Integration {
        /// The last head that liza made or accepted.
        pub head: Option<super::ids::CommitId>,
        /// Every gate that was required when a commit was judged. A gate that `liza.yaml` no longer names stops
        /// approvals and merges until a person retires it: a missing file is no decision.
        pub gates: Vec<String>,
        /// Why merging has stopped, if the head fails its gates.
        pub red: Option<String>,
        /// The last pull or merge request for integration.
        pub request: Option<MergeRequest>,
    }

    /// Integration as pushed to a remote, for a pull or merge request.
    #[derive(Eq)]
    pub struct MergeRequest {
        pub remote: String,
        /// The branch on the remote.
        pub branch: String,
        /// The target branch of the request.
        pub base: String,
        pub commit: super::ids::CommitId,
        /// The URL of the request; none if a person opens it.
        pub url: Option<String>,
        pub time: Wall,
    }
}

impl Board {
    pub fn task(&self, id: &TaskId) -> Option<&Task> {
        self.tasks.iter().find(|task| &task.id == id)
    }

    /// All tasks by id, for many lookups.
    pub fn by_id(&self) -> HashMap<&TaskId, &Task> {
        // If a damaged board has two tasks with one id, the first counts, as in `task`.
        self.tasks.iter().rev().map(|task| (&task.id, task)).collect()
    }

    /// The task whose id differs from `id` at most in case.
    pub fn task_alike(&self, id: &TaskId) -> Option<&Task> {
        self.tasks.iter().find(|task| task.id.as_str().eq_ignore_ascii_case(id.as_str()))
    }

    /// The task that was probably meant by an id that is not on the board.
    pub fn task_nearest(&self, id: &TaskId) -> Option<&Task> {
        let near = || {
            let name = nearest(id.as_str(), self.tasks.iter().map(|task| task.id.as_str()))?;
            self.tasks.iter().find(|task| task.id.as_str() == name)
        };
        self.task_alike(id).or_else(near)
    }

    /// The hint for an unknown id of a task.
    pub fn hint_for_task(&self, id: &TaskId) -> String {
        match self.task_nearest(id) {
            Some(task) => format!("did you mean `{}`? `liza task list` shows every task", task.id),
            None => "`liza task list` shows every task".to_owned(),
        }
    }

    /// The hint for an unknown id of an agent.
    pub fn hint_for_agent(&self, id: &AgentId) -> String {
        match nearest(id.as_str(), self.rest.agents.keys().map(AgentId::as_str)) {
            Some(name) => format!("did you mean `{name}`? `liza agent list` shows every agent"),
            None => "`liza agent list` shows every agent".to_owned(),
        }
    }

    /// Only for changes that a rule has checked to be possible.
    pub fn task_mut(&mut self, id: &TaskId) -> Option<&mut Task> {
        self.tasks.iter_mut().find(|task| &task.id == id)
    }

    /// The name of this board's work graph.
    pub fn graph_id(&self) -> &str {
        self.rest.graph_id.as_ref().map_or(self.rest.goal.id.as_str(), GraphId::as_str)
    }

    pub fn agent(&self, id: &AgentId) -> Option<&Agent> {
        self.rest.agents.get(id)
    }

    pub fn intent(&self, id: u64) -> Option<&Intent> {
        self.rest.intents.iter().find(|intent| intent.id == id)
    }

    pub fn intent_of(&self, task: &TaskId) -> Option<&Intent> {
        self.rest.intents.iter().find(|intent| intent.task.as_ref() == Some(task))
    }

    pub fn config(&self) -> &Config {
        &self.rest.config
    }
}
