//! Runs the team from start to end. Meanwhile the demo kills a coder, sets PAUSE, and narrates the events. The demo waits
//! for conditions, never for time to pass.

use std::io::{BufRead, BufReader};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};

use rustix::process::{Pid, Signal};

use super::stage::Stage;
use super::story::{Pause, RunEnd, Story};
use crate::board::{SwitchKind, Transition};
use crate::cli::prelude::*;
use crate::host::{Child, Program, Streams, adopt_orphans, lives, this_program};
use crate::policy::view::Scene;
use crate::supervise::child::end_descendants;
use crate::supervise::{ChildAnswer, Event, Kind, signals};

/// How often the demo looks for marker files.
const LOOK: Duration = Duration::from_millis(20);
/// The demo fails after this time without any event.
pub(super) const PATIENCE: Duration = Duration::from_secs(120);
/// How long a run may take to end after the demo stopped it.
const GRACE: Duration = Duration::from_secs(15);
/// First words of notices that the demo does not show.
const ROUTINE: [&str; 3] = ["running the validation", "gate ", "another process is merging"];
/// Verbs that must not be in the journal while PAUSE is set.
const FORBIDDEN_WHILE_PAUSED: [&str; 8] =
    ["begin_claim", "submit", "start_review", "approve", "reject", "discuss", "begin_merge", "add_tasks"];

pub enum Outcome {
    Played(Box<Story>),
    Signal(i32),
}

pub(super) enum Wake {
    Event(Box<Event>),
    Answered(ChildAnswer<RunEnd>),
    Ended,
    Signal(i32),
}

/// Progress of the scene in which a coder is killed.
enum KillProgress {
    NotYet,
    Done { agent: String },
    TakenOver,
}

/// Progress of the scene with the PAUSE switch.
enum PauseProgress {
    NotYet,
    Set,
    Noticed { from: u64 },
    Over,
}

struct Director<'a> {
    stage: &'a Stage,
    story: Story,
    kill: KillProgress,
    pause: PauseProgress,
    showed_parallel: bool,
    showed_gate: bool,
    showed_approval: bool,
}

/// Events of the run, its answer, and signals, in one queue. Opened first: from then on a signal ends the demo cleanly.
pub struct WakeQueue {
    pub(super) tx: Sender<Wake>,
    pub(super) rx: Receiver<Wake>,
    signal: Arc<AtomicI32>,
}

impl WakeQueue {
    pub fn open() -> Result<Self, Failure> {
        let (tx, rx) = channel();
        let to = tx.clone();
        let signal = Arc::new(AtomicI32::new(0));
        let came = signal.clone();
        signals::forward(move |signal| {
            came.store(signal, Ordering::Relaxed);
            let _ = to.send(Wake::Signal(signal));
        })
        .map_err(|error| Failure::new(ErrorCode::IoFailed, format!("signals cannot be caught: {error}")))?;
        Ok(Self { tx, rx, signal })
    }

    /// The last signal received; 0 if none.
    pub fn signal(&self) -> Arc<AtomicI32> {
        self.signal.clone()
    }
}

pub fn direct(stage: &Stage, queue: WakeQueue) -> Result<Outcome, Failure> {
    let WakeQueue { tx, rx, .. } = queue;
    let mut run = Run::start(stage, tx, &["run"])?;
    let mut director = Director {
        stage,
        story: Story::default(),
        kill: KillProgress::NotYet,
        pause: PauseProgress::NotYet,
        showed_parallel: false,
        showed_gate: false,
        showed_approval: false,
    };
    let outcome = director.watch(&rx);
    run.end();
    if let Some(signal) = outcome? {
        return Ok(Outcome::Signal(signal));
    }
    let story = director.story;
    if !story.answer.ok {
        let why = story.answer.error.as_ref().map_or("it gave no reason", |error| &error.message);
        return Err(Failure::new(ErrorCode::BugDemo, format!("`liza run` failed: {why}")));
    }
    for cause in story.answer.data.iter().flat_map(|end| &end.causes) {
        stage.show(&format!("{}: {}", cause.task.as_deref().unwrap_or("the run"), cause.why));
    }
    Ok(Outcome::Played(Box::new(story)))
}

/// The process of `liza run`, which ends with the demo in any case.
pub(super) struct Run {
    child: Child,
}

impl Run {
    pub(super) fn start(stage: &Stage, tx: Sender<Wake>, args: &[&str]) -> Result<Self, Failure> {
        adopt_orphans();
        let mut child = stage
            .in_repository(Program::held(this_program()))
            .args(["--json"].iter().chain(args))
            .streams(Streams::OutputOnly)
            .start()
            .map_err(|error| Failure::new(ErrorCode::IoFailed, format!("liza cannot be run: {error}")))?;
        if let Some(pipe) = child.stdout.take() {
            let listening = crate::host::start_thread(move || listen(pipe, &tx));
            listening.map_err(|error| {
                child.end();
                Failure::new(ErrorCode::IoFailed, format!("the output of liza cannot be read: {error}"))
            })?;
        }
        Ok(Self { child })
    }

    /// Stops the run and its agents, and waits for all their processes to end.
    pub(super) fn end(&mut self) {
        let deadline = Instant::now() + GRACE;
        if let Ok(None) = self.child.try_wait() {
            // `liza __hold` ignores signals that its command should handle, so the signal goes to the process group of both.
            self.child.signal_group(Signal::TERM);
        }
        while matches!(self.child.try_wait(), Ok(None)) {
            if Instant::now() > deadline {
                self.child.signal(Signal::KILL);
            }
            std::thread::sleep(LOOK);
        }
        end_descendants();
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        self.end();
    }
}

fn listen(pipe: impl std::io::Read, tx: &Sender<Wake>) {
    for line in BufReader::new(pipe).lines().map_while(Result::ok) {
        let wake = match serde_json::from_str::<Event>(&line) {
            Ok(event) => Wake::Event(Box::new(event)),
            Err(_) => Wake::Answered(serde_json::from_str(&line).unwrap_or_default()),
        };
        if tx.send(wake).is_err() {
            return;
        }
    }
    let _ = tx.send(Wake::Ended);
}

/// Whether the event reports a gate that ran, not a cached pass.
fn gate_ran(event: &Event) -> bool {
    event.event == Kind::Notice && event.text.starts_with("gate ") && event.text.contains(" after ")
}

/// Prints one short line for an event that a person wants to follow.
pub(super) fn narrate_event(stage: &Stage, event: &Event) {
    let gate_ran = gate_ran(event);
    let is_news = match event.event {
        Kind::Started | Kind::Ended | Kind::Ready | Kind::Board => false,
        Kind::Paused | Kind::Resumed => event.agent.is_empty(),
        Kind::Notice => gate_ran || !ROUTINE.iter().any(|begin| event.text.starts_with(begin)),
        _ => true,
    };
    if is_news {
        let task = event.task.as_deref().map(|task| format!(" {task}")).unwrap_or_default();
        let text = match event.text.as_str() {
            "" => String::new(),
            said if gate_ran => said.to_owned(),
            said => format!("  ({said})"),
        };
        let what = if gate_ran { String::new() } else { event.event.word() };
        let who = if event.agent.is_empty() { "liza run" } else { &event.agent };
        stage.ui.narrate(&format!("  {} {what}{task}{text}", pad_to(who, 16)));
    }
}

impl Director<'_> {
    /// Follows the run to its end; returns the signal that interrupted it, if any.
    fn watch(&mut self, rx: &Receiver<Wake>) -> Result<Option<i32>, Failure> {
        let mut last = Instant::now();
        let patience = PATIENCE + Duration::from_secs_f64(self.stage.cast.speed.unwrap_or_default() * 10.0);
        loop {
            match rx.recv_timeout(LOOK) {
                Ok(Wake::Event(event)) => {
                    last = Instant::now();
                    self.handle_event(*event)?;
                }
                Ok(Wake::Answered(answer)) => self.story.answer = answer,
                Ok(Wake::Signal(signal)) => return Ok(Some(signal)),
                Ok(Wake::Ended) | Err(RecvTimeoutError::Disconnected) => return Ok(None),
                Err(RecvTimeoutError::Timeout) if last.elapsed() > patience => {
                    let text = format!("no event for {} s", patience.as_secs());
                    return Err(Failure::new(ErrorCode::BugDemo, text));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            self.check_markers()?;
        }
    }

    fn handle_event(&mut self, event: Event) -> Result<(), Failure> {
        if !self.showed_gate && gate_ran(&event) {
            self.showed_gate = true;
            self.stage.heading(
                "Before the branch moves, the gate of liza.yaml (all tests) runs on the merged tree.",
            );
        }
        narrate_event(self.stage, &event);
        let (kind, task) = (event.event, event.task.clone().unwrap_or_default());
        let (agent, text) = (event.agent.clone(), event.text.clone());
        self.story.events.push(event);
        match (kind, task.as_str()) {
            (Kind::Ended, "") if agent.starts_with("planner") && self.story.events.len() < 4 => {
                self.stage.heading("The planner has split the goal into tasks with dependencies.");
                self.stage.show(&self.stage.liza(&["graph"])?);
            }
            (Kind::Started, _) if !self.showed_parallel && self.story.coders_at_once().len() > 1 => {
                self.showed_parallel = true;
                self.stage.heading("Several coders work in parallel, each in its own worktree.");
            }
            (Kind::Claimed, "usage") if self.story.waited_for.is_none() => self.show_ownership_wait()?,
            (Kind::Rejected, _) => {
                self.stage.heading(&format!("The reviewer rejected {task}. Its coder reads:"));
                self.stage.show(&self.stage.liza(&["task", "show", &task, "--feedback"])?);
            }
            (Kind::MergeFailed, _) if text.contains("Gate `") => {
                self.stage.heading(&format!(
                    "{task} passes alone and fails together with work merged meanwhile. Integration does not move:"
                ));
                self.stage.show(self.stage.liza(&["task", "show", &task, "--feedback"])?.trim_end());
                self.stage
                    .show("the next prompt of its coder has this text, and liza merges integration into the coder's branch");
            }
            (Kind::MergeFailed, _) => {
                self.stage.heading(&format!(
                    "{task} and another task changed the same lines of a shared file. The coder of {task} resolves it:"
                ));
                self.stage
                    .show("liza merges integration into the coder's branch; the coder keeps both sides and submits again");
            }
            // The reviewers of `join` and `separator` wait for these markers.
            (Kind::Submitted, "join") => self.stage.mark("submitted-join")?,
            (Kind::Merged, "separator") => self.stage.mark("merged-separator")?,
            (Kind::Claimed, "top") => self.show_takeover(&agent)?,
            (Kind::Paused, "") if agent.is_empty() => self.note_pause()?,
            _ => {}
        }
        Ok(())
    }

    /// Shows that `version` waits while `usage` owns the file that both need.
    fn show_ownership_wait(&mut self) -> Result<(), Failure> {
        let board = self.stage.board()?;
        let (world, now) = (self.stage.store().surroundings(&board)?, crate::host::now());
        let version = board.tasks.iter().find(|task| task.id.as_str() == "version");
        let waits = version.and_then(|task| Scene::new(&board, &world, &now).waiting(task));
        let on = waits.map(|waits| format!("{:?}", waits.on)).unwrap_or_default();
        if on.contains("usage") {
            self.stage.heading("Two tasks own the file `wordtool`: one works, the other waits.");
            self.stage.show(&format!("liza status: version waits, waiting_on {on}"));
            self.story.waited_for = Some("usage".to_owned());
        }
        Ok(())
    }

    /// Reacts to the marker files of the agents.
    fn check_markers(&mut self) -> Result<(), Failure> {
        if !self.showed_approval && self.stage.marker("tried-words").is_some() {
            self.showed_approval = true;
            self.stage.heading(
                "A coder tried to approve its own work, with its identity and without. liza refused:",
            );
            for record in self.stage.log(&self.stage.board()?)? {
                if let Transition::RecordViolation(violation) = record.what {
                    self.stage.show(&violation.message);
                }
            }
        }
        if let (KillProgress::NotYet, true, Some(who)) =
            (&self.kill, self.showed_approval, self.stage.marker("at-top"))
        {
            self.kill_coder(&who)?;
        }
        match &self.pause {
            PauseProgress::NotYet
                if matches!(self.kill, KillProgress::TakenOver)
                    && self.stage.marker("at-usage").is_some() =>
            {
                self.stage.heading("A person types `touch .liza/PAUSE` while agents are at work.");
                self.stage.touch_pause(None, "the demo shows a pause")?;
                self.pause = PauseProgress::Set;
            }
            PauseProgress::Noticed { from } if self.stage.marker("paused-usage").is_some() => {
                self.resume(*from)?
            }
            _ => {}
        }
        Ok(())
    }

    /// Kills a coder in the middle of its work, and its runner too: no process is left to clean up.
    fn kill_coder(&mut self, who: &str) -> Result<(), Failure> {
        let mut words = who.split_whitespace();
        let agent = words.next().unwrap_or_default().to_owned();
        let shell = words.next().and_then(|pid| pid.parse::<i32>().ok()).and_then(Pid::from_raw);
        let board = self.stage.board()?;
        let known = board.rest.agents.iter().find(|(id, _)| id.as_str() == agent);
        let runner = known.and_then(|(_, known)| known.runner.as_ref()).filter(|runner| lives(runner));
        let runner = runner.and_then(|runner| i32::try_from(runner.pid).ok());
        let (Some(runner), Some(shell)) = (runner.and_then(Pid::from_raw), shell) else {
            return Err(Failure::new(ErrorCode::BugDemo, format!("the runner of {agent} cannot be found")));
        };
        self.stage.heading(&format!(
            "{agent} has committed half of `top`. Now the demo kills {agent} and its runner (SIGKILL)."
        ));
        // `liza run` would start it again within a second; another coder is to take over.
        self.stage.touch_pause(Some(&agent), "another coder is to take over")?;
        let _ = rustix::process::kill_process(runner, Signal::KILL);
        let _ = rustix::process::kill_process_group(shell, Signal::KILL);
        self.story.killed = Some(agent.clone());
        self.kill = KillProgress::Done { agent };
        Ok(())
    }

    fn show_takeover(&mut self, by: &str) -> Result<(), Failure> {
        let KillProgress::Done { agent } = &self.kill else { return Ok(()) };
        if agent != by {
            self.stage.heading(&format!("{by} continues `top` from the commit of {agent}."));
            self.stage.must_liza(&["resume", "--agent", agent])?;
            self.kill = KillProgress::TakenOver;
        }
        Ok(())
    }

    fn note_pause(&mut self) -> Result<(), Failure> {
        if !matches!(self.pause, PauseProgress::Set) {
            return Ok(());
        }
        let board = self.stage.board()?;
        let switches = self.stage.store().surroundings(&board)?.switches;
        if switches.global().is_some_and(|switch| switch.kind == SwitchKind::Pause) {
            self.pause = PauseProgress::Noticed { from: board.revision };
            // The coder of `usage` waits for this marker before it submits.
            self.stage.mark("go-usage")?;
        }
        Ok(())
    }

    fn resume(&mut self, from: u64) -> Result<(), Failure> {
        self.stage
            .show("the coder of `usage` tried to submit and was refused (exit 5); its work is committed");
        let board = self.stage.board()?;
        let until = board.revision;
        // The process that held the board's lock when PAUSE was set may still make one change, the next revision.
        let log = self.stage.log(&board)?;
        let meanwhile =
            log.iter().filter(|record| record.revision > from + 1).map(|record| record.what.name());
        let begun = meanwhile.filter(|event| FORBIDDEN_WHILE_PAUSED.contains(event)).map(str::to_owned);
        let begun_meanwhile = begun.collect();
        self.stage.show("meanwhile no agent claimed, submitted, reviewed or merged");
        self.stage.heading("`liza resume`: the team goes on.");
        self.stage.show(&self.stage.liza(&["resume"])?);
        self.story.pause = Some(Pause { from, until, resumed: true, begun_meanwhile });
        self.pause = PauseProgress::Over;
        Ok(())
    }
}
