//! The limits from which on an alert is raised, each with its reason.

use crate::policy::prelude::*;

/// A lease that ran out is reported after this many heartbeats: a holder that was suspended or busy renews with its next one,
/// and then there was nothing to report.
pub const LEASE_GRACE_HEARTBEATS: u64 = 1;

/// Rejections of one agent's work on one task that make a loop: twice is an ordinary review, and at three in a row the
/// circuit breaker blocks by default. Reported again at every multiple.
pub const REVIEW_LOOP: u32 = 3;

/// Iterations: 8 of 10, so that two are left to think of something. As a fraction, for other limits.
pub const ITERATIONS_NEAR: (u32, u32) = (8, 10);
/// Review cycles: 3 of 5, as above.
pub const CYCLES_NEAR: (u32, u32) = (3, 5);
/// A first try is never near a limit, however low that is.
pub const NEVER_NEAR: u32 = 1;

/// Work that could go on and does not: longer than it takes an agent to start and less than half a lease, so that
/// a person hears of it before a lease expires and the task changes hands.
pub const STALLED_SECONDS: u64 = 15 * 60;

/// A draft that is not finalized: a planning session, with the questions it raises, ends within a day.
pub const DRAFT_SECONDS: u64 = 24 * 3600;

/// A plan of a workstream that is neither accepted nor sent back: a run decides within seconds, and each slice waits for it.
pub const PLAN_SECONDS: u64 = 10 * 60;

/// The CHECKPOINT switch halts all agents until a person resumes. A coffee is half an hour, a meeting two; after a working
/// day no person is coming, and the file ESCALATION says so.
pub const CHECKPOINT_SECONDS: [(u64, &str); 3] = [(30 * 60, "30m"), (2 * 3600, "2h"), (8 * 3600, "8h")];

/// Above this share of approvals reviews find nothing: either the work is very good or the reviewers do not look.
pub const APPROVAL_PERCENT: u64 = 95;
/// Fewer verdicts than these say nothing.
pub const VERDICTS: u64 = 5;

/// One reviewer's share of approvals says something from here on; fewer are chance.
pub const STAMP_VERDICTS: u64 = 10;
/// So many approvals of changes that are no trifle without a single issue, not even a nitpick.
pub const STAMP_APPROVALS: u64 = 5;
/// Documents and settings are a trifle below so many files.
pub const STAMP_FILES: usize = 3;
/// Below this a reviewer cannot have read a diff: `review show` alone is a page, a model's answer takes its seconds, and the fastest
/// honest verdict on a one-line change needs both.
pub const STAMP_SECONDS: u64 = 20;

/// Disk: a fifth above the limit is enough again; without the gap, a disk at its limit would be reported every minute.
pub const ROOM_AGAIN: (u64, u64) = (6, 5);

/// How much of an agent's or person's text an alert or a trip repeats; the board has the rest.
pub const TEXT_CHARS: usize = 300;
/// How many tasks are named one by one.
pub const NAMED: usize = 5;

/// An agent's or person's text, short enough for one line of many.
pub fn said(text: &str) -> String {
    let line: Vec<&str> = text.split_whitespace().collect();
    clipped(&line.join(" "), TEXT_CHARS).to_string()
}
