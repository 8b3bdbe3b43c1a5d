//! The run of the team, from its start to its end, and what the demo does in between: it kills a coder, sets PAUSE, and tells
//! what happens. It waits for conditions, never for time to pass.

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

/// How often marker files are looked for.
const LOOK: Duration = Duration::from_millis(20);
/// Nothing at all for so long, and the demo is given up.
pub(super) const PATIENCE: Duration = Duration::from_secs(120);
/// How long a run has to end after it was asked to.
const GRACE: Duration = Duration::from_secs(15);
/// How routine notices begin: something is run, was run before, or waits its turn.
const ROUTINE: [&str; 3] = ["running the validation", "gate ", "another process is merging"];
/// What must not be in the log while PAUSE is set.
const BEGINNINGS: [&str; 8] =
    ["begin_claim", "submit", "start_review", "approve", "reject", "discuss", "begin_merge", "add_tasks"];

pub enum Outcome {
    Played(Box<Story>),
    Signal(i32),
}

pub(super) enum Wake {
    Said(Box<Event>),
    Answered(ChildAnswer<RunEnd>),
    Ended,
    Signal(i32),
}

/// How far the killing of a coder is.
enum Kill {
    NotYet,
    Done { agent: String },
    TakenOver,
}

/// How far the pause is.
enum Stop {
    NotYet,
    Set,
    Noticed { from: u64 },
    Over,
}

struct Director<'a> {
    stage: &'a Stage,
    story: Story,
    kill: Kill,
    stop: Stop,
    told_parallel: bool,
    told_gate: bool,
    told_approval: bool,
}

/// Where everything comes together that the demo waits for. Opened first: from then on a signal ends the demo in order.
pub struct Ears {
    pub(super) tx: Sender<Wake>,
    pub(super) rx: Receiver<Wake>,
    signal: Arc<AtomicI32>,
}

impl Ears {
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

    /// The last signal that came; 0 before.
    pub fn signal(&self) -> Arc<AtomicI32> {
        self.signal.clone()
    }
}

pub fn direct(stage: &Stage, ears: Ears) -> Result<Outcome, Failure> {
    let Ears { tx, rx, .. } = ears;
    let mut run = Run::start(stage, tx, &["run"])?;
    let mut director = Director {
        stage,
        story: Story::default(),
        kill: Kill::NotYet,
        stop: Stop::NotYet,
        told_parallel: false,
        told_gate: false,
        told_approval: false,
    };
    let outcome = director.watch(&rx);
    run.end();
    if let Some(signal) = outcome? {
        return Ok(Outcome::Signal(signal));
    }
    let story = director.story;
    if !story.answer.ok {
        let why = story.answer.error.as_ref().map_or("it did not say why", |error| &error.message);
        return Err(Failure::new(ErrorCode::BugDemo, format!("`liza run` failed: {why}")));
    }
    for cause in story.answer.data.iter().flat_map(|end| &end.causes) {
        stage.show(&format!("{}: {}", cause.task.as_deref().unwrap_or("the run"), cause.why));
    }
    Ok(Outcome::Played(Box::new(story)))
}

/// `liza run`, which ends with the demo whatever becomes of it.
pub(super) struct Run {
    child: Child,
}

impl Run {
    pub(super) fn start(stage: &Stage, tx: Sender<Wake>, args: &[&str]) -> Result<Self, Failure> {
        adopt_orphans();
        let mut child = stage
            .on_stage(Program::held(this_program()))
            .args(["--json"].iter().chain(args))
            .streams(Streams::OutputOnly)
            .start()
            .map_err(|error| Failure::new(ErrorCode::IoFailed, format!("liza cannot be run: {error}")))?;
        if let Some(pipe) = child.stdout.take() {
            let listening = crate::host::start_thread(move || listen(pipe, &tx));
            listening.map_err(|error| {
                child.end();
                Failure::new(ErrorCode::IoFailed, format!("liza cannot be listened to: {error}"))
            })?;
        }
        Ok(Self { child })
    }

    /// Asks it to end, which ends its agents, and leaves nothing behind.
    pub(super) fn end(&mut self) {
        let deadline = Instant::now() + GRACE;
        if let Ok(None) = self.child.try_wait() {
            // The holder leaves signals to the command it holds, so they go to the group of both.
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
            Ok(event) => Wake::Said(Box::new(event)),
            Err(_) => Wake::Answered(serde_json::from_str(&line).unwrap_or_default()),
        };
        if tx.send(wake).is_err() {
            return;
        }
    }
    let _ = tx.send(Wake::Ended);
}

/// Whether a gate has been run to its end, and not only asked.
fn gate_ran(event: &Event) -> bool {
    event.event == Kind::Notice && event.text.starts_with("gate ") && event.text.contains(" after ")
}

/// One short line for what people want to follow.
pub(super) fn tell(stage: &Stage, event: &Event) {
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
            // It speaks for itself.
            said if gate_ran => said.to_owned(),
            said => format!("  ({said})"),
        };
        let what = if gate_ran { String::new() } else { event.event.word() };
        let who = if event.agent.is_empty() { "liza run" } else { &event.agent };
        stage.ui.narrate(&format!("  {} {what}{task}{text}", pad_to(who, 16)));
    }
}

impl Director<'_> {
    /// Until the run has ended; the signal, if one came first.
    fn watch(&mut self, rx: &Receiver<Wake>) -> Result<Option<i32>, Failure> {
        let mut last = Instant::now();
        let patience = PATIENCE + Duration::from_secs_f64(self.stage.cast.speed.unwrap_or_default() * 10.0);
        loop {
            match rx.recv_timeout(LOOK) {
                Ok(Wake::Said(event)) => {
                    last = Instant::now();
                    self.heed(*event)?;
                }
                Ok(Wake::Answered(answer)) => self.story.answer = answer,
                Ok(Wake::Signal(signal)) => return Ok(Some(signal)),
                Ok(Wake::Ended) | Err(RecvTimeoutError::Disconnected) => return Ok(None),
                Err(RecvTimeoutError::Timeout) if last.elapsed() > patience => {
                    let text = format!("nothing has happened for {} s", patience.as_secs());
                    return Err(Failure::new(ErrorCode::BugDemo, text));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            self.look_around()?;
        }
    }

    fn heed(&mut self, event: Event) -> Result<(), Failure> {
        if !self.told_gate && gate_ran(&event) {
            self.told_gate = true;
            self.stage.heading(
                "Before the branch moves, the gate of liza.yaml runs on what is merged: here, all the tests.",
            );
        }
        tell(self.stage, &event);
        let (kind, task) = (event.event, event.task.clone().unwrap_or_default());
        let (agent, text) = (event.agent.clone(), event.text.clone());
        self.story.events.push(event);
        match (kind, task.as_str()) {
            (Kind::Ended, "") if agent.starts_with("planner") && self.story.events.len() < 4 => {
                self.stage
                    .heading("The planner has cut the goal into tasks; what depends on another comes later.");
                self.stage.show(&self.stage.liza(&["graph"])?);
            }
            (Kind::Started, _) if !self.told_parallel && self.story.coders_at_once().len() > 1 => {
                self.told_parallel = true;
                self.stage.heading("Several coders work at once, each in a worktree of its own.");
            }
            (Kind::Claimed, "usage") if self.story.waited_for.is_none() => self.see_who_waits()?,
            (Kind::Rejected, _) => {
                self.stage.heading(&format!(
                    "The reviewer found something in {task}. This is what its coder reads:"
                ));
                self.stage.show(&self.stage.liza(&["task", "show", &task, "--feedback"])?);
            }
            (Kind::MergeFailed, _) if text.contains("Gate `") => {
                self.stage.heading(&format!(
                    "{task} is green alone, and red together with what was merged meanwhile. Integration does not move:"
                ));
                self.stage.show(self.stage.liza(&["task", "show", &task, "--feedback"])?.trim_end());
                self.stage
                    .show("its coder gets this in the next prompt, and integration merged into its branch");
            }
            (Kind::MergeFailed, _) => {
                self.stage.heading(&format!(
                    "{task} and another task changed the same place of a shared file. Its coder settles it:"
                ));
                self.stage
                    .show("it gets integration merged into its branch, keeps both sides, and submits again");
            }
            // What the reviewers of these two wait for.
            (Kind::Submitted, "join") => self.stage.mark("submitted-join")?,
            (Kind::Merged, "separator") => self.stage.mark("merged-separator")?,
            (Kind::Claimed, "top") => self.see_takeover(&agent)?,
            (Kind::Paused, "") if agent.is_empty() => self.see_pause()?,
            _ => {}
        }
        Ok(())
    }

    /// `usage` has the file now that `version` owns, too.
    fn see_who_waits(&mut self) -> Result<(), Failure> {
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

    /// What agents tell by marker files.
    fn look_around(&mut self) -> Result<(), Failure> {
        if !self.told_approval && self.stage.marker("tried-words").is_some() {
            self.told_approval = true;
            self.stage.heading(
                "A coder has tried to approve its own work, also with its identity taken off. Refused:",
            );
            for record in self.stage.log(&self.stage.board()?)? {
                if let Transition::RecordViolation(violation) = record.what {
                    self.stage.show(&violation.message);
                }
            }
        }
        if let (Kill::NotYet, true, Some(who)) = (&self.kill, self.told_approval, self.stage.marker("at-top"))
        {
            self.kill_coder(&who)?;
        }
        match &self.stop {
            Stop::NotYet
                if matches!(self.kill, Kill::TakenOver) && self.stage.marker("at-usage").is_some() =>
            {
                self.stage.heading("A person types `touch .liza/PAUSE` while agents are at work.");
                self.stage.touch_pause(None, "the demo looks around")?;
                self.stop = Stop::Set;
            }
            Stop::Noticed { from } if self.stage.marker("paused-usage").is_some() => self.resume(*from)?,
            _ => {}
        }
        Ok(())
    }

    /// With SIGKILL, in the middle of its work, and its runner with it: no process is left to clean up.
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
            "{agent} has committed half of `top`. Now it is killed, and its runner with it (SIGKILL)."
        ));
        // It would be back in a second; the demo wants another coder to take over.
        self.stage.touch_pause(Some(&agent), "the demo wants another to take over")?;
        let _ = rustix::process::kill_process(runner, Signal::KILL);
        let _ = rustix::process::kill_process_group(shell, Signal::KILL);
        self.story.killed = Some(agent.clone());
        self.kill = Kill::Done { agent };
        Ok(())
    }

    fn see_takeover(&mut self, by: &str) -> Result<(), Failure> {
        let Kill::Done { agent } = &self.kill else { return Ok(()) };
        if agent != by {
            self.stage.heading(&format!("{by} goes on with `top` from what {agent} had committed."));
            self.stage.must_liza(&["resume", "--agent", agent])?;
            self.kill = Kill::TakenOver;
        }
        Ok(())
    }

    fn see_pause(&mut self) -> Result<(), Failure> {
        if !matches!(self.stop, Stop::Set) {
            return Ok(());
        }
        let board = self.stage.board()?;
        let switches = self.stage.store().surroundings(&board)?.switches;
        if switches.global().is_some_and(|switch| switch.kind == SwitchKind::Pause) {
            self.stop = Stop::Noticed { from: board.revision };
            // The coder of `usage` has waited for this moment to hand in its work.
            self.stage.mark("go-usage")?;
        }
        Ok(())
    }

    fn resume(&mut self, from: u64) -> Result<(), Failure> {
        self.stage.show(
            "the coder of `usage` wanted to submit and was turned away (exit 5); its work is committed",
        );
        let board = self.stage.board()?;
        let until = board.revision;
        // The process that held the board's lock when PAUSE was set may still have made one commit, the next one.
        let log = self.stage.log(&board)?;
        let meanwhile =
            log.iter().filter(|record| record.revision > from + 1).map(|record| record.what.name());
        let begun = meanwhile.filter(|event| BEGINNINGS.contains(event)).map(str::to_owned);
        let begun_meanwhile = begun.collect();
        self.stage.show("nothing was claimed, submitted, judged or merged meanwhile");
        self.stage.heading("`liza resume`: it goes on where it was.");
        self.stage.show(&self.stage.liza(&["resume"])?);
        self.story.pause = Some(Pause { from, until, resumed: true, begun_meanwhile });
        self.stop = Stop::Over;
        Ok(())
    }
}
