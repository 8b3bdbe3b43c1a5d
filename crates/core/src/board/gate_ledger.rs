//! The definitions of gates that a person accepted, and the passes that liza observed. Files on disk only repeat them.

use super::prelude::*;

/// How many passes the board remembers.
pub const MOST_PASSES: usize = 32;

record! {
    #[derive(Default, Eq)]
    pub struct GateLedger {
        /// In the order in which liza first saw them.
        pub accepted: Vec<AcceptedGate>,
        /// Newest last.
        pub passes: Vec<GatePass>,
    }

    /// A gate whose definition was accepted.
    #[derive(Eq)]
    pub struct AcceptedGate {
        pub name: String,
        /// The whole definition, as one line of JSON.
        pub definition: String,
        /// Who accepted the definition: a person, or liza, when it saw the gate for the first time.
        pub by: AgentId,
        pub time: Wall,
    }

    /// One pass of a gate.
    #[derive(Eq)]
    pub struct GatePass {
        /// Identifies gate, definition, tree and environment.
        pub key: String,
        /// Hash of the gate's outcome, as the cache stores it.
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
