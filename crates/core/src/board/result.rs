//! What a task without a change delivers: one JSON value, kept beside the board and named by its digest.

use super::prelude::*;

words! {
    /// How the author of a result says that the slice ended.
    pub enum ResultStatus {
        Complete = "complete",
        Partial = "partial",
        Blocked = "blocked",
    }
}

named_by!(ResultStatus);

words! {
    /// Why an attempt at a slice ended without its result.
    pub enum EndCause {
        /// Its author delivered a part.
        Partial = "partial",
        /// Its author says that it cannot go on.
        Blocked = "blocked",
        /// What its agent said last is not exactly one value of its schema.
        BadOutput = "bad_output",
        /// Its timebox was over.
        Timebox = "timebox",
        /// Its agent's command ended with an error, again and again.
        Crash = "crash",
    }
}

record! {
    /// A delivered result; the value itself is `results/<task>.<epoch>.json`.
    #[derive(Eq)]
    pub struct TaskResult {
        pub status: ResultStatus,
        /// BLAKE3 over the bytes of the file.
        pub digest: String,
        /// The claim it was delivered under.
        pub epoch: u64,
        pub by: AgentId,
        pub time: Wall,
    }

    /// How the former attempt at a slice ended, for the agent of the next one.
    pub struct Previous {
        /// The number of that attempt, from one.
        pub attempt: u32,
        pub cause: EndCause,
        pub reason: String,
        pub evidence: Vec<EvidenceItem>,
    }

    /// Something that shows what a result or a report says.
    pub struct EvidenceItem {
        /// Such as `command`, `file`, `log`, `output`.
        pub kind: String,
        /// Where it is: a command, a path, a digest.
        #[serde(rename = "ref")]
        pub reference: String,
        /// The exit code, of a command.
        pub exit: Option<i32>,
        pub excerpt: Option<String>,
    }
}

/// What to type about a plan that waits for acceptance.
pub fn acceptance_hint(plan: &TaskId) -> String {
    format!(
        "`liza run` decides, or a planner or person: `liza result show {plan}`, then `liza result accept {plan}` or `liza result reject {plan} \
         --reason … --finding …`"
    )
}

/// So much evidence of former attempts a task remembers; the newest stays.
pub const EVIDENCE_KEPT: usize = 12;

/// After so many dispatches a slice that did not end is for a planner or a person.
pub const MOST_DISPATCHES: u32 = 2;

impl Previous {
    /// The record after one more attempt ended like this.
    pub fn after(former: Option<&Self>, cause: EndCause, reason: &str, evidence: &[EvidenceItem]) -> Self {
        let mut all: Vec<EvidenceItem> = former.map(|former| former.evidence.clone()).unwrap_or_default();
        all.extend(evidence.iter().cloned());
        let surplus = all.len().saturating_sub(EVIDENCE_KEPT);
        all.drain(..surplus);
        let attempt = former.map_or(1, |former| former.attempt.saturating_add(1));
        Self { attempt, cause, reason: reason.to_owned(), evidence: all }
    }

    /// The next attempt is better played by another program.
    pub fn wants_fallback(&self) -> bool {
        matches!(self.cause, EndCause::BadOutput | EndCause::Crash)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evidence_of_former_attempts_is_kept_and_bounded() {
        let item = |at: usize| EvidenceItem {
            kind: "log".to_owned(),
            reference: format!("{at}"),
            exit: None,
            excerpt: None,
        };
        let first = Previous::after(None, EndCause::Timebox, "slow", &[item(0)]);
        assert_eq!((first.attempt, first.evidence.len()), (1, 1));
        let many: Vec<EvidenceItem> = (1..=EVIDENCE_KEPT).map(item).collect();
        let second = Previous::after(Some(&first), EndCause::Timebox, "slow again", &many);
        assert_eq!((second.attempt, second.evidence.len()), (2, EVIDENCE_KEPT));
        assert_eq!(second.evidence[0].reference, "1");
    }
}
