//! Git hooks: an early warning about what submit and merge would refuse anyway, and the guard of the integration
//! branch against moves by hand.
//!
//! `script` is the text of the hook files, `hook_dir` finds their owner, `install` installs and removes it, `status`
//! asks git whether it runs, `judge` answers when it does.

mod hook_dir;
pub mod install;
pub mod judge;
mod script;
pub use script::{ALIASES, KEPT};
pub mod status;

use crate::board::names::{Named, named};
use crate::flow::prelude::*;

/// The hooks that liza uses.
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

    /// Whether git writes details to its standard input.
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

/// Set to a file name, it makes every hook write its own name there and refuse: this is how `hooks status` checks
/// whether git runs them. It cannot be used to bypass a hook.
pub const PROBE: &str = "LIZA_HOOK_PROBE";
/// Seconds a hook may take.
pub const TIMEOUT: &str = "LIZA_HOOK_TIMEOUT";
pub const DEFAULT_TIMEOUT: u64 = 10;
/// The exit code of a hook that was only probed.
pub const PROBED: u8 = 86;
