//! The board itself: everything `.liza/state.yaml` says.

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
    /// In the order they were added.
    pub tasks: Vec<Task>,
}

/// How much of the log belongs to this board.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JournalMark {
    /// Bytes of `log.yaml` up to and including the record of this revision.
    pub length: u64,
    /// Hash of that record's line; every line holds the hash of the one before.
    pub hash: String,
}

record! {
    /// Everything but the tasks, in the order it is written.
    pub struct Rest {
        pub goal: Goal,
        /// Goals that are over, and goals that wait.
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
        /// Hashes that gates are to find, as `liza gate bless` recorded them.
        pub expectations: Vec<Expectation>,
        /// Definitions of gates that were accepted, and passes that liza saw.
        #[serde(default, skip_serializing_if = "GateLedger::is_empty")]
        pub gate_ledger: GateLedger,
        /// What the overseer did last, and why.
        pub interventions: Vec<Intervention>,
        /// What all sessions of agents have cost.
        #[serde(default, skip_serializing_if = "Spent::is_nothing")]
        pub spent: Spent,
        /// What of it went into planning, and so into no task.
        #[serde(default, skip_serializing_if = "Spent::is_nothing")]
        pub spent_planning: Spent,
        /// The last run of the team that had a cap.
        pub run: Option<RunMark>,
        /// Sprints before this one, the last of them; `.liza/reports` has the retrospectives.
        pub former_sprints: Vec<Sprint>,
        /// How many tasks have left the board for the archive.
        #[serde(default, skip_serializing_if = "is_zero")]
        pub archived: u64,
        /// What the plan that named it calls the work graph of this board; without one it goes by the goal's id.
        pub graph_id: Option<GraphId>,
        /// The settings of git that a person accepted last.
        pub git_settings: Option<GitSettings>,
        /// Edits of the file by hand that wait for a person.
        pub pending_edits: Vec<PendingEdit>,
        /// What the process that made this board had inherited from an agent or a gate of another one: a test that uses liza,
        /// for instance. Who has the same is free here; every other mark is an agent's or a gate's.
        pub made_below: Option<super::origin::Mark>,
        /// How goals and jobs given to `liza run` were routed, the last of them.
        pub routes: Vec<Route>,
        /// The parts that the current goal was split into, each with a supervisor's plan.
        pub workstreams: Vec<Workstream>,
        /// What another version's board said beside all this, as JSON; kept, and never looked at.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        pub extra: BTreeMap<String, String>,
    }
}

record! {
    /// Settings of git that a person accepted: liza's own git commands use no others.
    #[derive(Eq)]
    pub struct GitSettings {
        /// Names the record of them, by its content.
        pub settings: String,
        pub by: AgentId,
        pub time: Wall,
    }
}

record! {
    /// An edit of `state.yaml` that liza set aside: the board goes on without it until a person's command applies or refuses it.
    #[derive(Eq)]
    pub struct PendingEdit {
        /// Its name below `edits/pending`.
        pub file: String,
        /// Of its bytes: what is applied is what was found.
        pub hash: String,
        /// The revision that it was made from.
        pub base: u64,
        pub found: Wall,
        /// Whose command found it.
        pub by: AgentId,
        /// Agents that were at work then: each of them can write the file as a person can.
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
        /// What it is to reach.
        pub goal: Option<String>,
        /// The tasks it is about; none named means every task that is not finished while it lasts.
        #[serde(default)]
        always pub scope: Vec<TaskId>,
        pub timeline: Timeline,
        /// As they were when it was closed.
        #[serde(default)]
        pub metrics: BTreeMap<String, f64>,
        /// Where the retrospective is, or what an older board said of it.
        pub retrospective: Option<String>,
        /// What was said when it was closed.
        pub note: Option<String>,
        /// What all sessions had cost when it began.
        #[serde(default, skip_serializing_if = "Spent::is_nothing")]
        pub spent_before: Spent,
        #[serde(default, skip_serializing_if = "Spent::is_nothing")]
        pub planning_before: Spent,
        /// How far tasks had come when it began: those that were not finished, and those it names.
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

    /// Makes it about these tasks, too.
    pub fn take_in(&mut self, tasks: &[TaskId]) {
        for task in tasks {
            if !self.scope.contains(task) {
                self.scope.push(task.clone());
            }
        }
    }

    /// The unchanged sprint that every board begins with.
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
        /// The deadline has passed, and how far the halt for it has come: once for each sprint.
        pub halt: Option<DeadlineHalt>,
        pub ended: Option<Wall>,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeadlineHalt {
    /// CHECKPOINT is about to be set.
    Begun,
    /// It was set; liza does not set it again after a person removes it.
    Done,
}

record! {
    /// A finished command that may be repeated without being done twice.
    pub struct Request {
        pub actor: AgentId,
        pub id: String,
        /// Hash over the command and its arguments.
        pub digest: String,
        /// What was answered the first time, as JSON.
        pub outcome: String,
    }
}

/// How many finished requests of one actor are remembered.
pub const REQUESTS_KEPT: usize = 64;

record! {
    /// What liza knows of the integration branch.
    #[derive(Default)]
    pub struct Integration {
        /// The last head liza itself put there or accepted.
        pub head: Option<super::ids::CommitId>,
        /// Every gate that was required when something was judged. One that `liza.yaml` no longer names stops approvals and
        /// merges until a person retires it: a file that is gone is no decision.
        pub gates: Vec<String>,
        /// Why merging has stopped, if the head does not pass the gates.
        pub red: Option<String>,
        /// The last pull or merge request for it.
        pub request: Option<MergeRequest>,
    }

    /// Integration as it was pushed to a remote, for a pull or merge request.
    #[derive(Eq)]
    pub struct MergeRequest {
        pub remote: String,
        /// The branch there.
        pub branch: String,
        /// The branch that it is to come to.
        pub base: String,
        pub commit: super::ids::CommitId,
        /// Where the request is; none if a person opens it.
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
        // The first one counts, as in `task`, should a damaged board have two.
        self.tasks.iter().rev().map(|task| (&task.id, task)).collect()
    }

    /// The task whose id differs from `id` in case at most.
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

    /// What to type instead of an unknown id of a task.
    pub fn hint_for_task(&self, id: &TaskId) -> String {
        match self.task_nearest(id) {
            Some(task) => format!("did you mean `{}`? `liza task list` shows every task", task.id),
            None => "`liza task list` shows every task".to_owned(),
        }
    }

    /// What to type instead of an unknown id of an agent.
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

    /// The name of the work graph that the tasks of this board are.
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
