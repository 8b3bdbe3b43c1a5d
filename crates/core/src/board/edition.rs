//! By which rules a change was judged. What the journal holds was allowed when it was written, so it is replayed by the rules
//! of then: a verb whose rule became stricter carries the edition it was made under.

use super::prelude::*;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Edition(u32);

impl Edition {
    /// Before verbs said it.
    pub const FIRST: Self = Self(0);
    /// Intents are observable, code tasks announce and bring tests, reviewers answer assumptions, handoffs are no iterations
    /// and are limited, and limits give their reason in the words of the contract.
    pub const CONTRACT: Self = Self(1);
    /// What is judged now.
    pub const NOW: Self = Self::CONTRACT;

    pub fn is_first(&self) -> bool {
        *self == Self::FIRST
    }

    /// Whether these rules hold.
    pub fn has(self, rules: Self) -> bool {
        self >= rules
    }
}
