//! One session of an agent: its command from start to end, watched, bounded, and nothing of it left over.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::PoisonError;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use crate::board::oversight::Intervention;
use crate::board::{AgentId, Needs, Switch, SwitchKind, TaskId};
use crate::flow::{Context, Failure};
use crate::policy::halting;
use crate::policy::overseer::OverseerConfig;
use crate::provider::{Invocation, Meter, Secret, Usage};
use crate::store::lock::LockNote;

use super::child::{self, Running, Start};
use super::event::{Event, Kind};
use super::heart::{Beat, Heart, HeartParts};
use super::ledger::{Booking, Ledger};
use super::output::{self, Bounds, Gauge};
use super::pulse::{self, Pauses, Pulse, Sight, Sitter};
use super::waits::book_every;

/// How long the rest of an output is waited for when the command has ended.
const DRAIN: Duration = Duration::from_secs(5);

/// What may happen while a runner waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wake {
    /// Something changed in `.liza`.
    Board,
    /// The command of the session with this number ended.
    Exited(u64),
    Limit(u64, String),
    /// The session with this number was looked at.
    Looked(u64),
    /// The lease cannot be renewed any more.
    Lost(u64, String),
    Signal(i32),
}

/// Why a session was over.
#[derive(Debug, Clone, PartialEq)]
pub enum Why {
    /// The command ended by itself.
    ByItself,
    Limit(String),
    Abort(String),
    Signal(i32),
    Lost(String),
    /// The overseer, or a person, has put an end to it.
    Halted(Box<Intervention>),
}

pub struct Ended {
    pub status: Option<ExitStatus>,
    pub why: Why,
    pub usage: Usage,
    pub took: Duration,
}

impl Ended {
    pub fn code(&self) -> Option<i32> {
        self.status.and_then(|status| status.code())
    }

    /// How the command ended, in words.
    pub fn words(&self) -> String {
        use std::os::unix::process::ExitStatusExt;
        match (self.status.and_then(|s| s.code()), self.status.and_then(|s| s.signal())) {
            (Some(127), _) => "its command could not be started (exit 127)".to_owned(),
            (Some(code), _) => format!("exit {code}"),
            (None, Some(signal)) => format!("killed by signal {signal}"),
            _ => "lost".to_owned(),
        }
    }
}

/// What a session needs to know beside the command.
pub struct Frame<'a> {
    pub number: u64,
    pub ctx: &'a Context,
    pub agent: &'a str,
    pub task: Option<&'a TaskId>,
    pub beat: Beat,
    pub heart: HeartParts,
    pub ledger: Ledger,
    pub bounds: Bounds,
    pub grace: Duration,
    pub files: Files,
    pub secrets: Vec<Secret>,
    pub tx: &'a Sender<Wake>,
    pub rx: &'a Receiver<Wake>,
    pub sink: &'a dyn Fn(Event),
    pub meter: Meter,
    pub halting: Halting,
    /// Who looks at it while it runs, if anybody is to.
    pub sitter: Option<Sitter>,
}

/// Which halts are about this piece of work: those of this incarnation that came after it was begun.
#[derive(Debug, Clone)]
pub struct Halting {
    pub agent: AgentId,
    pub incarnation: u64,
    pub after: u64,
    /// What holds where liza.yaml cannot be read at the moment.
    pub config: OverseerConfig,
}

impl Halting {
    pub fn ordered(&self, ctx: &Context) -> Option<Intervention> {
        let board = ctx.store.read(&Needs::Nothing).ok()?.board;
        halting::ordered(&board, &self.agent, self.incarnation, self.after).cloned()
    }

    /// The one that is to be obeyed while nothing runs: of what a detector found, nothing can be seen then.
    pub fn ordered_by_hand(&self, ctx: &Context) -> Option<Intervention> {
        self.ordered(ctx).filter(halting::is_by_hand)
    }

    /// Whether what this runner saw itself bears it out. What others read of it is a file that any agent could write.
    fn is_borne_out(&self, ctx: &Context, halt: &Intervention, sight: Option<&Sight>) -> bool {
        if halting::is_by_hand(halt) {
            return true;
        }
        let Some(sight) = sight else { return false };
        let ring = sight.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let config = ctx.project_config().map_or_else(|_| self.config.clone(), |config| config.overseer);
        if halting::is_borne_out(ring.session(), &config) {
            return true;
        }
        let board = ctx.store.read(&Needs::Nothing).map(|snapshot| snapshot.board);
        board.is_ok_and(|board| halting::follows_question(&board, halt, ring.session(), &config))
    }
}

/// Where a session keeps what it leaves to read.
#[derive(Debug, Clone)]
pub struct Files {
    pub dir: PathBuf,
    /// How the names of its files begin.
    pub stem: String,
}

impl Files {
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.join(format!("{}.{name}", self.stem))
    }
}

pub fn run(
    frame: Frame<'_>,
    invocation: &Invocation,
    cwd: &Path,
    env: Vec<(OsString, OsString)>,
) -> Result<Ended, Failure> {
    let began = Instant::now();
    // Of a session whose runner was killed.
    withdraw_ask(frame.ctx, frame.agent);
    let (mut running, pipes) = child::start(Start {
        program: &invocation.program,
        args: &invocation.args,
        cwd,
        env,
        stdin: invocation.stdin.clone(),
    })
    .map_err(|error| {
        Failure::new("io.agent", format!("`{}` cannot be started: {error}", invocation.program))
    })?;
    let number = frame.number;
    let gauge = Gauge::new(frame.meter);
    let out = frame.files.path("out.log");
    let err = frame.files.path("err.log");
    let mut readers = Vec::new();
    if let Some(pipe) = pipes.out {
        let (gauge, bounds, tx) = (gauge.clone(), frame.bounds.clone(), frame.tx.clone());
        let secrets = frame.secrets.clone();
        readers.push(std::thread::spawn(move || {
            let counter = gauge.counter();
            output::pump(pipe, &out, Some((gauge, bounds)), secrets, &counter, |why| {
                let _ = tx.send(Wake::Limit(number, why));
            });
        }));
    }
    if let Some(pipe) = pipes.err {
        let (secrets, counter) = (frame.secrets.clone(), gauge.counter());
        readers.push(std::thread::spawn(move || {
            output::pump(pipe, &err, None, secrets, &counter, |_| {});
        }));
    }
    let tx = frame.tx.clone();
    running.on_exit(move || {
        let _ = tx.send(Wake::Exited(number));
    });
    let tx = frame.tx.clone();
    let booking = Booking {
        ledger: frame.ledger.clone(),
        gauge: gauge.clone(),
        began,
        every: if frame.bounds.are_capped() {
            book_every().min(frame.heart.every)
        } else {
            frame.heart.every
        },
    };
    let heart = Heart::start(frame.heart, frame.beat.clone(), running.process.clone(), booking, move |why| {
        let _ = tx.send(Wake::Lost(number, why));
    });
    let pauses = Pauses::default();
    let pulse = frame.sitter.map(|sitter| {
        let started_at = crate::host::now().wall;
        let (pauses, tx) = (pauses.clone(), frame.tx.clone());
        let session = pulse::Session { number, began, started_at, pauses, tx };
        Pulse::start(frame.ctx, sitter, session, gauge.clone(), running.process.pid)
    });
    let watch = Watch {
        pauses,
        sight: pulse.as_ref().map(|pulse| Sight::clone(&pulse.sight)),
        doubted: None,
        halting: frame.halting,
        revision: 0,
        reviews: matches!(frame.beat, Beat::Review { .. }),
        ctx: frame.ctx,
        agent: frame.agent,
        task: frame.task,
        rx: frame.rx,
        sink: frame.sink,
        number,
        grace: frame.grace,
        spending: Spending { bounds: frame.bounds.clone(), gauge: gauge.clone(), ledger: frame.ledger },
        deadline: frame.bounds.limits.wall_seconds.map(|seconds| began + Duration::from_secs(seconds)),
    };
    let why = watch.until_over(&running, frame.bounds.limits.wall_seconds);
    // From here on nothing is renewed for it, and nothing else of this runner runs.
    drop(pulse);
    drop(heart);
    let status = running.reap().ok();
    let left_over = child::end_remains(&running);
    if left_over > 0 {
        (frame.sink)(Event::new(
            Kind::Notice,
            format!("ended what the agent left behind: {}", crate::text::plural(left_over, "process")),
        ));
    }
    // Whoever else holds the other end of a pipe does not hold us.
    let deadline = Instant::now() + DRAIN;
    while readers.iter().any(|reader| !reader.is_finished()) && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(2));
    }
    // Written by the agent, so it may be anything: only a file is read, and only so much of it.
    let usage_file = invocation
        .usage_file
        .as_ref()
        .filter(|path| std::fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file()))
        .and_then(|path| crate::store::files::read_whole(path, 1024 * 1024).ok())
        .map(|(bytes, _)| bytes);
    gauge.finish(usage_file.as_deref());
    withdraw_ask(frame.ctx, frame.agent);
    Ok(Ended { status, why, usage: gauge.usage(), took: began.elapsed() })
}

struct Watch<'a> {
    ctx: &'a Context,
    agent: &'a str,
    task: Option<&'a TaskId>,
    rx: &'a Receiver<Wake>,
    sink: &'a dyn Fn(Event),
    number: u64,
    grace: Duration,
    deadline: Option<Instant>,
    reviews: bool,
    pauses: Pauses,
    halting: Halting,
    sight: Option<Sight>,
    /// A halt that was ordered and is not borne out, or not yet.
    doubted: Option<Intervention>,
    /// Of the board when it was last looked at for a halt.
    revision: u64,
    spending: Spending,
}

/// What this session has used and may use.
struct Spending {
    bounds: Bounds,
    gauge: Gauge,
    ledger: Ledger,
}

impl Spending {
    /// Looks at what others have used of the same caps meanwhile; says which is used up.
    fn used_up(&self, ctx: &Context, agent: &str, task: Option<&TaskId>) -> Option<String> {
        if !self.bounds.are_capped() {
            return None;
        }
        let agent = crate::board::AgentId::new(agent).ok()?;
        let uses = self.ledger.without_this_session(|| crate::flow::spend::uses(ctx, &agent, task));
        self.bounds.set_caps(uses.ok()?);
        self.bounds.reached(&self.gauge.usage())
    }
}

impl Watch<'_> {
    /// Waits for the end of the command, or brings it about.
    fn until_over(mut self, running: &Running, wall: Option<u64>) -> Why {
        let mut paused: Option<Instant> = None;
        // Why it has to end, once that is so, and when it is made to.
        let mut ending: Option<(Why, Instant)> = None;
        let mut stopping = false;
        loop {
            let own = self.deadline.filter(|_| paused.is_none());
            let until = ending.as_ref().map(|(_, at)| *at).or(own);
            let wake = match until {
                Some(at) => self.rx.recv_timeout(at.saturating_duration_since(Instant::now())),
                None => self.rx.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match wake {
                Ok(Wake::Exited(number)) if number == self.number => {
                    return ending.map_or(Why::ByItself, |(why, _)| why);
                }
                Ok(Wake::Limit(number, why)) if number == self.number && ending.is_none() => {
                    self.ask(&why);
                    ending = Some((Why::Limit(why), Instant::now() + self.grace));
                }
                Ok(Wake::Lost(number, why)) if number == self.number && !stopping => {
                    running.ask_to_end();
                    stopping = true;
                    ending = Some((Why::Lost(why), Instant::now() + self.grace));
                }
                Ok(Wake::Signal(signal)) => {
                    // The second one does not wait any more.
                    let at = if stopping { Instant::now() } else { Instant::now() + self.grace };
                    running.ask_to_end();
                    stopping = true;
                    ending = Some((Why::Signal(signal), at));
                }
                Ok(Wake::Looked(number)) if number == self.number && !stopping => {
                    if let Some(halt) = self.halt_borne_out_since() {
                        ending = Some(self.begin_halt(halt, running));
                        stopping = true;
                    }
                }
                Ok(Wake::Board) => {
                    if !stopping && let Some(halt) = self.halt() {
                        ending = Some(self.begin_halt(halt, running));
                        stopping = true;
                    }
                    if ending.is_none()
                        && let Some(why) = self.spending.used_up(self.ctx, self.agent, self.task)
                    {
                        self.ask(&why);
                        ending = Some((Why::Limit(why), Instant::now() + self.grace));
                    }
                    if let Some(switch) = self.switch() {
                        if switch.kind == SwitchKind::Abort && !stopping {
                            running.ask_to_end();
                            stopping = true;
                            ending = Some((Why::Abort(reason(&switch)), Instant::now() + self.grace));
                        } else if paused.is_none() && !stopping {
                            paused = Some(Instant::now());
                            self.pauses.begin();
                            (self.sink)(Event::new(
                                Kind::Paused,
                                format!("{} is set; the agent finishes its step", switch.kind.as_str()),
                            ));
                        }
                    } else if let Some(since) = paused.take() {
                        // A pause costs nobody its time.
                        self.pauses.end();
                        self.deadline = self.deadline.map(|at| at + since.elapsed());
                        (self.sink)(Event::new(Kind::Resumed, ""));
                    }
                }
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) => match (&ending, stopping) {
                    (Some(_), true) => {
                        running.kill();
                        // Nothing more is to be waited for but its end.
                        if let Some((_, at)) = &mut ending {
                            *at = Instant::now() + Duration::from_secs(1);
                        }
                    }
                    (Some((why, _)), false) => {
                        running.ask_to_end();
                        stopping = true;
                        ending = Some((why.clone(), Instant::now() + self.grace));
                    }
                    (None, _) => {
                        self.deadline = None;
                        let why = format!("{} s of {0} s used", wall.unwrap_or_default());
                        self.ask(&why);
                        ending = Some((Why::Limit(why), Instant::now() + self.grace));
                    }
                },
                Err(RecvTimeoutError::Disconnected) => {
                    running.kill();
                    return Why::Signal(signal_hook::consts::SIGTERM);
                }
            }
        }
    }

    /// The switch that stops this agent, if one is set.
    fn switch(&self) -> Option<Switch> {
        stopping(self.ctx, self.agent, self.task)
    }

    /// The halt of this agent, if one was ordered since the board was last looked at.
    fn halt(&mut self) -> Option<Intervention> {
        let revision = LockNote::read(&self.ctx.store.layout().lock()).revision;
        if revision == self.revision {
            return None;
        }
        self.revision = revision;
        let halt = self.halting.ordered(self.ctx)?;
        if self.halting.is_borne_out(self.ctx, &halt, self.sight.as_ref()) {
            return Some(halt);
        }
        if self.doubted.as_ref().is_none_or(|known| known.id != halt.id) {
            (self.sink)(Event::new(
                Kind::Notice,
                format!(
                    "{} is not obeyed: what its runner saw does not bear it out ({}); `liza overseer halt {}` would be",
                    halt.id,
                    halt.behaviour.as_str(),
                    self.agent
                ),
            ));
            self.doubted = Some(halt);
        }
        None
    }

    /// What was doubted and has turned out to be so. Nobody orders it a second time.
    fn halt_borne_out_since(&mut self) -> Option<Intervention> {
        let doubted = self.doubted.as_ref()?;
        if !self.halting.is_borne_out(self.ctx, doubted, self.sight.as_ref()) {
            return None;
        }
        self.doubted = None;
        self.halting.ordered(self.ctx)
    }

    fn begin_halt(&self, halt: Intervention, running: &Running) -> (Why, Instant) {
        (self.sink)(Event::new(Kind::Halted, halting::reason(&halt)));
        running.ask_to_end();
        (Why::Halted(Box::new(halt)), Instant::now() + self.grace)
    }

    /// The agent hears of it with its next liza command.
    fn ask(&self, why: &str) {
        let asked = if self.reviews { "asked for a verdict" } else { "asked for a handoff" };
        (self.sink)(Event::new(Kind::Limit, format!("{why}; {asked}")));
        let path = self.ctx.store.layout().ask(self.agent);
        let text = match self.task {
            Some(task) if self.reviews => format!(
                "your session ends in {} s ({why}): give your verdict on {task}, or `liza review release {task}`, and exit\n",
                self.grace.as_secs()
            ),
            Some(task) => format!(
                "your session ends in {} s ({why}): commit what you have, then `liza task handoff {task} --summary S --next S`, then exit with 42\n",
                self.grace.as_secs()
            ),
            None => format!("your session ends in {} s ({why}): finish and exit\n", self.grace.as_secs()),
        };
        let made = path.parent().map(crate::store::files::make_private_dir);
        if made.is_some_and(|made| made.is_ok()) {
            let _ = crate::store::files::replace(&path, text.as_bytes());
        }
    }
}

/// What was asked of an agent is over with its session.
fn withdraw_ask(ctx: &Context, agent: &str) {
    let _ = std::fs::remove_file(ctx.store.layout().ask(agent));
}

pub fn reason(switch: &Switch) -> String {
    if switch.reason.is_empty() {
        format!("{} is set", switch.kind.as_str())
    } else {
        format!("{} is set: {}", switch.kind.as_str(), switch.reason)
    }
}

/// The strongest switch for an agent or what it works on.
pub fn stopping(ctx: &Context, agent: &str, task: Option<&TaskId>) -> Option<Switch> {
    let agent = crate::board::AgentId::new(agent).ok()?;
    ctx.store.switches().ok()?.stopping(&agent, task).cloned()
}
