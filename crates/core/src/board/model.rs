//! Model check of the rules: walks through every board that a small team can reach, and checks each step.
//!
//! Three tasks (one waits for another, two own a common directory); two coders, two reviewers and a red team of two that has
//! its turn on one task, one agent being all of them; one task needs both reviewers; a planner, an overseer, a person; leases that run out, pauses, branches that move behind the board's back, claims and merges
//! that are cut off, late writers with an old epoch.
//!
//! Beside them a routed goal (`routed`): its route, a workstream with a supervisor's plan, the slices of that plan, a merge slice, an
//! auditor, a person who waives the audit, deliveries, the archive. The random walks do both at once, and are replayed from a journal.
//!
//! The walk is breadth-first in the number of *disturbances*: first everything an undisturbed team can do, then
//! everything with one thing gone wrong anywhere, then two, and so on. A plain breadth-first walk would spend its
//! states on the beginnings of stories and never see one end.

mod acts;
mod canon;
mod properties;
mod routed;
mod tally;

use std::collections::{BTreeSet, HashSet, VecDeque};
use std::rc::Rc;

use super::call::{Guard, Guards};
use super::history::Event;
use super::rules::{ExtendLeases, Reject, RejectByRedTeam, VoidApproval, WriteCheckpoint};
use super::task::Status;
use super::testing::{Bench, LEASE, id, new_task, patterns, plan_of};
use super::{Actor, Board, TaskId, Transition, apply};

use crate::testing::sweep;

use acts::Act;
use routed::Routed;
use tally::{Journal, Tally};

const TASKS: [&str; 3] = ["t1", "t2", "t3"];
/// All tasks that change files: the three, the job of a single route, and the slices of the workstream.
const CODE: [&str; 6] = ["t1", "t2", "t3", "job", "a-code", "a-merge"];
const CODERS: [&str; 2] = ["coder-1", "both-1"];
const REVIEWERS: [&str; 2] = ["reviewer-1", "both-1"];
const RED_TEAM: [&str; 2] = ["red-1", "both-1"];
/// The task on which the red team has a turn.
const ATTACKED: &str = "t2";
/// The task that two reviewers have to approve.
const DOUBLE: &str = "t1";
/// The task at which reviewers have nothing but small issues to find.
const TASTE: &str = "t1";
/// What a rejection is called that amounts to an approval.
const ACCEPTED: &str = "reject, accepted with notes";

/// A board, and what is true around it.
#[derive(Clone)]
struct State {
    bench: Bench,
    /// Whether the clock went on during this pause.
    paused_a_while: bool,
    known: [Known; CODE.len()],
    routed: Routed,
    scene: Scene,
    /// A random walk, which tries things that are rare less often.
    wanders: bool,
    trace: Option<Rc<Step>>,
}

/// What is tried.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scene {
    /// The three tasks.
    Tasks,
    /// The routed goal.
    Routed,
    Both,
}

/// What the walk itself records about a task, independent of the board.
#[derive(Clone, Default, Hash)]
struct Known {
    /// All agents that ever got a worktree for the task.
    implementers: Vec<String>,
    /// A checkpoint was written since the last claim.
    announced: bool,
    /// The branch stands elsewhere than where it was handed in.
    moved: bool,
    /// The reviewers that approved the last submission, as long as it was not rejected.
    approved_by: Vec<String>,
}

/// How a state came about, for failure reports.
struct Step {
    what: String,
    before: Option<Rc<Step>>,
}

fn story(last: &Option<Rc<Step>>) -> String {
    let mut lines = Vec::new();
    let mut at = last;
    while let Some(step) = at {
        lines.push(step.what.clone());
        at = &step.before;
    }
    lines.reverse();
    lines.join("\n  ")
}

impl State {
    fn first(scene: Scene) -> Self {
        let mut bench = Bench::with_config(|config| {
            config.max_coder_iterations = 2;
            config.max_review_cycles = 2;
            config.breaker_rejections = 2;
            // One tick ends every deadline there is.
            config.blocked_hold_seconds = LEASE;
        });
        for spare in ["coder-2", "reviewer-2", "auditor-1"] {
            bench.board.rest.agents.remove(&super::testing::agent(spare));
        }
        if scene != Scene::Tasks {
            routed::TEAM.iter().for_each(|(name, roles)| drop(bench.register(name, roles)));
        }
        let mut tasks: Vec<_> = TASKS.iter().map(|name| new_task(name, &format!("{name}/"))).collect();
        for task in &mut tasks[..2] {
            task.scope.inside.extend(patterns(&["common/"]));
        }
        tasks[2].depends_on = vec![id("t1")];
        if scene != Scene::Routed {
            bench.ok("human", plan_of(tasks));
        }
        Self {
            bench,
            paused_a_while: false,
            known: Default::default(),
            routed: Routed::default(),
            scene,
            wanders: false,
            trace: None,
        }
    }

    fn board(&self) -> &Board {
        &self.bench.board
    }

    fn paused(&self) -> bool {
        !self.bench.world.switches.set.is_empty()
    }

    /// The same circumstances around another board.
    fn around(&self, board: Board) -> Self {
        let Bench { now, world, guards, .. } = &self.bench;
        Self {
            bench: Bench { board, now: now.clone(), world: world.clone(), guards: *guards },
            paused_a_while: self.paused_a_while,
            known: self.known.clone(),
            routed: self.routed.clone(),
            scene: self.scene,
            wanders: self.wanders,
            trace: self.trace.clone(),
        }
    }

    /// Drops what no rule asks for, so that boards that differ in their past alone are kept as small as one.
    fn forget_the_past(&mut self) {
        let board = &mut self.bench.board;
        let rest = &mut board.rest;
        rest.handoff.clear();
        rest.anomalies.clear();
        for task in &mut board.tasks {
            let (_, body) = task.parts_mut();
            // The last round is asked for: only small issues twice running end the rounds.
            let last = body.reviews.len().saturating_sub(1);
            body.reviews.drain(..last);
            body.issues.retain(|issue| issue.is_open());
            body.review_result = None;
            let keep = body.attempts.len().saturating_sub(1);
            body.attempts.drain(..keep);
            if body.history.len() > 4 {
                let start = body
                    .history
                    .iter()
                    .rposition(|line| matches!(line.event, Event::Claimed | Event::TakenOver))
                    .unwrap_or(body.history.len());
                let is_feedback = |event: Event| matches!(event, Event::Rejected | Event::Unblocked);
                let mut kept: Vec<_> = body.history[..start]
                    .iter()
                    .rfind(|line| is_feedback(line.event))
                    .cloned()
                    .into_iter()
                    .collect();
                for (at, line) in body.history.drain(start..).enumerate() {
                    if at == 0 || line.checkpoint.is_some() || is_feedback(line.event) {
                        kept.push(line);
                    }
                }
                body.history = kept;
            }
        }
    }
}

/// The result of a walk.
#[derive(Debug)]
struct Walk {
    states: usize,
    steps: usize,
    /// All boards with fewer disturbances than this were reached.
    disturbances: usize,
    /// The verbs that were accepted at least once: a rule that refuses everything is safe and useless.
    verbs: BTreeSet<&'static str>,
    tally: Tally,
    statuses: BTreeSet<Status>,
    found: Option<String>,
}

/// Walks until there is nothing new, `most` states were seen, or something is wrong. States with more than `worst` disturbances are
/// left out.
fn walk(scene: Scene, guards: Guards, most: usize, worst: usize) -> Walk {
    let mut first = State::first(scene);
    first.bench.guards = guards;
    let mut seen: HashSet<u128> = HashSet::with_capacity(most * 2);
    seen.insert(canon::key(&first));
    let mut queues: Vec<VecDeque<State>> = vec![VecDeque::from([first])];
    let mut result = Walk {
        states: 1,
        steps: 0,
        disturbances: 0,
        verbs: BTreeSet::new(),
        tally: Tally::default(),
        statuses: BTreeSet::new(),
        found: None,
    };
    while result.disturbances < queues.len() {
        let Some(state) = queues[result.disturbances].pop_front() else {
            result.disturbances += 1;
            continue;
        };
        if result.states >= most {
            break;
        }
        match expand(&state, &mut result) {
            Err(wrong) => {
                result.found = Some(format!("{wrong}\n  {}", story(&state.trace)));
                break;
            }
            Ok(nexts) => {
                for (cost, next) in nexts {
                    if result.disturbances + cost > worst {
                        continue;
                    }
                    if seen.insert(canon::key(&next)) {
                        result.states += 1;
                        result.statuses.extend(next.board().tasks.iter().map(|task| task.status));
                        let level = result.disturbances + cost;
                        while queues.len() <= level {
                            queues.push(VecDeque::new());
                        }
                        queues[level].push_back(next);
                    }
                }
            }
        }
    }
    result
}

/// Every state one step away, each judged; or what is wrong.
fn expand(state: &State, result: &mut Walk) -> Result<Vec<(usize, State)>, String> {
    let mut nexts = Vec::new();
    let mut scratch = state.board().clone();
    refuses_late_writers(state, &mut scratch)?;
    for act in acts::possible(state) {
        result.steps += 1;
        let Some(next) = attempt(state, &act, &mut scratch, &mut result.tally)? else { continue };
        result.verbs.insert(act.what.name());
        if let Transition::Reject(reject) = &act.what
            && accepted(&next, &reject.task)
        {
            result.verbs.insert(ACCEPTED);
        }
        nexts.push((act.cost, next));
    }
    if &scratch != state.board() {
        return Err("a refusal changed the board".to_owned());
    }
    nexts.extend(acts::circumstances(state));
    Ok(nexts)
}

fn refuses_late_writers(state: &State, scratch: &mut Board) -> Result<(), String> {
    for act in acts::late(state) {
        let call = state.bench.call(act.by);
        if apply(scratch, &act.what, &call, None).is_ok() {
            return Err(format!("a late writer got through: {:?} {:?}", call.by, act.what));
        }
    }
    Ok(())
}

/// The state after this act, if it is allowed. `scratch` is a copy of the state's board, and is one afterwards.
fn attempt(
    state: &State,
    act: &Act,
    scratch: &mut Board,
    tally: &mut Tally,
) -> Result<Option<State>, String> {
    let call = state.bench.call(act.by.clone());
    if let Err(refusal) = apply(scratch, &act.what, &call, None) {
        tally.refuse(act.what.name(), refusal.code);
        return Ok(None);
    }
    tally.accept(act.what.name());
    let mut next = state.around(std::mem::replace(scratch, state.board().clone()));
    note(&mut next, state, &act.by, &act.what);
    routed::note(&mut next, state, &act.what);
    next.trace = Some(Rc::new(Step {
        what: format!("{} {}", call.by.id(), acts::describe(&act.what)),
        before: state.trace.clone(),
    }));
    properties::judge(state, &next, &act.what)
        .map_err(|wrong| format!("{wrong}\n  after {}", story(&next.trace)))?;
    next.forget_the_past();
    Ok(Some(next))
}

/// One long story, chosen by chance: whatever is allowed next, and in one step of ten the circumstances change.
///
/// Beside the state of the walk, which forgets its past, the whole board is kept, and in the end made again from the journal.
fn wander(seed: u64, length: usize, tally: &mut Tally) -> Result<usize, String> {
    let mut chance = Chance(seed);
    let mut state = State::first([Scene::Tasks, Scene::Routed, Scene::Both][chance.below(3)]);
    state.wanders = true;
    let mut journal = Journal::of(&state);
    for step in 0..length {
        let mut scratch = state.board().clone();
        refuses_late_writers(&state, &mut scratch)?;
        let mut acts = acts::possible(&state);
        let mut next = None;
        if chance.below(10) == 0 {
            acts.clear();
        }
        while next.is_none() && !acts.is_empty() {
            let at = chance.below(acts.len());
            let act = acts.swap_remove(at);
            // Disturbances are tried less often than progress, or no story would get far.
            if chance.below([1, 4, 100][act.cost]) == 0 {
                next = attempt(&state, &act, &mut scratch, tally)?;
                if next.is_some() {
                    journal.write(&state, &act.by, &act.what)?;
                }
            }
        }
        if next.is_none() {
            let mut around = acts::circumstances(&state);
            let after = around.swap_remove(chance.below(around.len())).1;
            if after.board().revision > state.board().revision {
                let extended = ExtendLeases { seconds: LEASE }.into();
                journal.write(&state, &Actor::Human, &extended)?;
            }
            next = Some(after);
        }
        match next {
            Some(next) => state = next,
            None => return journal.replay(&state).map(|()| step),
        }
        let over = state.board().tasks.iter().all(|task| task.status.is_terminal());
        if over && (state.scene == Scene::Tasks || !state.board().rest.goal.is_open()) {
            return journal.replay(&state).map(|()| step);
        }
    }
    journal.replay(&state).map(|()| length)
}

/// A small generator of numbers (xorshift), so that a failure can be repeated by its seed.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % bound as u64).unwrap_or_default()
    }
}

fn note(next: &mut State, before: &State, by: &Actor, what: &Transition) {
    match what {
        Transition::FinishClaim(finish) => {
            let Some(intent) = before.board().intent(finish.intent) else { return };
            let Some(at) = CODE.iter().position(|name| Some(&id(name)) == intent.task.as_ref()) else {
                return;
            };
            let implementers = &mut next.known[at].implementers;
            if !implementers.iter().any(|agent| agent == intent.by.as_str()) {
                implementers.push(intent.by.to_string());
                implementers.sort();
            }
            next.known[at].announced = false;
            next.known[at].moved = false;
            next.known[at].approved_by.clear();
        }
        Transition::WriteCheckpoint(WriteCheckpoint { task, .. }) => {
            if let Some(at) = CODE.iter().position(|name| &id(name) == task) {
                next.known[at].announced = true;
            }
        }
        Transition::Approve(approve) => approved(next, &approve.task, by),
        // A rejection that amounts to an approval counts as one.
        Transition::Reject(Reject { task, .. }) if accepted(next, task) => approved(next, task, by),
        Transition::Reject(Reject { task, .. })
        | Transition::RejectByRedTeam(RejectByRedTeam { task, .. })
        | Transition::VoidApproval(VoidApproval { task, .. }) => {
            if let Some(at) = CODE.iter().position(|name| &id(name) == task) {
                next.known[at].approved_by.clear();
            }
        }
        _ => {}
    }
}

/// Whether a rejection came to an approval, or to one of several.
fn accepted(next: &State, task: &TaskId) -> bool {
    next.board()
        .task(task)
        .is_some_and(|task| matches!(task.status, Status::Approved | Status::ReadyForReview))
}

fn approved(next: &mut State, task: &TaskId, by: &Actor) {
    if let Some(at) = CODE.iter().position(|name| &id(name) == task) {
        let approved_by = &mut next.known[at].approved_by;
        approved_by.push(by.id().to_string());
        approved_by.sort();
        approved_by.dedup();
    }
}

#[test]
fn no_reachable_board_breaks_a_rule() {
    let states = sweep(20_000, 120_000);
    let walk = walk(Scene::Tasks, Guards::ALL, states, usize::MAX);
    assert!(walk.found.is_none(), "{}", walk.found.unwrap_or_default());
    assert!(walk.states >= states, "only {walk:?}");
    let disturbances = sweep(0, 1);
    assert!(walk.disturbances >= disturbances, "the walk saw too few disturbances: {walk:?}");
    // The short walk ends before anything has gone wrong twice.
    let too_late_for_it: &[&str] = sweep(&["void_approval"], &[]);
    for verb in [
        "begin_claim",
        "finish_claim",
        "cancel_claim",
        "renew",
        "write_checkpoint",
        "submit",
        "block",
        "unblock",
        "rescope",
        "abandon",
        "release",
        "release_lock",
        "hand_off",
        "start_review",
        "renew_review",
        "release_review",
        "approve",
        "reject",
        ACCEPTED,
        "discuss",
        "begin_merge",
        "record_move",
        "finish_merge",
        "fail_merge",
        "cancel_merge",
        "void_approval",
        "clear_by_red_team",
        "reject_by_red_team",
        "register_agent",
        "retire_agent",
    ] {
        let reached = walk.verbs.contains(verb) || too_late_for_it.contains(&verb);
        assert!(reached, "{verb} was never accepted; of all: {:?}", walk.verbs);
    }
    for status in Status::ALL.into_iter().filter(|status| *status != Status::Draft) {
        assert!(walk.statuses.contains(&status), "no task was ever {status}");
    }
}

#[test]
fn no_reachable_routed_board_breaks_a_rule() {
    let states = sweep(12_000, 80_000);
    let walk = walk(Scene::Routed, Guards::ALL, states, sweep(1, 2));
    assert!(walk.found.is_none(), "{}", walk.found.unwrap_or_default());
    assert!(walk.states >= states, "only {} states; {}", walk.states, walk.tally);
    for verb in routed::VERBS {
        let (accepted, refused) = walk.tally.of(verb);
        assert!(
            accepted > 0 && refused > 0,
            "{verb}: {accepted} accepted, {refused} refused; {}",
            walk.tally
        );
    }
}

/// The walk ends near the beginning of most stories; these go on to the end, through many disturbances.
#[test]
fn long_random_walks_break_no_rule() {
    let (mut steps, mut tally) = (0, Tally::default());
    let seeds = sweep(120, 800);
    for seed in 1..=seeds {
        match wander(seed * 0x9e37_79b9, 160, &mut tally) {
            Ok(length) => steps += length,
            Err(wrong) => panic!("seed {seed}: {wrong}"),
        }
    }
    assert!(steps > 60 * seeds as usize, "the stories are short: {steps} steps");
    // Each verb of the director was allowed in some story, and refused in some.
    for verb in routed::VERBS {
        let (accepted, refused) = tally.of(verb);
        assert!(accepted > 0 && refused > 0, "{verb}: {accepted} accepted, {refused} refused; {tally}");
    }
    for verb in ["begin_claim", "submit", "approve", "finish_merge"] {
        assert!(tally.of(verb).0 > 0, "{verb} was never accepted; {tally}");
    }
}

/// The walk is worth something only if it notices a guard that is missing.
#[test]
fn model_notices_every_missing_guard() {
    for (scene, guard, expected) in [
        (Scene::Tasks, Guard::SelfApproval, "implemented"),
        (Scene::Tasks, Guard::PathOverlap, "overlap"),
        (Scene::Tasks, Guard::Epoch, "late writer"),
        (Scene::Tasks, Guard::Dependency, "dependency"),
        (Scene::Tasks, Guard::Checkpoint, "checkpoint"),
        (Scene::Tasks, Guard::Quorum, "reviewers"),
        (Scene::Routed, Guard::Audit, "auditor"),
        (Scene::Routed, Guard::PlanFirst, "before its plan"),
    ] {
        let walk = walk(scene, Guards::without(guard), 100_000, usize::MAX);
        let found = walk.found.unwrap_or_default();
        assert!(found.contains(expected), "without {guard:?} the walk found: {found:?}");
    }
}
