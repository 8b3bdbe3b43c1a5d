//! The switches PAUSE, CHECKPOINT and ABORT: each is a file of that name in .liza.

use crate::board::SwitchKind;
use crate::board::rights::{Stopped, check_switch};
use crate::cli::prelude::*;
use crate::flow::summary;

/// What the switch stops, and why.
#[derive(Args)]
pub struct Stop {
    /// Set the switch for this task only
    #[arg(long, value_name = "TASK", conflicts_with = "agent")]
    pub task: Option<TaskId>,
    /// Set the switch for this agent only
    #[arg(long, value_name = "AGENT")]
    pub agent: Option<AgentId>,
    /// Reason, shown to each agent that the switch stops
    #[arg(long, default_value = "")]
    pub reason: String,
}

/// Set PAUSE: no claims, submissions, verdicts or merges
///
/// The same as `touch .liza/PAUSE`; `liza resume` removes it. Agents can still save work, and they keep their leases.
///
/// Example: liza pause --reason "looking at t3"
#[derive(Args)]
pub struct PauseArgs {
    #[command(flatten)]
    stop: Stop,
}

/// Set ABORT: stop all agents and keep their work
///
/// The same as `touch .liza/ABORT`; stronger than PAUSE.
///
/// Example: liza abort --reason "wrong goal"
#[derive(Args)]
pub struct AbortArgs {
    #[command(flatten)]
    stop: Stop,
}

/// Set CHECKPOINT: halt the team and write a summary
///
/// Sets the CHECKPOINT switch, as `touch .liza/CHECKPOINT` does, and writes the summary report for people. This is not
/// a coder's checkpoint, the announcement before the work: see `liza task checkpoint`.
///
/// Example: liza checkpoint --reason "end of the day"
#[derive(Args)]
pub struct CheckpointArgs {
    #[command(flatten)]
    stop: Stop,
}

impl OnBoard for PauseArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        set(session, SwitchKind::Pause, &self.stop)
    }
}

impl OnBoard for AbortArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        set(session, SwitchKind::Abort, &self.stop)
    }
}

impl OnBoard for CheckpointArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        set(session, SwitchKind::Checkpoint, &self.stop)
    }
}

fn subject(board: &Board, task: Option<&TaskId>, agent: Option<&AgentId>) -> Result<Stopped, Failure> {
    if let Some(task) = task {
        return match board.task(task) {
            Some(_) => Ok(Stopped::Task(task.clone())),
            None => Err(view::unknown_task(board, task)),
        };
    }
    let Some(agent) = agent else { return Ok(Stopped::AllAgents) };
    if board.agent(agent).is_some() || agent.is_human() {
        return Ok(Stopped::Agent(agent.clone()));
    }
    Err(view::unknown_agent(board, agent))
}

fn set(session: &mut Session, kind: SwitchKind, args: &Stop) -> Result<Answer, Failure> {
    let ctx = &session.ctx;
    if kind == SwitchKind::Checkpoint && !ctx.is_human() {
        return Err(Failure::new(
            Code::HumanOnly,
            "only a person may set the CHECKPOINT switch, which halts the team",
        )
        .hint("a coder announces its work with `liza task checkpoint TASK --intent …`"));
    }
    let board = ctx.read(&Needs::Nothing)?.board;
    let whom = subject(&board, args.task.as_ref(), args.agent.as_ref())?;
    check_switch(&board, &board.identify(&ctx.credentials)?, &whom)?;
    let task = args.task.as_ref().map(TaskId::as_str);
    let subject = task.or(args.agent.as_ref().map(AgentId::as_str));
    let reason = session.input.text(&args.reason)?;
    let set = ctx.store.set_switch(kind, subject, &reason)?;
    let mut text = match (&subject, set) {
        (None, true) if kind == SwitchKind::Abort => {
            "ABORT is set: all agents stop and their work is kept; to continue: `liza resume`, then `liza run`"
                .to_owned()
        }
        (None, true) => format!("{} is set: no new work starts until `liza resume`", kind.as_str()),
        (Some(subject), true) => format!("{} is set for {subject}", kind.as_str()),
        (_, false) => format!("{} is set already; it stays", kind.as_str()),
    };
    let mut data = json!({ "switch": kind.as_str(), "subject": subject, "set": set });
    if kind == SwitchKind::Checkpoint {
        // If the switch was set before, its report may be old.
        let report = if set { summary::of_checkpoint(ctx, subject)?.map(|(report, _)| report) } else { None };
        let report = report.map_or_else(|| summary::write(ctx, &reason), Ok)?;
        text.push_str(&format!("\nsummary: {}", report.display()));
        data["report"] = json!(report);
    }
    Ok(Answer::new(data, text))
}
