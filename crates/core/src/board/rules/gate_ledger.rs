//! Accepting definitions of gates, and recording passes.

use super::prelude::*;
use crate::board::gate_ledger::{AcceptedGate, GatePass, MOST_PASSES};

logged! {
    /// One gate as liza.yaml defines it.
    #[derive(Eq)]
    pub struct GateDefinition {
        pub name: String,
        /// The definition as one line of JSON.
        pub definition: String,
        /// The gate is required: from now on liza approves and merges nothing without it.
        pub required: bool,
    }

    /// A person accepts changed definitions. liza records definitions that it sees for the first time.
    pub struct AcceptGates {
        pub gates: Vec<GateDefinition>,
    }

    /// Liza ran a gate, and it passed.
    pub struct RecordPass {
        pub key: String,
        pub outcome: String,
    }
}

outcome!(GatesAccepted { gates: Vec<String> });
outcome!(PassRecorded { key: String });

impl Verb for AcceptGates {
    const OPERATION: Option<Operation> = None;
    type Outcome = GatesAccepted;

    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        let known = |gate: &GateDefinition| board.rest.gate_ledger.accepted(&gate.name).is_some();
        if call.by.is_liza() && !self.gates.iter().any(known) {
            return Ok(());
        }
        human_only(call, "accept another definition of a gate")
    }

    fn change(&self, board: &mut Board, call: &Call) -> Self::Outcome {
        let accepted = &mut board.rest.gate_ledger.accepted;
        let asked = &mut board.rest.integration.gates;
        for GateDefinition { name, definition, required } in &self.gates {
            if *required && !asked.contains(name) {
                asked.push(name.clone());
            }
            let gate = AcceptedGate {
                name: name.clone(),
                definition: definition.clone(),
                by: call.by.id(),
                time: call.now.wall,
            };
            match accepted.iter_mut().find(|known| &known.name == name) {
                Some(known) => *known = gate,
                None => accepted.push(gate),
            }
        }
        GatesAccepted { gates: self.gates.iter().map(|gate| gate.name.clone()).collect() }
    }
}

impl Verb for RecordPass {
    const OPERATION: Option<Operation> = None;
    type Outcome = PassRecorded;

    fn check(&self, _: &Board, call: &Call) -> Result<(), Refusal> {
        if call.by.is_liza() {
            return Ok(());
        }
        Err(refusal!(Code::Identity, "only liza records that a gate passed").hint("`liza gate run` runs it"))
    }

    fn change(&self, board: &mut Board, _: &Call) -> Self::Outcome {
        let passes = &mut board.rest.gate_ledger.passes;
        passes.retain(|pass| pass.key != self.key);
        passes.push(GatePass { key: self.key.clone(), outcome: self.outcome.clone() });
        let surplus = passes.len().saturating_sub(MOST_PASSES);
        passes.drain(..surplus);
        PassRecorded { key: self.key.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::testing::*;

    fn accept(definition: &str) -> AcceptGates {
        let (name, definition) = ("test".to_owned(), definition.to_owned());
        AcceptGates { gates: vec![GateDefinition { name, definition, required: true }] }
    }

    #[test]
    fn only_person_accepts_changed_definition() {
        let mut bench = Bench::with_tasks(&["t"]);
        bench.ok("liza", accept("cargo test"));
        assert_eq!(bench.refused("liza", accept("true")), Code::HumanOnly);
        assert_eq!(bench.refused("planner-1", accept("true")), Code::HumanOnly);
        bench.ok("human", accept("true"));
        let known = bench.board.rest.gate_ledger.accepted("test").expect("accepted");
        assert_eq!((known.definition.as_str(), known.by.as_str()), ("true", "human"));
        // No task was gated with it yet, and liza.yaml still cannot drop it.
        assert!(bench.board.no_gate_is_gone(None, "merge").is_err());
    }

    #[test]
    fn only_liza_records_passes_and_the_newest_stay() {
        let mut bench = Bench::with_tasks(&["t"]);
        let pass = |number: usize| RecordPass { key: format!("k{number}"), outcome: "h".to_owned() };
        assert_eq!(bench.refused("human", pass(0)), Code::Identity);
        assert_eq!(bench.refused("coder-1", pass(0)), Code::Identity);
        for number in 0..=MOST_PASSES {
            bench.ok("liza", pass(number));
        }
        let ledger = &bench.board.rest.gate_ledger;
        assert!(!ledger.has_pass("k0", "h") && ledger.has_pass("k1", "h") && !ledger.has_pass("k1", "x"));
    }
}
