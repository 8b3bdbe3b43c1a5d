//! Gates judge as a person accepted them: a definition that changed since stops approvals and merges.

use crate::flow::prelude::*;
use crate::policy::ProjectConfig;

/// A gate of liza.yaml that is not as it was accepted.
#[derive(Debug, Serialize)]
pub struct Changed {
    pub gate: String,
    /// As it was accepted; none if it never was.
    pub accepted: Option<String>,
    pub now: String,
}

/// Every gate as one line of JSON, with what the gates have in common.
pub fn definitions(config: &ProjectConfig) -> Vec<GateDefinition> {
    let line = |gate: &Gate| {
        let mut all = serde_json::to_value(gate).unwrap_or_default();
        all["keep"] = serde_json::to_value(&config.gating.keep).unwrap_or_default();
        GateDefinition { name: gate.name.clone(), definition: all.to_string() }
    };
    config.gates.iter().map(line).collect()
}

/// Accepts these definitions. A gate that is required counts as such from here on: who removes it before it was ever asked is stopped
/// like everybody else.
pub fn acceptance(config: &ProjectConfig, gates: Vec<GateDefinition>) -> AcceptGates {
    let is_required =
        |name: &String| config.gates.iter().any(|gate| &gate.name == name && gate.is_required());
    let required = gates.iter().map(|gate| gate.name.clone()).filter(is_required).collect();
    AcceptGates { gates, required }
}

/// What differs from what was accepted.
pub fn changed(board: &Board, config: &ProjectConfig) -> Vec<Changed> {
    let ledger = &board.rest.gate_ledger;
    let differs = |GateDefinition { name, definition }: GateDefinition| {
        let accepted = ledger.accepted(&name).map(|known| known.definition.clone());
        (accepted.as_ref() != Some(&definition)).then_some(Changed { gate: name, accepted, now: definition })
    };
    definitions(config).into_iter().filter_map(differs).collect()
}

/// Refuses gates that are not as they were accepted. Those that were never seen before are put on record.
pub fn check(ctx: &Context, board: &Board, config: &ProjectConfig) -> Result<()> {
    let (known, new): (Vec<Changed>, Vec<Changed>) =
        changed(board, config).into_iter().partition(|changed| changed.accepted.is_some());
    if let Some(changed) = known.first() {
        let gate = &changed.gate;
        return Err(failure!(Code::GateNotAccepted, "the definition of gate `{gate}` in liza.yaml has changed")
            .hint("a person looks at the difference and accepts it with `liza gate accept`, or takes the change back")
            .detail("gate", gate.as_str()));
    }
    record_new(ctx, new.into_iter(), |gates| AcceptGates { gates, required: Vec::new() })
}

fn new_gates(board: &Board, config: &ProjectConfig) -> impl Iterator<Item = Changed> {
    changed(board, config).into_iter().filter(|changed| changed.accepted.is_none())
}

/// Puts gates on record that liza sees for the first time. Those that changed since they were accepted go on waiting for a person.
pub fn note_new(ctx: &Context, board: &Board, config: &ProjectConfig) -> Result<()> {
    let seen = |gates| AcceptGates { gates, required: Vec::new() };
    record_new(ctx, new_gates(board, config), seen)
}

/// The same where a person starts agents: these are the gates that the person wants.
pub fn note_new_of_person(ctx: &Context, board: &Board, config: &ProjectConfig) -> Result<()> {
    record_new(ctx, new_gates(board, config), |gates| acceptance(config, gates))
}

fn record_new(
    ctx: &Context,
    new: impl Iterator<Item = Changed>,
    accept: impl FnOnce(Vec<GateDefinition>) -> AcceptGates,
) -> Result<()> {
    let gates: Vec<_> = new.map(|new| GateDefinition { name: new.gate, definition: new.now }).collect();
    if !gates.is_empty() {
        ctx.commit_as_liza(accept(gates))?;
    }
    Ok(())
}
