//! The first record of every board.

use super::prelude::*;

logged! {
    pub struct Init {
        pub goal: String,
        pub spec_ref: String,
        pub config: Config,
        pub integration_head: CommitId,
        /// Names the git settings at that time.
        pub git_settings: Option<String>,
        pub made_below: Option<crate::board::origin::Mark>,
    }
}

impl Board {
    /// The board before its first record.
    pub fn nothing() -> Self {
        Self {
            revision: 0,
            journal: JournalMark::default(),
            tasks: Vec::new(),
            rest: Rest {
                goal: Goal::new("goal-1", "", ""),
                goals: Vec::new(),
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
                gate_ledger: crate::board::gate_ledger::GateLedger::default(),
                interventions: Vec::new(),
                spent: Spent::default(),
                spent_planning: Spent::default(),
                run: None,
                former_sprints: Vec::new(),
                archived: 0,
                graph_id: None,
                git_settings: None,
                pending_edits: Vec::new(),
                made_below: None,
                routes: Vec::new(),
                workstreams: Vec::new(),
                extra: BTreeMap::new(),
            },
        }
    }
}

outcome!(Initialised { goal: String, integration_branch: String });

impl Verb for Init {
    const OPERATION: Option<Operation> = None;
    type Outcome = Initialised;

    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        human_only(call, "start a board")?;
        text_given("the goal", &self.goal)?;
        if board.revision != 0 {
            return Err(refusal!(Code::BoardExists, "there is a board already"));
        }
        match self.config.problems().into_iter().next() {
            None => Ok(()),
            Some((field, why)) => Err(refusal!(Code::Value, "{field} {why}")),
        }
    }

    fn change(&self, board: &mut Board, call: &Call) -> Self::Outcome {
        board.rest.goal.description = self.goal.clone();
        board.rest.goal.spec_ref = self.spec_ref.clone();
        board.rest.config = self.config.clone();
        board.rest.sprint.timeline.started = call.now.wall;
        board.rest.integration.head = Some(self.integration_head.clone());
        board.rest.made_below = self.made_below;
        board.rest.git_settings = self.git_settings.clone().map(|settings| GitSettings {
            settings,
            by: call.by.id(),
            time: call.now.wall,
        });
        Initialised { goal: self.goal.clone(), integration_branch: self.config.integration_branch.clone() }
    }
}
