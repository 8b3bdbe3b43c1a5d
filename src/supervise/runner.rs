//! The runner of one agent: register, wait for work, claim, start the agent, judge what it left, and again.

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::board::grants::Operation;
use crate::board::rules::RetireAgent;
use crate::board::{AgentId, Board, Call, Needs, Role, SwitchKind, Task, TaskId};
use crate::flow::briefing::Assignment;
use crate::flow::context::Caller;
use crate::flow::spend::KnownCaps;
use crate::flow::{Context, Failure, agents, claim, merge, review, runners};
use crate::policy::ProjectConfig;
use crate::policy::provider::ProviderEntry;
use crate::policy::registry::Registry;
use crate::policy::restart::Crashes;
use crate::policy::schedule::{best_claim, best_review, merge_order};
use crate::policy::spend::needed_to_begin;
use crate::policy::team::Limits;
use crate::policy::wake::{Wake as Reason, wakes};
use crate::provider::Catalog;
use crate::store::lock::SideLock;
use crate::watch::Notification;

use super::child;
use super::event::{Event, Kind, Sink};
use super::listen::listen;
use super::session::{Wake, reason, stopping};
use super::waits::{back_off, tick};

/// How long a merge that the gates of integration itself stopped is not tried again onto the same head.
const GATES_REST: Duration = Duration::from_secs(600);

#[derive(Debug)]
pub struct Options {
    pub role: Role,
    pub id: Option<AgentId>,
    pub provider: Option<String>,
    /// Leave after one piece of work, or when there is none.
    pub once: bool,
    /// Only this task.
    pub task: Option<TaskId>,
    /// Wake a planner for these occasions only.
    pub woken: Vec<String>,
    /// The `liza run` it belongs to: it ends with that.
    pub parent: Option<u32>,
}

/// Why a runner left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Left {
    /// One piece of work is done, as was asked.
    Done,
    NothingToDo,
    Aborted(String),
    Signal(i32),
    /// The agent cannot be kept running.
    GaveUp(String),
}

/// What there is to do.
pub(super) enum Found {
    Work(Assignment, PathBuf),
    /// Something is approved.
    Merge,
}

pub struct Runner {
    pub(super) ctx: Context,
    pub(super) caller: Caller,
    pub(super) agent: AgentId,
    pub(super) role: Role,
    pub(super) entry: ProviderEntry,
    pub(super) config: ProjectConfig,
    pub(super) limits: Limits,
    pub(super) token: String,
    pub(super) crashes: Crashes,
    pub(super) sessions: u64,
    /// How often a review was cut off by a limit.
    pub(super) cut_reviews: HashMap<TaskId, usize>,
    /// The provider's own session to go on with.
    pub(super) resume: Option<String>,
    pub(super) began: Instant,
    pub(super) tx: Sender<Wake>,
    pub(super) rx: Receiver<Wake>,
    sink: Sink,
    options: Options,
    /// What failed a moment ago is not tried again before this.
    not_before: HashMap<String, Instant>,
    /// What the planner was woken for already, so that it is not woken for the same again and again.
    planned_for: BTreeSet<String>,
    /// Said already.
    told: String,
    /// A switch holds it up, and that was said.
    paused: bool,
    caps: KnownCaps,
    /// Tells of changes while it is kept.
    watch: Option<Notification>,
    /// Kept while this runner lives, so that there is one for each agent.
    _one_of_it: SideLock,
}

/// How a piece of work ended for the runner.
pub(super) enum After {
    /// There may be more.
    GoOn,
    Leave(Left),
}

/// The command that plays a role, and what is known of it.
pub struct Chosen {
    pub name: String,
    pub entry: ProviderEntry,
}

/// By whom an agent of this role is played.
pub fn choose(config: &ProjectConfig, role: &Role, asked: Option<&str>) -> Result<Chosen, Failure> {
    let name = asked.or_else(|| Registry::new(config).provider(role).map(|(name, _)| name));
    let catalog = Catalog::new(config);
    let known = || catalog.usable().map(|(name, _)| name).collect::<Vec<_>>().join(", ");
    let Some(name) = name else {
        return Err(Failure::new("usage.provider", format!("no agent command is named for the role {role}"))
            .hint(format!(
                "write `provider: NAME` into liza.yaml, or give --provider NAME; known: {}",
                known()
            )));
    };
    let entry = catalog
        .entry(name)
        .map_err(|unusable| Failure::new("usage.provider", unusable.message).hint(unusable.hint))?;
    Ok(Chosen { name: name.to_owned(), entry: entry.clone() })
}

impl Runner {
    /// Makes the agent known, with this process as its runner.
    pub fn start(person: &Context, options: Options, sink: Sink) -> Result<Self, Failure> {
        if let Some(parent) = options.parent
            && !child::end_with_parent(parent, Signal::TERM)
        {
            return Err(Failure::new("signal.parent", "the run this runner belongs to is gone"));
        }
        let config = person.project_config()?;
        let chosen = choose(&config, &options.role, options.provider.as_deref())?;
        check_program(&chosen)?;
        child::adopt_orphans();
        let runner = crate::host::this_process();
        let lock = std::cell::RefCell::new(None);
        // The kernel gives it back whatever becomes of us.
        let take = |id: &AgentId| match runners::take(person.store.dir(), id) {
            Ok(Some(held)) => {
                lock.replace(Some(held));
                true
            }
            _ => false,
        };
        let (data, _) = agents::register_running(person, &options.role, options.id.clone(), &runner, take)?;
        let Some(one_of_it) = lock.into_inner() else {
            return Err(Failure::new("bug.runner", "the runner's lock is not held"));
        };
        let text = |key: &str| data[key].as_str().unwrap_or_default().to_owned();
        let token = text("token");
        let caller = Caller {
            board_dir: Some(person.store.dir().to_owned()),
            agent_id: Some(text("id")),
            token: Some(token.clone()),
            token_file: None,
            claim: None,
        };
        let agent = AgentId::new(&text("id")).map_err(|why| Failure::new("bug.runner", why.to_string()))?;
        let narrated = Rc::clone(&sink);
        let who = agent.clone();
        let narrator = Rc::new(move |text: &str| narrated(&Event::new(Kind::Notice, text).agent(&who)));
        let ctx = Context::open(person.root(), &caller, narrator)?;
        let (tx, rx) = channel();
        let role_config = config.roles.get(&options.role);
        let limits = Limits::of_role(&options.role, role_config);
        let mut runner = Self {
            ctx,
            caller,
            agent,
            role: options.role.clone(),
            entry: chosen.entry,
            limits,
            config,
            token,
            crashes: Crashes::pausing(back_off()),
            sessions: 0,
            resume: None,
            cut_reviews: HashMap::new(),
            began: Instant::now(),
            tx,
            rx,
            sink,
            options,
            not_before: HashMap::new(),
            planned_for: BTreeSet::new(),
            told: String::new(),
            paused: false,
            caps: KnownCaps::default(),
            watch: None,
            _one_of_it: one_of_it,
        };
        runner.listen()?;
        runner.tell(Event::new(Kind::Ready, format!("{} played by {}", runner.role, chosen.name)));
        Ok(runner)
    }

    /// Signals and changes of the board come through one channel.
    fn listen(&mut self) -> Result<(), Failure> {
        let (watch, polls) = listen(self.ctx.store.dir(), &self.tx, Wake::Signal, || Wake::Board)?;
        if let Some(text) = polls {
            self.tell(Event::new(Kind::Notice, text));
        }
        self.watch = Some(watch);
        Ok(())
    }

    pub fn agent(&self) -> &AgentId {
        &self.agent
    }

    pub(super) fn tell(&self, event: Event) {
        (self.sink)(&Event { agent: self.agent.to_string(), ..event });
    }

    /// Says something that goes on being true only once.
    fn tell_once(&mut self, kind: Kind, text: String) {
        if self.told != text {
            self.told.clone_from(&text);
            self.tell(Event::new(kind, text));
        }
    }

    pub fn run(&mut self) -> Result<Left, Failure> {
        let left = self.work_until_over()?;
        let text = match &left {
            Left::Done => "done".to_owned(),
            Left::NothingToDo => "there is nothing to do".to_owned(),
            Left::Aborted(why) | Left::GaveUp(why) => why.clone(),
            Left::Signal(signal) => format!("signal {signal}"),
        };
        if matches!(left, Left::GaveUp(_)) {
            // Its reserved work is free for others; a person may start it again.
            let _ = self.ctx.commit(RetireAgent { id: self.agent.clone() });
        }
        self.tell(Event::new(Kind::Stopped, text));
        Ok(left)
    }

    fn work_until_over(&mut self) -> Result<Left, Failure> {
        loop {
            self.ctx.now = crate::host::now();
            if let Some(switch) = stopping(&self.ctx, self.agent.as_str(), None) {
                if switch.kind == SwitchKind::Abort {
                    return Ok(Left::Aborted(reason(&switch)));
                }
                self.heed_checkpoint(switch.kind);
                self.tell_once(Kind::Paused, reason(&switch));
                self.paused = true;
                if let Some(left) = self.wait(tick()) {
                    return Ok(left);
                }
                continue;
            }
            if std::mem::take(&mut self.paused) {
                // The next pause is news again.
                self.told.clear();
                self.tell(Event::new(Kind::Resumed, ""));
            }
            let found = match self.look_for_work() {
                Ok(found) => found,
                Err(failure) if failure.code.starts_with("refused.identity") => {
                    return Ok(Left::GaveUp(failure.message));
                }
                // With its board gone there is nothing to wait for.
                Err(failure) if !self.ctx.store.dir().exists() => return Err(failure),
                Err(failure) => {
                    self.tell_once(Kind::Notice, said(&failure));
                    None
                }
            };
            let after = match found {
                Some(Found::Work(assignment, place)) => {
                    self.told.clear();
                    self.carry_out(assignment, place)?
                }
                Some(Found::Merge) => self.merge(),
                None if self.options.once => return Ok(Left::NothingToDo),
                None => {
                    if let Some(left) = self.wait(tick()) {
                        return Ok(left);
                    }
                    continue;
                }
            };
            match after {
                After::Leave(left) => return Ok(left),
                After::GoOn if self.options.once => return Ok(Left::Done),
                After::GoOn => {}
            }
        }
    }

    /// Whoever sees a CHECKPOINT first writes its summary.
    pub(super) fn heed_checkpoint(&self, kind: SwitchKind) {
        if kind == SwitchKind::Checkpoint
            && let Ok(Some(path)) = crate::flow::summary::write_once(&self.ctx)
        {
            self.tell(Event::new(Kind::Notice, format!("summary: {}", path.display())));
        }
    }

    /// Sleeps until something happens or the time is over.
    pub(super) fn wait(&mut self, most: Duration) -> Option<Left> {
        let until = Instant::now() + most;
        loop {
            match self.rx.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(Wake::Signal(signal)) => return Some(Left::Signal(signal)),
                Ok(Wake::Board) => {
                    // One look for a whole burst of changes.
                    let mut signal = None;
                    while let Ok(wake) = self.rx.try_recv() {
                        if let Wake::Signal(number) = wake {
                            signal = Some(number);
                        }
                    }
                    return signal.map(Left::Signal);
                }
                // Of a session that is over.
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) => return None,
                Err(RecvTimeoutError::Disconnected) => {
                    return Some(Left::Signal(signal_hook::consts::SIGTERM));
                }
            }
        }
    }

    /// Waits through a pause whatever changes; a signal or ABORT ends it.
    pub(super) fn pause(&mut self, task: Option<&TaskId>, until: Duration) -> Option<Left> {
        let deadline = Instant::now() + until;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            if let Some(over) = self.wait(left) {
                return Some(over);
            }
            if let Some(switch) = stopping(&self.ctx, self.agent.as_str(), task)
                && switch.kind == SwitchKind::Abort
            {
                return Some(Left::Aborted(reason(&switch)));
            }
        }
    }

    fn is_due(&self, key: &str) -> bool {
        self.not_before.get(key).is_none_or(|at| *at <= Instant::now())
    }

    pub(super) fn not_now(&mut self, key: String) {
        self.rest_from(key, tick());
    }

    pub(super) fn rest_from(&mut self, key: String, rest: Duration) {
        self.not_before.insert(key, Instant::now() + rest);
    }

    fn look_for_work(&mut self) -> Result<Option<Found>, Failure> {
        let written = self.caps.look(&self.ctx);
        let snapshot = self.ctx.read_with(|board| needed_to_begin(board, &written))?;
        let board = &snapshot.board;
        let actor = board.identify(&self.ctx.credentials)?;
        let caps = self.caps.holding(board);
        if let Some(reached) = caps.reached(board, None, Some(&self.agent)) {
            self.tell_once(Kind::Waiting, format!("nothing more is begun: {}", reached.told()));
            // What is approved is merged all the same: that costs nothing.
            if !self.role.judges() {
                return Ok(None);
            }
        }
        let affordable = |task: Option<&Task>| caps.reached(board, task, Some(&self.agent)).is_none();
        if self.role == Role::planner() {
            let all = wakes(board, self.ctx.now.wall);
            let keys: BTreeSet<String> = all.iter().flat_map(|wake| wake.keys(board)).collect();
            // What is over may come again, and then it is new.
            self.planned_for.retain(|key| keys.contains(key));
            let wanted = |key: &str| {
                let asked = self.options.woken.is_empty() || self.options.woken.iter().any(|own| own == key);
                asked && !self.planned_for.contains(key)
            };
            let wakes: Vec<Reason> = all.into_iter().filter_map(|wake| wake.only(board, wanted)).collect();
            if wakes.is_empty() {
                return Ok(None);
            }
            self.ctx.integration_in_place(board)?;
            let place = crate::flow::leftovers::plan_checkout(&self.ctx, board, &self.agent)?;
            return Ok(Some(Found::Work(Assignment::Plan { wakes }, place)));
        }
        self.ctx.integration_in_place(board)?;
        let wanted = |task: &TaskId| self.options.task.as_ref().is_none_or(|only| only == task);
        let world = self.ctx.store.surroundings(board)?;
        let call = Call::new(actor, &self.ctx.now, &world);
        if self.role.judges() {
            // The red team judges and does not merge.
            let reviews = self.role == Role::code_reviewer();
            let denied = board.agent(&self.agent).map(|agent| agent.grants.denied.as_slice());
            let merges = reviews && !denied.unwrap_or_default().contains(&Operation::Merge);
            let approved = merge_order(board).into_iter().any(|task| {
                merges
                    && wanted(&task.id)
                    && call.check_switches(Some(&task.id)).is_ok()
                    && self.is_due(&merging(board, &task.id))
            });
            if approved {
                return Ok(Some(Found::Merge));
            }
            let Some(task) = best_review(board, &call, &self.role, |task| {
                wanted(&task.id) && affordable(Some(task)) && self.is_due(&format!("review {}", task.id))
            }) else {
                return Ok(None);
            };
            let task = task.id.clone();
            return match review::claim(&self.ctx, &task) {
                Ok((data, _)) => {
                    let what = if reviews { "for review" } else { "for the red team" };
                    self.tell(Event::new(Kind::Claimed, what).task(&task));
                    // So that the verdict can rest on what they say, and need not wait for them. What the red team
                    // gets has passed them.
                    if reviews && let Err(failure) = review::ask_gates(&self.ctx, &task) {
                        self.tell(Event::new(Kind::Notice, said(&failure)).task(&task));
                    }
                    let place = PathBuf::from(data["checkout"].as_str().unwrap_or_default());
                    Ok(Some(Found::Work(Assignment::Review { task }, place)))
                }
                Err(failure) => self.not_claimed(format!("review {task}"), failure),
            };
        }
        let Some(task) = best_claim(board, &call, |task| {
            task.role == self.role
                && wanted(&task.id)
                && affordable(Some(task))
                && self.is_due(&format!("claim {}", task.id))
        }) else {
            return Ok(None);
        };
        let task = task.id.clone();
        match claim::claim(&self.ctx, &task) {
            Ok(claimed) => {
                let epoch = claimed.data["epoch"].as_u64().unwrap_or_default();
                let place = PathBuf::from(claimed.data["worktree"].as_str().unwrap_or_default());
                let iteration = &claimed.data["iteration"];
                self.tell(
                    Event::new(Kind::Claimed, format!("iteration {iteration}, epoch {epoch}")).task(&task),
                );
                Ok(Some(Found::Work(Assignment::Task { task, epoch }, place)))
            }
            Err(failure) => self.not_claimed(format!("claim {task}"), failure),
        }
    }

    /// Somebody was faster, or it cannot be had: other work first, and this again later.
    fn not_claimed(&mut self, key: String, failure: Failure) -> Result<Option<Found>, Failure> {
        self.not_now(key);
        if failure.code.starts_with("stale.") {
            return Ok(None);
        }
        if failure.code.starts_with("refused.") {
            self.tell_once(Kind::Notice, said(&failure));
            return Ok(None);
        }
        Err(failure)
    }

    /// The planner has seen this; it is not woken for it again while it lasts.
    pub(super) fn planned(&mut self, wakes: &[Reason]) {
        if let Ok(snapshot) = self.ctx.read(&Needs::Nothing) {
            self.planned_for.extend(wakes.iter().flat_map(|wake| wake.keys(&snapshot.board)));
        }
    }

    /// Merges the first of the queue that is this runner's to merge.
    pub(super) fn merge(&mut self) -> After {
        self.ctx.now = crate::host::now();
        let Ok(snapshot) = self.ctx.read(&Needs::Nothing) else { return After::GoOn };
        let board = snapshot.board;
        let merged = merge::merge_first(&self.ctx, &merge::MergeOptions::default(), |task| {
            self.options.task.as_ref().is_none_or(|only| only == task) && self.is_due(&merging(&board, task))
        });
        let (task, merged) = match merged {
            Ok(Some(merge::First { task, merged })) => (task, merged),
            Ok(None) => return After::GoOn,
            Err(failure) => {
                self.tell_once(Kind::Notice, format!("nothing is merged: {}", said(&failure)));
                // A signal that comes meanwhile is not lost.
                return self.wait(tick()).map_or(After::GoOn, After::Leave);
            }
        };
        match merged {
            Ok(merged) if merged.result == merge::MergeResult::Merged => {
                let commit = merged.data["merge_commit"].as_str().unwrap_or_default();
                self.tell(
                    Event::new(Kind::Merged, format!("as {}", commit.get(..12).unwrap_or(commit)))
                        .task(&task),
                );
            }
            Ok(merged) => {
                let outcome = merged.data["outcome"].as_str().unwrap_or_default();
                let reason = merged.data["reason"].as_str().unwrap_or_default();
                self.tell(Event::new(Kind::MergeFailed, format!("{outcome}: {reason}")).task(&task));
            }
            Err(failure) => {
                // Gates that said no about integration itself say so again until it stands elsewhere.
                let rest = if failure.code.starts_with("gate.") { GATES_REST } else { tick() };
                self.not_before.insert(merging(&board, &task), Instant::now() + rest);
                if !failure.code.starts_with("stale.") && !failure.code.starts_with("refused.transition") {
                    self.tell_once(Kind::Notice, format!("{task} is not merged: {}", said(&failure)));
                }
            }
        }
        After::GoOn
    }
}

/// Names the merge of a task onto integration as it stands.
fn merging(board: &Board, task: &TaskId) -> String {
    let head = board.rest.integration.head.as_ref().map(|head| head.short().to_owned());
    format!("merge {task} onto {}", head.unwrap_or_default())
}

pub(super) fn said(failure: &Failure) -> String {
    match &failure.hint {
        Some(hint) => format!("{} ({hint})", failure.message),
        None => failure.message.clone(),
    }
}

/// A command that is not there would crash three times before anybody is told.
pub fn check_program(chosen: &Chosen) -> Result<(), Failure> {
    let program = chosen.entry.program();
    if crate::host::program(program).is_some() {
        return Ok(());
    }
    Err(Failure::new(
        "usage.provider",
        format!("`{program}`, the command of provider `{}`, is not found", chosen.name),
    )
    .hint("install it, or name another provider in liza.yaml; `liza doctor` lists what is installed"))
}
