//! The run of a whole team: one process that starts a runner whenever there is work and room, and waits for any of them.
//!
//! A runner is started for one piece of work and leaves after it; while there is nothing to do, nothing runs. Runners
//! are in process groups of their own, so that Ctrl-C reaches this process alone, and they end when it does.

mod demand;
mod ending;
mod failing;
mod flight;
mod free;
mod orphans;
mod persons;
mod planning;
mod questions;
mod seat_assignment;
mod spending;
mod steps;

use super::listen::{listen, polling};
use super::oversight::Oversight;
use super::prelude::*;
use super::runner::said;
use super::tally::Tally;
use crate::flow::sessions;
use crate::flow::views::Keeper;
use crate::policy::run::{self, Cause, CauseKind, Seat, Start, State, Team};
use flight::{Flight, Found, Wake, ended};
use orphans::Orphans;
pub use seat_assignment::Checked;
use std::cell::RefCell;
use steps::Steps;

/// A planner that was cut off is woken so many times more for the same.
const WOKEN_AGAIN: u32 = 2;
/// A run that has passed on so many different remarks passes on no more.
const MOST_REMARKS: usize = 1000;

pub struct RunOptions {
    pub window: Option<u32>,
    pub team: Vec<TeamMember>,
    /// Only this task, and no planner.
    pub only: Option<TaskId>,
    /// Provider for all agents (overrides liza.yaml).
    pub provider: Option<String>,
}

/// Where a run shows what happens.
pub trait Stage {
    fn event(&self, event: &Event);
    /// Whether a person watches the picture, so that it is kept up to the second.
    fn is_watched(&self) -> bool {
        false
    }
    /// The whole picture, whenever it changed.
    fn picture(&self, rows: &[Row], board: &Board);
}

/// One place of the team at this moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    pub agent: String,
    pub role: String,
    pub doing: String,
    pub task: Option<String>,
    pub since: Option<Duration>,
    /// What a person is asked about it, while there is no answer.
    pub question: Option<Question>,
    /// The last step its agent took, where a person watches.
    pub now: Option<String>,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Complete,
    /// Nothing moves unless a person does something.
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

/// The picture of a run that is watched is at most so old.
const REDRAWN: Duration = Duration::from_secs(1);

/// So many starts for a task that change nothing about it, and it is left alone.
const FUTILE_STARTS: u32 = 3;

pub struct TeamRun<'a> {
    ctx: &'a mut Context,
    stage: &'a dyn Stage,
    team: Team,
    /// By which agent command each seat is played.
    providers: BTreeMap<AgentId, String>,
    flights: BTreeMap<AgentId, Flight>,
    crashes: BTreeMap<AgentId, Crashes>,
    resting_until: BTreeMap<AgentId, Instant>,
    /// How often an agent was started for a task in this state without changing it.
    futile: BTreeMap<TaskId, (Found, u32)>,
    tally: Tally,
    began: Instant,
    tx: Sender<Wake>,
    rx: Receiver<Wake>,
    stopping: Option<Outcome>,
    signals: u32,
    /// When runners that were asked twice are killed.
    kill_at: Option<Instant>,
    grace: Duration,
    /// How long a reviewer that was halted is not started again.
    halted_rest: Duration,
    orphans: Orphans,
    last_said: String,
    /// A switch halts the team, and that was reported.
    paused: bool,
    /// Remarks of runners that were passed on, with the tasks they are about.
    remarks: BTreeSet<(Option<String>, String)>,
    /// How often an occasion was given back because the planner was cut off.
    given_back: BTreeMap<String, u32>,
    /// Since when the board cannot be read.
    unreadable_since: Option<Instant>,
    planning: planning::Planning,
    views: Keeper,
    caps: KnownCaps,
    /// Caps that were reported: once when nearly used, once when used up.
    caps_told: BTreeSet<(&'static str, String, bool)>,
    oversight: Oversight,
    persons: persons::Persons,
    demand: demand::Demand,
    /// What agents did last, for the person who watches.
    steps: RefCell<Steps>,
    /// When that wants to look again.
    oversee_at: Option<Instant>,
    /// As it was at the last turn.
    board: Option<Board>,
    /// Tells of changes while it is kept.
    watch: Notification,
    _one_run: SideLock,
}

impl<'a> TeamRun<'a> {
    /// What `checked` found must be of the same team.
    pub fn start(
        ctx: &'a mut Context,
        checked: Checked,
        options: RunOptions,
        stage: &'a dyn Stage,
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
            flights: BTreeMap::new(),
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
            last_said: String::new(),
            paused: false,
            remarks: BTreeSet::new(),
            given_back: BTreeMap::new(),
            unreadable_since: None,
            planning: planning::Planning::default(),
            views: Keeper::default(),
            caps,
            caps_told: BTreeSet::new(),
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
        polling(&this.watch).into_iter().for_each(|event| this.tell(event));
        this.warn_of_checkout();
        Ok(this)
    }

    /// Warns at the start that nothing can be merged, instead of after an hour.
    fn warn_of_checkout(&mut self) {
        let Ok(snapshot) = self.ctx.read(&Needs::Nothing) else { return };
        let branch = &snapshot.board.config().integration_branch;
        if let Err(failure) = crate::flow::branches::not_checked_out(self.ctx, branch) {
            self.tell(Event::notice(format!("nothing can be merged: {}", said(&failure))));
        }
    }

    fn tell(&mut self, event: Event) {
        self.stage.event(&event);
        self.tally.note(event);
    }

    fn tell_once(&mut self, kind: Kind, text: String) {
        if self.last_said != text {
            self.last_said.clone_from(&text);
            self.tell(Event::new(kind, text));
        }
    }

    pub fn run(mut self) -> Finished {
        let outcome = loop {
            if let Some(outcome) = self.turn() {
                break outcome;
            }
            self.wait();
        };
        let runners = self.runners();
        self.orphans.end_all(&runners);
        let mut out = std::mem::take(&mut self.team.out);
        for (agent, why) in &mut out {
            if let Some(log) = self.team.logs.get(agent) {
                why.push_str(&format!("; {log}"));
            }
        }
        Finished { outcome, out, tally: std::mem::take(&mut self.tally), took: self.began.elapsed() }
    }

    fn runners(&self) -> BTreeSet<u32> {
        self.flights.values().map(Flight::id).collect()
    }

    /// Looks at the board and does what is to be done now; the outcome, once there is nothing more.
    fn turn(&mut self) -> Option<Outcome> {
        self.ctx.now = crate::host::now();
        self.resting_until.retain(|_, until| *until > Instant::now());
        self.team.resting = self.resting_until.keys().cloned().collect();
        let at_work = self.flights.iter().filter(|(_, flight)| !flight.is_free());
        self.team.busy = at_work.map(|(agent, flight)| (agent.clone(), flight.start.task.clone())).collect();
        let runners = self.runners();
        self.orphans.learn(&runners);
        if let Some(outcome) = self.stopping.clone() {
            return (self.flights.is_empty() || self.kill_what_stays()).then_some(outcome);
        }
        match self.heed_switches() {
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
            self.tell_once(Kind::Notice, said(&failure));
            return (!self.dismiss_free(false)).then(|| Outcome::Stuck(vec![for_a_person(&failure)]));
        }
        // What stands differently now may be taken up again.
        self.futile.retain(|task, (found, _)| Found::of(&board, task) == Some(*found));
        self.team.futile.retain(|task, _| self.futile.contains_key(task));
        let elsewhere = |agent: &AgentId| {
            !self.flights.contains_key(agent)
                && board
                    .agent(agent)
                    .is_some_and(|known| seat_assignment::is_anothers(self.ctx, agent, known))
        };
        let seats = self.team.seats.iter().map(|seat| &seat.agent);
        self.team.elsewhere = seats.filter(|agent| elsewhere(agent)).cloned().collect();
        self.team.handled.extend(self.planning.given_up(&board, self.ctx.now.wall));
        self.team.caps = self.caps.holding(&board);
        self.warn_of_spending(&board);
        self.tell_questions(&board);
        self.call_people(&board, &world);
        if self.see_to_route(&board) {
            return None;
        }
        let next = run::next(&board, &world, &self.ctx.now, &self.team);
        for start in next.starts {
            let found = start.task.as_ref().and_then(|task| Found::of(&board, task));
            self.launch(start, found);
        }
        self.show(&board);
        let revision = board.revision;
        self.board = Some(board);
        let kept = self.views.keep(self.ctx, revision);
        kept.troubles.into_iter().for_each(|trouble| self.tell_once(Kind::Notice, trouble));
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
                // A switch was reported already.
                let news = self.persons.unreported(causes);
                if !news.is_empty() && world.switches.global().is_none() {
                    self.tell_once(Kind::Waiting, run::in_words(&news).join("; "));
                }
                None
            }
        }
    }

    fn oversee(&mut self, revision: u64) {
        let looked = self.oversight.look(self.ctx, revision);
        self.oversee_at = looked.again_in.map(|again| Instant::now() + again);
        looked.done.into_iter().for_each(|line| self.tell(Event::notice(line)));
        looked.troubles.into_iter().for_each(|text| self.remark(Event::notice(text)));
    }

    /// The run starts nothing on a board that cannot be read. When the board is fixed, the run continues; if no agent works
    /// any more and no switch asks it to wait, it ends soon.
    fn unreadable(&mut self, failure: &Failure) -> Option<Outcome> {
        self.tell_once(Kind::Notice, said(failure));
        let since = *self.unreadable_since.get_or_insert_with(Instant::now);
        let paused = self.ctx.store.switches().is_ok_and(|switches| switches.global().is_some());
        // With the board gone there is nothing to wait for.
        let gone = !self.ctx.store.exists();
        let over = !self.dismiss_free(false) && (gone || !paused && since.elapsed() >= 2 * tick());
        over.then(|| Outcome::Stuck(vec![for_a_person(failure)]))
    }

    fn heed_switches(&mut self) -> Result<Option<Outcome>, Failure> {
        let switches = self.ctx.store.switches()?;
        let Some(switch) = switches.global() else {
            if std::mem::take(&mut self.paused) {
                // The next pause is news again.
                self.last_said.clear();
                self.tell(Event::new(Kind::Resumed, ""));
            }
            return Ok(None);
        };
        let why = super::session::reason(switch);
        self.paused = true;
        match switch.kind {
            SwitchKind::Abort => {
                self.tell_once(Kind::Aborted, why.clone());
                // The runners have seen it too; they are waited for.
                self.stopping = Some(Outcome::Aborted(why.clone()));
                return Ok(self.flights.is_empty().then_some(Outcome::Aborted(why)));
            }
            SwitchKind::Checkpoint => {
                match crate::flow::summary::write_once(self.ctx) {
                    Ok(Some(path)) => self.tell(Event::notice(format!("summary: {}", path.display()))),
                    Ok(None) => {}
                    Err(failure) => {
                        let text = format!("no summary could be written: {}", said(&failure));
                        self.remark(Event::notice(text));
                    }
                }
                self.tell_once(Kind::Paused, why);
            }
            SwitchKind::Pause => self.tell_once(Kind::Paused, why),
        }
        Ok(None)
    }

    /// What is said again and again in the same words is passed on once.
    fn remark(&mut self, event: Event) {
        if self.remarks.len() < MOST_REMARKS && self.remarks.insert((event.task.clone(), event.text.clone()))
        {
            self.tell(event);
        }
    }

    fn launch(&mut self, start: Start, found: Option<Found>) {
        if self.hand_over(&start, found) {
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
        // Where its directory cannot be made there is no log.
        let dir = self.ctx.machine.runs_of_agent(&start.agent);
        let made = crate::store::files::make_private_dirs(self.ctx.machine.home(), &dir);
        let log = made.map(|()| dir.join("runner.log")).unwrap_or_default();
        match Flight::take_off(runner, log, start.clone(), found, &self.tx) {
            Ok(mut flight) => {
                flight.settings = settings;
                if !start.woken.is_empty() {
                    self.planning.woken();
                }
                self.team.handled.extend(start.woken);
                self.flights.insert(start.agent, flight);
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
        // Everything that has happened until now is heeded before the next look.
        let most = if self.stage.is_watched() { REDRAWN } else { Duration::MAX };
        loop {
            match self.rx.recv_timeout(until(&end).min(most)) {
                Ok(wake) => {
                    if self.heed(wake) {
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

    /// Whether it calls for a look at the board.
    fn heed(&mut self, wake: Wake) -> bool {
        match wake {
            Wake::Board => {}
            Wake::Signal(signal) => self.stop(signal),
            // What a runner says is shown; what it did shows on the board.
            Wake::Said(agent, event) => {
                let mut another_task = false;
                if let Some(flight) = self.flights.get_mut(&agent) {
                    flight.doing = event.event.word();
                    match event.event {
                        Kind::Notice => flight.notice.clone_from(&event.text),
                        Kind::Limit => flight.limited = true,
                        Kind::Halted => flight.halted = true,
                        _ => {}
                    }
                    if let Some(task) = event.task.as_ref().and_then(|task| TaskId::new(task).ok()) {
                        another_task = flight.start.task.replace(task) != flight.start.task;
                    }
                }
                let failed = event.failure.clone().map(|note| (note, event.text.clone()));
                // That runners come and go is not reported.
                match event.event {
                    Kind::Free => {
                        self.freed(&agent);
                        return true;
                    }
                    Kind::Ready | Kind::Stopped => {}
                    Kind::Notice => self.remark(*event),
                    _ => self.tell(*event),
                }
                if let Some((note, text)) = failed {
                    self.heed_failure(&agent, &note, &text);
                }
                return another_task;
            }
            Wake::Failed(agent, code, message) => {
                if let Some(flight) = self.flights.get_mut(&agent) {
                    flight.failure = Some((code, message));
                }
            }
            Wake::Exited(agent) => self.landed(&agent),
        }
        true
    }

    /// A runner has ended.
    fn landed(&mut self, agent: &AgentId) {
        let Some(mut flight) = self.flights.remove(agent) else { return };
        // End what the runner left in its process group, before another process can get its number.
        flight.kill();
        let status = flight.reap();
        let runners = self.runners();
        self.orphans.end(&runners);
        let code = status.and_then(|status| status.code());
        let failure = flight.failure.take();
        self.judge(&flight, failure.as_ref());
        if code != Some(0) || flight.limited || flight.parked {
            self.give_back(&flight.start.woken);
        }
        if code == Some(0) || code == Some(5) || self.stopping.is_some() {
            return;
        }
        let (error, mut message) = failure.unwrap_or_else(|| (None, format!("its runner {}", ended(status))));
        let mut log = sessions::last(self.ctx, Some(agent.as_str()))
            .ok()
            .map(|kept| format!("`liza agent log {}` shows its last session", kept.agent));
        if let Some(own) = flight.log().filter(|_| error != Some(ErrorCode::RefusedCrashLoop)) {
            let said = format!("what its runner said is in {}", own.display());
            message = format!("{message}; {said}");
            log = Some(said);
        }
        // A runner that was killed, or failed before it could, has let nothing go.
        self.free_work_of(agent, &message);
        let is_final =
            |error: ErrorCode| error == ErrorCode::RefusedCrashLoop || error.class() == Class::Usage;
        if error.is_some_and(is_final) {
            self.put_out(agent, message, log);
        } else {
            self.rest(agent, message, log);
        }
    }

    /// What came of the piece of work a runner was given.
    fn judge(&mut self, flight: &Flight, failure: Option<&(Option<ErrorCode>, String)>) {
        if !flight.parked {
            self.note_futility(flight, failure);
        }
        if flight.halted && flight.start.role.judges() {
            // The review is free again, and better taken up by another reviewer.
            self.resting_until.insert(flight.start.agent.clone(), Instant::now() + self.halted_rest);
        }
    }

    /// What the planner was woken for may not have been seen to.
    fn give_back(&mut self, woken: &[String]) {
        for key in woken {
            let times = self.given_back.entry(key.clone()).or_default();
            if *times < WOKEN_AGAIN {
                *times += 1;
                self.team.handled.remove(key);
            }
        }
    }

    /// It is not started any more.
    fn put_out(&mut self, agent: &AgentId, why: String, log: Option<String>) {
        let mut text = why.clone();
        if let Some(log) = log {
            if !why.contains(&log) {
                text = format!("{why}; {log}");
            }
            self.team.logs.insert(agent.clone(), log);
        }
        self.team.out.insert(agent.clone(), why);
        self.tell(Event::new(Kind::Stopped, text).agent(agent));
    }

    /// Whether anything came of it. If not, it is not tried again at once, and at last not at all.
    fn note_futility(&mut self, flight: &Flight, failure: Option<&(Option<ErrorCode>, String)>) {
        let (Some(task), Some(found)) = (&flight.start.task, flight.found) else { return };
        let Ok(snapshot) = self.ctx.read(&Needs::Nothing) else { return };
        if Found::of(&snapshot.board, task) != Some(found) {
            return;
        }
        let (_, times) = self.futile.entry(task.clone()).or_insert((found, 0));
        *times += 1;
        let is_enough = *times >= FUTILE_STARTS;
        self.resting_until.insert(flight.start.agent.clone(), Instant::now() + back_off());
        if is_enough {
            let why = match (failure, flight.notice.as_str()) {
                (Some((_, message)), _) => message.clone(),
                (None, "") => format!("it was offered to {} and not taken", flight.start.agent),
                (None, notice) => notice.to_owned(),
            };
            self.team.futile.insert(task.clone(), why);
        }
    }

    /// Any free agent continues from what this agent committed.
    fn free_work_of(&mut self, agent: &AgentId, why: &str) {
        let Ok(snapshot) = self.ctx.read(&Needs::Nothing) else { return };
        for task in &snapshot.board.tasks {
            let held = |lease: &Option<Lease>| lease.as_ref().is_some_and(|lease| &lease.agent == agent);
            let what: Transition = if task.status == Status::Working && held(&task.lease) {
                let kept = leftovers::gather(self.ctx, &task.id).ok().and_then(|left| left.kept_as);
                let kept = kept.map(|kept| format!("; not committed work is kept as {kept}"));
                let reason = format!("{why}{}", kept.unwrap_or_default());
                Release { task: task.id.clone(), epoch: Some(task.epoch), reason }.into()
            } else if task.judged_by().is_some() && held(&task.review_lease) {
                ReleaseReview { task: task.id.clone() }.into()
            } else {
                continue;
            };
            let event = match self.ctx.commit_any(what) {
                Ok(_) => Event::new(Kind::Released, why),
                Err(failure) => Event::notice(said(&failure)),
            };
            self.tell(event.agent(agent).task(&task.id));
        }
    }

    /// Not at once again: it just failed. Too often, and not at all.
    fn rest(&mut self, agent: &AgentId, why: String, log: Option<String>) {
        let crashes = self.crashes.entry(agent.clone()).or_insert_with(|| Crashes::pausing(back_off()));
        match crashes.note(self.began.elapsed()) {
            AfterCrash::Restart(pause) => {
                self.resting_until.insert(agent.clone(), Instant::now() + pause);
                let text = format!("{why}; started again in {} s", pause.as_secs());
                self.tell(Event::new(Kind::Crashed, text).agent(agent));
            }
            AfterCrash::GiveUp => {
                self.put_out(agent, format!("it failed 3 times in 5 minutes; last: {why}"), log);
            }
        }
    }

    fn show(&self, board: &Board) {
        let mut steps = self.steps.borrow_mut();
        if self.stage.is_watched() {
            steps.follow(self.ctx, self.flights.keys());
        }
        let steps = &*steps;
        let row = |seat: &Seat| {
            // One that has nothing to do now is there to get the next piece of work.
            let flight = self.flights.get(&seat.agent).filter(|flight| !flight.is_free());
            let question = self.team.questions.iter().find(|one| one.agent == seat.agent);
            let doing = match (flight, self.team.out.get(&seat.agent)) {
                _ if question.is_some() => "waits for an answer".to_owned(),
                (Some(flight), _) => flight.doing.clone(),
                (None, Some(why)) => format!("stopped: {why}"),
                (None, None) if self.team.mergers.contains(&seat.agent) => {
                    "merges what a person approves".to_owned()
                }
                (None, None) => "idle".to_owned(),
            };
            Row {
                agent: seat.agent.to_string(),
                role: seat.role.to_string(),
                doing,
                task: flight.and_then(|flight| flight.start.task.as_ref().map(TaskId::to_string)),
                since: flight.map(|flight| flight.since.elapsed()),
                question: question.cloned(),
                now: flight.and_then(|flight| steps.last_of(&seat.agent, flight.since)),
            }
        };
        self.stage.picture(&self.team.seats.iter().map(row).collect::<Vec<_>>(), board);
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
