//! Which definitions of gates a person accepted, and which passes liza saw itself. Files on disk only repeat this.

use super::prelude::*;

/// So many passes are remembered.
pub const MOST_PASSES: usize = 32;

record! {
    #[derive(Default, Eq)]
    pub struct GateLedger {
        /// By name, in the order in which they were first seen.
        pub accepted: Vec<AcceptedGate>,
        /// Newest last.
        pub passes: Vec<GatePass>,
    }

    /// A gate as it may judge.
    #[derive(Eq)]
    pub struct AcceptedGate {
        pub name: String,
        /// All of it, as one line of JSON.
        pub definition: String,
        /// Who accepted it: a person, or liza, which saw it for the first time.
        pub by: AgentId,
        pub time: Wall,
    }

    /// A gate passed.
    #[derive(Eq)]
    pub struct GatePass {
        /// Names gate, definition, tree and environment.
        pub key: String,
        /// Hash of what the gate said, as the cache keeps it.
        pub outcome: String,
    }
}

impl GateLedger {
    pub fn is_empty(&self) -> bool {
        self.accepted.is_empty() && self.passes.is_empty()
    }

    pub fn accepted(&self, name: &str) -> Option<&AcceptedGate> {
        self.accepted.iter().find(|gate| gate.name == name)
    }

    pub fn has_pass(&self, key: &str, outcome: &str) -> bool {
        self.passes.iter().any(|pass| pass.key == key && pass.outcome == outcome)
    }
}
