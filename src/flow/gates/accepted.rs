//! Gates run as a person accepted them: a definition that changed since stops approvals and merges.

use crate::flow::prelude::*;
use crate::flow::prepared::NAME;
use crate::policy::ProjectConfig;
use crate::policy::worktrees::WorktreesConfig;

/// A gate of liza.yaml that differs from its accepted definition.
#[derive(Debug, Serialize)]
pub struct Changed {
    pub gate: String,
    /// The accepted definition; none if there is none.
    pub accepted: Option<String>,
    pub now: String,
    #[serde(skip)]
    pub required: bool,
}

impl From<Changed> for GateDefinition {
    fn from(changed: Changed) -> Self {
        Self { name: changed.gate, definition: changed.now, required: changed.required }
    }
}

/// Every gate as one line of JSON, with the settings that all gates share.
pub fn definitions(config: &ProjectConfig) -> Vec<GateDefinition> {
    let line = |gate: &Gate| {
        let mut all = serde_json::to_value(gate).unwrap_or_default();
        all["keep"] = serde_json::to_value(&config.gating.keep).unwrap_or_default();
        GateDefinition { name: gate.name.clone(), definition: all.to_string(), required: gate.is_required() }
    };
    config.gates.iter().map(line).chain(setup(&config.worktrees)).collect()
}

/// The preparation of worktrees is accepted like a gate: its commands run wherever agents work and gates run.
fn setup(config: &WorktreesConfig) -> Option<GateDefinition> {
    Some(GateDefinition { name: NAME.to_owned(), definition: config.definition()?, required: false })
}

/// Refuses commands that differ from the accepted ones. Commands seen for the first time are recorded.
pub fn check_setup(ctx: &Context, board: &Board, config: &WorktreesConfig) -> Result<()> {
    let Some(now) = setup(config) else { return Ok(()) };
    match board.rest.gate_ledger.accepted(NAME) {
        Some(known) if known.definition == now.definition => Ok(()),
        Some(_) => Err(failure!(Code::GateNotAccepted, "`worktrees` in liza.yaml has changed")
            .hint("a person looks at the difference and accepts it with `liza gate accept`, or undoes the change")
            .detail("gate", NAME)),
        None => ctx.commit_as_liza(AcceptGates { gates: vec![now] }).map(|_| ()).map_err(Failure::from),
    }
}

/// The gates that differ from their accepted definitions.
pub fn changed(board: &Board, config: &ProjectConfig) -> Vec<Changed> {
    let ledger = &board.rest.gate_ledger;
    let differs = |GateDefinition { name: gate, definition: now, required }: GateDefinition| {
        let accepted = ledger.accepted(&gate).map(|known| known.definition.clone());
        (accepted.as_ref() != Some(&now)).then_some(Changed { gate, accepted, now, required })
    };
    definitions(config).into_iter().filter_map(differs).collect()
}

/// Refuses gates that differ from their accepted definitions. Gates seen for the first time are recorded.
pub fn check(ctx: &Context, board: &Board, config: &ProjectConfig) -> Result<()> {
    let (known, new): (Vec<Changed>, Vec<Changed>) =
        changed(board, config).into_iter().partition(|changed| changed.accepted.is_some());
    if let Some(changed) = known.first() {
        let gate = &changed.gate;
        return Err(failure!(
            Code::GateNotAccepted,
            "the definition of gate `{gate}` in liza.yaml has changed"
        )
        .hint("a person looks at the difference and accepts it with `liza gate accept`, or undoes the change")
        .detail("gate", gate.as_str()));
    }
    record_new(ctx, new)
}

/// Records gates that liza sees for the first time. Changed gates still wait for a person.
pub fn note_new(ctx: &Context, board: &Board, config: &ProjectConfig) -> Result<()> {
    let new = changed(board, config).into_iter().filter(|changed| changed.accepted.is_none());
    record_new(ctx, new.collect())
}

fn record_new(ctx: &Context, new: Vec<Changed>) -> Result<()> {
    if !new.is_empty() {
        let gates = new.into_iter().map(GateDefinition::from).collect();
        ctx.commit_as_liza(AcceptGates { gates })?;
    }
    Ok(())
}
