//! The run of a whole team: one process that starts a runner whenever there is work and room, and waits for any of them.
//!
//! A runner is started for one piece of work and leaves after it; while there is nothing to do, nothing runs. Runners
//! are in process groups of their own, so that Ctrl-C reaches this process alone, and they end when it does.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions};
use serde_json::Value;

use crate::board::agent::numbered_ids;
use crate::board::rules::{Release, ReleaseReview};
use crate::board::{AgentId, Board, Needs, Role, Status, SwitchKind, Switches, TaskId, Transition};
use crate::flow::{Context, Failure, agents, leftovers};
use crate::policy::restart::{AfterCrash, Crashes};
use crate::policy::run::{self, Cause, CauseKind, Seat, Start, State, Team};
use crate::policy::team::TeamMember;
use crate::store::lock::SideLock;
use crate::watch::{DirectoryWatch, Notification};

use super::child;
use super::event::{Event, Kind};
use super::runner::{check_program, choose};
use super::signals;
use super::tally::Tally;

const TICK: Duration = Duration::from_secs(5);

pub struct RunOptions {
    pub provider: Option<String>,
    pub window: Option<u32>,
    pub team: Vec<TeamMember>,
    /// Only this task, and no planner.
    pub only: Option<TaskId>,
}

/// Where a run shows what happens.
pub trait Stage {
    fn event(&self, event: &Event);
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

enum Wake {
    Board,
    Signal(i32),
    Said(AgentId, Event),
    /// The runner's last word, if it failed.
    Failed(AgentId, String, String),
    Exited(AgentId),
}

struct Flight {
    child: Child,
    start: Start,
    since: Instant,
    doing: String,
    /// Why it failed, as it said itself.
    failure: Option<(String, String)>,
    /// The last thing it had to remark.
    notice: String,
    /// How the task stood when it was started.
    found: Option<(Status, u64)>,
}

/// So many starts for a task that change nothing about it, and it is left alone.
const FUTILE_STARTS: u32 = 3;

pub struct TeamRun<'a> {
    ctx: &'a mut Context,
    options: RunOptions,
    stage: &'a dyn Stage,
    team: Team,
    flights: BTreeMap<AgentId, Flight>,
    crashes: BTreeMap<AgentId, Crashes>,
    resting_until: BTreeMap<AgentId, Instant>,
    /// How often somebody was started for a task in this state, and nothing came of it.
    futile: BTreeMap<TaskId, ((Status, u64), u32)>,
    tally: Tally,
    began: Instant,
    tx: Sender<Wake>,
    rx: Receiver<Wake>,
    stopping: Option<Outcome>,
    told: String,
    /// A switch holds everybody up, and that was said.
    paused: bool,
    /// Tells of changes while it is kept.
    watch: Option<Notification>,
    _one_run: SideLock,
}

/// A team for those who named none.
pub fn default_team() -> Vec<TeamMember> {
    let member = |role: Role, count: u32| TeamMember { role, count, provider: None };
    vec![member(Role::planner(), 1), member(Role::coder(), 2), member(Role::code_reviewer(), 1)]
}

impl<'a> TeamRun<'a> {
    pub fn start(ctx: &'a mut Context, options: RunOptions, stage: &'a dyn Stage) -> Result<Self, Failure> {
        let config = ctx.project_config()?;
        let locks = ctx.store.layout().dir().join("locks");
        crate::store::files::make_private_dir(&locks)?;
        let lock = locks.join("run.lock");
        let one_run = SideLock::acquire(&lock, Duration::ZERO).map_err(|_| {
            Failure::new("stale.running", "a run of this board is under way already")
                .hint("`liza status` shows what it does; stop it with Ctrl-C where it runs, or `liza abort`")
        })?;
        for member in &options.team {
            check_program(&choose(&config, &member.role, options.provider.as_deref())?)?;
        }
        child::adopt_orphans();
        let mut run = config.run.clone();
        run.window = options.window.unwrap_or(run.window);
        let team = Team { window: run.effective_window(), only: options.only.clone(), ..Team::default() };
        let (tx, rx) = channel();
        let mut this = Self {
            ctx,
            options,
            stage,
            team,
            flights: BTreeMap::new(),
            crashes: BTreeMap::new(),
            resting_until: BTreeMap::new(),
            futile: BTreeMap::new(),
            tally: Tally::default(),
            began: Instant::now(),
            tx,
            rx,
            stopping: None,
            told: String::new(),
            paused: false,
            watch: None,
            _one_run: one_run,
        };
        this.seat_everybody()?;
        this.listen()?;
        Ok(this)
    }

    /// Every place gets an identity, so that the rules can be asked what it may do.
    fn seat_everybody(&mut self) -> Result<(), Failure> {
        let board = self.ctx.read(&Needs::Nothing)?.board;
        for member in &self.options.team {
            for agent in numbered_ids(&member.role).take(member.count as usize) {
                let known = board.agent(&agent);
                let runs = known.and_then(|known| known.runner.as_ref()).is_some_and(crate::host::lives);
                if !runs && !known.is_some_and(|known| known.is_active() && known.has(&member.role)) {
                    agents::register(self.ctx, vec![member.role.clone()], Some(agent.clone()))?;
                }
                self.team.seats.push(Seat { agent, role: member.role.clone() });
            }
        }
        Ok(())
    }

    fn listen(&mut self) -> Result<(), Failure> {
        let tx = self.tx.clone();
        signals::forward(move |signal| {
            let _ = tx.send(Wake::Signal(signal));
        })
        .map_err(|error| Failure::new("io.failed", format!("signals cannot be caught: {error}")))?;
        let tx = self.tx.clone();
        let watch = DirectoryWatch::notify_to(self.ctx.store.dir(), move || {
            let _ = tx.send(Wake::Board);
        });
        if let Some(why) = watch.is_polling() {
            let text = format!("changes of the board are looked for from time to time: {why}");
            self.tell(Event::new(Kind::Notice, text));
        }
        self.watch = Some(watch);
        Ok(())
    }

    fn tell(&mut self, event: Event) {
        self.stage.event(&event);
        self.tally.note(event);
    }

    fn tell_once(&mut self, kind: Kind, text: String) {
        if self.told != text {
            self.told.clone_from(&text);
            self.tell(Event::new(kind, text));
        }
    }

    pub fn run(mut self) -> Result<Finished, Failure> {
        let outcome = loop {
            if let Some(outcome) = self.turn()? {
                break outcome;
            }
            self.wait();
        };
        Ok(Finished {
            outcome,
            tally: std::mem::take(&mut self.tally),
            took: self.began.elapsed(),
            out: std::mem::take(&mut self.team.out),
        })
    }

    /// Looks at the board and does what is to be done now; the outcome, once there is nothing more.
    fn turn(&mut self) -> Result<Option<Outcome>, Failure> {
        self.ctx.now = crate::host::now();
        self.resting_until.retain(|_, until| *until > Instant::now());
        self.team.resting = self.resting_until.keys().cloned().collect();
        self.team.busy =
            self.flights.iter().map(|(agent, flight)| (agent.clone(), flight.start.task.clone())).collect();
        if let Some(outcome) = &self.stopping {
            return Ok(self.flights.is_empty().then(|| outcome.clone()));
        }
        let read = self.ctx.read_with(|board| {
            let reviewed = board.tasks.iter().filter(|task| task.status == Status::ReadyForReview);
            Needs::Tasks(reviewed.map(|task| task.id.clone()).collect())
        });
        let board = match read {
            Ok(snapshot) => snapshot.board,
            // With the board gone there is nothing to wait for.
            Err(failure) if !self.ctx.store.dir().exists() => return Err(failure),
            // An invalid board pauses everybody; when it is mended, the run goes on.
            Err(failure) => {
                self.tell_once(Kind::Notice, super::runner::said(&failure));
                return Ok(None);
            }
        };
        // One look at the switches for all that follows.
        let world = self.ctx.store.surroundings(&board)?;
        if let Some(outcome) = self.heed_switches(&world.switches)? {
            return Ok(Some(outcome));
        }
        if let Err(failure) = self.ctx.integration_in_place(&board) {
            let why = failure.message.clone();
            self.tell_once(Kind::Notice, super::runner::said(&failure));
            let hint = failure.hint.unwrap_or_default();
            let cause = Cause { task: None, kind: CauseKind::Person, why, hint };
            return Ok(self.flights.is_empty().then(|| Outcome::Stuck(vec![cause])));
        }
        // What stands differently now may be taken up again.
        self.futile.retain(|task, (found, _)| state_of(&board, task) == Some(*found));
        self.team.futile.retain(|task, _| self.futile.contains_key(task));
        let runs_elsewhere = |agent: &AgentId| {
            let runner = board.agent(agent).and_then(|known| known.runner.as_ref());
            !self.flights.contains_key(agent) && runner.is_some_and(crate::host::lives)
        };
        let seats = self.team.seats.iter().map(|seat| &seat.agent);
        self.team.elsewhere = seats.filter(|agent| runs_elsewhere(agent)).cloned().collect();
        let next = run::next(&board, &world, &self.ctx.now, &self.team);
        for start in next.starts {
            let found = start.task.as_ref().and_then(|task| state_of(&board, task));
            self.launch(start, found);
        }
        self.show(&board);
        match next.state {
            State::Running => Ok(None),
            State::Complete => Ok(Some(Outcome::Complete)),
            State::Stuck(causes) => Ok(Some(Outcome::Stuck(causes))),
            // That a switch is set was said above.
            State::Waiting(_) if self.paused => Ok(None),
            State::Waiting(causes) => {
                let words: Vec<String> = causes.iter().map(in_words).collect();
                if !words.is_empty() {
                    self.tell_once(Kind::Paused, words.join("; "));
                }
                Ok(None)
            }
        }
    }

    fn heed_switches(&mut self, switches: &Switches) -> Result<Option<Outcome>, Failure> {
        let Some(switch) = switches.global() else {
            if std::mem::take(&mut self.paused) {
                // The next pause is news again.
                self.told.clear();
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
                Ok(self.flights.is_empty().then_some(Outcome::Aborted(why)))
            }
            SwitchKind::Checkpoint => {
                if let Some(path) = crate::flow::summary::write_once(self.ctx)? {
                    self.tell(Event::new(Kind::Notice, format!("summary: {}", path.display())));
                }
                self.tell_once(Kind::Paused, why);
                Ok(None)
            }
            SwitchKind::Pause => {
                self.tell_once(Kind::Paused, why);
                Ok(None)
            }
        }
    }

    fn launch(&mut self, start: Start, found: Option<(Status, u64)>) {
        let mut command = Command::new(child::this_program());
        command
            .arg("--json")
            .arg("--board")
            .arg(self.ctx.store.dir())
            .args(["agent", "run", "--once", "--role", start.role.as_str(), "--id", start.agent.as_str()])
            .args(["--parent", &std::process::id().to_string()]);
        let member = self.options.team.iter().find(|member| member.role == start.role);
        let provider = self.options.provider.as_ref().or(member.and_then(|member| member.provider.as_ref()));
        if let Some(provider) = provider {
            command.args(["--provider", provider]);
        }
        if let Some(task) = &start.task {
            command.args(["--task", task.as_str()]);
        }
        for key in &start.woken {
            command.args(["--woken", key]);
        }
        let spawned = command
            .current_dir(self.ctx.root())
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let mut child = match spawned {
            Ok(child) => child,
            Err(error) => {
                self.rest(&start.agent, format!("its runner could not be started: {error}"));
                return;
            }
        };
        if let Some(pipe) = child.stdout.take() {
            let (tx, agent) = (self.tx.clone(), start.agent.clone());
            std::thread::spawn(move || listen_to(pipe, &agent, &tx));
        }
        let flight = Flight {
            child,
            since: Instant::now(),
            doing: "starting".to_owned(),
            failure: None,
            notice: String::new(),
            found,
            start: start.clone(),
        };
        self.team.handled.extend(start.woken);
        self.flights.insert(start.agent, flight);
    }

    fn wait(&mut self) {
        let resting =
            self.resting_until.values().min().map(|at| at.saturating_duration_since(Instant::now()));
        let mut most = TICK.min(resting.unwrap_or(TICK));
        // Everything that has happened until now is heeded before the next look.
        loop {
            match self.rx.recv_timeout(most) {
                Ok(wake) => self.heed(wake),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return,
            }
            most = Duration::ZERO;
        }
    }

    fn heed(&mut self, wake: Wake) {
        match wake {
            Wake::Board => {}
            Wake::Signal(signal) => self.stop(signal),
            Wake::Said(agent, event) => {
                if let Some(flight) = self.flights.get_mut(&agent) {
                    flight.doing = event.event.word().to_owned();
                    if event.event == Kind::Notice {
                        flight.notice.clone_from(&event.text);
                    }
                    if let Some(task) = event.task.as_ref().and_then(|task| TaskId::new(task).ok()) {
                        flight.start.task = Some(task);
                    }
                }
                // That a runner comes and goes with each piece of work is nobody's news.
                if !matches!(event.event, Kind::Ready | Kind::Stopped) {
                    self.tell(event);
                }
            }
            Wake::Failed(agent, code, message) => {
                if let Some(flight) = self.flights.get_mut(&agent) {
                    flight.failure = Some((code, message));
                }
            }
            Wake::Exited(agent) => self.landed(&agent),
        }
    }

    /// A runner has ended.
    fn landed(&mut self, agent: &AgentId) {
        let Some(mut flight) = self.flights.remove(agent) else { return };
        let status = flight.child.wait().ok();
        self.end_orphans();
        let code = status.and_then(|status| status.code());
        let failure = flight.failure.take();
        self.note_futility(&flight, failure.as_ref());
        if code == Some(0) || code == Some(5) || self.stopping.is_some() {
            return;
        }
        let (kind, message) =
            failure.unwrap_or_else(|| (String::new(), format!("its runner {}", ended(status))));
        if kind == "refused.crash_loop" || kind.starts_with("usage.") {
            self.team.out.insert(agent.clone(), message.clone());
            self.tell(Event::new(Kind::Stopped, message).agent(agent));
            return;
        }
        // What the planner was woken for may not have been seen to.
        for key in &flight.start.woken {
            self.team.handled.remove(key);
        }
        self.free_work_of(agent, &message);
        self.rest(agent, message);
    }

    /// Whether anything came of it. If not, it is not tried again at once, and at last not at all.
    fn note_futility(&mut self, flight: &Flight, failure: Option<&(String, String)>) {
        let (Some(task), Some(found)) = (&flight.start.task, flight.found) else { return };
        let Ok(snapshot) = self.ctx.read(&Needs::Nothing) else { return };
        if state_of(&snapshot.board, task) != Some(found) {
            return;
        }
        let known = self.futile.entry(task.clone()).or_insert((found, 0));
        known.1 += 1;
        let times = known.1;
        self.resting_until.insert(flight.start.agent.clone(), Instant::now() + Duration::from_secs(1));
        if times >= FUTILE_STARTS {
            let why = match (failure, flight.notice.as_str()) {
                (Some((_, message)), _) => message.clone(),
                (None, "") => format!("it was offered to {} and not taken", flight.start.agent),
                (None, notice) => notice.to_owned(),
            };
            self.team.futile.insert(task.clone(), why);
        }
    }

    /// A runner that was killed could let nothing go: whoever is free goes on from what its agent committed.
    fn free_work_of(&mut self, agent: &AgentId, why: &str) {
        let Ok(snapshot) = self.ctx.read(&Needs::Nothing) else { return };
        for task in &snapshot.board.tasks {
            let held = |lease: &Option<crate::board::lease::Lease>| {
                lease.as_ref().is_some_and(|lease| &lease.agent == agent)
            };
            let what: Transition = if task.status == Status::Working && held(&task.lease) {
                let kept = leftovers::gather(self.ctx, &task.id).ok().and_then(|left| left.kept_as);
                let kept =
                    kept.map_or(String::new(), |kept| format!("; not committed work is kept as {kept}"));
                Release { task: task.id.clone(), epoch: Some(task.epoch), reason: format!("{why}{kept}") }
                    .into()
            } else if task.status == Status::ReadyForReview && held(&task.review_lease) {
                ReleaseReview { task: task.id.clone() }.into()
            } else {
                continue;
            };
            let event = match self.ctx.commit(what) {
                Ok(_) => Event::new(Kind::Released, why),
                Err(failure) => Event::new(Kind::Notice, super::runner::said(&failure)),
            };
            self.tell(event.agent(agent).task(&task.id));
        }
    }

    /// Not at once again: it just failed. Too often, and not at all.
    fn rest(&mut self, agent: &AgentId, why: String) {
        match self.crashes.entry(agent.clone()).or_default().note(self.began.elapsed()) {
            AfterCrash::Restart(pause) => {
                self.resting_until.insert(agent.clone(), Instant::now() + pause);
                self.tell(
                    Event::new(Kind::Crashed, format!("{why}; started again in {} s", pause.as_secs()))
                        .agent(agent),
                );
            }
            AfterCrash::GiveUp => {
                let why = format!("it failed 3 times in 5 minutes; last: {why}");
                self.team.out.insert(agent.clone(), why.clone());
                self.tell(Event::new(Kind::Stopped, why).agent(agent));
            }
        }
    }

    /// What the agent of a killed runner set free comes to this process; nobody else would end it.
    fn end_orphans(&mut self) {
        let runners: BTreeSet<u32> = self.flights.values().map(|flight| flight.child.id()).collect();
        for pid in crate::host::descendants_except(&runners) {
            if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
                let _ = rustix::process::kill_process(pid, Signal::KILL);
                let _ = rustix::process::waitpid(Some(pid), WaitOptions::NOHANG);
            }
        }
    }

    /// The first signal asks everybody to end, the second does not wait for it.
    fn stop(&mut self, signal: i32) {
        let again = self.stopping.is_some();
        self.stopping = Some(Outcome::Signal(signal));
        for flight in self.flights.values() {
            if let Some(pid) = i32::try_from(flight.child.id()).ok().and_then(Pid::from_raw) {
                let _ = rustix::process::kill_process(pid, Signal::TERM);
            }
        }
        if !self.flights.is_empty() {
            self.tell(Event::new(
                Kind::Notice,
                if again {
                    "agents are ended at once; their work is kept"
                } else {
                    "stopping: agents are asked to end and their work is kept; once more ends them at once"
                },
            ));
        }
    }

    fn show(&self, board: &Board) {
        let rows: Vec<Row> = self
            .team
            .seats
            .iter()
            .map(|seat| {
                let flight = self.flights.get(&seat.agent);
                let doing = match (flight, self.team.out.get(&seat.agent)) {
                    (Some(flight), _) => flight.doing.clone(),
                    (None, Some(why)) => format!("stopped: {why}"),
                    (None, None) => "idle".to_owned(),
                };
                Row {
                    agent: seat.agent.to_string(),
                    role: seat.role.to_string(),
                    doing,
                    task: flight.and_then(|flight| flight.start.task.as_ref().map(TaskId::to_string)),
                    since: flight.map(|flight| flight.since.elapsed()),
                }
            })
            .collect();
        self.stage.picture(&rows, board);
    }
}

impl Drop for TeamRun<'_> {
    fn drop(&mut self) {
        for flight in self.flights.values_mut() {
            let _ = flight.child.kill();
            let _ = flight.child.wait();
        }
    }
}

fn state_of(board: &Board, task: &TaskId) -> Option<(Status, u64)> {
    board.task(task).map(|task| (task.status, task.epoch))
}

pub fn in_words(cause: &Cause) -> String {
    let task = cause.task.as_ref().map_or(String::new(), |task| format!("{task}: "));
    format!("{task}{} ({})", cause.why, cause.hint)
}

fn ended(status: Option<ExitStatus>) -> String {
    match (status.and_then(|status| status.code()), status.and_then(|status| status.signal())) {
        (Some(code), _) => format!("ended with exit {code}"),
        (None, Some(signal)) => format!("was killed by signal {signal}"),
        _ => "was lost".to_owned(),
    }
}

/// Passes on what a runner says, and at last that it is gone.
fn listen_to(pipe: impl std::io::Read, agent: &AgentId, tx: &Sender<Wake>) {
    for line in BufReader::new(pipe).lines().map_while(Result::ok) {
        if let Ok(event) = serde_json::from_str::<Event>(&line) {
            let _ = tx.send(Wake::Said(agent.clone(), event));
        } else if let Ok(answer) = serde_json::from_str::<Value>(&line)
            && answer["ok"] == false
        {
            let text = |key: &str| answer["error"][key].as_str().unwrap_or_default().to_owned();
            let _ = tx.send(Wake::Failed(agent.clone(), text("code"), text("message")));
        }
    }
    let _ = tx.send(Wake::Exited(agent.clone()));
}
