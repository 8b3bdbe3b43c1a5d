//! Properties that must hold after every step, checked without the rules under test.

use crate::board::graph::waits_for;
use crate::board::task::{Status, Task};
use crate::board::{TaskId, Transition, any_overlap, violations};

use super::{ATTACKED, CODE, DOUBLE, Known, State, TASKS, routed};

/// Whether this step was right, or what is wrong with it.
pub fn judge(before: &State, after: &State, what: &Transition) -> Result<(), String> {
    if let Some(violation) = violations(after.board()).first() {
        return Err(format!("invariant {violation}"));
    }
    if after.board().revision != before.board().revision + 1 {
        return Err("the revision did not grow by one".to_owned());
    }
    two_own_the_same(after)?;
    for (at, name) in CODE.iter().enumerate() {
        let name = TaskId::new(name).map_err(|why| why.to_string())?;
        let Some(old) = before.board().task(&name) else { continue };
        let Some(new) = after.board().task(&name) else {
            routed::left_the_board(old, what).map_err(|wrong| format!("{name}: {wrong}"))?;
            continue;
        };
        judge_task(before, after, at, old, new).map_err(|wrong| format!("{name}: {wrong}"))?;
    }
    routed::judge(before, after, what)?;
    if let Transition::Reject(reject) = what {
        accepted_rightly(before, after, &reject.task)?;
    }
    if let Transition::BeginClaim(claim) = what {
        let unmet = |id: &TaskId| !merged(after, id);
        if after.board().task(&claim.task).is_some_and(|task| task.depends_on.iter().any(unmet)) {
            return Err(format!("{} was claimed before its dependency was merged", claim.task));
        }
        if before.paused() {
            return Err(format!("{} was claimed during a pause", claim.task));
        }
    }
    Ok(())
}

/// What holds for each task, whatever it delivers.
pub fn judge_any(before: &State, after: &State, old: &Task, new: &Task) -> Result<(), String> {
    if new.epoch < old.epoch {
        return Err("the epoch went back".to_owned());
    }
    let (past, present) = (&old.body().history, &new.body().history);
    if present.len() < past.len() || present[..past.len()] != past[..] {
        return Err("history was rewritten".to_owned());
    }
    if old.status.is_terminal() && new.status != old.status {
        return Err(format!("{} was left for {}", old.status, new.status));
    }
    if old.status.is_terminal() && old.head() != new.head() {
        return Err("an ended task changed".to_owned());
    }
    if new.review_cycles_total < old.review_cycles_total {
        return Err("review cycles were forgotten".to_owned());
    }
    if new.lease.is_some() && new.lease.as_ref().map(|l| &l.agent) != old.lease.as_ref().map(|l| &l.agent) {
        let undone = after.board().rest.intents.len() < before.board().rest.intents.len();
        if new.epoch == old.epoch && !undone {
            return Err("the task changed hands under one epoch".to_owned());
        }
    }
    Ok(())
}

fn judge_task(before: &State, after: &State, at: usize, old: &Task, new: &Task) -> Result<(), String> {
    judge_any(before, after, old, new)?;
    if new.stands_on_result() {
        // A merge slice with nothing left to change.
        return Ok(());
    }
    if new.status == Status::ReadyForReview && old.status == Status::Working && !before.known[at].announced {
        return Err("handed in without a checkpoint of this iteration".to_owned());
    }
    let approver = new.body().approval.as_ref().map(|approval| approval.reviewer.to_string());
    if let Some(approver) = &approver
        && new.status != Status::Working
        && after.known[at].implementers.contains(approver)
    {
        return Err(format!("{approver} implemented it and approved it"));
    }
    if CODE[at] == DOUBLE && matches!(new.status, Status::Approved | Status::Merged) {
        let Known { approved_by, implementers, .. } = &after.known[at];
        let counted = approved_by.iter().filter(|by| !implementers.contains(by)).count();
        if counted < 2 {
            return Err(format!("{} with {counted} of two reviewers", new.status));
        }
    }
    if new.status == Status::Merged && old.status != Status::Merged {
        if approver.is_none() || old.body().approval.is_none() {
            return Err("merged without an approval".to_owned());
        }
        let merge_of = |task: &Task| task.body().approval.as_ref().map(|approval| approval.commit.clone());
        if merge_of(new) != new.review_commit {
            return Err("merged something else than was approved".to_owned());
        }
        if CODE[at] == ATTACKED {
            let Some(by) = new.red_team.as_ref().and_then(|turn| turn.by.as_ref()) else {
                return Err("merged before the red team had its turn".to_owned());
            };
            if Some(by.to_string()) == approver || after.known[at].implementers.contains(&by.to_string()) {
                return Err(format!("{by} implemented or approved it and cleared it for the red team"));
            }
        }
    }
    Ok(())
}

/// A rejection may count as an approval only if the reviewer did not implement the task, no grave issue is open and the
/// task was rejected before.
fn accepted_rightly(before: &State, after: &State, id: &TaskId) -> Result<(), String> {
    let Some(at) = TASKS.iter().position(|name| *name == id.as_str()) else { return Ok(()) };
    let (Some(old), Some(new)) = (before.board().tasks.get(at), after.board().tasks.get(at)) else {
        return Ok(());
    };
    if new.status != Status::Approved {
        return Ok(());
    }
    let body = new.body();
    let Some(approval) = &body.approval else { return Err(format!("{id} is accepted without an approval")) };
    if after.known[at].implementers.contains(&approval.reviewer.to_string()) {
        return Err(format!("{} implemented {id} and accepted it with notes", approval.reviewer));
    }
    if body.blocking_issues().next().is_some() || approval.notes.is_empty() {
        return Err(format!("{id} was accepted with notes, and more than notes is open"));
    }
    if old.review_cycles_total == 0 {
        return Err(format!("{id} was accepted with notes in its first round"));
    }
    Ok(())
}

fn two_own_the_same(state: &State) -> Result<(), String> {
    let live: Vec<&Task> = state.board().tasks.iter().filter(|task| task.is_live(&state.bench.now)).collect();
    for (at, one) in live.iter().enumerate() {
        for other in &live[at + 1..] {
            if any_overlap(&one.owns, &other.owns).is_some() {
                return Err(format!("{} and {} own paths that overlap", one.id, other.id));
            }
        }
    }
    Ok(())
}

/// Whether the task or its replacements were merged. Those that left the board are no replacements of others.
fn merged(state: &State, id: &TaskId) -> bool {
    let Some(task) = state.board().task(id) else {
        return state.bench.world.archived.get(id).is_some_and(|left| left.status == Status::Merged);
    };
    match task.status {
        Status::Merged => true,
        Status::Superseded => waits_for(task).iter().all(|next| merged(state, next)),
        _ => false,
    }
}
