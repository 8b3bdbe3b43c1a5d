//! The possible next steps: every transition an actor may try, and every event outside the board.

use std::rc::Rc;

use crate::board::call::Actor;
use crate::board::gates::{GateReport, Moment};
use crate::board::intent::Work;
use crate::board::review::Severity;
use crate::board::rules::Transition;
use crate::board::rules::*;
use crate::board::task::{Risk, Status};
use crate::board::testing::{Bench, LEASE, REASONS, commit, finding, id, pause, role};
use crate::board::{AgentId, Task};

use super::{ATTACKED, CODERS, DOUBLE, RED_TEAM, REVIEWERS, Scene, State, Step, TASKS, TASTE, routed};

/// An actor tries a transition. Ending a task or an agent costs two disturbances.
pub struct Act {
    pub by: Actor,
    pub what: Transition,
    pub cost: usize,
}

/// A transition in a word or two, for the story of a failure.
pub fn describe(what: &Transition) -> String {
    let json = serde_json::to_value(what).unwrap_or_default();
    let inner = &json[what.name()];
    let subject = inner.get("task").or_else(|| inner.get("intent")).or_else(|| inner.get("id"));
    format!("{} {}", what.name(), subject.map(ToString::to_string).unwrap_or_default())
}

pub struct Menu<'s> {
    pub bench: &'s Bench,
    acts: Vec<Act>,
}

impl Menu<'_> {
    pub fn offer(&mut self, cost: usize, by: &str, what: impl Into<Transition>) {
        self.acts.push(Act { by: self.bench.actor(by), what: what.into(), cost });
    }
}

/// Everything that may be allowed in this state. What is not, the rules refuse.
pub fn possible(state: &State) -> Vec<Act> {
    let bench = &state.bench;
    let mut menu = Menu { bench, acts: Vec::new() };
    if state.scene != Scene::Routed {
        for (at, name) in TASKS.iter().enumerate() {
            offer_task(&mut menu, name, state.known[at].moved, &CODERS);
        }
        offer_team(&mut menu, state);
    }
    if state.scene != Scene::Tasks {
        routed::offer(&mut menu, state);
    }
    menu.acts
}

/// What may happen to a task that changes files.
pub fn offer_task(menu: &mut Menu, name: &str, moved: bool, workers: &[&str]) {
    let bench = menu.bench;
    let task = bench.task(name);
    match bench.board.intent_of(&id(name)).map(|intent| &intent.work) {
        Some(Work::Claim(_)) => {
            menu.offer(0, "human", bench.finish(name));
            menu.offer(1, "human", bench.cancel(name));
        }
        Some(Work::Merge(work)) => {
            if work.step.is_none() {
                menu.offer(0, "reviewer-1", bench.record_move(name));
                menu.offer(1, "human", bench.fail_merge(name, MergeFailure::RedGate));
                menu.offer(1, "human", bench.fail_merge(name, MergeFailure::LogicConflict));
            }
            menu.offer(0, "human", bench.finish_merge(name));
            let cancel = CancelMerge {
                intent: bench.intent(name),
                owner: crate::board::testing::process(1),
                reason: "the process died".to_owned(),
            };
            menu.offer(1, "human", cancel);
        }
        _ => {
            offer_work(menu, name, task, workers);
            offer_review(menu, name, task, moved);
            offer_planning(menu, name, task);
        }
    }
}

fn offer_work(menu: &mut Menu, name: &str, task: &Task, workers: &[&str]) {
    let bench = menu.bench;
    let claimable =
        matches!(task.status, Status::Idle | Status::Working | Status::Rejected | Status::IntegrationFailed);
    for coder in workers {
        if claimable {
            menu.offer(0, coder, bench.begin(name));
        }
        if matches!(task.status, Status::Working | Status::Idle) {
            menu.offer(0, coder, bench.checkpoint(name));
            menu.offer(0, coder, bench.submit(name));
            menu.offer(1, coder, bench.release(name));
            menu.offer(0, coder, Renew { task: id(name), epoch: Some(task.epoch) });
        }
        if task.status == Status::Working {
            menu.offer(1, coder, bench.hand_off(name));
            let mut over_budget = bench.checkpoint(name);
            over_budget.checkpoint.assumptions =
                vec![crate::board::history::Assumption { text: "all is well".to_owned(), critical: true }; 4];
            menu.offer(1, coder, over_budget);
        }
    }
}

fn offer_review(menu: &mut Menu, name: &str, task: &Task, moved: bool) {
    let bench = menu.bench;
    let elsewhere = || moved.then(|| commit(77));
    for reviewer in REVIEWERS {
        if task.status == Status::ReadyForReview {
            menu.offer(0, reviewer, bench.start_review(name));
            menu.offer(0, reviewer, RenewReview { task: id(name) });
            menu.offer(1, reviewer, ReleaseReview { task: id(name) });
            let mut approve = bench.approve(name);
            approve.red_team_from = (name == ATTACKED).then_some(Risk::Low);
            approve.quorum = if name == DOUBLE { 2 } else { 1 };
            let mut reject = bench.reject(name, REASONS[task.review_cycles_total as usize % 2]);
            let mut discuss = bench.discuss(name);
            if moved {
                approve.branch_head = elsewhere();
                reject.branch_head = elsewhere();
                discuss.branch_head = elsewhere();
            }
            menu.offer(0, reviewer, approve);
            if name == TASTE {
                let mut small = reject.clone();
                small.feedback.issues = vec![finding(Severity::Minor)];
                let judged = small.commit.clone();
                let gates = GateReport::empty(Moment::Approve, judged.clone(), judged);
                small.acceptance = Some(Acceptance { gates, red_team_from: None, quorum: 2 });
                // It costs nothing, or two of them in a row would come too late for the walk to see.
                menu.offer(0, reviewer, small);
            }
            menu.offer(1, reviewer, reject);
            menu.offer(1, reviewer, discuss);
        }
        let mut merge = bench.begin_merge(name);
        if moved {
            merge.branch_head = elsewhere();
            menu.offer(0, reviewer, VoidApproval { task: id(name), branch_head: elsewhere() });
        }
        menu.offer(0, reviewer, merge);
    }
    for attacker in RED_TEAM.iter().filter(|_| task.awaits_red_team()) {
        menu.offer(0, attacker, bench.start_review(name));
        menu.offer(1, attacker, ReleaseReview { task: id(name) });
        let mut clear = bench.clear(name);
        let mut found = bench.finding_of_red_team(name, REASONS[2]);
        if moved {
            clear.branch_head = elsewhere();
            found.branch_head = elsewhere();
        }
        menu.offer(0, attacker, clear);
        menu.offer(1, attacker, found);
    }
}

fn offer_planning(menu: &mut Menu, name: &str, task: &Task) {
    let bench = menu.bench;
    if task.status.is_terminal() {
        return;
    }
    if task.status == Status::Blocked {
        menu.offer(0, "planner-1", bench.unblock(name));
        let mut resolved = bench.begin_merge(name);
        resolved.resolved = Some(commit(60));
        menu.offer(0, "human", resolved);
    } else {
        menu.offer(1, "planner-1", bench.block(name));
        menu.offer(1, "overseer-1", bench.block(name));
    }
    if task.holds_paths {
        menu.offer(1, "human", bench.unlock(name));
    }
    menu.offer(2, "planner-1", bench.abandon(name));
    let other = if name == "t1" { "t2" } else { "t1" };
    if TASKS.contains(&name) {
        menu.offer(2, "planner-1", bench.replace(name, other));
    }
}

fn offer_team(menu: &mut Menu, state: &State) {
    let coder = AgentId::new("coder-1").expect("valid");
    if state.board().agent(&coder).is_some_and(|agent| agent.is_active()) {
        menu.offer(2, "human", RetireAgent { id: coder.clone() });
    }
    let again = RegisterAgent {
        id: coder,
        roles: vec![role("coder")],
        token_hash: "another".to_owned(),
        configured_roles: Vec::new(),
        runner: None,
        fresh: false,
        grants: Default::default(),
        former_runner_lives: false,
    };
    menu.offer(2, "human", again);
}

/// Transitions of agents that still use an old epoch; the rules must refuse all of them.
pub fn late(state: &State) -> Vec<Act> {
    let bench = &state.bench;
    let mut menu = Menu { bench, acts: Vec::new() };
    for name in TASKS {
        let Some(task) = bench.board.task(&id(name)) else { continue };
        let Some(former) = task.epoch.checked_sub(1) else { continue };
        for coder in CODERS {
            menu.offer(0, coder, Renew { task: id(name), epoch: Some(former) });
            menu.offer(0, coder, Submit { epoch: Some(former), ..bench.submit(name) });
            menu.offer(0, coder, WriteCheckpoint { epoch: Some(former), ..bench.checkpoint(name) });
            menu.offer(0, coder, HandOff { epoch: Some(former), ..bench.hand_off(name) });
            menu.offer(0, coder, Release { epoch: Some(former), ..bench.release(name) });
            menu.offer(0, coder, Block { epoch: Some(former), ..bench.block(name) });
            let sync = RecordSync {
                task: id(name),
                epoch: Some(former),
                base: commit(1),
                conflicts: Vec::new(),
                handout: None,
            };
            menu.offer(0, coder, sync);
        }
    }
    routed::offer_late(&mut menu);
    menu.acts
}

/// Events outside the board: time passes, a switch changes, a branch moves.
pub fn circumstances(state: &State) -> Vec<(usize, State)> {
    let mut nexts = Vec::new();
    let mut add = |cost: usize, what: String, change: &dyn Fn(&mut State)| {
        let mut next = state.clone();
        change(&mut next);
        next.trace = Some(Rc::new(Step { what, before: state.trace.clone() }));
        nexts.push((cost, next));
    };
    add(1, "time passes".to_owned(), &|next| {
        next.bench.tick(LEASE);
        next.paused_a_while = next.paused();
    });
    if state.paused() {
        add(0, "resume".to_owned(), &|next| {
            next.bench.world.switches.set.clear();
            if std::mem::take(&mut next.paused_a_while) {
                next.bench.ok("human", ExtendLeases { seconds: LEASE });
            }
        });
    } else {
        add(1, "pause".to_owned(), &|next| {
            next.bench.world.switches.set.insert(pause(None));
        });
    }
    for (at, name) in TASKS.iter().enumerate() {
        let status = state.board().task(&id(name)).map(|task| task.status);
        let handed_in =
            matches!(status, Some(Status::ReadyForReview | Status::Approved | Status::IntegrationFailed));
        if handed_in && !state.known[at].moved {
            add(1, format!("the branch of {name} moves"), &|next| next.known[at].moved = true);
        }
    }
    nexts
}
