//! Caps on spending, and how much of each cap is used.

use super::prelude::*;
use super::spent::Spent;
use super::state::Board;
use super::task::Task;

/// A cap; an absent value or 0 means no cap.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Cap {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// In US dollars, if the provider reports its price.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usd: Option<f64>,
}

impl Cap {
    pub fn is_none(&self) -> bool {
        self.tokens() == 0.0 && self.usd() == 0.0
    }

    fn tokens(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "caps stay far below 2^53 tokens")]
        let tokens = self.tokens.unwrap_or(0) as f64;
        tokens
    }

    fn usd(&self) -> f64 {
        self.usd.filter(|usd| usd.is_finite() && *usd > 0.0).unwrap_or(0.0)
    }
}

/// Spending limits for one task, one agent and one `liza run`.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Caps {
    #[serde(skip_serializing_if = "Cap::is_none")]
    pub task: Cap,
    #[serde(skip_serializing_if = "Cap::is_none")]
    pub agent: Cap,
    /// One `liza run`.
    #[serde(skip_serializing_if = "Cap::is_none")]
    pub run: Cap,
}

/// From this share of a cap on, liza warns the person.
pub const NEAR: f64 = 0.8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    Tokens,
    Usd,
}

/// How much of one cap is used.
#[derive(Debug, Clone, PartialEq)]
pub struct CapUse {
    /// The setting in liza.yaml that raises the cap.
    pub setting: &'static str,
    pub unit: Unit,
    /// The owner of the cap: a task, an agent, or `run`.
    pub subject: String,
    pub used: f64,
    pub cap: f64,
}

impl CapUse {
    pub fn is_reached(&self) -> bool {
        self.used >= self.cap
    }

    pub fn is_near(&self) -> bool {
        self.used >= self.cap * NEAR
    }

    pub fn words(&self) -> String {
        match self.unit {
            Unit::Tokens => format!("{:.0} of {:.0} tokens", self.used, self.cap),
            Unit::Usd => format!("{:.2} of {:.2} USD", self.used, self.cap),
        }
    }

    /// `task `t1` has used 1200 of 1000 tokens`.
    pub fn describe(&self) -> String {
        let whose = match self.setting.split('.').nth(1) {
            Some("task") => format!("task `{}`", self.subject),
            Some("agent") => format!("agent `{}`", self.subject),
            _ => "this run".to_owned(),
        };
        format!("{whose} has used {} (`{}`)", self.words(), self.setting)
    }
}

impl Caps {
    pub fn is_none(&self) -> bool {
        self.task.is_none() && self.agent.is_none() && self.run.is_none()
    }

    /// Every cap that applies to this work, with the used amount. Leaves out the cap of a task whose body is not
    /// loaded.
    pub fn uses(&self, board: &Board, task: Option<&Task>, agent: Option<&AgentId>) -> Vec<CapUse> {
        let mut found = Vec::new();
        if let Some(task) = task.filter(|task| !task.is_light()) {
            let settings = ["spend.task.tokens", "spend.task.usd"];
            each(&self.task, settings, task.id.as_str(), &task.body().spent, &mut found);
        }
        if let Some((id, agent)) = agent.and_then(|id| Some((id, board.agent(id)?))) {
            each(
                &self.agent,
                ["spend.agent.tokens", "spend.agent.usd"],
                id.as_str(),
                &agent.spent,
                &mut found,
            );
        }
        if let Some(run) = &board.rest.run {
            let used = board.rest.spent.since(&run.spent_before);
            each(&self.run, ["spend.run.tokens", "spend.run.usd"], "run", &used, &mut found);
        }
        found
    }

    /// The first used-up cap; it forbids this work to start.
    pub fn reached(&self, board: &Board, task: Option<&Task>, agent: Option<&AgentId>) -> Option<CapUse> {
        self.uses(board, task, agent).into_iter().find(CapUse::is_reached)
    }
}

fn each(cap: &Cap, settings: [&'static str; 2], subject: &str, used: &Spent, found: &mut Vec<CapUse>) {
    #[expect(clippy::cast_precision_loss, reason = "usage stays far below 2^53 tokens")]
    let tokens = used.tokens() as f64;
    let amounts = [(Unit::Tokens, cap.tokens(), tokens), (Unit::Usd, cap.usd(), used.cost_usd)];
    for (setting, (unit, cap, used)) in settings.into_iter().zip(amounts) {
        if cap > 0.0 {
            found.push(CapUse { setting, unit, subject: subject.to_owned(), used, cap });
        }
    }
}
