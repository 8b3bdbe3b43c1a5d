//! The edition of the rules by which a change was judged. A record of the journal was allowed when it was written, so
//! it is replayed by the rules of that time: a verb whose rule became stricter carries its edition.

use super::prelude::*;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Edition(u32);

impl Edition {
    /// Records from before verbs carried an edition.
    pub const FIRST: Self = Self(0);
    /// Intents are observable, code tasks announce and contain tests, reviewers answer assumptions, handoffs are
    /// limited and are not iterations, and limits give their reason in the words of the contract.
    pub const CONTRACT: Self = Self(1);
    /// The current rules.
    pub const NOW: Self = Self::CONTRACT;

    pub fn is_first(&self) -> bool {
        *self == Self::FIRST
    }

    /// Whether this edition includes these rules.
    pub fn has(self, rules: Self) -> bool {
        self >= rules
    }
}
