//! Why a command fails, as scripts read it: `error.code` in its JSON. Listed in specs/cli.md.

use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::board::{Class, Code};

macro_rules! codes {
    ($($class:ident { $($variant:ident $name:literal,)* })*) => {
        /// A refusal by the board's rules, or a failure in files, git and processes.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum ErrorCode { Rule(Code), $($($variant,)*)* }

        impl ErrorCode {
            /// Codes that belong to no rule.
            const OWN: &'static [Self] = &[$($(Self::$variant,)*)*];

            pub fn as_str(self) -> &'static str {
                match self { Self::Rule(code) => code.as_str(), $($(Self::$variant => $name,)*)* }
            }

            pub fn class(self) -> Class {
                match self { Self::Rule(code) => code.class(), $($(Self::$variant => Class::$class,)*)* }
            }
        }
    };
}

codes! {
    Refused {
        RefusedBundle "refused.bundle",
        RefusedCrashLoop "refused.crash_loop",
        RefusedDeclined "refused.declined",
        RefusedFindings "refused.findings",
        RefusedHook "refused.hook",
        RefusedInUse "refused.in_use",
        RefusedNoResults "refused.no_results",
        RefusedNotRestorable "refused.not_restorable",
        RefusedPlaceTaken "refused.place_taken",
        RefusedPush "refused.push",
        RefusedStuck "refused.stuck",
        RefusedTrailer "refused.trailer",
    }
    Usage {
        UsageArgument "usage.argument",
        UsageArguments "usage.arguments",
        UsageConfig "usage.config",
        UsageConfirm "usage.confirm",
        UsageGate "usage.gate",
        UsageInput "usage.input",
        UsageNoBoard "usage.no_board",
        UsageNoRepository "usage.no_repository",
        UsageProvider "usage.provider",
        UsageTemplate "usage.template",
    }
    Stale {
        StaleBoard "stale.board",
        StaleRef "stale.ref",
        StaleReview "stale.review",
        StaleRunning "stale.running",
        StaleTask "stale.task",
        StaleWatched "stale.watched",
        StaleWorktree "stale.worktree",
    }
    Busy {
        BusyGates "busy.gates",
        BusyIds "busy.ids",
        BusyLock "busy.lock",
    }
    Board {
        BoardArchive "board.archive",
        BoardEdited "board.edited",
        BoardGone "board.gone",
        BoardIntegrationMoved "board.integration_moved",
        BoardInvalid "board.invalid",
        BoardNewer "board.newer",
        BoardOlder "board.older",
        BoardVerify "board.verify",
        BoardViolations "board.violations",
    }
    Gate {
        GateIntegrationRed "gate.integration_red",
    }
    Git {
        GitConflict "git.conflict",
        GitFailed "git.failed",
        GitHook "git.hook",
        GitMissing "git.missing",
        GitNoCommit "git.no_commit",
        GitNoIntegration "git.no_integration",
        GitNotLanded "git.not_landed",
        GitRef "git.ref",
        GitUnsaved "git.unsaved",
        GitUnsupported "git.unsupported",
        GitVersion "git.version",
        GitWorktree "git.worktree",
    }
    Io {
        IoAgent "io.agent",
        IoDiskFull "io.disk_full",
        IoDiskLow "io.disk_low",
        IoDurabilityUnknown "io.durability_unknown",
        IoFailed "io.failed",
        IoNetworkFs "io.network_fs",
        IoRead "io.read",
        IoReports "io.reports",
    }
    Signal {
        SignalHangup "signal.hangup",
        SignalInterrupted "signal.interrupted",
        SignalParent "signal.parent",
        SignalTerminated "signal.terminated",
    }
    Agent {
        AgentNotStarted "agent.not_started",
    }
    Bug {
        BugBundle "bug.bundle",
        BugDemo "bug.demo",
        BugGates "bug.gates",
        BugIntent "bug.intent",
        BugInvariant "bug.invariant",
        BugMan "bug.man",
        BugReport "bug.report",
        BugReview "bug.review",
        BugRunner "bug.runner",
        BugSubmit "bug.submit",
        BugTemplate "bug.template",
    }
}

impl ErrorCode {
    /// The code of a command that this signal ended.
    pub fn of_signal(signal: i32) -> Self {
        match signal {
            signal_hook::consts::SIGTERM => Self::SignalTerminated,
            signal_hook::consts::SIGHUP => Self::SignalHangup,
            _ => Self::SignalInterrupted,
        }
    }

    /// The exit code of the command: part of the interface.
    pub fn exit(self) -> u8 {
        match self {
            Self::GitConflict => 11,
            Self::GitNotLanded => Class::Stale.exit(),
            // Committed, but it is unknown whether it is on disk.
            Self::IoDurabilityUnknown => 10,
            // Ended by a signal, as in a shell: 128 plus its number.
            Self::SignalHangup => 129,
            Self::SignalTerminated => 143,
            other => other.class().exit(),
        }
    }
}

impl From<Code> for ErrorCode {
    fn from(code: Code) -> Self {
        Self::Rule(code)
    }
}

impl PartialEq<Code> for ErrorCode {
    fn eq(&self, code: &Code) -> bool {
        *self == Self::Rule(*code)
    }
}

/// The text is no code of this version.
#[derive(Debug)]
pub struct UnknownCode;

impl FromStr for ErrorCode {
    type Err = UnknownCode;

    fn from_str(text: &str) -> Result<Self, UnknownCode> {
        let rules = Code::ALL.iter().copied().map(Self::Rule);
        rules.chain(Self::OWN.iter().copied()).find(|code| code.as_str() == text).ok_or(UnknownCode)
    }
}

impl<'de> Deserialize<'de> for ErrorCode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        text.parse().map_err(|_| serde::de::Error::custom(format_args!("`{text}` is no error code")))
    }
}

impl Serialize for ErrorCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_reads_back_from_its_text() {
        let all = Code::ALL.iter().copied().map(ErrorCode::Rule).chain(ErrorCode::OWN.iter().copied());
        for code in all {
            assert_eq!(code.as_str().parse::<ErrorCode>().ok(), Some(code), "{}", code.as_str());
        }
        assert!("refused.nothing_of_the_kind".parse::<ErrorCode>().is_err());
    }

    #[test]
    fn first_word_of_a_code_is_its_class() {
        for code in ErrorCode::OWN {
            let class = format!("{:?}.", code.class()).to_lowercase();
            assert!(code.as_str().starts_with(&class), "{}", code.as_str());
        }
    }

    #[test]
    fn exit_codes_match_the_interface() {
        for (code, exit) in [
            ("refused.bundle", 1),
            ("usage.argument", 2),
            ("stale.board", 3),
            ("git.not_landed", 3),
            ("busy.lock", 4),
            ("switch.set", 5),
            ("board.invalid", 6),
            ("gate.integration_red", 7),
            ("git.failed", 8),
            ("io.disk_full", 9),
            ("io.durability_unknown", 10),
            ("git.conflict", 11),
            ("bug.invariant", 70),
            ("agent.not_started", 127),
            ("signal.hangup", 129),
            ("signal.interrupted", 130),
            ("signal.parent", 130),
            ("signal.terminated", 143),
        ] {
            assert_eq!(code.parse::<ErrorCode>().map(ErrorCode::exit).ok(), Some(exit), "{code}");
        }
    }
}
