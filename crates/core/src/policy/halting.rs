//! Halted agents: whether a halt is about the current work, and what happens to the task.

use super::overseer::{AgentSnapshot, Detection, OverseerConfig, claim_stands, detect, unanswered_before};
pub use super::overseer::{SUREST_DETECTION, is_by_hand};
use super::prelude::*;

/// The number of the last intervention; later ones have higher numbers.
pub fn last_number(board: &Board) -> u64 {
    board.rest.interventions.iter().map(Intervention::number).max().unwrap_or(0)
}

/// The halt of this agent after the one with that number, if its claim still stands.
pub fn ordered<'b>(
    board: &'b Board,
    agent: &AgentId,
    incarnation: u64,
    after: u64,
) -> Option<&'b Intervention> {
    board.rest.interventions.iter().rev().find(|one| {
        one.action == Action::Halt
            && one.number() > after
            && one.concerns(agent, incarnation, one.task_id.as_ref())
            && claim_stands(board, one)
    })
}

/// The overseer may have decided by a snapshot that is this many snapshots old.
const LOOKS_BEHIND: usize = 2;

/// Whether this history justifies a halt without asking a person.
pub fn is_borne_out(history: &[AgentSnapshot], config: &OverseerConfig) -> bool {
    any_lately(history, config, |found| found.suggested == Action::Halt)
}

/// Whether this history justifies a halt because no person answered the question: the session has shown the behaviour
/// since before the question, and still shows it. Any agent's report could have made the overseer ask.
pub fn follows_question(
    board: &Board,
    halt: &Intervention,
    history: &[AgentSnapshot],
    config: &OverseerConfig,
) -> bool {
    config.halt_on_critical
        && unanswered_before(board, halt, config).is_some_and(|asked| {
            any_lately(history, config, |found| {
                found.behaviour == asked.behaviour && found.episode_began <= asked.time
            })
        })
}

fn any_lately(
    history: &[AgentSnapshot],
    config: &OverseerConfig,
    wanted: impl Fn(&Detection) -> bool,
) -> bool {
    (0..=LOOKS_BEHIND).any(|behind| {
        let seen = &history[..history.len().saturating_sub(behind)];
        detect(seen, config).iter().any(&wanted)
    })
}

/// Why the session ended and the task is blocked.
pub fn reason(halt: &Intervention) -> String {
    format!("halted by the overseer ({}): {}", halt.behaviour.as_str(), halt.evidence.join("; "))
}

/// The questions to answer before another agent continues the task.
pub fn questions(halt: &Intervention, task: &TaskId) -> Vec<String> {
    let ask = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    match halt.behaviour {
        Behaviour::InfiniteLoop => ask(&[
            "What does the agent wait for or repeat that cannot succeed?",
            "What should be tried instead, or is something missing that only another agent or a person can supply?",
        ]),
        Behaviour::RepeatedFailures => ask(&[
            "What makes the same thing fail each time: the task, the environment, or the way it is done?",
            "Can that be fixed before another agent continues?",
        ]),
        Behaviour::Stagnation => ask(&["What would be the first small step that can be seen in the tree?"]),
        Behaviour::Oscillation => ask(&[
            "Which of the two states that the agent switches between is right?",
            "Which requirement makes each of them look wrong?",
        ]),
        Behaviour::ScopeCreep => ask(&[
            "Do the files it changed beyond its scope belong to this task?",
            "If so, should the scope be widened; if not, what should be done without them?",
        ]),
        Behaviour::TokenExhaustion | Behaviour::Timeout => {
            vec![format!("Should `{task}` be split into smaller tasks, or the limits be raised?")]
        }
        Behaviour::Reported => ask(&["What should the next agent do differently?"]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::oversight::Gravity;
    use crate::board::rules::{Intervene, Release};
    use crate::board::testing::*;

    fn halt(bench: &Bench) -> Intervene {
        let incarnation = bench.board.agent(&agent("coder-1")).expect("an agent").incarnation;
        Intervene {
            agent: agent("coder-1"),
            incarnation,
            task: Some(id("t")),
            epoch: Some(bench.task("t").epoch),
            behaviour: Behaviour::InfiniteLoop,
            action: Action::Halt,
            severity: Gravity::Critical,
            confidence: 1.0,
            evidence: vec!["a".to_owned(), "b".to_owned()],
            bounds: None,
            messages: Vec::new(),
        }
    }

    #[test]
    fn halt_holds_only_for_its_claim() {
        let mut bench = Bench::with_tasks(&["t"]);
        bench.claim("coder-1", "t");
        let before = last_number(&bench.board);
        let halt = halt(&bench);
        let (who, incarnation) = (agent("coder-1"), halt.incarnation);
        bench.ok("human", halt);
        let found = ordered(&bench.board, &who, incarnation, before).expect("a halt");
        assert_eq!(reason(found), "halted by the overseer (infinite_loop): a; b");
        assert_eq!(ordered(&bench.board, &who, incarnation, found.number()), None, "it was heeded");
        assert_eq!(ordered(&bench.board, &agent("coder-2"), incarnation, before), None);
        assert_eq!(ordered(&bench.board, &who, incarnation + 1, before), None);
        bench.ok("coder-1", Release { task: id("t"), epoch: None, reason: "r".to_owned() });
        bench.claim("coder-1", "t");
        assert_eq!(ordered(&bench.board, &who, incarnation, before), None, "another claim");
    }

    #[test]
    fn only_detected_halts_need_confirmation() {
        let mut bench = Bench::with_tasks(&["t"]);
        bench.claim("coder-1", "t");
        let halt = halt(&bench);
        bench.ok("human", halt);
        let mut one = bench.board.rest.interventions[0].clone();
        assert!(is_by_hand(&one), "whatever the behaviour is called");
        one.confidence = SUREST_DETECTION;
        assert!(!is_by_hand(&one));
        assert!(!is_borne_out(&[], &OverseerConfig::default()), "nothing was seen");
    }

    #[test]
    fn each_behaviour_asks_up_to_three_questions() {
        let mut bench = Bench::with_tasks(&["t"]);
        bench.claim("coder-1", "t");
        let halt = halt(&bench);
        bench.ok("human", halt);
        let mut one = bench.board.rest.interventions[0].clone();
        for behaviour in Behaviour::ALL.into_iter().chain([Behaviour::Reported]) {
            one.behaviour = behaviour;
            assert!((1..=3).contains(&questions(&one, &id("t")).len()), "{behaviour:?}");
        }
    }
}
