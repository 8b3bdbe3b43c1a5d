//! The circuit breaker: failures that repeat too often, and a person's decisions about them. The breaker only observes
//! and changes no task.

use super::prelude::*;
use super::switch::SwitchKind;

record! {
    #[derive(Default)]
    pub struct Breaker {
        #[serde(default)]
        pub tier0_violations: u64,
        /// The last failed agent commands; the journal has all.
        pub crashes: Vec<Crash>,
        /// Every trip, in order; a trip without a resolution is open.
        pub trips: Vec<Trip>,
    }
}

impl Breaker {
    pub fn open(&self) -> impl Iterator<Item = &Trip> {
        self.trips.iter().filter(|trip| trip.resolved.is_none())
    }
}

/// How many crashes the board remembers.
pub const CRASHES_KEPT: usize = 100;

/// How many resolved trips the board remembers; the journal has all.
pub const TRIPS_KEPT: usize = 100;

record! {
    pub struct Crash {
        pub time: Wall,
        pub agent: AgentId,
        pub task_id: Option<TaskId>,
        pub text: String,
        /// The kind of failure, as far as the provider's output shows it.
        pub class: Option<CrashClass>,
        /// The agent command that failed.
        pub provider: Option<String>,
        /// When a retry is useful.
        pub until: Option<Wall>,
    }
}

words! {
    /// Why an agent's command failed.
    pub enum CrashClass {
        /// The agent command is not logged in, or a key is wrong.
        Login = "login",
        /// The paid quota is used up until a certain time.
        Quota = "quota",
        /// Too many requests at a time.
        RateLimit = "rate_limit",
        Network = "network",
        /// The conversation no longer fits into the model's context.
        Context = "context",
        /// The agent's tools were denied.
        Permission = "permission",
        Crash = "crash",
    }
}

impl CrashClass {
    /// Whether the task itself may have made the agent fail. Other failures do not count against task or agent.
    pub fn may_be_the_works_fault(self) -> bool {
        matches!(self, Self::Crash | Self::Context)
    }
}

impl Crash {
    pub fn may_be_the_works_fault(&self) -> bool {
        self.class.is_none_or(CrashClass::may_be_the_works_fault)
    }
}

words! {
    /// A failure pattern that shows only across several tasks.
    #[derive(PartialOrd, Ord, Hash)]
    pub enum Pattern {
        RetryCluster = "retry_cluster",
        DebtAccumulation = "debt_accumulation",
        AssumptionCascade = "assumption_cascade",
        WorkaroundPattern = "workaround_pattern",
        SpecGapCluster = "spec_gap_cluster",
        ExternalOutage = "external_outage",
        PlanningChurn = "planning_churn",
        BlockedReplacementChain = "blocked_replacement_chain",
        CrashLoop = "crash_loop",
        /// Gates are red, or work is rejected, on many tasks for the same reason.
        SameFailure = "same_failure",
    }
}

words! {
    #[derive(PartialOrd, Ord, Hash)]
    pub enum Response {
        /// Liza reports it to a person.
        Warning = "warning",
        /// Liza sets the CHECKPOINT switch.
        Checkpoint = "checkpoint",
        /// Liza sets the ABORT switch.
        Halt = "halt",
    }
}

impl Response {
    /// The switch that liza sets for all agents.
    pub fn switch(self) -> Option<SwitchKind> {
        match self {
            Self::Warning => None,
            Self::Checkpoint => Some(SwitchKind::Checkpoint),
            Self::Halt => Some(SwitchKind::Abort),
        }
    }
}

record! {
    pub struct Trip {
        /// `trip-N`.
        pub id: String,
        pub time: Wall,
        pub pattern: Pattern,
        pub response: Response,
        /// Identifies the subject of the trip, so that the same problem trips the breaker once.
        pub key: String,
        pub summary: String,
        always pub evidence: Vec<TripEvidence>,
        /// The tasks, specs, services and files of the pattern.
        pub affected: Vec<String>,
        /// When liza carried out the response. After that only a person changes the switch: liza does not set it again.
        pub answered: Option<Wall>,
        pub resolved: Option<Resolution>,
    }

    /// One of the events that form the pattern.
    pub struct TripEvidence {
        /// The record or event, such as `anomaly-3`, `rejected` or `crash`.
        pub source: String,
        pub task_id: Option<TaskId>,
        pub agent: AgentId,
        pub time: Wall,
        pub text: String,
    }

    /// A person's decision about a trip.
    pub struct Resolution {
        pub by: AgentId,
        pub time: Wall,
        pub note: String,
    }
}
