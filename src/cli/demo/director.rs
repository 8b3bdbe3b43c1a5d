//! The run of the team, from its start to its end, and what the demo does in between: it kills a coder, sets PAUSE, and tells
//! what happens. It waits for conditions, never for time to pass.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};
use serde_json::Value;

use crate::flow::Failure;
use crate::supervise::child::{adopt_orphans, end_descendants, this_program};
use crate::supervise::signals;
use crate::supervise::{Event, Kind};
use crate::text::pad_to;

use super::stage::Stage;
use super::story::{Pause, Story};

/// How often marker files are looked for.
const LOOK: Duration = Duration::from_millis(20);
/// Nothing at all for so long, and the demo is given up.
const PATIENCE: Duration = Duration::from_secs(120);
/// How long a run has to end after it was asked to.
const GRACE: Duration = Duration::from_secs(15);
/// How notices begin that are told at every turn: that something is run, was run before, or waits its turn.
const ROUTINE: [&str; 3] = ["running the validation", "gate ", "somebody else is merging"];
/// What must not be in the log while PAUSE is set.
const BEGINNINGS: [&str; 8] =
    ["begin_claim", "submit", "start_review", "approve", "reject", "discuss", "begin_merge", "add_tasks"];

pub enum Outcome {
    Played(Box<Story>),
    Signal(i32),
}

enum Wake {
    Said(Box<Event>),
    Answered(Value),
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

/// Where everything comes together that the demo waits for. Opened first: from then on a signal kills nobody unawares.
pub struct Ears {
    tx: Sender<Wake>,
    rx: Receiver<Wake>,
}

impl Ears {
    pub fn open() -> Result<Self, Failure> {
        let (tx, rx) = channel();
        let to = tx.clone();
        signals::forward(move |signal| {
            let _ = to.send(Wake::Signal(signal));
        })
        .map_err(|error| Failure::new("io.failed", format!("signals cannot be caught: {error}")))?;
        Ok(Self { tx, rx })
    }
}

pub fn direct(stage: &Stage, ears: Ears) -> Result<Outcome, Failure> {
    let Ears { tx, rx } = ears;
    let mut run = Run::start(stage, tx)?;
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
    if story.answer["ok"] != true {
        let why = story.answer["error"]["message"].as_str().unwrap_or("it did not say why");
        return Err(Failure::new("bug.demo", format!("`liza run` failed: {why}")));
    }
    for cause in story.answer["data"]["causes"].as_array().into_iter().flatten() {
        stage.show(&format!(
            "{}: {}",
            cause["task"].as_str().unwrap_or("the run"),
            cause["why"].as_str().unwrap_or_default()
        ));
    }
    Ok(Outcome::Played(Box::new(story)))
}

/// `liza run`, which ends with the demo whatever becomes of it.
struct Run {
    child: Child,
}

impl Run {
    fn start(stage: &Stage, tx: Sender<Wake>) -> Result<Self, Failure> {
        adopt_orphans();
        let liza = this_program();
        let mut child = stage
            .command(&liza)
            .arg("__hold")
            .arg(std::process::id().to_string())
            .arg("--")
            .arg(&liza)
            .args(["--json", "run"])
            // The holder leaves signals to the command it holds, so they go to the group of both.
            .process_group(0)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| Failure::new("io.failed", format!("liza cannot be run: {error}")))?;
        if let Some(pipe) = child.stdout.take() {
            std::thread::spawn(move || listen(pipe, &tx));
        }
        Ok(Self { child })
    }

    /// Asks it to end, which ends its agents, and leaves nothing behind.
    fn end(&mut self) {
        let deadline = Instant::now() + GRACE;
        if let Ok(None) = self.child.try_wait() {
            signal_group(self.child.id(), Signal::TERM);
        }
        while matches!(self.child.try_wait(), Ok(None)) {
            if Instant::now() > deadline {
                let _ = self.child.kill();
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

fn signal(pid: u32, what: Signal) {
    if let Some(pid) = pid_of(pid) {
        let _ = rustix::process::kill_process(pid, what);
    }
}

fn signal_group(leader: u32, what: Signal) {
    if let Some(leader) = pid_of(leader) {
        let _ = rustix::process::kill_process_group(leader, what);
    }
}

fn pid_of(number: u32) -> Option<Pid> {
    i32::try_from(number).ok().and_then(Pid::from_raw)
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
                    return Err(Failure::new(
                        "bug.demo",
                        format!("nothing has happened for {} s", patience.as_secs()),
                    ));
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
        self.tell(&event);
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

    /// One short line for what people want to follow.
    fn tell(&self, event: &Event) {
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
            let what = if gate_ran { "" } else { event.event.word() };
            let who = if event.agent.is_empty() { "liza run" } else { &event.agent };
            self.stage.ui.narrate(&format!("  {} {what}{task}{text}", pad_to(who, 16)));
        }
    }

    /// `usage` has the file now that `version` owns, too.
    fn see_who_waits(&mut self) -> Result<(), Failure> {
        let status = self.stage.liza_json(&["status"])?;
        let waits =
            status["tasks"].as_array().and_then(|tasks| tasks.iter().find(|task| task["id"] == "version"));
        let on = waits.map(|task| task["waiting_on"].to_string()).unwrap_or_default();
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
            let log = self.stage.liza_json(&["log", "--number", "1000"])?;
            for record in log["records"].as_array().into_iter().flatten() {
                if record["event"] == "record_violation" {
                    let message = record["do"]["record_violation"]["message"].as_str().unwrap_or_default();
                    self.stage.show(message);
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
                self.stage.heading("Somebody types `touch .liza/PAUSE` while agents are at work.");
                self.stage.touch("PAUSE", "the demo looks around")?;
                self.stop = Stop::Set;
            }
            Stop::Noticed { from } if self.stage.marker("paused-usage").is_some() => self.resume(*from)?,
            _ => {}
        }
        Ok(())
    }

    /// With SIGKILL, in the middle of its work, and its runner with it: nobody is left to tidy up.
    fn kill_coder(&mut self, who: &str) -> Result<(), Failure> {
        let mut words = who.split_whitespace();
        let agent = words.next().unwrap_or_default().to_owned();
        let shell = words.next().and_then(|pid| pid.parse::<i32>().ok()).and_then(Pid::from_raw);
        let agents = self.stage.liza_json(&["agent", "list"])?;
        let known =
            agents["agents"].as_array().and_then(|all| all.iter().find(|known| known["id"] == *agent));
        let runner = known.and_then(|known| known["runner"].as_u64()).and_then(|pid| u32::try_from(pid).ok());
        let (Some(runner), Some(shell)) = (runner, shell) else {
            return Err(Failure::new("bug.demo", format!("the runner of {agent} cannot be found")));
        };
        self.stage.heading(&format!(
            "{agent} has committed half of `top`. Now it is killed, and its runner with it (SIGKILL)."
        ));
        // It would be back in a second; the demo wants to see somebody else take over.
        self.stage.touch(&format!("PAUSE-{agent}"), "the demo wants another to take over")?;
        signal(runner, Signal::KILL);
        let _ = rustix::process::kill_process_group(shell, Signal::KILL);
        self.story.killed = Some(agent.clone());
        self.kill = Kill::Done { agent };
        Ok(())
    }

    fn see_takeover(&mut self, by: &str) -> Result<(), Failure> {
        let Kill::Done { agent } = &self.kill else { return Ok(()) };
        if agent != by {
            self.stage.heading(&format!("{by} goes on with `top` from what {agent} had committed."));
            self.stage.liza_json(&["resume", "--agent", agent])?;
            self.kill = Kill::TakenOver;
        }
        Ok(())
    }

    fn see_pause(&mut self) -> Result<(), Failure> {
        if !matches!(self.stop, Stop::Set) {
            return Ok(());
        }
        let status = self.stage.liza_json(&["status"])?;
        if status["switch"] == "PAUSE" {
            self.stop = Stop::Noticed { from: status["revision"].as_u64().unwrap_or_default() };
            // The coder of `usage` has waited for this moment to hand in its work.
            self.stage.mark("go-usage")?;
        }
        Ok(())
    }

    fn resume(&mut self, from: u64) -> Result<(), Failure> {
        self.stage.show(
            "the coder of `usage` wanted to submit and was turned away (exit 5); its work is committed",
        );
        let log = self.stage.liza_json(&["log", "--number", "1000"])?;
        let until = log["revision"].as_u64().unwrap_or_default();
        // Whoever had the board's lock when PAUSE was set may still have finished: one commit, the next one.
        let begun_meanwhile: Vec<String> = log["records"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|record| record["revision"].as_u64().is_some_and(|at| at > from + 1 && at <= until))
            .filter_map(|record| record["event"].as_str())
            .filter(|event| BEGINNINGS.contains(event))
            .map(str::to_owned)
            .collect();
        self.stage.show("nothing was claimed, submitted, judged or merged meanwhile");
        self.stage.heading("`liza resume`: it goes on where it was.");
        self.stage.show(&self.stage.liza(&["resume"])?);
        self.story.pause = Some(Pause { from, until, resumed: true, begun_meanwhile });
        self.stop = Stop::Over;
        Ok(())
    }
}
