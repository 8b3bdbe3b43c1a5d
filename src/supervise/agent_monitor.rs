//! A thread of the runner observes the agent every few seconds: its output, processes and worktree, and its task on the
//! board. The session never waits for it.

use super::lease_renewer::RenewalParts;
use super::next_piece::Piece;
use super::output::Gauge;
use super::prelude::*;
use crate::flow::oversight::{self, InWorktree, OnBoard, Subject};
use crate::host::Burden;
use crate::policy::overseer::Ring;

/// Examining a worktree's files may take 1/4 of the time between two examinations, however large the repository is.
const FILES_SHARE: u32 = 4;
/// After this many looks without output or processor time of the agent, its files are examined anyway: a small write may
/// show in neither.
const FILES_AT_LEAST: u32 = 6;
/// How long the end of a session waits for an unfinished look.
const LAST_LOOK: Duration = Duration::from_millis(300);

/// Which agent to observe, and how.
pub struct MonitorParts {
    pub renewal: RenewalParts,
    pub agent: AgentId,
    pub incarnation: u64,
    pub role: Role,
    pub limits: Limits,
    pub every: Duration,
    pub config: OverseerConfig,
    /// Of the session.
    pub number: u64,
    pub began: Instant,
    pub started_at: Wall,
    pub pauses: Pauses,
    pub gauge: Gauge,
    /// The number of its first process.
    pub process: u32,
    /// Receives a message after every look.
    pub tx: Sender<Wake>,
}

/// How long switches paused a session; shared with the thread that waits for its end.
#[derive(Clone, Default)]
pub struct Pauses {
    state: Arc<Mutex<(Duration, Option<Instant>)>>,
}

impl Pauses {
    pub fn begin(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.1.get_or_insert_with(Instant::now);
    }

    pub fn end(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(since) = state.1.take() {
            state.0 += since.elapsed();
        }
    }

    /// The sum of the pauses so far; none during a pause.
    fn so_far(&self) -> Option<Duration> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.1.is_none().then_some(state.0)
    }
}

/// The observations of a session, in the memory of its runner, where no other process can write.
pub type Observations = Arc<Mutex<Ring>>;

/// Observes until it is dropped, then deletes the observations.
pub struct AgentMonitor {
    pub observations: Observations,
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
    /// True once the monitor must not write any more.
    over: Arc<Mutex<bool>>,
    forget: Box<dyn Fn()>,
}

impl AgentMonitor {
    /// Looks for the first time after one interval, so a short session costs nothing.
    pub fn start(ctx: &Context, parts: MonitorParts) -> Self {
        let (stop, stopped) = channel();
        let observations = Observations::default();
        let seen = Arc::clone(&observations);
        let over = Arc::new(Mutex::new(false));
        let (agent, own) = (parts.agent.clone(), ctx.again());
        // A runner that was killed may have left observations.
        oversight::forget(ctx, &agent);
        let forget = Box::new(move || oversight::forget(&own, &agent));
        let shared = Arc::clone(&over);
        let thread = crate::host::start_thread(move || {
            if let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(parts.every) {
                // If the monitor cannot start, the agent works without it.
                let _ = Probe::open(parts, seen).map(|probe| probe.observe(&stopped, &shared));
            }
        });
        Self { observations, stop: Some(stop), thread: thread.ok(), over, forget }
    }
}

impl Drop for AgentMonitor {
    fn drop(&mut self) {
        drop(self.stop.take());
        let deadline = Instant::now() + LAST_LOOK;
        if let Some(thread) = self.thread.take() {
            while !thread.is_finished() && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        let mut over = self.over.lock().unwrap_or_else(PoisonError::into_inner);
        *over = true;
        (self.forget)();
    }
}

/// The state that the monitor keeps between two looks.
struct Probe {
    ctx: Context,
    parts: MonitorParts,
    ring: Observations,
    board: Option<(u64, Option<OnBoard>)>,
    files: InWorktree,
    /// Output and processor time when the files were last examined.
    stirred: Option<(u64, Burden)>,
    files_seen: Option<Instant>,
    /// When the files were last examined.
    tree_seen_at: Option<Wall>,
    files_rest_until: Instant,
    burden: Burden,
}

impl Probe {
    fn open(parts: MonitorParts, ring: Observations) -> Result<Self, Failure> {
        Ok(Self {
            ctx: parts.renewal.open()?,
            files_rest_until: parts.began,
            parts,
            ring,
            board: None,
            files: InWorktree::default(),
            stirred: None,
            files_seen: None,
            tree_seen_at: None,
            burden: Burden::default(),
        })
    }

    fn observe(mut self, stopped: &Receiver<()>, over: &Mutex<bool>) {
        let mut pause = Duration::ZERO;
        while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(pause) {
            pause = self.parts.every;
            // A paused agent is not observed.
            let Some(paused) = self.parts.pauses.so_far() else { continue };
            let Some(snapshot) = self.look(paused) else { continue };
            let ring = {
                let mut ring = self.ring.lock().unwrap_or_else(PoisonError::into_inner);
                ring.push(snapshot, &self.parts.config);
                ring.clone()
            };
            let over = over.lock().unwrap_or_else(PoisonError::into_inner);
            if *over {
                return;
            }
            oversight::keep(&self.ctx, &self.parts.agent, &ring);
            drop(over);
            let _ = self.parts.tx.send(Wake::Looked(self.parts.number));
        }
    }

    /// None while the agent works on another task than the one it was started for.
    fn look(&mut self, paused: Duration) -> Option<AgentSnapshot> {
        let seen = self.board()?;
        // When a process ends, its parent accounts for its processor time only a moment later.
        let burden = crate::host::burden_of(self.parts.process).unwrap_or_default();
        self.burden = Burden { cpu_ms: burden.cpu_ms.max(self.burden.cpu_ms), ..burden };
        let (usage, bytes) = (self.parts.gauge.usage(), self.parts.gauge.bytes());
        self.look_at_files(&seen, bytes);
        let parts = &self.parts;
        Some(AgentSnapshot {
            agent: parts.agent.clone(),
            incarnation: parts.incarnation,
            role: parts.role.clone(),
            session: self.parts.number,
            task: seen.task,
            epoch: seen.epoch,
            time: crate::host::now().wall,
            started_at: self.parts.started_at,
            elapsed_seconds: self.parts.began.elapsed().saturating_sub(paused).as_secs(),
            turns: usage.turns,
            tool_calls: usage.tool_calls,
            tokens: usage.tokens(),
            errors: usage.errors.saturating_add(usage.failed_calls),
            last_tool: usage.last_tool,
            last_call: usage.last_call,
            repeated_calls: usage.repeated_calls,
            output_bytes: bytes,
            files_modified: self.files.modified,
            files_unannounced: self.files.unannounced,
            last_file_modified: self.files.last_modified.clone(),
            tree: self.files.tree.clone(),
            tree_seen_at: self.tree_seen_at,
            board_mark: seen.mark,
            has_checkpoint: seen.has_checkpoint,
            messages_sent: seen.sent,
            messages_received: seen.received,
            processes: self.burden.processes,
            cpu_ms: self.burden.cpu_ms,
            token_limit: parts.limits.tokens,
            wall_limit: parts.limits.wall_seconds,
            no_token_limit: parts.limits.tokens.is_none(),
            no_wall_limit: parts.limits.wall_seconds.is_none(),
            still_seconds: 0,
            fewest_processes: 0,
            episodes: Vec::new(),
        })
    }

    /// Reads the board again only if it has changed.
    fn board(&mut self) -> Option<OnBoard> {
        let revision = self.ctx.store.published_revision();
        if self.board.as_ref().is_none_or(|(known, _)| *known != revision || revision == 0) {
            let MonitorParts { renewal, agent, incarnation, .. } = &self.parts;
            let subject = match &renewal.assignment {
                Assignment::Task { .. } => Subject::Claim,
                Assignment::Review { task } => Subject::Review(task.clone()),
                Assignment::Plan { .. } => Subject::Plan,
            };
            let seen = oversight::on_board(&self.ctx, agent, *incarnation, &subject);
            self.board = Some((revision, seen));
        }
        self.board.as_ref().and_then(|(_, seen)| seen.clone())
    }

    fn look_at_files(&mut self, seen: &OnBoard, bytes: u64) {
        let Some(work_area) = &seen.work_area else { return };
        let now = Instant::now();
        let stirred = Some((bytes, self.burden));
        let long_ago =
            self.files_seen.is_none_or(|at| now.duration_since(at) >= self.parts.every * FILES_AT_LEAST);
        // If the system does not report processor time, the processes may have changed files.
        let blind = self.burden == Burden::default();
        if now < self.files_rest_until || !(long_ago || blind || stirred != self.stirred) {
            return;
        }
        // If the files cannot be read now, the former observation stays.
        if let Some(files) = oversight::in_worktree(work_area) {
            self.files = files;
            self.tree_seen_at = Some(crate::host::now().wall);
        }
        self.stirred = stirred;
        self.files_seen = Some(now);
        self.files_rest_until = Instant::now() + now.elapsed() * FILES_SHARE;
    }
}

/// Events that end the wait of a runner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wake {
    /// A file in `.liza` changed.
    Board,
    /// The command of the session with this number ended.
    Exited(u64),
    Limit(u64, String),
    /// The monitor looked at the session with this number.
    Looked(u64),
    /// The lease cannot be renewed any more.
    Lost(u64, String),
    Signal(i32),
    /// The next piece of work, from the run.
    Next(Option<Piece>),
}
