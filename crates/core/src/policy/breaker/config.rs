//! `breaker:` in liza.yaml.

use crate::policy::prelude::*;

settings! {
    pub struct BreakerConfig {
        pub enabled: bool = true,
        /// What happened longer ago counts no more, nor what happened before the sprint began. A day: a team that works round the
        /// clock meets everything that matters within one, and what happened last week was reported last week.
        pub window_hours: u32 = 24,
        /// `retry_cluster`: so many tasks on which agents retry against the same error. Three: two may be neighbours in the code.
        pub retry_tasks: u32 = 3,
        /// `debt_accumulation`: so many debts and trade-offs, and more than `debt_per_merged` for each merged task. Five: a sprint
        /// without any would be a surprise.
        pub debt_records: u32 = 5,
        pub debt_per_merged: f64 = 1.0,
        /// `assumption_cascade`: so many tasks on which the same assumption turned out wrong. Two: whatever was planned on it is
        /// wrong as well.
        pub assumption_tasks: u32 = 2,
        /// `workaround_pattern`: so many tasks that work around the same cause. Three: by then fixing it is cheaper.
        pub workaround_tasks: u32 = 3,
        /// `spec_gap_cluster`: so many tasks that find the same specification silent or unclear. Three: every specification has a gap.
        pub spec_gap_tasks: u32 = 3,
        /// `external_outage`: so many agents that report the same service within `outage_hours`. Two: one may be mistaken, and every
        /// further agent would try in vain.
        pub outage_agents: u32 = 2,
        pub outage_hours: u32 = 4,
        /// `planning_churn`: so many tasks that agents replanned, if that is more than were merged; or `churn_again` that are
        /// replacements themselves.
        pub churn_superseded: u32 = 3,
        pub churn_again: u32 = 2,
        /// `blocked_replacement_chain`: so many tasks in a row that were blocked and replaced, the last of which is blocked. Two: the
        /// replacement did not help.
        pub chain_depth: u32 = 2,
        /// `crash_loop`: so many crashes within `crash_seconds`, of at least `crash_agents` different agents on at least
        /// `crash_tasks` different tasks. One agent alone is stopped by its runner, and crashes on one task block that task.
        pub crash_count: u32 = 3,
        pub crash_agents: u32 = 2,
        pub crash_tasks: u32 = 2,
        pub crash_seconds: u32 = 300,
        /// `same_failure`: so many tasks whose gates are red or whose merges fail for the same reason; a warning, if rejections that
        /// are not fixed yet make up the number.
        pub failure_tasks: u32 = 3,
        /// The configured responses, where they differ from the default.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        pub responses: BTreeMap<Pattern, Choice>,
    }
}

/// The response that a person configured for a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Choice {
    Warning,
    Checkpoint,
    Halt,
    /// The pattern is not checked.
    Off,
}

impl BreakerConfig {
    /// What is done about a pattern; nothing, if it is not looked for.
    ///
    /// The CHECKPOINT switch costs a person's time and loses no work, so it is the rule. Debt and workarounds waste nothing
    /// until a person looks: a warning will do. Nothing ends running agents (`halt`) unless a person says so here.
    /// So it will about rejections for one reason (`mild`): they are how a team learns.
    pub fn response(&self, pattern: Pattern, mild: bool) -> Option<Response> {
        let default = match pattern {
            Pattern::DebtAccumulation | Pattern::WorkaroundPattern => Response::Warning,
            _ if mild => Response::Warning,
            _ => Response::Checkpoint,
        };
        match self.responses.get(&pattern) {
            None => Some(default),
            Some(Choice::Warning) => Some(Response::Warning),
            Some(Choice::Checkpoint) => Some(Response::Checkpoint),
            Some(Choice::Halt) => Some(Response::Halt),
            Some(Choice::Off) => None,
        }
    }
}
