//! Blessing a hash: from now on, the gate must find this hash.

use super::expectations::replace;

use super::prelude::*;

logged! {
    pub struct BlessGate {
        pub gate: String,
        pub hash: String,
        /// For the work of this task only, until it is merged.
        pub task: Option<TaskId>,
        pub reason: String,
    }
}

outcome!(Blessed { gate: String, hash: String, former: Option<String>, task: Option<TaskId>, reason: String });

impl Verb for BlessGate {
    const OPERATION: Option<Operation> = Some(Operation::Bless);
    type Outcome = Blessed;

    fn check(&self, board: &Board, call: &Call) -> Result<(), Refusal> {
        match &self.task {
            None => human_only(call, "set the expected hash of the integration branch")?,
            Some(id) => {
                let task = find(board, id)?;
                reviews(board, call, &format!("set the expected hash of task `{id}`"))?;
                if task.status.is_terminal() {
                    return Err(wrong_state(task, "given another expectation", next_step(task)));
                }
                not_an_implementer(task, call, &call.by.id(), "bless the results of")?;
            }
        }
        text_given("--reason", &self.reason)?;
        if self.gate.trim().is_empty() {
            return Err(refusal!(Code::Incomplete, "no gate is named"));
        }
        if plain_hash(&self.hash).is_none() {
            return Err(Refusal::new(
                Code::Value,
                format!("`{}` is not a hash: a hash has 8 to 256 hexadecimal digits", self.hash),
            )
            .hint("the last run of the gate says which hash it found"));
        }
        Ok(())
    }

    fn change(&self, board: &mut Board, call: &Call) -> Self::Outcome {
        let Some(hash) = plain_hash(&self.hash) else { unreachable!("checked before") };
        let former = board.expectation(&self.gate, self.task.as_ref()).map(|known| known.hash.clone());
        replace(
            board,
            Expectation {
                gate: self.gate.clone(),
                hash: hash.clone(),
                task: self.task.clone(),
                reason: self.reason.clone(),
                by: call.by.id(),
                time: call.now.wall,
            },
        );
        if let Some(id) = &self.task {
            let (_, body) = parts(board, id);
            let detail = format!("{} is to find {hash}: {}", self.gate, self.reason);
            body.history.push(entry(call, Event::GateBlessed).detail(detail));
        }
        Blessed {
            gate: self.gate.clone(),
            hash,
            former,
            task: self.task.clone(),
            reason: self.reason.clone(),
        }
    }

    fn needs(&self, _: &Board) -> Needs {
        self.task.as_ref().map_or(Needs::Nothing, Needs::task)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::invariants::violations;
    use crate::board::rules::{Abandon, RestoreRevision};
    use crate::board::task::Status;
    use crate::board::testing::*;

    const OLD: &str = "aaaaaaaa";
    const NEW: &str = "BBBBBBBB";

    fn bless(hash: &str, task: Option<&str>) -> BlessGate {
        BlessGate {
            gate: "replay".to_owned(),
            hash: hash.to_owned(),
            task: task.map(id),
            reason: "the trace has one more step".to_owned(),
        }
    }

    fn expected<'b>(bench: &'b Bench, task: Option<&str>) -> Option<&'b str> {
        bench.board.expectation("replay", task.map(id).as_ref()).map(|known| known.hash.as_str())
    }

    #[test]
    fn only_a_person_blesses_integration_hash() {
        let mut bench = Bench::with_tasks(&["t"]);
        for by in ["coder-1", "reviewer-1", "planner-1"] {
            assert_eq!(bench.refused(by, bless(OLD, None)), Code::HumanOnly, "{by}");
        }
        bench.ok("human", bless(OLD, None));
        bench.ok("human", bless(NEW, None));
        assert_eq!(bench.board.rest.expectations.len(), 1);
        assert_eq!(expected(&bench, None), Some("bbbbbbbb"));
        assert_eq!(expected(&bench, Some("t")), Some("bbbbbbbb"));
        assert!(bench.board.expectation("other", None).is_none());
    }

    #[test]
    fn only_independent_reviewer_blesses_task_hash() {
        let mut bench = Bench::with_tasks(&["t", "u"]);
        bench.ok("human", bless(OLD, None));
        bench.hand_in("coder-1", "t");
        assert_eq!(bench.refused("coder-2", bless(NEW, Some("t"))), Code::Tier0Role);
        assert_eq!(bench.refused("reviewer-1", bless(NEW, Some("missing"))), Code::UnknownTask);
        bench.ok("reviewer-1", bless(NEW, Some("t")));
        assert_eq!(expected(&bench, Some("t")), Some("bbbbbbbb"));
        assert_eq!(expected(&bench, Some("u")), Some(OLD));
        assert_eq!(expected(&bench, None), Some(OLD));
        assert!(bench.task("t").body().history.iter().any(|line| line.event == Event::GateBlessed));
    }

    #[test]
    fn implementer_cannot_bless_own_task() {
        let mut bench = Bench::with_tasks(&["t"]);
        bench.claim("both-1", "t");
        assert_eq!(bench.refused("both-1", bless(NEW, Some("t"))), Code::Tier0SelfApproval);
        bench.ok("reviewer-1", bless(NEW, Some("t")));
    }

    #[test]
    fn blessing_ends_when_blesser_works_on_the_task() {
        let mut bench = Bench::with_tasks(&["t"]);
        bench.ok("human", bless(OLD, None));
        bench.ok("both-1", bless(NEW, Some("t")));
        assert_eq!(expected(&bench, Some("t")), Some("bbbbbbbb"));
        bench.approved("both-1", "t");
        assert_eq!(expected(&bench, Some("t")), Some(OLD));
        bench.merge("t");
        assert_eq!(expected(&bench, None), Some(OLD));
        assert_eq!(bench.board.rest.expectations.len(), 1);
    }

    #[test]
    fn bless_needs_a_hash_and_a_reason() {
        let mut bench = Bench::with_tasks(&["t"]);
        assert_eq!(bench.refused("human", bless("nothing", None)), Code::Value);
        let silent = BlessGate { reason: " ".to_owned(), ..bless(OLD, None) };
        assert_eq!(bench.refused("human", silent), Code::Incomplete);
        let nameless = BlessGate { gate: String::new(), ..bless(OLD, None) };
        assert_eq!(bench.refused("human", nameless), Code::Incomplete);
    }

    #[test]
    fn blessed_hash_lands_with_the_task() {
        let mut bench = Bench::with_tasks(&["t", "u"]);
        bench.ok("human", bless(OLD, None));
        bench.approved("coder-1", "t");
        bench.ok("reviewer-1", bless(NEW, Some("t")));
        bench.merge("t");
        assert_eq!(expected(&bench, None), Some("bbbbbbbb"));
        assert_eq!(expected(&bench, Some("u")), Some("bbbbbbbb"));
        assert_eq!(bench.board.rest.expectations.len(), 1);
        assert_eq!(bench.status("t"), Status::Merged);
        assert_eq!(bench.refused("human", bless(OLD, Some("t"))), Code::Transition);
    }

    #[test]
    fn blessed_hash_ends_with_an_unmerged_task() {
        let mut bench = Bench::with_tasks(&["t", "u", "v"]);
        bench.ok("human", bless(OLD, None));
        bench.ok("human", bless(NEW, Some("t")));
        bench.ok("human", bless(NEW, Some("u")));
        bench.ok("human", Abandon { task: id("t"), reason: "not needed".to_owned() });
        bench.ok("human", bench.replace("u", "v"));
        assert_eq!(bench.board.rest.expectations.len(), 1);
        assert_eq!(expected(&bench, Some("t")), Some(OLD));
    }

    #[test]
    fn blessed_hash_ends_with_a_restored_task() {
        let mut bench = Bench::with_tasks(&["t"]);
        let open = bench.board.clone();
        bench.ok("human", bench.abandon("t"));
        let ended = bench.board.clone();
        bench.ok("human", RestoreRevision::between(&bench.board, &open, &bench.now));
        bench.ok("human", bless(NEW, Some("t")));
        bench.ok("human", RestoreRevision::between(&bench.board, &ended, &bench.now));
        assert_eq!(bench.status("t"), Status::Abandoned);
        assert!(bench.board.rest.expectations.is_empty());
    }

    #[test]
    fn board_with_an_orphan_hash_is_invalid() {
        let mut bench = Bench::with_tasks(&["t"]);
        bench.ok("human", bless(NEW, Some("t")));
        let known = bench.board.rest.expectations[0].clone();
        bench.board.rest.expectations.push(known.clone());
        bench.board.rest.expectations.push(Expectation { task: Some(id("gone")), ..known });
        let found: Vec<&str> = violations(&bench.board).iter().map(|violation| violation.invariant).collect();
        assert_eq!(found, ["I15", "I15"]);
    }
}
