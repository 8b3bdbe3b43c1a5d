//! The result of a detector.

use super::snapshot::AgentSnapshot;
use crate::policy::prelude::*;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Detection {
    pub behaviour: Behaviour,
    pub agent: AgentId,
    pub role: Role,
    pub task: Option<TaskId>,
    pub severity: Gravity,
    pub confidence: f64,
    /// Numbers and names, each a line that a person can check.
    pub evidence: Vec<String>,
    pub suggested: Action,
    /// When the session began: earlier interventions were about another session.
    #[serde(skip)]
    pub session_began: Wall,
    /// Since when the session shows the behaviour without interruption: an older question was about another episode.
    #[serde(skip)]
    pub episode_began: Wall,
}

impl Detection {
    pub(super) fn warning(
        behaviour: Behaviour,
        of: &AgentSnapshot,
        confidence: f64,
        evidence: Vec<String>,
    ) -> Self {
        Self {
            behaviour,
            agent: of.agent.clone(),
            role: of.role.clone(),
            task: of.task.clone(),
            severity: Gravity::Warning,
            confidence,
            evidence,
            suggested: Action::Nudge,
            session_began: of.started_at,
            // Without a ring, the whole session.
            episode_began: of.started_at,
        }
    }

    pub(super) fn critical(
        behaviour: Behaviour,
        of: &AgentSnapshot,
        confidence: f64,
        evidence: Vec<String>,
    ) -> Self {
        let warning = Self::warning(behaviour, of, confidence, evidence);
        Self { severity: Gravity::Critical, suggested: Action::Halt, ..warning }
    }
}
