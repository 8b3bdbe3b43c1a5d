//! The limits at which alerts are raised, each with its reason.

use crate::policy::prelude::*;

/// An expired lease is reported after this many heartbeats: a holder that was suspended or busy renews it with its next
/// heartbeat.
pub const LEASE_GRACE_HEARTBEATS: u64 = 1;

/// Rejections of one agent's work on one task that count as a loop: two are ordinary, and three in a row block the task
/// by default. Reported again at every multiple.
pub const REVIEW_LOOP: u32 = 3;

/// Iterations: 8 of 10, so that two are left for another approach. A fraction, so that it applies to other limits.
pub const ITERATIONS_NEAR: (u32, u32) = (8, 10);
/// Review cycles: 3 of 5, as above.
pub const CYCLES_NEAR: (u32, u32) = (3, 5);
/// A first try is never near a limit, however low that is.
pub const NEVER_NEAR: u32 = 1;

/// The time after which waiting work is reported: longer than the start of an agent, and less than half a lease, so
/// that a person is alerted before a lease expires and the task changes hands.
pub const STALLED_SECONDS: u64 = 15 * 60;

/// A draft that is not finalized: a planning session, with the questions it raises, ends within a day.
pub const DRAFT_SECONDS: u64 = 24 * 3600;

/// A plan of a workstream that is neither accepted nor sent back: a run decides within seconds, and each slice waits for it.
pub const PLAN_SECONDS: u64 = 10 * 60;

/// The CHECKPOINT switch halts all agents until a person resumes. A coffee is half an hour, a meeting two; after a working
/// day no person is coming, and the file ESCALATION says so.
pub const CHECKPOINT_SECONDS: [(u64, &str); 3] = [(30 * 60, "30m"), (2 * 3600, "2h"), (8 * 3600, "8h")];

/// Above this share of approvals, either the work is very good or the reviewers do not read it.
pub const APPROVAL_PERCENT: u64 = 95;
/// Fewer verdicts than this are chance.
pub const VERDICTS: u64 = 5;

/// One reviewer's share of approvals counts from this many verdicts on; fewer are chance.
pub const STAMP_VERDICTS: u64 = 10;
/// This many approvals of larger changes without a single issue, not even a nitpick.
pub const STAMP_APPROVALS: u64 = 5;
/// A change of documents and settings is small below this many files.
pub const STAMP_FILES: usize = 3;
/// In less time a reviewer cannot have read a diff: `review show` alone is a page, and a model's answer takes some
/// seconds; the fastest honest verdict on a one-line change needs both.
pub const STAMP_SECONDS: u64 = 20;

/// A disk has enough space again at a fifth above the limit; otherwise a disk near its limit would be reported every
/// minute.
pub const ROOM_AGAIN: (u64, u64) = (6, 5);

/// How much of an agent's or person's text an alert or a trip quotes; the board has the rest.
pub const TEXT_CHARS: usize = 300;
/// How many tasks are named one by one.
pub const NAMED: usize = 5;

/// An agent's or person's text, short enough for one line of many.
pub fn clipped_line(text: &str) -> String {
    let line: Vec<&str> = text.split_whitespace().collect();
    clipped(&line.join(" "), TEXT_CHARS).to_string()
}
