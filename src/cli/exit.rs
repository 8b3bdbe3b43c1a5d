//! Exit codes: part of the interface, listed in specs/cli.md.

pub const DONE: u8 = 0;
/// A rule, role or state said no.
pub const REFUSED: u8 = 1;
pub const USAGE: u8 = 2;
/// Held by somebody else, stale epoch or commit.
pub const STALE: u8 = 3;
/// The board's lock was not to be had in time.
pub const BUSY: u8 = 4;
/// Paused, aborted or at a checkpoint.
pub const SWITCHED: u8 = 5;
/// Board invalid or rolled back.
pub const INVALID: u8 = 6;
/// A gate or validation is red or could not run.
pub const GATE: u8 = 7;
pub const GIT: u8 = 8;
/// I/O failed, nothing changed.
pub const IO: u8 = 9;
/// Committed, but durability unknown.
pub const DURABILITY: u8 = 10;
pub const CONFLICT: u8 = 11;
/// Graceful stop: restart me.
pub const RESTART: u8 = 42;
/// A bug in liza.
pub const BUG: u8 = 70;
/// Ended by a signal, as a shell says it: 128 and its number.
pub const INTERRUPTED: u8 = 130;
pub const TERMINATED: u8 = 143;
pub const HUNG_UP: u8 = 129;
/// An agent's command could not be started, as a shell says it.
const NOT_STARTED: u8 = 127;

/// The exit code that goes with an error code.
pub fn of(code: &str) -> u8 {
    match code {
        "io.durability_unknown" => return DURABILITY,
        "git.not_landed" => return STALE,
        "git.conflict" => return CONFLICT,
        "agent.not_started" => return NOT_STARTED,
        "signal.terminated" => return TERMINATED,
        "signal.hangup" => return HUNG_UP,
        _ => {}
    }
    match code.split('.').next().unwrap_or_default() {
        "refused" | "tier0" => REFUSED,
        "usage" => USAGE,
        "stale" => STALE,
        "busy" => BUSY,
        "switch" => SWITCHED,
        "board" => INVALID,
        "gate" => GATE,
        "git" => GIT,
        "io" => IO,
        "signal" => INTERRUPTED,
        _ => BUG,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::Code;

    #[test]
    fn every_refusal_has_the_exit_code_its_rule_says() {
        for code in Code::ALL {
            assert_eq!(of(code.as_str()), code.exit(), "{}", code.as_str());
        }
    }

    #[test]
    fn prefixes_decide() {
        for (code, exit) in [
            ("usage.argument", 2),
            ("busy.lock", 4),
            ("board.invalid", 6),
            ("git.failed", 8),
            ("io.disk_full", 9),
            ("io.durability_unknown", 10),
            ("git.conflict", 11),
            ("bug.invariant", 70),
            ("signal.interrupted", 130),
            ("signal.terminated", 143),
            ("signal.hangup", 129),
        ] {
            assert_eq!(of(code), exit, "{code}");
        }
    }
}
