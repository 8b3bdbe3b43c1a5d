//! Git hooks: the earliest word about what submit and merge would refuse anyway, and the guard of the integration
//! branch against moves by hand.
//!
//! `script` is what stands in the hook files, `place` finds out who owns them, `install` puts it there and takes it away,
//! `status` asks git whether it fires, `judge` answers when it does.

pub mod install;
pub mod judge;
mod place;
mod script;
pub use script::{ALIASES, KEPT};
pub mod status;

use crate::board::names::{Named, named};
use crate::flow::prelude::*;

/// The hooks liza takes part in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Hook {
    PreCommit,
    CommitMsg,
    PrePush,
    ReferenceTransaction,
}

impl Hook {
    pub const ALL: [Self; 4] = [Self::PreCommit, Self::CommitMsg, Self::PrePush, Self::ReferenceTransaction];

    pub fn name(self) -> &'static str {
        match self {
            Self::PreCommit => "pre-commit",
            Self::CommitMsg => "commit-msg",
            Self::PrePush => "pre-push",
            Self::ReferenceTransaction => "reference-transaction",
        }
    }

    /// Whether git writes to its standard input what it is about.
    fn is_fed(self) -> bool {
        matches!(self, Self::PrePush | Self::ReferenceTransaction)
    }
}

impl Named for Hook {
    const ALL: &'static [Self] = &Self::ALL;
    fn name(self) -> &'static str {
        Self::name(self)
    }
}

impl std::str::FromStr for Hook {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        named(text)
    }
}

/// Set to the name of a file, it makes every hook write its own name there and refuse: how `hooks status` finds out
/// whether git runs them. It cannot be used to get past one.
pub const PROBE: &str = "LIZA_HOOK_PROBE";
/// Seconds a hook may take.
pub const TIMEOUT: &str = "LIZA_HOOK_TIMEOUT";
pub const DEFAULT_TIMEOUT: u64 = 10;
/// How a hook ends that was only asked whether it is there.
pub const PROBED: u8 = 86;
