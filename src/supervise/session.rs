//! One session of an agent: starts its command, watches it, enforces its limits, and ends all its processes.

use std::process::ExitStatus;

use super::agent_monitor::{AgentMonitor, MonitorParts, Observations, Pauses, Wake};
use super::child;
use super::gate_service::GateService;
use super::lease_renewer::{LeaseRenewer, RenewalParts};
use super::ledger::{Booking, Ledger};
use super::output::{self, Bounds, Gauge};
use super::prelude::*;
use crate::board::Switch;
use crate::flow::oversight;
use crate::host::{Child, start_thread};
use crate::provider::Invocation;
use crate::store::files::FileIdentity;

/// How long the runner waits for the rest of the output after the command has ended.
const DRAIN: Duration = Duration::from_secs(5);

/// How many last lines of plain output are kept to explain a failure.
const LAST_LINES: usize = 3;

/// Why a session ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Why {
    /// The command ended without being stopped.
    ByItself,
    Limit(String),
    /// The timebox of its slice expired.
    Timebox,
    Abort(String),
    Signal(i32),
    Lost(String),
    /// The overseer or a person halted it.
    Halted(Box<Intervention>),
}

pub struct Ended {
    pub status: Option<ExitStatus>,
    pub why: Why,
    pub usage: Usage,
    pub took: Duration,
    /// The last lines of standard error; for plain output, of both streams.
    pub last_lines: Vec<String>,
}

impl Ended {
    pub fn code(&self) -> Option<i32> {
        self.status.and_then(|status| status.code())
    }

    /// Why the session ended, in words.
    pub fn reason(&self) -> String {
        let why = match &self.why {
            Why::ByItself => return self.words(),
            Why::Limit(why) => format!("a limit was reached: {why}"),
            Why::Timebox => "the timebox of its slice expired".to_owned(),
            Why::Abort(why) => why.clone(),
            Why::Signal(signal) => format!("its runner got signal {signal}"),
            Why::Lost(why) => format!("the claim is lost: {why}"),
            Why::Halted(halt) => halting::reason(halt),
        };
        format!("{why} ({})", self.words())
    }

    /// How the command ended, in words.
    pub fn words(&self) -> String {
        use std::os::unix::process::ExitStatusExt;
        match (self.code(), self.status.and_then(|status| status.signal())) {
            (Some(127), _) => "its command could not be started (exit 127)".to_owned(),
            (Some(code), _) => format!("exit {code}"),
            (None, Some(signal)) => format!("killed by signal {signal}"),
            _ => "lost".to_owned(),
        }
    }
}

/// The surroundings of a session.
pub struct Frame<'a> {
    pub number: u64,
    pub ctx: &'a Context,
    pub task: Option<&'a TaskId>,
    pub renewal: RenewalParts,
    pub ledger: Ledger,
    pub bounds: Bounds,
    pub grace: Duration,
    /// The timebox of its slice.
    pub timebox: Option<Duration>,
    pub files: Files,
    pub secrets: Vec<Secret>,
    pub tx: &'a Sender<Wake>,
    pub rx: &'a Receiver<Wake>,
    pub sink: &'a dyn Fn(Event),
    pub gauge: Gauge,
    pub halting: Halting,
    pub role: &'a Role,
    /// Its output is plain text, which liza does not parse.
    pub plain: bool,
}

/// Selects the halts of this piece of work: those for this incarnation, after the work started.
#[derive(Debug, Clone)]
pub struct Halting {
    pub agent: AgentId,
    pub incarnation: u64,
    pub after: u64,
    /// The settings to use while liza.yaml cannot be read.
    pub config: OverseerConfig,
}

impl Halting {
    pub fn ordered(&self, ctx: &Context) -> Option<Intervention> {
        let board = ctx.store.read(&Needs::Nothing).ok()?.board;
        halting::ordered(&board, &self.agent, self.incarnation, self.after).cloned()
    }

    /// A halt by a person, while no session runs: a detector's halt needs a session's observations.
    pub fn ordered_by_hand(&self, ctx: &Context) -> Option<Intervention> {
        self.ordered(ctx).filter(halting::is_by_hand)
    }

    /// Whether this runner's own observations support the halt. Other processes read them from a file that any agent could
    /// write.
    fn is_borne_out(&self, ctx: &Context, halt: &Intervention, observations: Option<&Observations>) -> bool {
        if halting::is_by_hand(halt) {
            return true;
        }
        let Some(observations) = observations else { return false };
        let ring = observations.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let config = ctx.project_config().map_or_else(|_| self.config.clone(), |config| config.overseer);
        if halting::is_borne_out(ring.session(), &config) {
            return true;
        }
        let board = ctx.store.read(&Needs::Nothing).map(|snapshot| snapshot.board);
        board.is_ok_and(|board| halting::follows_question(&board, halt, ring.session(), &config))
    }
}

/// The output files of a session.
#[derive(Debug, Clone)]
pub struct Files {
    pub dir: PathBuf,
    /// The common prefix of their names.
    pub stem: String,
}

impl Files {
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.join(format!("{}.{name}", self.stem))
    }
}

/// Ends the agent if a thread that reads its output or renews its lease cannot start.
fn or_end_agent<T>(thread: std::io::Result<T>, running: &mut Child) -> Result<T, Failure> {
    thread.map_err(|error| {
        running.end();
        Failure::new(ErrorCode::IoAgent, format!("the agent cannot be supervised: {error}"))
    })
}

pub fn run(
    frame: Frame<'_>,
    invocation: &Invocation,
    cwd: &Path,
    env: Vec<(OsString, OsString)>,
) -> Result<Ended, Failure> {
    let began = Instant::now();
    // A runner that was killed may have left its request.
    frame.ctx.machine.withdraw_ask(frame.halting.agent.as_str());
    let program = Program::held(&invocation.program).args(&invocation.args).dir(cwd).only_env(env);
    let program = program.own_group().streams(Streams::Apart).stdin(invocation.stdin.clone());
    let mut running = program.start().map_err(|error| {
        Failure::new(ErrorCode::IoAgent, format!("`{}` cannot be started: {error}", invocation.program))
    })?;
    let (number, gauge) = (frame.number, frame.gauge.clone());
    let (out, err) = (frame.files.path("out.log"), frame.files.path("err.log"));
    // Each reader drops its sender at the end of its stream.
    let (reading, all_read) = channel::<()>();
    if let Some(pipe) = running.stdout.take() {
        let (gauge, bounds, tx) = (gauge.clone(), frame.bounds.clone(), frame.tx.clone());
        let (secrets, reading) = (frame.secrets.clone(), reading.clone());
        let reader = start_thread(move || {
            let counter = gauge.counter();
            output::pump(pipe, &out, Some((gauge, bounds)), secrets, &counter, |why| {
                let _ = tx.send(Wake::Limit(number, why));
            });
            drop(reading);
        });
        or_end_agent(reader, &mut running)?;
    }
    if let Some(pipe) = running.stderr.take() {
        let (secrets, counter) = (frame.secrets.clone(), gauge.counter());
        let reader = start_thread(move || {
            output::pump(pipe, &err, None, secrets, &counter, |_| {});
            drop(reading);
        });
        or_end_agent(reader, &mut running)?;
    }
    let tx = frame.tx.clone();
    let watched = running.on_exit(move || {
        let _ = tx.send(Wake::Exited(number));
    });
    or_end_agent(watched, &mut running)?;
    let tx = frame.tx.clone();
    let regular = frame.renewal.every;
    let every = if frame.bounds.are_capped() { book_every().min(regular) } else { regular };
    let booking = Booking { ledger: frame.ledger.clone(), gauge: gauge.clone(), began, every };
    let renewer = LeaseRenewer::start(frame.renewal.clone(), running.process(), booking, move |why| {
        let _ = tx.send(Wake::Lost(number, why));
    });
    let renewer = or_end_agent(renewer, &mut running)?;
    let pauses = Pauses::default();
    let monitor = frame.halting.config.enabled.then(|| {
        let Halting { agent, incarnation, config, .. } = frame.halting.clone();
        let parts = MonitorParts {
            renewal: frame.renewal.clone(),
            agent,
            incarnation,
            role: frame.role.clone(),
            limits: frame.bounds.limits,
            every: oversight::interval(&config),
            config,
            number,
            began,
            started_at: crate::host::now().wall,
            pauses: pauses.clone(),
            gauge: gauge.clone(),
            process: running.id(),
            tx: frame.tx.clone(),
        };
        AgentMonitor::start(frame.ctx, parts)
    });
    let service = GateService::start(frame.ctx, &frame.halting.agent);
    let wall = frame.bounds.limits.wall_seconds.map(Duration::from_secs);
    let timeboxed = frame.timebox.is_some_and(|timebox| wall.is_none_or(|wall| timebox <= wall));
    let most = if timeboxed { frame.timebox } else { wall };
    let watch = Watch {
        frame: &frame,
        running: &running,
        pauses,
        observations: monitor.as_ref().map(|monitor| Observations::clone(&monitor.observations)),
        doubted: None,
        seen: None,
        deadline: most.map(|most| began + most),
        timeboxed,
        ending: None,
        stopping: false,
    };
    let why = watch.until_over();
    // Stop renewing the lease and all other threads of this session.
    drop(service);
    drop(monitor);
    drop(renewer);
    let status = running.wait().ok();
    let left_over = child::end_remains(&running);
    if left_over > 0 {
        let what = crate::text::plural(left_over, "process");
        (frame.sink)(Event::notice(format!("ended processes that the agent left: {what}")));
    }
    // The runner does not wait for a process that keeps the pipe open.
    let _ = all_read.recv_timeout(DRAIN);
    // The agent wrote this path, so only a regular file is read, up to a limit.
    let usage_file = invocation
        .usage_file
        .as_ref()
        .filter(|path| std::fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file()))
        .and_then(|path| crate::store::files::read_whole(path, 1024 * 1024).ok())
        .map(|(bytes, _)| bytes);
    gauge.finish(usage_file.as_deref());
    frame.ctx.machine.withdraw_ask(frame.halting.agent.as_str());
    let mut last_lines = Vec::new();
    if frame.plain {
        let lines = crate::flow::sessions::last_lines(&frame.files.path("out.log"));
        last_lines.extend(lines.into_iter().rev().take(LAST_LINES).rev());
    }
    last_lines.extend(crate::flow::sessions::last_lines(&frame.files.path("err.log")));
    Ok(Ended { status, why, usage: gauge.usage(), took: began.elapsed(), last_lines })
}

struct Watch<'a> {
    frame: &'a Frame<'a>,
    running: &'a Child,
    deadline: Option<Instant>,
    /// Whether the deadline is the timebox of its slice.
    timeboxed: bool,
    pauses: Pauses,
    observations: Option<Observations>,
    /// An ordered halt that the observations do not support (yet).
    doubted: Option<Intervention>,
    /// The board's identity when it was last read for halts.
    seen: Option<FileIdentity>,
    /// Why the session must end, and when the runner kills it.
    ending: Option<(Why, Instant)>,
    /// Whether the runner has sent SIGTERM.
    stopping: bool,
}

impl Watch<'_> {
    /// Waits for the command to end, or ends it.
    fn until_over(mut self) -> Why {
        let own = self.frame.number;
        let mut paused: Option<Instant> = None;
        loop {
            let deadline = self.deadline.filter(|_| paused.is_none());
            let until = self.ending.as_ref().map(|(_, at)| *at).or(deadline);
            let wake = match until {
                Some(at) => self.frame.rx.recv_timeout(at.saturating_duration_since(Instant::now())),
                None => self.frame.rx.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match wake {
                Ok(Wake::Exited(number)) if number == own => {
                    return self.ending.map_or(Why::ByItself, |(why, _)| why);
                }
                Ok(Wake::Limit(number, why)) if number == own && self.ending.is_none() => self.limit(why),
                Ok(Wake::Lost(number, why)) if number == own && !self.stopping => self.stop(Why::Lost(why)),
                Ok(Wake::Signal(signal)) => {
                    // The second signal kills at once.
                    let patience = if self.stopping { Duration::ZERO } else { self.frame.grace };
                    self.stop(Why::Signal(signal));
                    self.ending = Some((Why::Signal(signal), Instant::now() + patience));
                }
                Ok(Wake::Looked(number)) if number == own && !self.stopping => {
                    if let Some(halt) = self.halt_borne_out_since() {
                        self.begin_halt(halt);
                    }
                }
                Ok(Wake::Board) => self.handle_board_change(&mut paused),
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) => match self.ending.take() {
                    Some((why, _)) if self.stopping => {
                        self.running.signal_group(Signal::KILL);
                        // Only the end of the command matters now.
                        self.ending = Some((why, Instant::now() + Duration::from_secs(1)));
                    }
                    Some((why, _)) => self.stop(why),
                    None => {
                        self.deadline = None;
                        if self.timeboxed {
                            self.ask_for_state();
                            continue;
                        }
                        let wall = self.frame.bounds.limits.wall_seconds;
                        self.limit(format!("{} s of {0} s used", wall.unwrap_or_default()));
                    }
                },
                Err(RecvTimeoutError::Disconnected) => {
                    self.running.signal_group(Signal::KILL);
                    return Why::Signal(signal_hook::consts::SIGTERM);
                }
            }
        }
    }

    fn handle_board_change(&mut self, paused: &mut Option<Instant>) {
        if !self.stopping
            && let Some(halt) = self.halt()
        {
            self.begin_halt(halt);
        }
        if self.ending.is_none()
            && let Some(why) = self.used_up()
        {
            self.limit(why);
        }
        let frame = self.frame;
        if let Some(switch) = switch_for(frame.ctx, &frame.halting.agent, frame.task) {
            if switch.kind == SwitchKind::Abort && !self.stopping {
                self.stop(Why::Abort(reason(&switch)));
            } else if paused.is_none() && !self.stopping {
                *paused = Some(Instant::now());
                self.pauses.begin();
                let text = format!("{} is set; the agent finishes its step", switch.kind.as_str());
                (frame.sink)(Event::new(Kind::Paused, text));
            }
        } else if let Some(since) = paused.take() {
            // The time limit does not count a pause.
            self.pauses.end();
            self.deadline = self.deadline.map(|at| at + since.elapsed());
            (frame.sink)(Event::new(Kind::Resumed, ""));
        }
    }

    /// Stops the session after its grace time.
    fn stop(&mut self, why: Why) {
        self.running.signal_group(Signal::TERM);
        self.stopping = true;
        self.ending = Some((why, Instant::now() + self.frame.grace));
    }

    /// Asks the agent to end because it has reached a limit.
    fn limit(&mut self, why: String) {
        self.ask(&why);
        self.ending = Some((Why::Limit(why), Instant::now() + self.frame.grace));
    }

    /// The timebox expired: the agent's next liza command says so, and the agent has its grace time to answer.
    fn ask_for_state(&mut self) {
        let Frame { ctx, halting, grace, .. } = self.frame;
        let text = "timebox expired; asked the agent for state, last action, next three steps and whether it is blocked";
        (self.frame.sink)(Event::new(Kind::Limit, text));
        let seconds = grace.as_secs();
        let ask = format!(
            "the timebox of your slice expired; your session ends in {seconds} s. Answer now with your result as one JSON value: status \
             \"partial\" or \"blocked\", and in its summary your current state, your last action, your next three steps and whether you are \
             blocked. Commit what you have, if your slice changes files.\n"
        );
        ctx.machine.ask(halting.agent.as_str(), &ask);
        self.ending = Some((Why::Timebox, Instant::now() + *grace));
    }

    /// Reads the usage of other sessions; returns the message for a used-up cap.
    fn used_up(&self) -> Option<String> {
        let Frame { ctx, task, bounds, ledger, gauge, halting, .. } = self.frame;
        if !bounds.are_capped() {
            return None;
        }
        let uses = ledger.without_this_session(|| crate::flow::spend::uses(ctx, &halting.agent, *task));
        bounds.set_caps(uses.ok()?);
        bounds.reached(&gauge.usage())
    }

    /// The halt of this agent, if one was ordered since the board was last read.
    fn halt(&mut self) -> Option<Intervention> {
        let Frame { ctx, halting, .. } = self.frame;
        let now = ctx.store.state_identity();
        if now.is_some() && self.seen == now {
            return None;
        }
        self.seen = now;
        let halt = halting.ordered(ctx)?;
        if halting.is_borne_out(ctx, &halt, self.observations.as_ref()) {
            return Some(halt);
        }
        if self.doubted.as_ref().is_none_or(|known| known.id != halt.id) {
            (self.frame.sink)(Event::notice(format!(
                "{} is ignored: the runner's own observations do not support it ({}); `liza overseer halt {} --reason …` halts the agent",
                halt.id,
                halt.behaviour.as_str(),
                halting.agent
            )));
            self.doubted = Some(halt);
        }
        None
    }

    /// A doubted halt that the observations support by now. The overseer orders a halt only once.
    fn halt_borne_out_since(&mut self) -> Option<Intervention> {
        let Frame { ctx, halting, .. } = self.frame;
        let observations = self.observations.as_ref();
        self.doubted.take_if(|doubted| halting.is_borne_out(ctx, doubted, observations))?;
        halting.ordered(ctx)
    }

    fn begin_halt(&mut self, halt: Intervention) {
        (self.frame.sink)(Event::new(Kind::Halted, halting::reason(&halt)));
        self.stop(Why::Halted(Box::new(halt)));
    }

    /// Leaves a request that the agent's next liza command shows.
    fn ask(&self, why: &str) {
        let Frame { ctx, task, renewal, halting, .. } = self.frame;
        let reviews = matches!(renewal.assignment, Assignment::Review { .. });
        let request = if reviews { "asked for a verdict" } else { "asked for a handoff" };
        (self.frame.sink)(Event::new(Kind::Limit, format!("{why}; {request}")));
        let what = match task {
            Some(task) if reviews => {
                format!("give your verdict on {task}, or `liza review release {task}`, and exit")
            }
            Some(task) => format!(
                "commit what you have, then `liza task handoff {task} --summary S --next S`, then exit with 42"
            ),
            None => "finish and exit".to_owned(),
        };
        let seconds = self.frame.grace.as_secs();
        ctx.machine
            .ask(halting.agent.as_str(), &format!("your session ends in {seconds} s ({why}): {what}\n"));
    }
}

pub fn reason(switch: &Switch) -> String {
    if switch.reason.is_empty() {
        format!("{} is set", switch.kind.as_str())
    } else {
        format!("{} is set: {}", switch.kind.as_str(), switch.reason)
    }
}

/// The strongest switch for an agent or its task.
pub fn switch_for(ctx: &Context, agent: &AgentId, task: Option<&TaskId>) -> Option<Switch> {
    ctx.store.switches().ok()?.stopping(agent, task).cloned()
}
