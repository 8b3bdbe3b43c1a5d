//! The runner of one agent: register, wait for work, claim, start the agent, judge its result, repeat.

use std::collections::HashMap;

use super::agent_monitor::Wake;
use super::child;
use super::event::Sink;
use super::listen::{listen, polling};
use super::prelude::*;
use super::session::{Files, reason, switch_for};
use crate::board::grants::Operation;
use crate::board::rules::{Claimed, RetireAgent};
use crate::flow::{agents, claim, merge, review};
use crate::policy::provider::ProviderEntry;
use crate::policy::schedule::merge_order;
use crate::policy::team::HUMAN;
use crate::policy::wake::Wake as Reason;
use crate::provider::{Catalog, Tokens};

/// Pause before a merge is tried again on the same integration head, after gates failed on integration itself.
const GATES_REST: Duration = Duration::from_secs(600);

#[derive(Debug)]
pub struct Options {
    pub role: Role,
    pub id: Option<AgentId>,
    pub provider: Option<String>,
    /// End after one piece of work, or if there is none.
    pub once: bool,
    /// Only this task.
    pub task: Option<TaskId>,
    /// Wake a planner for these occasions only.
    pub woken: Vec<String>,
    /// The process of the `liza run` that started this runner; the runner ends with it.
    pub parent: Option<u32>,
}

/// Why a runner ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Left {
    /// One piece of work is done (`--once`).
    Done,
    NothingToDo,
    Aborted(String),
    Signal(i32),
    /// The agent's command keeps failing.
    GaveUp(String),
}

/// Work that the runner found.
pub(super) enum Found {
    Work(Assignment, PathBuf),
    /// A task is approved and can be merged.
    Merge,
}

pub struct Runner {
    pub(super) ctx: Context,
    pub(super) caller: Caller,
    pub(super) agent: AgentId,
    pub(super) role: Role,
    /// The provider's name and its entry.
    pub(super) provider: String,
    pub(super) entry: ProviderEntry,
    /// Whether this is the role's fallback provider, used for one slice.
    pub(super) on_fallback: bool,
    pub(super) config: ProjectConfig,
    pub(super) limits: Limits,
    pub(super) token: String,
    pub(super) crashes: Crashes,
    /// How many times in a row the provider's service was unavailable.
    pub(super) waits: u32,
    pub(super) sessions: u64,
    /// How often a limit ended a review.
    pub(super) cut_reviews: HashMap<TaskId, usize>,
    /// The provider's session to resume.
    pub(super) resume: Option<String>,
    /// Usage that the provider reported for its threads so far: a resumed session reports it again.
    pub(super) threads: HashMap<String, Tokens>,
    /// The output files of its last session.
    pub(super) last_files: Option<Files>,
    pub(super) began: Instant,
    pub(super) tx: Sender<Wake>,
    pub(super) rx: Receiver<Wake>,
    sink: Sink,
    pub(super) options: Options,
    /// Work that failed, and when to try it again.
    not_before: HashMap<String, Instant>,
    /// Occasions that the planner was started for already, so that it starts only once for each.
    planned_for: BTreeSet<String>,
    /// Notices that were reported already.
    last_reported: String,
    /// A switch pauses the runner, and the runner has reported that.
    paused: bool,
    caps: KnownCaps,
    /// Sends changes of the board until it is dropped.
    watch: Notification,
    /// The lock of the agent id, so that each agent has one runner.
    _one_of_it: SideLock,
}

/// How a piece of work ended for the runner.
pub(super) enum After {
    /// The runner looks for more work.
    GoOn,
    Leave(Left),
}

/// The provider of a role, and its entry.
pub struct Chosen {
    pub name: String,
    pub entry: ProviderEntry,
}

/// The provider for an agent of this role.
pub fn choose(config: &ProjectConfig, role: &Role, requested: Option<&str>) -> Result<Chosen, Failure> {
    let name = requested.or_else(|| Registry::new(config).provider(role).map(|(name, _)| name));
    let catalog = Catalog::new(config);
    let known = || catalog.usable().map(|(name, _)| name).collect::<Vec<_>>().join(", ");
    // A person needs no provider; the runner for a person's role merges approved tasks.
    if name == Some(HUMAN) {
        return Ok(Chosen { name: HUMAN.to_owned(), entry: ProviderEntry::default() });
    }
    let Some(name) = name else {
        let text = format!("liza.yaml names no provider for the role {role}");
        let hint = "name one: `liza config set provider NAME`, or give --provider NAME; known:";
        return Err(Failure::new(ErrorCode::UsageProvider, text).hint(format!("{hint} {}", known())));
    };
    let entry = catalog
        .entry(name)
        .map_err(|unusable| Failure::new(ErrorCode::UsageProvider, unusable.message).hint(unusable.hint))?;
    Ok(Chosen { name: name.to_owned(), entry: entry.clone() })
}

impl Runner {
    /// Registers the agent, with this process as its runner.
    pub fn start(person: &Context, options: Options, sink: Sink) -> Result<Self, Failure> {
        if let Some(parent) = options.parent
            && !child::end_with_parent(parent, Signal::TERM)
        {
            return Err(Failure::new(ErrorCode::SignalParent, "the `liza run` of this runner has ended"));
        }
        let config = person.project_config()?;
        let chosen = choose(&config, &options.role, options.provider.as_deref())?;
        check_program(&chosen)?;
        crate::host::adopt_orphans();
        let runner = crate::host::this_process();
        let lock = std::cell::RefCell::new(None);
        // The kernel releases the lock when this process ends.
        let take = |id: &AgentId| match person.machine.take_runner(id) {
            Ok(Some(held)) => {
                lock.replace(Some(held));
                true
            }
            _ => false,
        };
        let (registered, _) =
            agents::register_running(person, &options.role, options.id.clone(), &runner, take)?;
        let not_held = || Failure::new(ErrorCode::BugRunner, "the runner's lock is not held");
        let one_of_it = lock.into_inner().ok_or_else(not_held)?;
        let (agent, token) = (registered.agent.id, registered.token);
        let caller = Caller {
            board_dir: Some(person.store.address().to_owned()),
            agent_id: Some(agent.to_string()),
            token: Some(token.clone()),
            token_file: None,
            claim: None,
        };
        let narrated = Rc::clone(&sink);
        let who = agent.clone();
        let narrator = Rc::new(move |text: &str| narrated(&Event::notice(text).agent(&who)));
        let ctx = Context::open(person.root(), &caller, narrator)?;
        ctx.store.supervise();
        let (tx, rx) = channel();
        let limits = Limits::of_role(&options.role, config.roles.get(&options.role));
        let watch = listen(ctx.store.watched_dir(), &tx, Wake::Signal, || Wake::Board)?;
        let runner = Self {
            ctx,
            caller,
            agent,
            role: options.role.clone(),
            provider: chosen.name,
            entry: chosen.entry,
            on_fallback: false,
            limits,
            config,
            token,
            crashes: Crashes::pausing(back_off()),
            waits: 0,
            sessions: 0,
            resume: None,
            threads: HashMap::new(),
            cut_reviews: HashMap::new(),
            last_files: None,
            began: Instant::now(),
            tx,
            rx,
            sink,
            options,
            not_before: HashMap::new(),
            planned_for: BTreeSet::new(),
            last_reported: String::new(),
            paused: false,
            caps: KnownCaps::default(),
            watch,
            _one_of_it: one_of_it,
        };
        polling(&runner.watch).into_iter().for_each(|event| runner.emit(event));
        runner.emit(Event::new(Kind::Ready, format!("{} played by {}", runner.role, runner.provider)));
        Ok(runner)
    }

    pub fn agent(&self) -> &AgentId {
        &self.agent
    }

    pub(super) fn emit(&self, event: Event) {
        (self.sink)(&Event { agent: self.agent.to_string(), ..event });
    }

    /// Emits a notice only once while it stays true.
    fn emit_once(&mut self, kind: Kind, text: String) {
        if self.last_reported != text {
            self.last_reported.clone_from(&text);
            self.emit(Event::new(kind, text));
        }
    }

    pub fn run(&mut self) -> Result<Left, Failure> {
        let left = self.work_until_over()?;
        let text = match &left {
            Left::Done => "done".to_owned(),
            Left::NothingToDo => "no work".to_owned(),
            Left::Aborted(why) | Left::GaveUp(why) => why.clone(),
            Left::Signal(signal) => format!("signal {signal}"),
        };
        if matches!(left, Left::GaveUp(_)) {
            // Release its reserved work for other agents; a person may start it again.
            let _ = self.ctx.commit(RetireAgent { id: self.agent.clone() });
        }
        self.emit(Event::new(Kind::Stopped, text));
        Ok(left)
    }

    fn work_until_over(&mut self) -> Result<Left, Failure> {
        loop {
            self.ctx.now = crate::host::now();
            if let Some(switch) = switch_for(&self.ctx, &self.agent, None) {
                if switch.kind == SwitchKind::Abort {
                    return Ok(Left::Aborted(reason(&switch)));
                }
                self.handle_checkpoint(switch.kind);
                self.emit_once(Kind::Paused, reason(&switch));
                self.paused = true;
                if let Some(left) = self.wait(tick()) {
                    return Ok(left);
                }
                continue;
            }
            if std::mem::take(&mut self.paused) {
                // Report the next pause again.
                self.last_reported.clear();
                self.emit(Event::new(Kind::Resumed, ""));
            }
            let found = match self.look_for_work() {
                Ok(found) => found,
                Err(failure) if failure.code == Code::Identity => {
                    return Ok(Left::GaveUp(failure.message));
                }
                // The board is gone: stop waiting.
                Err(failure) if !self.ctx.store.exists() => return Err(failure),
                Err(failure) => {
                    self.emit_once(Kind::Notice, failure_text(&failure));
                    None
                }
            };
            let after = match found {
                Some(Found::Work(assignment, worktree)) => {
                    self.last_reported.clear();
                    self.carry_out(assignment, worktree)?
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
                After::GoOn if self.options.once => {
                    if let Some(left) = self.next_piece() {
                        return Ok(left);
                    }
                }
                After::GoOn => {}
            }
        }
    }

    /// The first process that sees the CHECKPOINT switch writes its summary.
    pub(super) fn handle_checkpoint(&self, kind: SwitchKind) {
        if kind == SwitchKind::Checkpoint
            && let Ok(Some(path)) = crate::flow::summary::write_once(&self.ctx)
        {
            self.emit(Event::notice(format!("summary: {}", path.display())));
        }
    }

    /// Sleeps until an event comes or the time is over.
    pub(super) fn wait(&mut self, most: Duration) -> Option<Left> {
        let until = Instant::now() + most;
        loop {
            match self.rx.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(Wake::Signal(signal)) => return Some(Left::Signal(signal)),
                Ok(Wake::Board) => {
                    // A burst of changes needs one look only.
                    let mut signal = None;
                    while let Ok(wake) = self.rx.try_recv() {
                        if let Wake::Signal(number) = wake {
                            signal = Some(number);
                        }
                    }
                    return signal.map(Left::Signal);
                }
                // From a session that has ended.
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) => return None,
                Err(RecvTimeoutError::Disconnected) => {
                    return Some(Left::Signal(signal_hook::consts::SIGTERM));
                }
            }
        }
    }

    /// Waits for a pause to end; a signal or ABORT ends the waiting.
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
            if let Some(switch) = switch_for(&self.ctx, &self.agent, task)
                && switch.kind == SwitchKind::Abort
            {
                return Some(Left::Aborted(reason(&switch)));
            }
        }
    }

    /// Resets the state of the last piece of work: each starts as if the runner were new.
    pub(super) fn forget_former_piece(&mut self) {
        self.not_before.clear();
        self.cut_reviews.clear();
        self.last_reported.clear();
    }

    fn is_due(&self, key: &str) -> bool {
        self.not_before.get(key).is_none_or(|at| *at <= Instant::now())
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
            self.emit_once(Kind::Waiting, format!("liza starts no more work: {}", reached.describe()));
            // What is approved is merged all the same: that costs nothing.
            if !self.role.judges() {
                return Ok(None);
            }
        }
        let affordable = |task: Option<&Task>| caps.reached(board, task, Some(&self.agent)).is_none();
        // A person plans and codes without a runner.
        if self.provider == HUMAN && !self.role.judges() {
            return Ok(None);
        }
        if self.role == Role::planner() {
            let all = wakes(board, self.ctx.now.wall);
            let keys: BTreeSet<String> = all.iter().flat_map(|wake| wake.keys(board)).collect();
            // An occasion that has passed may come again, and then it is new.
            self.planned_for.retain(|key| keys.contains(key));
            let wanted = |key: &str| {
                let is_wanted =
                    self.options.woken.is_empty() || self.options.woken.iter().any(|own| own == key);
                is_wanted && !self.planned_for.contains(key)
            };
            let wakes: Vec<Reason> = all.into_iter().filter_map(|wake| wake.only(board, wanted)).collect();
            if wakes.is_empty() {
                return Ok(None);
            }
            self.ctx.integration_in_place(board)?;
            let checkout = crate::flow::leftovers::plan_checkout(&self.ctx, board, &self.agent)?;
            return Ok(Some(Found::Work(Assignment::Plan { wakes }, checkout)));
        }
        self.ctx.integration_in_place(board)?;
        let wanted = |task: &TaskId| self.options.task.as_ref().is_none_or(|only| only == task);
        let world = self.ctx.store.surroundings(board)?;
        let call = Call::new(actor, &self.ctx.now, &world);
        if self.role.judges() {
            // The red team reviews and does not merge.
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
            if self.provider == HUMAN {
                return Ok(None);
            }
            let Some(task) = best_review(board, &call, &self.role, |task| {
                wanted(&task.id) && affordable(Some(task)) && self.is_due(&format!("review {}", task.id))
            }) else {
                return Ok(None);
            };
            let task = task.id.clone();
            return match review::claim(&self.ctx, &task) {
                Ok((review::Review { checkout, .. }, _)) => {
                    let what = if reviews { "for review" } else { "for the red team" };
                    self.emit(Event::new(Kind::Claimed, what).task(&task));
                    // Run the gates before the review, so that the reviewer sees their results. Tasks for the red team
                    // have passed them.
                    if reviews && let Err(failure) = review::ask_gates(&self.ctx, &task) {
                        self.emit(Event::notice(failure_text(&failure)).task(&task));
                    }
                    Ok(Some(Found::Work(Assignment::Review { task }, checkout)))
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
            Ok((Claimed { epoch, worktree, iteration, .. }, _)) => {
                let text = format!("iteration {iteration}, epoch {epoch}");
                self.emit(Event::new(Kind::Claimed, text).task(&task));
                Ok(Some(Found::Work(Assignment::Task { task, epoch }, PathBuf::from(worktree))))
            }
            Err(failure) => self.not_claimed(format!("claim {task}"), failure),
        }
    }

    /// Another agent was faster, or the claim was refused: try other work first, and this again later.
    fn not_claimed(&mut self, key: String, failure: Failure) -> Result<Option<Found>, Failure> {
        self.rest_from(key, tick());
        match failure.code.class() {
            Class::Stale => {}
            Class::Refused => self.emit_once(Kind::Notice, failure_text(&failure)),
            _ => return Err(failure),
        }
        Ok(None)
    }

    /// Records the occasions that the planner has seen; it is not started for them again while they last.
    pub(super) fn planned(&mut self, wakes: &[Reason]) -> After {
        if let Ok(snapshot) = self.ctx.read(&Needs::Nothing) {
            self.planned_for.extend(wakes.iter().flat_map(|wake| wake.keys(&snapshot.board)));
        }
        After::GoOn
    }

    /// Merges the first task of the queue that this runner may merge.
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
                self.emit_once(Kind::Notice, format!("cannot merge: {}", failure_text(&failure)));
                // A signal during the pause is not lost.
                return self.wait(tick()).map_or(After::GoOn, After::Leave);
            }
        };
        match merged {
            Ok(merge::Merged { end, .. }) => {
                let event = match (&end.merge_commit, &end.failure) {
                    (Some(commit), _) => Event::new(Kind::Merged, format!("as {}", commit.short())),
                    (None, failure) => {
                        let reason = failure.as_ref().map(|failure| failure.reason.as_str());
                        let outcome = end.outcome.as_str();
                        Event::new(Kind::MergeFailed, format!("{outcome}: {}", reason.unwrap_or_default()))
                    }
                };
                self.emit(event.task(&task));
            }
            Err(failure) => {
                // Gates that fail on integration itself fail again until integration moves.
                let rest = if failure.code.class() == Class::Gate { GATES_REST } else { tick() };
                self.rest_from(merging(&board, &task), rest);
                if failure.code.class() != Class::Stale && failure.code != Code::Transition {
                    self.emit_once(Kind::Notice, format!("{task} is not merged: {}", failure_text(&failure)));
                }
            }
        }
        After::GoOn
    }
}

/// The key of a merge: the task and the head of integration.
fn merging(board: &Board, task: &TaskId) -> String {
    let head = board.rest.integration.head.as_ref().map(|head| head.short().to_owned());
    format!("merge {task} onto {}", head.unwrap_or_default())
}

pub(super) fn failure_text(failure: &Failure) -> String {
    match &failure.hint {
        Some(hint) => format!("{} ({hint})", failure.message),
        None => failure.message.clone(),
    }
}

/// Checks the provider's program before the first start: otherwise a person would learn of a missing one after three failures.
pub fn check_program(chosen: &Chosen) -> Result<(), Failure> {
    if chosen.name == HUMAN {
        return Ok(());
    }
    if let Some(why) = &chosen.entry.unfit {
        let name = &chosen.name;
        let text = format!("the provider `{name}` cannot play an agent: {why}");
        let hint = format!(
            "name another one in liza.yaml or by --provider (claude, codex, gemini, opencode, qwen, copilot, kimi), or give `{name}` \
             a `command` of your own there that starts it and then runs `liza task checkpoint` and `liza task submit`"
        );
        return Err(Failure::new(ErrorCode::UsageProvider, text).hint(hint));
    }
    let program = chosen.entry.program();
    if crate::host::program(program).is_some() {
        return Ok(());
    }
    let text = format!("`{program}`, the command of provider `{}`, is not installed", chosen.name);
    Err(Failure::new(ErrorCode::UsageProvider, text)
        .hint("install it, or name another provider in liza.yaml; `liza doctor` lists what is installed"))
}
