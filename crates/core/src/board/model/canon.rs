//! What two boards have in common when they differ in history, texts, wall time and counts that only ever grow.

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::board::Board;
use crate::board::history::Event;
use crate::board::intent::{Former, Work};
use crate::board::lease::Lease;
use crate::board::task::{Body, Head, Task};
use crate::board::testing::LEASE;
use crate::board::time::{Deadline, NANOS_PER_SECOND, Stamp};

use super::State;

/// Two independent hashes of the projection: with 10^5 states a collision is out of the question.
pub fn key(state: &State) -> u128 {
    let mut low = DefaultHasher::new();
    let mut high = DefaultHasher::new();
    high.write_u64(0x9e37_79b9_7f4a_7c15);
    project(state, &mut low);
    project(state, &mut high);
    (u128::from(high.finish()) << 64) | u128::from(low.finish())
}

fn project(state: &State, out: &mut DefaultHasher) {
    (state.paused(), state.paused_a_while).hash(out);
    state.known.hash(out);
    project_routed(state, out);
    for (name, agent) in &state.board().rest.agents {
        (name.as_str(), agent.is_active()).hash(out);
    }
    for task in &state.board().tasks {
        project_head(state.board(), task.head(), &state.bench.now, out);
        project_body(task.body(), out);
        project_intent(state.board(), task, &state.bench.now, out);
    }
}

/// The goal, its routes, its workstream, and what was delivered or not.
fn project_routed(state: &State, out: &mut DefaultHasher) {
    let board = state.board();
    state.routed.hash(out);
    (board.rest.goal.id.as_str(), board.rest.goal.is_open(), board.queued_goals().count()).hash(out);
    for route in &board.rest.routes {
        (route.goal.as_deref(), route.task.as_ref(), route.route.as_str(), route.mode.as_str()).hash(out);
        (route.last_verdict().map(|verdict| verdict.as_str()), route.audits.len(), route.is_waived())
            .hash(out);
    }
    for stream in &board.rest.workstreams {
        (stream.accepted.is_some(), stream.collapsed.is_some()).hash(out);
    }
    board.rest.intents.iter().filter(|intent| intent.task.is_none()).count().hash(out);
    for task in &board.tasks {
        (task.id.as_str(), task.result.as_ref().map(|result| result.status.as_str())).hash(out);
        (task.body().dispatch_attempt(), task.body().previous.is_some()).hash(out);
    }
}

/// Ticks left. Those long past are alike, and none is ever further away than two ticks.
fn left(deadline: Option<&Deadline>, now: &Stamp) -> Option<i64> {
    deadline.map(|deadline| {
        let nanos = i128::from(deadline.monotonic) - i128::from(now.monotonic);
        let ticks = nanos.div_euclid(i128::from(LEASE) * i128::from(NANOS_PER_SECOND));
        i64::try_from(ticks.clamp(-1, 2)).unwrap_or_default()
    })
}

fn project_lease(board: &Board, lease: Option<&Lease>, now: &Stamp, out: &mut DefaultHasher) {
    let Some(lease) = lease else { return out.write_u8(0) };
    let present = board.agent(&lease.agent).is_some_and(|agent| agent.incarnation == lease.incarnation);
    (lease.agent.as_str(), present, left(Some(&lease.expires), now)).hash(out);
}

fn project_head(board: &Board, head: &Head, now: &Stamp, out: &mut DefaultHasher) {
    (head.status, head.epoch == 0, &head.assigned_to, head.iteration).hash(out);
    project_lease(board, head.lease.as_ref(), now, out);
    project_lease(board, head.review_lease.as_ref(), now, out);
    (left(head.reserved_until.as_ref(), now), head.holds_paths).hash(out);
    left(head.holds_paths_until.as_ref(), now).hash(out);
    (head.review_cycles_current, head.review_cycles_total, head.integration_fix).hash(out);
    (&head.superseded_by, head.review_commit.is_some()).hash(out);
    head.red_team.as_ref().map(|turn| &turn.by).hash(out);
    let mut approvers: Vec<&str> =
        head.approvals.iter().flat_map(|given| &given.by).map(|given| given.reviewer.as_str()).collect();
    approvers.sort_unstable();
    approvers.hash(out);
    for list in [&head.implementers, &head.failed_by] {
        let mut sorted: Vec<&str> = list.iter().map(|agent| agent.as_str()).collect();
        sorted.sort_unstable();
        sorted.hash(out);
    }
}

fn project_body(body: &Body, out: &mut DefaultHasher) {
    body.attempt().map(|attempt| &attempt.agent).hash(out);
    (body.consecutive_rejections, &body.rejection_reason).hash(out);
    (body.blocked_from, body.left.map(|left| left as u8)).hash(out);
    body.approval.as_ref().map(|approval| &approval.reviewer).hash(out);
    (body.max_coder_iterations, body.max_review_cycles).hash(out);
    (body.submission.is_some(), body.integration_failure.is_some()).hash(out);
    // Whether the last round left only small issues, and is one that counts.
    let last = body.history.iter().rfind(|line| matches!(line.event, Event::Rejected | Event::Unblocked));
    let rejected = last.is_some_and(|line| line.event == Event::Rejected);
    (rejected, body.issues.is_empty(), body.blocking_issues().next().is_some()).hash(out);
}

fn project_intent(board: &Board, task: &Task, now: &Stamp, out: &mut DefaultHasher) {
    let Some(intent) = board.intent_of(&task.id) else { return out.write_u8(0) };
    intent.by.hash(out);
    match &intent.work {
        Work::Claim(work) => {
            work.reuse.hash(out);
            project_former(board, &work.former, now, out);
        }
        Work::Merge(work) => (work.former_status, work.resolved.is_some(), work.step.is_some()).hash(out),
        Work::Apply(work) => work.implementers.hash(out),
        Work::Advance(_) | Work::Deliver(_) => {}
    }
}

fn project_former(board: &Board, former: &Former, now: &Stamp, out: &mut DefaultHasher) {
    (former.status, &former.assigned_to, former.holds_paths, former.iteration).hash(out);
    project_lease(board, former.lease.as_ref(), now, out);
    left(former.reserved_until.as_ref(), now).hash(out);
    (former.review_cycles_current, former.integration_fix, former.consecutive_rejections).hash(out);
    (former.left.map(|left| left as u8), former.implementers.len()).hash(out);
}
