//! `liza overseer nudge` and `liza overseer halt`.

use crate::board::oversight::{Action, Behaviour, Gravity};
use crate::cli::prelude::*;
use crate::flow::oversight::{Order, ask, issue};
use crate::policy::overseer::open_questions;

/// Send an agent advice to change its course (people, overseers)
///
/// The agent reads the advice with its next liza command. liza records it with the reason, like every act of the
/// overseer.
///
/// Example: liza overseer nudge coder-1 --reason "the parser is not the place for this"
#[derive(Args)]
pub struct NudgeArgs {
    /// Id of the agent
    pub agent: AgentId,
    /// What is wrong and what to do instead
    #[arg(long)]
    pub reason: String,
    /// Behaviour seen, one of seven (default: reported)
    #[arg(long, value_name = "NAME")]
    pub behaviour: Option<Behaviour>,
}

/// End an agent's session and block its task (people, overseers)
///
/// The agent's runner ends the session: TERM, the grace period `run.grace_seconds`, KILL. Uncommitted work is kept
/// under a ref; the task becomes BLOCKED with the reason. If a reviewer is halted, its review is free again. No other
/// agent is stopped.
///
/// Example: liza overseer halt coder-1 --reason "it rewrites the same file again and again"
#[derive(Args)]
pub struct HaltArgs {
    /// Id of the agent
    pub agent: AgentId,
    /// What is wrong
    #[arg(long)]
    pub reason: String,
    /// Behaviour seen, one of seven (default: reported)
    #[arg(long, value_name = "NAME")]
    pub behaviour: Option<Behaviour>,
}

impl OnBoard for NudgeArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        act(session, Action::Nudge, &self.agent, &self.reason, self.behaviour)
    }
}

impl OnBoard for HaltArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        act(session, Action::Halt, &self.agent, &self.reason, self.behaviour)
    }
}

/// The work that an agent holds, with its epoch.
fn work_of(session: &Session, board: &Board, agent: &AgentId) -> Option<(TaskId, u64)> {
    let incarnation = board.agent(agent)?.incarnation;
    board.tasks.iter().find_map(|task| {
        let mut leases = [&task.lease, &task.review_lease].into_iter().flatten();
        let held = leases.any(|lease| {
            &lease.agent == agent
                && lease.incarnation == incarnation
                && !lease_over(board, lease, &session.ctx.now)
        });
        held.then(|| (task.id.clone(), task.epoch))
    })
}

fn act(
    session: &mut Session,
    action: Action,
    agent: &AgentId,
    reason: &str,
    behaviour: Option<Behaviour>,
) -> Result<Answer, Failure> {
    let reason = session.input.text(reason)?;
    session.seal_request()?;
    let board = session.ctx.read(&Needs::Nothing)?.board;
    let known = board.agent(agent);
    let held = work_of(session, &board, agent);
    let runs = known.and_then(|known| known.runner.as_ref()).is_some_and(crate::host::lives);
    let order = Order {
        incarnation: known.map_or(0, |known| known.incarnation),
        role: known.and_then(|known| known.roles.first().cloned()).unwrap_or_else(Role::coder),
        agent: agent.clone(),
        epoch: held.as_ref().map(|(_, epoch)| *epoch),
        task: held.map(|(task, _)| task),
        behaviour: behaviour.unwrap_or(Behaviour::Reported),
        action,
        severity: if action == Action::Halt { Gravity::Critical } else { Gravity::Warning },
        confidence: 1.0,
        evidence: reason.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned).collect(),
        question: None,
        text: reason,
        bounds: None,
    };
    if action == Action::Halt && known.is_some() && !runs {
        // A caller without the right gets that refusal first.
        ask(&session.ctx, &board, &order)?;
        return Err(Failure::new(
            Code::Transition,
            format!("no runner supervises `{agent}`: there is no session to end"),
        )
        .hint(match &order.task {
            Some(task) => format!("end its claim with `liza task release {task} --reason …`"),
            None => "`liza overseer` shows the agents at work".to_owned(),
        }));
    }
    let config = session.ctx.project_config().map(|config| config.overseer).unwrap_or_default();
    let mut questions = if session.ctx.is_human() { open_questions(&board, &config) } else { Vec::new() };
    questions.retain(|question| &question.agent == agent && question.task == order.task);
    let ordered = issue(&session.ctx, &order)?;
    let text = match action {
        Action::Halt => format!("{agent} is halted; its runner ends the session and keeps the work"),
        _ if runs => format!("{agent} reads it with its next liza command"),
        _ if known.is_some_and(|known| known.runner.is_some()) => format!(
            "the runner of {agent} has ended: the next session of {agent} reads it with its first liza command"
        ),
        _ => format!(
            "no runner supervises {agent}: it reads the advice with its next liza command, if it is at work"
        ),
    };
    let answer = if action == Action::Halt { "yes" } else { "no, the agent continues" };
    let answered: String =
        questions.iter().map(|question| format!("\n{} is answered: {answer}", question.id)).collect();
    let text = format!("{text}{answered}");
    Ok(Answer::new(ordered.outcome, text).at(ordered.revision))
}
