//! The first record of every board.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::board::breaker::Breaker;
use crate::board::call::Call;
use crate::board::config::Config;
use crate::board::ids::CommitId;
use crate::board::refusal::{Code, Refusal};
use crate::board::spent::Spent;
use crate::board::state::{Board, Goal, GoalStatus, Integration, JournalMark, Rest, Sprint};
use crate::board::time::Wall;
use crate::board::transition::{Needs, Rule};

use super::common::{human_only, text_given};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Init {
    pub goal: String,
    pub spec_ref: String,
    pub config: Config,
    pub integration_head: CommitId,
}

impl Board {
    /// What there is before the first record.
    pub fn nothing() -> Self {
        Self {
            revision: 0,
            journal: JournalMark::default(),
            tasks: Vec::new(),
            rest: Rest {
                goal: Goal {
                    id: "goal-1".to_owned(),
                    description: String::new(),
                    spec_ref: String::new(),
                    status: GoalStatus::InProgress,
                    alignment_history: Vec::new(),
                },
                sprint: Sprint::begin("sprint-1", Wall(0)),
                config: Config::new("integration"),
                agents: BTreeMap::new(),
                intents: Vec::new(),
                requests: Vec::new(),
                discovered: Vec::new(),
                handoff: Vec::new(),
                human_notes: Vec::new(),
                messages: Vec::new(),
                anomalies: Vec::new(),
                spec_changes: Vec::new(),
                circuit_breaker: Breaker::default(),
                integration: Integration::default(),
                expectations: Vec::new(),
                interventions: Vec::new(),
                spent: Spent::default(),
                spent_planning: Spent::default(),
                run: None,
                former_sprints: Vec::new(),
                archived: 0,
                graph_id: None,
                extra: BTreeMap::new(),
            },
        }
    }
}

impl Rule for Init {
    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        human_only(call, "start a board")?;
        text_given("the goal", &self.goal)?;
        if board.revision != 0 {
            return Refusal::new(Code::BoardExists, "there is a board already").err();
        }
        match self.config.problems().into_iter().next() {
            None => Ok(()),
            Some((field, why)) => Refusal::new(Code::Value, format!("{field} {why}")).err(),
        }
    }

    fn change(&self, board: &mut Board, call: &Call) -> Value {
        board.rest.goal.description = self.goal.clone();
        board.rest.goal.spec_ref = self.spec_ref.clone();
        board.rest.config = self.config.clone();
        board.rest.sprint.timeline.started = call.now.wall;
        board.rest.integration.head = Some(self.integration_head.clone());
        json!({ "goal": self.goal, "integration_branch": self.config.integration_branch })
    }

    fn needs(&self, _: &Board) -> Needs {
        Needs::Nothing
    }
}
