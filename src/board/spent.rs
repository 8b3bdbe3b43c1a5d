//! What work has cost, as far as the providers say, and what it may cost at most.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::agent::Process;
use super::ids::AgentId;
use super::state::Board;
use super::task::Task;
use super::time::Wall;

#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spent {
    #[serde(default)]
    pub sessions: u64,
    #[serde(default)]
    pub turns: u64,
    #[serde(default)]
    pub tool_calls: u64,
    #[serde(default)]
    pub input_tokens: u64,
    #[serde(default)]
    pub output_tokens: u64,
    #[serde(default)]
    pub cached_tokens: u64,
    /// In US dollars, where the provider says.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cost_usd: f64,
    /// How long its sessions took together.
    #[serde(default)]
    pub seconds: u64,
}

fn is_zero(cost: &f64) -> bool {
    *cost == 0.0
}

impl Spent {
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// What counts against a cap: cached input is not counted.
    pub fn tokens(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }

    pub fn add(&mut self, more: &Self) {
        self.sessions = self.sessions.saturating_add(more.sessions);
        self.turns = self.turns.saturating_add(more.turns);
        self.tool_calls = self.tool_calls.saturating_add(more.tool_calls);
        self.input_tokens = self.input_tokens.saturating_add(more.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(more.output_tokens);
        self.cached_tokens = self.cached_tokens.saturating_add(more.cached_tokens);
        self.cost_usd += more.cost_usd;
        self.seconds = self.seconds.saturating_add(more.seconds);
    }

    /// What came on top of `before`. What is less than it was (a revision was brought back) counts as nothing.
    pub fn since(&self, before: &Self) -> Self {
        Self {
            sessions: self.sessions.saturating_sub(before.sessions),
            turns: self.turns.saturating_sub(before.turns),
            tool_calls: self.tool_calls.saturating_sub(before.tool_calls),
            input_tokens: self.input_tokens.saturating_sub(before.input_tokens),
            output_tokens: self.output_tokens.saturating_sub(before.output_tokens),
            cached_tokens: self.cached_tokens.saturating_sub(before.cached_tokens),
            cost_usd: (self.cost_usd - before.cost_usd).max(0.0),
            seconds: self.seconds.saturating_sub(before.seconds),
        }
    }

    /// In a few words: `1200 tokens, 0.35 USD`.
    pub fn words(&self) -> String {
        let cost = if self.cost_usd > 0.0 { format!(", {:.2} USD", self.cost_usd) } else { String::new() };
        format!("{} tokens{cost}", self.tokens())
    }
}

/// What a session was for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SessionKind {
    Work,
    Review,
    Plan,
}

/// What was spent on one round of a task: until it was handed in, and on judging it.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RoundSpent {
    /// The number its review has or would have.
    pub round: u32,
    #[serde(default, skip_serializing_if = "Spent::is_nothing")]
    pub work: Spent,
    #[serde(default, skip_serializing_if = "Spent::is_nothing")]
    pub review: Spent,
}

/// How far a task had come when a sprint began: what was before is not the sprint's.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TaskMark {
    /// How many lines its history had.
    pub history: usize,
    /// How many reviews it had.
    #[serde(skip_serializing_if = "is_none")]
    pub reviews: usize,
    /// How often it had been sent back.
    #[serde(skip_serializing_if = "is_never")]
    pub rejections: u32,
    #[serde(skip_serializing_if = "Spent::is_nothing")]
    pub spent: Spent,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub spent_rounds: Vec<RoundSpent>,
}

fn is_none(count: &usize) -> bool {
    *count == 0
}

fn is_never(count: &u32) -> bool {
    *count == 0
}

impl TaskMark {
    pub fn of(task: &Task) -> Self {
        let body = task.body();
        Self {
            history: body.history.len(),
            reviews: body.reviews.len(),
            rejections: task.review_cycles_total,
            spent: body.spent,
            spent_rounds: body.spent_rounds.clone(),
        }
    }

    /// What a round had cost by then.
    pub fn round(&self, number: u32) -> RoundSpent {
        self.spent_rounds.iter().find(|round| round.round == number).copied().unwrap_or_default()
    }
}

/// A run of the team that has a cap: what was spent before it is not its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunMark {
    pub owner: Process,
    pub time: Wall,
    pub spent_before: Spent,
}

/// A cap; what is not said or 0 is not capped.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Cap {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// In US dollars, where the provider says what it costs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usd: Option<f64>,
}

impl Cap {
    pub fn is_none(&self) -> bool {
        self.tokens() == 0.0 && self.usd() == 0.0
    }

    fn tokens(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "nobody caps at 2^53 tokens")]
        let tokens = self.tokens.unwrap_or(0) as f64;
        tokens
    }

    fn usd(&self) -> f64 {
        self.usd.filter(|usd| usd.is_finite() && *usd > 0.0).unwrap_or(0.0)
    }
}

/// What work may cost: one task, one agent, one `liza run`.
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

/// From this share of a cap on somebody is told.
pub const NEAR: f64 = 0.8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    Tokens,
    Usd,
}

/// How much of one cap is used.
#[derive(Debug, Clone, PartialEq)]
pub struct CapUse {
    /// What to change in liza.yaml to raise it.
    pub setting: &'static str,
    pub unit: Unit,
    /// Whose cap it is: a task, an agent, or `run`.
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
    pub fn told(&self) -> String {
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

    /// Every cap that bears on a piece of work, with what is used of it. A task whose body is not loaded is not asked about
    /// its own.
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

    /// The first cap that stands in the way of beginning this.
    pub fn reached(&self, board: &Board, task: Option<&Task>, agent: Option<&AgentId>) -> Option<CapUse> {
        self.uses(board, task, agent).into_iter().find(CapUse::is_reached)
    }
}

fn each(cap: &Cap, settings: [&'static str; 2], subject: &str, used: &Spent, found: &mut Vec<CapUse>) {
    #[expect(clippy::cast_precision_loss, reason = "nobody uses 2^53 tokens")]
    let tokens = used.tokens() as f64;
    let amounts = [(Unit::Tokens, cap.tokens(), tokens), (Unit::Usd, cap.usd(), used.cost_usd)];
    for (setting, (unit, cap, used)) in settings.into_iter().zip(amounts) {
        if cap > 0.0 {
            found.push(CapUse { setting, unit, subject: subject.to_owned(), used, cap });
        }
    }
}
