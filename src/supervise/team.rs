//! The run of a whole team: one process that starts a runner whenever there is work and room, and waits for any of them.
//!
//! A runner starts for one piece of work and ends after it; without work, no runner runs. Runners have their own process
//! groups, so that Ctrl-C reaches only this process; they end when it ends.

mod demand;
mod ending;
mod exits;
mod failing;
mod free;
mod orphans;
mod persons;
mod planning;
mod questions;
mod runner_process;
mod seat_assignment;
mod spending;
mod steps;

use super::listen::{listen, polling};
use super::oversight::Oversight;
use super::prelude::*;
use super::runner::failure_text;
use super::tally::Tally;
use crate::flow::views::Keeper;
use crate::policy::run::{self, Cause, CauseKind, Seat, Start, State, Team};
use orphans::Orphans;
use runner_process::{RunnerProcess, TaskState, Wake};
pub use seat_assignment::Checked;
use std::cell::RefCell;
use steps::Steps;

/// A run passes on at most this many different remarks of runners.
const MOST_REMARKS: usize = 1000;

pub struct RunOptions {
    pub window: Option<u32>,
    pub team: Vec<TeamMember>,
    /// Only this task, and no planner.
    pub only: Option<TaskId>,
    /// Provider for all agents (overrides liza.yaml).
    pub provider: Option<String>,
}

/// The display of a run.
pub trait RunDisplay {
    fn event(&self, event: &Event);
    /// Whether a person watches the table, so that it is redrawn every second.
    fn is_watched(&self) -> bool {
        false
    }
    /// Shows the whole table again.
    fn redraw(&self, rows: &[Row], board: &Board);
}

/// One seat of the team, as the table shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    pub agent: String,
    pub role: String,
    pub doing: String,
    pub task: Option<String>,
    pub since: Option<Duration>,
    /// The open question to a person about it.
    pub question: Option<Question>,
    /// The last step of its agent, if a person watches.
    pub now: Option<String>,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Complete,
    /// No task can proceed without a person.
    Stuck(Vec<Cause>),
    Aborted(String),
    Signal(i32),
}

pub struct Finished {
    pub outcome: Outcome,
    pub tally: Tally,
    pub took: Duration,
    pub out: BTreeMap<AgentId, String>,
}

/// How often the table of a watched run is redrawn.
const REDRAWN: Duration = Duration::from_secs(1);

pub struct TeamRun<'a> {
    ctx: &'a mut Context,
    stage: &'a dyn RunDisplay,
    team: Team,
    /// The provider of each seat.
    providers: BTreeMap<AgentId, String>,
    runners: BTreeMap<AgentId, RunnerProcess>,
    crashes: BTreeMap<AgentId, Crashes>,
    resting_until: BTreeMap<AgentId, Instant>,
    /// Per task: its state, and how many starts did not change that state.
    futile: BTreeMap<TaskId, (TaskState, u32)>,
    tally: Tally,
    began: Instant,
    tx: Sender<Wake>,
    rx: Receiver<Wake>,
    stopping: Option<Outcome>,
    signals: u32,
    /// When the run kills runners that it asked twice to end.
    kill_at: Option<Instant>,
    grace: Duration,
    /// How long a reviewer that was halted is not started again.
    halted_rest: Duration,
    orphans: Orphans,
    last_reported: String,
    /// A switch halts the team, and that was reported.
    paused: bool,
    /// Remarks of runners that were passed on, with the tasks they are about.
    remarks: BTreeSet<(Option<String>, String)>,
    /// How often an occasion became pending again because the planner's session was cut off.
    given_back: BTreeMap<String, u32>,
    /// Since when the board is unreadable.
    unreadable_since: Option<Instant>,
    planning: planning::Planning,
    views: Keeper,
    caps: KnownCaps,
    /// Caps that were reported: once when nearly used, once when used up.
    caps_reported: BTreeSet<(&'static str, String, bool)>,
    oversight: Oversight,
    persons: persons::Persons,
    demand: demand::Demand,
    /// The latest steps of agents, for a person who watches.
    steps: RefCell<Steps>,
    /// When the oversight looks again.
    oversee_at: Option<Instant>,
    /// As it was at the last turn.
    board: Option<Board>,
    /// Sends changes of the board until it is dropped.
    watch: Notification,
    _one_run: SideLock,
}

impl<'a> TeamRun<'a> {
    /// `checked` must be for the same team.
    pub fn start(
        ctx: &'a mut Context,
        checked: Checked,
        options: RunOptions,
        stage: &'a dyn RunDisplay,
    ) -> Result<Self, Failure> {
        let config = ctx.project_config()?;
        let orphans = Orphans::at_start();
        adopt_orphans();
        let routed = ctx.read(&Needs::Nothing)?.board.route().map(|route| route.mode);
        let routed = routed.filter(|_| options.only.is_none());
        let mode = routed.unwrap_or(config.run.mode);
        let window = match (options.window, routed) {
            (Some(window), _) => config.run.capped(window, mode),
            (None, Some(mode)) => config.run.routed_window(mode),
            (None, None) => config.run.effective_window(),
        };
        let team = Team { window, only: options.only, ..Team::default() };
        let (tx, rx) = channel();
        let people = seat_assignment::people(&options.team, &checked.providers);
        let seated = seat_assignment::seat_team(ctx, &options.team, checked.providers)?;
        let mut caps = KnownCaps::default();
        spending::begin_run(ctx, &mut caps)?;
        let watch = listen(ctx.store.watched_dir(), &tx, Wake::Signal, || Wake::Board)?;
        let mut this = Self {
            ctx,
            stage,
            team,
            providers: BTreeMap::new(),
            runners: BTreeMap::new(),
            crashes: BTreeMap::new(),
            resting_until: BTreeMap::new(),
            futile: BTreeMap::new(),
            tally: Tally::default(),
            began: Instant::now(),
            tx,
            rx,
            stopping: None,
            signals: 0,
            kill_at: None,
            grace: grace(config.run.grace_seconds),
            halted_rest: Duration::from_secs(config.overseer.nudge_cooldown_seconds),
            orphans,
            last_reported: String::new(),
            paused: false,
            remarks: BTreeSet::new(),
            given_back: BTreeMap::new(),
            unreadable_since: None,
            planning: planning::Planning::default(),
            views: Keeper::default(),
            caps,
            caps_reported: BTreeSet::new(),
            oversight: Oversight::default(),
            persons: persons::Persons::default(),
            demand: demand::Demand::new(options.provider),
            steps: RefCell::default(),
            oversee_at: None,
            board: None,
            watch,
            _one_run: checked.one_run,
        };
        this.team.people = people;
        for (seat, provider) in seated {
            if provider == crate::policy::team::HUMAN {
                this.team.mergers.insert(seat.agent.clone());
            }
            this.providers.insert(seat.agent.clone(), provider);
            this.team.seats.push(seat);
        }
        polling(&this.watch).into_iter().for_each(|event| this.emit(event));
        this.warn_of_checkout();
        Ok(this)
    }

    /// Warns at the start if no task can be merged, instead of at the first merge.
    fn warn_of_checkout(&mut self) {
        let Ok(snapshot) = self.ctx.read(&Needs::Nothing) else { return };
        let branch = &snapshot.board.config().integration_branch;
        if let Err(failure) = crate::flow::branches::not_checked_out(self.ctx, branch) {
            self.emit(Event::notice(format!("no task can be merged: {}", failure_text(&failure))));
        }
    }

    fn emit(&mut self, event: Event) {
        self.stage.event(&event);
        self.tally.note(event);
    }

    fn emit_once(&mut self, kind: Kind, text: String) {
        if self.last_reported != text {
            self.last_reported.clone_from(&text);
            self.emit(Event::new(kind, text));
        }
    }

    pub fn run(mut self) -> Finished {
        let outcome = loop {
            if let Some(outcome) = self.turn() {
                break outcome;
            }
            self.wait();
        };
        let runners = self.runner_pids();
        self.orphans.end_all(&runners);
        let mut out = std::mem::take(&mut self.team.out);
        for (agent, why) in &mut out {
            if let Some(log) = self.team.logs.get(agent) {
                why.push_str(&format!("; {log}"));
            }
        }
        Finished { outcome, out, tally: std::mem::take(&mut self.tally), took: self.began.elapsed() }
    }

    fn runner_pids(&self) -> BTreeSet<u32> {
        self.runners.values().map(RunnerProcess::id).collect()
    }

    /// Reads the board and takes the next steps; returns the outcome when the run is over.
    fn turn(&mut self) -> Option<Outcome> {
        self.ctx.now = crate::host::now();
        self.resting_until.retain(|_, until| *until > Instant::now());
        self.team.resting = self.resting_until.keys().cloned().collect();
        let at_work = self.runners.iter().filter(|(_, running)| !running.is_free());
        self.team.busy =
            at_work.map(|(agent, running)| (agent.clone(), running.start.task.clone())).collect();
        let runners = self.runner_pids();
        self.orphans.learn(&runners);
        if let Some(outcome) = self.stopping.clone() {
            return (self.runners.is_empty() || self.kill_what_stays()).then_some(outcome);
        }
        match self.handle_switches() {
            Ok(Some(outcome)) => return Some(outcome),
            Ok(None) => {}
            Err(failure) => return self.unreadable(&failure),
        }
        let caps = self.caps.look(self.ctx);
        let read = self.ctx.read_with(|board| crate::policy::spend::needed_to_begin(board, &caps));
        let board = match read {
            Ok(snapshot) => snapshot.board,
            Err(failure) => return self.unreadable(&failure),
        };
        let world = match self.ctx.store.surroundings(&board) {
            Ok(world) => world,
            Err(error) => return self.unreadable(&error.into()),
        };
        self.unreadable_since = None;
        if let Err(failure) = self.ctx.integration_in_place(&board) {
            self.emit_once(Kind::Notice, failure_text(&failure));
            return (!self.dismiss_free(false)).then(|| Outcome::Stuck(vec![for_a_person(&failure)]));
        }
        // A task that has changed may be started again.
        self.futile.retain(|task, (task_before, _)| TaskState::of(&board, task) == Some(*task_before));
        self.team.futile.retain(|task, _| self.futile.contains_key(task));
        let elsewhere = |agent: &AgentId| {
            !self.runners.contains_key(agent)
                && board
                    .agent(agent)
                    .is_some_and(|known| seat_assignment::is_anothers(self.ctx, agent, known))
        };
        let seats = self.team.seats.iter().map(|seat| &seat.agent);
        self.team.elsewhere = seats.filter(|agent| elsewhere(agent)).cloned().collect();
        self.team.handled.extend(self.planning.given_up(&board, self.ctx.now.wall));
        self.team.caps = self.caps.holding(&board);
        self.warn_of_spending(&board);
        self.emit_questions(&board);
        self.call_people(&board, &world);
        if self.see_to_route(&board) {
            return None;
        }
        let next = run::next(&board, &world, &self.ctx.now, &self.team);
        for start in next.starts {
            let task_before = start.task.as_ref().and_then(|task| TaskState::of(&board, task));
            self.launch(start, task_before);
        }
        self.show(&board);
        let revision = board.revision;
        self.board = Some(board);
        let kept = self.views.keep(self.ctx, revision);
        kept.troubles.into_iter().for_each(|trouble| self.emit_once(Kind::Notice, trouble));
        self.oversee(revision);
        let waited_for = self.dismiss_free(matches!(next.state, State::Running));
        match next.state {
            State::Running => None,
            State::Complete | State::Stuck(_) if waited_for => None,
            State::Complete => self.board.take().and_then(|board| {
                let ended = self.before_complete(&board);
                self.board = Some(board);
                ended
            }),
            State::Stuck(causes) => Some(Outcome::Stuck(causes)),
            State::Waiting(causes) => {
                // The run has reported the switch already.
                let news = self.persons.unreported(causes);
                if !news.is_empty() && world.switches.global().is_none() {
                    self.emit_once(Kind::Waiting, run::in_words(&news).join("; "));
                }
                None
            }
        }
    }

    fn oversee(&mut self, revision: u64) {
        let looked = self.oversight.look(self.ctx, revision);
        self.oversee_at = looked.again_in.map(|again| Instant::now() + again);
        looked.done.into_iter().for_each(|line| self.emit(Event::notice(line)));
        looked.troubles.into_iter().for_each(|text| self.remark(Event::notice(text)));
    }

    /// The run starts nothing on a board that cannot be read. When the board is fixed, the run continues; if no agent works
    /// any more and no switch asks it to wait, it ends soon.
    fn unreadable(&mut self, failure: &Failure) -> Option<Outcome> {
        self.emit_once(Kind::Notice, failure_text(failure));
        let since = *self.unreadable_since.get_or_insert_with(Instant::now);
        let paused = self.ctx.store.switches().is_ok_and(|switches| switches.global().is_some());
        // The board is gone: stop waiting.
        let gone = !self.ctx.store.exists();
        let over = !self.dismiss_free(false) && (gone || !paused && since.elapsed() >= 2 * tick());
        over.then(|| Outcome::Stuck(vec![for_a_person(failure)]))
    }

    fn handle_switches(&mut self) -> Result<Option<Outcome>, Failure> {
        let switches = self.ctx.store.switches()?;
        let Some(switch) = switches.global() else {
            if std::mem::take(&mut self.paused) {
                // Report the next pause again.
                self.last_reported.clear();
                self.emit(Event::new(Kind::Resumed, ""));
            }
            return Ok(None);
        };
        let why = super::session::reason(switch);
        self.paused = true;
        match switch.kind {
            SwitchKind::Abort => {
                self.emit_once(Kind::Aborted, why.clone());
                // The runners see the switch too; the run waits for them.
                self.stopping = Some(Outcome::Aborted(why.clone()));
                return Ok(self.runners.is_empty().then_some(Outcome::Aborted(why)));
            }
            SwitchKind::Checkpoint => {
                match crate::flow::summary::write_once(self.ctx) {
                    Ok(Some(path)) => self.emit(Event::notice(format!("summary: {}", path.display()))),
                    Ok(None) => {}
                    Err(failure) => {
                        let text = format!("could not write the summary: {}", failure_text(&failure));
                        self.remark(Event::notice(text));
                    }
                }
                self.emit_once(Kind::Paused, why);
            }
            SwitchKind::Pause => self.emit_once(Kind::Paused, why),
        }
        Ok(None)
    }

    /// Passes on each remark of runners only once.
    fn remark(&mut self, event: Event) {
        if self.remarks.len() < MOST_REMARKS && self.remarks.insert((event.task.clone(), event.text.clone()))
        {
            self.emit(event);
        }
    }

    fn launch(&mut self, start: Start, task_before: Option<TaskState>) {
        if self.hand_over(&start, task_before) {
            return;
        }
        let provider = self.providers.get(&start.agent);
        let runner = Program::new(this_program())
            .dir(self.ctx.root())
            .args(["--json", "--board"])
            .arg(self.ctx.store.address())
            .args(["agent", "run", "--once", "--role", start.role.as_str(), "--id", start.agent.as_str()])
            .args(["--parent", &std::process::id().to_string()])
            .args(provider.into_iter().flat_map(|provider| ["--provider", provider]))
            .args(start.task.iter().flat_map(|task| ["--task", task.as_str()]))
            .args(start.woken.iter().flat_map(|key| ["--woken", key]));
        let settings = free::settings(self.ctx);
        // Without its directory there is no log.
        let dir = self.ctx.machine.runs_of_agent(&start.agent);
        let made = crate::store::files::make_private_dirs(self.ctx.machine.home(), &dir);
        let log = made.map(|()| dir.join("runner.log")).unwrap_or_default();
        match RunnerProcess::start(runner, log, start.clone(), task_before, &self.tx) {
            Ok(mut running) => {
                running.settings = settings;
                if !start.woken.is_empty() {
                    self.planning.woken();
                }
                self.team.handled.extend(start.woken);
                self.runners.insert(start.agent, running);
            }
            Err(error) => self.rest(&start.agent, format!("its runner could not be started: {error}"), None),
        }
    }

    fn wait(&mut self) {
        if self.stopping.is_some() {
            self.dismiss_free(false);
        }
        let until = |at: &Instant| at.saturating_duration_since(Instant::now());
        let due = self.resting_until.values().chain(&self.oversee_at).map(until);
        let kill = self.kill_at.iter().map(|at| until(at).max(Duration::from_millis(100)));
        let mut end = Instant::now() + due.chain(kill).fold(tick(), Duration::min);
        // Handle all pending events before the next look at the board.
        let most = if self.stage.is_watched() { REDRAWN } else { Duration::MAX };
        loop {
            match self.rx.recv_timeout(until(&end).min(most)) {
                Ok(wake) => {
                    if self.handle(wake) {
                        end = Instant::now();
                        continue;
                    }
                }
                Err(RecvTimeoutError::Timeout) if !until(&end).is_zero() => {}
                Err(_) => return,
            }
            if let Some(board) = &self.board {
                self.show(board);
            }
        }
    }

    /// Handles one event. Returns whether the run must look at the board.
    fn handle(&mut self, wake: Wake) -> bool {
        match wake {
            Wake::Board => {}
            Wake::Signal(signal) => self.stop(signal),
            // Show the event; its effect is on the board.
            Wake::Event(agent, event) => {
                let mut another_task = false;
                if let Some(running) = self.runners.get_mut(&agent) {
                    running.doing = event.event.word();
                    match event.event {
                        Kind::Notice => running.notice.clone_from(&event.text),
                        Kind::Limit => running.limited = true,
                        Kind::Halted => running.halted = true,
                        _ => {}
                    }
                    if let Some(task) = event.task.as_ref().and_then(|task| TaskId::new(task).ok()) {
                        another_task = running.start.task.replace(task) != running.start.task;
                    }
                }
                let failed = event.failure.clone().map(|note| (note, event.text.clone()));
                // Starts and ends of runners are not shown.
                match event.event {
                    Kind::Free => {
                        self.freed(&agent);
                        return true;
                    }
                    Kind::Ready | Kind::Stopped => {}
                    Kind::Notice => self.remark(*event),
                    _ => self.emit(*event),
                }
                if let Some((note, text)) = failed {
                    self.handle_failure(&agent, &note, &text);
                }
                return another_task;
            }
            Wake::Failed(agent, code, message) => {
                if let Some(running) = self.runners.get_mut(&agent) {
                    running.failure = Some((code, message));
                }
            }
            Wake::Exited(agent) => self.handle_exit(&agent),
        }
        true
    }

    fn show(&self, board: &Board) {
        let mut steps = self.steps.borrow_mut();
        if self.stage.is_watched() {
            steps.follow(self.ctx, self.runners.keys());
        }
        let steps = &*steps;
        let row = |seat: &Seat| {
            // An idle runner waits for its next piece of work.
            let running = self.runners.get(&seat.agent).filter(|running| !running.is_free());
            let question = self.team.questions.iter().find(|one| one.agent == seat.agent);
            let doing = match (running, self.team.out.get(&seat.agent)) {
                _ if question.is_some() => "waits for an answer".to_owned(),
                (Some(running), _) => running.doing.clone(),
                (None, Some(why)) => format!("stopped: {why}"),
                (None, None) if self.team.mergers.contains(&seat.agent) => {
                    "merges tasks that a person approves".to_owned()
                }
                (None, None) => "idle".to_owned(),
            };
            Row {
                agent: seat.agent.to_string(),
                role: seat.role.to_string(),
                doing,
                task: running.and_then(|running| running.start.task.as_ref().map(TaskId::to_string)),
                since: running.map(|running| running.since.elapsed()),
                question: question.cloned(),
                now: running.and_then(|running| steps.last_of(&seat.agent, running.since)),
            }
        };
        self.stage.redraw(&self.team.seats.iter().map(row).collect::<Vec<_>>(), board);
    }
}

fn for_a_person(failure: &Failure) -> Cause {
    Cause {
        task: None,
        kind: CauseKind::Person,
        why: failure.message.clone(),
        hint: failure.hint.clone().unwrap_or_default(),
    }
}
