//! The demo of a goal that is too large for one plan: routed, split into workstreams, audited, delivered. The checks read the board,
//! the journal and the repository.

use std::sync::mpsc::RecvTimeoutError;

use super::checks::Check;
use super::director::{PATIENCE, Run, Wake, WakeQueue, narrate_event};
use super::stage::{Cast, Stage};
use super::story::Story;
use crate::board::Transition;
use crate::board::route::{AuditVerdict, Way};
use crate::cli::prelude::*;
use crate::supervise::Kind;
use crate::wire::log::Record;

const GOAL: &str = "Scripts that greet and scripts that count, with tests";
const STREAMS: [&str; 2] = ["greet", "count"];

const FILES: [(&str, &str); 4] = [
    ("liza.yaml", include_str!("../../../templates/demo/playbook/liza.yaml")),
    ("agents/agent.sh", include_str!("../../../templates/demo/playbook/agent.sh")),
    ("tests/run.sh", include_str!("../../../templates/demo/playbook/run.sh")),
    ("README.md", "# Scripts\n\nThey greet, and they count.\n"),
];

/// How the demo ended.
pub enum Played {
    Done { stage: Box<Stage>, story: Box<Story>, checks: Vec<Check> },
    Signal(i32),
}

pub fn play(root: &Path, temporary: &Path, speed: Option<f64>, ui: Ui) -> Result<Played, Failure> {
    let queue = WakeQueue::open()?;
    let cast = Cast { tasks: 0, coders: 0, speed };
    let files = FILES.iter().map(|(name, text)| (*name, (*text).to_owned())).collect();
    let stage = Stage::make(root, temporary, cast, ui, files, "scripts, and the agents that extend them")?;
    stage.must_liza(&["init", "A placeholder that the demo replaces", "--no-hooks", "--no-gate"])?;
    stage.must_liza(&["goal", "abandon", "goal-1", "--reason", "the demo has its own goal"])?;
    stage.heading(&format!("A person types: liza run \"{GOAL}\""));
    let mut playing = Playing { stage: &stage, story: Story::default(), refused: String::new() };
    let signal = playing.watch(queue)?;
    if let Some(signal) = signal {
        return Ok(Played::Signal(signal));
    }
    let Playing { story, refused, .. } = playing;
    if !story.answer.ok {
        let why = story.answer.error.as_ref().map_or("it gave no reason", |error| &error.message);
        for cause in story.answer.data.iter().flat_map(|end| &end.causes) {
            stage.show(&format!("{}: {}", cause.task.as_deref().unwrap_or("the run"), cause.why));
        }
        return Err(Failure::new(ErrorCode::BugDemo, format!("`liza run` failed: {why}")));
    }
    stage.heading("The auditor approves; now liza delivers the goal.");
    stage.show(&stage.liza(&["deliver", "--to", "main"])?);
    let checks = judge(&stage, &refused)?;
    Ok(Played::Done { stage: Box::new(stage), story: Box::new(story), checks })
}

struct Playing<'a> {
    stage: &'a Stage,
    story: Story,
    /// The refusal of `liza deliver` before the audit ended.
    refused: String,
}

impl Playing<'_> {
    /// Follows the run to its end; returns the signal that interrupted it, if any.
    fn watch(&mut self, queue: WakeQueue) -> Result<Option<i32>, Failure> {
        let WakeQueue { tx, rx, .. } = queue;
        let mut run = Run::start(self.stage, tx, &["run", GOAL])?;
        let mut last = Instant::now();
        let patience = PATIENCE + Duration::from_secs_f64(self.stage.cast.speed.unwrap_or_default() * 10.0);
        let ended = loop {
            match rx.recv_timeout(Duration::from_secs(1)) {
                Ok(Wake::Event(event)) => {
                    last = Instant::now();
                    narrate_event(self.stage, &event);
                    let (kind, task) = (event.event, event.task.clone().unwrap_or_default());
                    let text = event.text.clone();
                    self.story.events.push(*event);
                    self.handle_event(kind, &task, &text)?;
                }
                Ok(Wake::Answered(answer)) => self.story.answer = answer,
                Ok(Wake::Signal(signal)) => break Ok(Some(signal)),
                Ok(Wake::Ended) | Err(RecvTimeoutError::Disconnected) => break Ok(None),
                Err(RecvTimeoutError::Timeout) if last.elapsed() > patience => {
                    let text = format!("no event for {} s", patience.as_secs());
                    break Err(Failure::new(ErrorCode::BugDemo, text));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        };
        run.end();
        ended
    }

    fn handle_event(&mut self, kind: Kind, task: &str, text: &str) -> Result<(), Failure> {
        match (kind, task) {
            (Kind::Claimed, "greet-plan") => {
                self.stage.heading("A supervisor plans each workstream first:");
                self.stage.show(&self.stage.liza(&["status"])?);
            }
            (Kind::Approved, "greet-plan") => self.stage.heading(
                "The plan of `greet` is accepted: its slices start at once, while `count` is still being planned.",
            ),
            (Kind::Approved, "count-plan") => self.stage.heading("Now the plan of `count` is accepted, too."),
            (Kind::Notice, _) if text.contains("NEEDS_EVIDENCE") => {
                self.stage.heading("The auditor asks for evidence, and an operator provides it. Until then `liza deliver` refuses:");
                self.refused = self.stage.liza(&["deliver", "--to", "main"])?;
                self.stage.show(&self.refused);
            }
            _ => {}
        }
        Ok(())
    }
}

/// The revision of the first such record in the journal.
fn first(log: &[Record], is: impl Fn(&Transition) -> bool) -> Option<u64> {
    log.iter().find(|record| is(&record.what)).map(|record| record.revision)
}

fn judge(stage: &Stage, refused: &str) -> Result<Vec<Check>, Failure> {
    let board = stage.board()?;
    let log = stage.log(&board)?;
    let accepted = |stream: &str| {
        let plan = format!("{stream}-plan");
        first(&log, |what| matches!(what, Transition::AcceptResult(done) if done.task.as_str() == plan))
    };
    let claimed = |task: &str| {
        first(&log, |what| matches!(what, Transition::BeginClaim(begun) if begun.task.as_str() == task))
    };
    let status = |id: &str| board.tasks.iter().find(|task| task.id.as_str() == id).map(|task| task.status);
    let route = board.route();
    let mut checks = Vec::new();
    let mut check = |name, shown, what, found: String, shown_by: &str| {
        checks.push(Check { name, shown, what, found, shown_by: shown_by.to_owned() });
    };
    let routed = route.filter(|route| route.route == Way::Multi && route.t_max_s == Some(1500));
    check(
        "routed",
        routed.is_some(),
        "routed by the planner's estimate",
        route.map(|route| route.words()).unwrap_or_default(),
        "liza status",
    );
    let slices = ["greet-hello", "greet-bye", "count-words", "count-lines"];
    let planned_first = slices.iter().all(|slice| {
        let stream = slice.split('-').next().unwrap_or_default();
        accepted(stream).zip(claimed(slice)).is_some_and(|(accepted, claimed)| accepted < claimed)
    });
    check(
        "plan_first",
        planned_first,
        "slices started after their plan",
        format!("{} slices, each claimed after its plan was accepted", slices.len()),
        "liza log",
    );
    let early = claimed("greet-hello").zip(accepted("count"));
    check(
        "independent",
        early.is_some_and(|(work, plan)| work < plan),
        "streams proceed independently",
        format!(
            "greet-hello was claimed at revision {}, count planned at {}",
            early.map_or(0, |at| at.0),
            early.map_or(0, |at| at.1)
        ),
        "liza log",
    );
    let merges = STREAMS.map(|stream| format!("{stream}-merge"));
    let by_reviewer = |id: &String| {
        let task = board.tasks.iter().find(|task| task.id.as_str() == id);
        let merge = task.and_then(|task| task.body().merge.as_ref());
        merge.is_some_and(|merge| merge.nothing && merge.by.as_str().starts_with("code-reviewer"))
    };
    check(
        "merge_slices",
        merges.iter().all(by_reviewer),
        "merge slices, accepted by a reviewer",
        merges.join(", "),
        "liza result show greet-merge",
    );
    let authors = stage.git(&["log", "--no-merges", "--format=%an", "integration"])?;
    let others: Vec<&str> =
        authors.lines().filter(|name| !name.starts_with("coder") && *name != "Demo").collect();
    check(
        "broker_only",
        others.is_empty() && authors.contains("coder"),
        "only coders wrote code",
        format!(
            "{} commits, all by coders",
            authors.lines().filter(|name| name.starts_with("coder")).count()
        ),
        "git log integration",
    );
    let verdicts: Vec<AuditVerdict> =
        route.map(|route| route.audits.iter().map(|audit| audit.verdict).collect()).unwrap_or_default();
    let probe = "audit-goal-2-1-probe-1";
    check(
        "audited",
        verdicts == [AuditVerdict::NeedsEvidence, AuditVerdict::Approve]
            && status(probe) == Some(Status::Merged),
        "audited, with evidence on request",
        verdicts.iter().map(|verdict| verdict.as_str()).collect::<Vec<_>>().join(", then "),
        "liza result show audit-goal-2-1",
    );
    let asked_again = board.tasks.iter().find(|task| task.id.as_str() == probe);
    let asked_again = asked_again.filter(|task| task.status == Status::Merged);
    let previous = asked_again.and_then(|task| task.body().previous.as_ref());
    check(
        "json_only",
        previous.is_some_and(|previous| previous.reason.contains("not exactly one value")),
        "an answer in prose rejected",
        previous.map(|previous| clipped(&previous.reason, 90).into_owned()).unwrap_or_default(),
        "liza task show audit-goal-2-1-probe-1",
    );
    let heads = (stage.git(&["rev-parse", "main"])?, stage.git(&["rev-parse", "integration"])?);
    check(
        "delivered",
        refused.contains("may not be delivered yet") && heads.0 == heads.1,
        "delivered only after the audit",
        format!("main is at {}", heads.0.trim().chars().take(7).collect::<String>()),
        "git log main",
    );
    Ok(checks)
}
