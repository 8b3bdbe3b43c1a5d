use clap::Args;

use crate::board::{Needs, TaskId};
use crate::flow::Failure;
use crate::flow::init::{parse_role, parse_task};
use crate::supervise::explain::explain;
use crate::supervise::runner::{Left, Options, Runner};
use crate::supervise::signals::exit_code;

use super::super::Session;
use super::super::ui::Answer;
use super::agent::parse_agent;

/// Supervise one agent: wait for work, claim it, start the agent on it, and judge what it left
///
/// The agent's command comes from `provider`, `roles` and `team` in liza.yaml, or from --provider. It runs in the
/// task's worktree, in a process group of its own; its output is kept under .liza/runs. The runner renews the lease while
/// the agent lives, saves uncommitted work, and merges what its reviewer approved. Ends at ABORT (exit 5), at a signal, or
/// after three crashes in five minutes (exit 1).
///
/// Example: liza agent run --role coder --explain
#[derive(Args)]
pub struct RunArgs {
    /// As what it works
    #[arg(long)]
    pub role: String,
    /// Its name (default: the role and the first number whose runner is not alive)
    #[arg(long)]
    pub id: Option<String>,
    /// By which agent command it is played
    #[arg(long)]
    pub provider: Option<String>,
    /// Leave after one piece of work, or at once if there is none
    #[arg(long)]
    pub once: bool,
    /// Work on this task only
    #[arg(long, value_name = "TASK")]
    pub task: Option<String>,
    /// Show what would be started, and start nothing
    #[arg(long)]
    pub explain: bool,
    /// The `liza run` it belongs to
    #[arg(long, hide = true)]
    pub parent: Option<u32>,
    /// Occasions a planner is woken for
    #[arg(long, hide = true)]
    pub woken: Vec<String>,
}

pub fn run(session: &mut Session, args: &RunArgs) -> Result<Answer, Failure> {
    // Where there is no board, that is what is said.
    session.ctx.read(&Needs::Nothing)?;
    super::people_only(session, "run agents")?;
    super::known_role(session, &parse_role(&args.role)?)?;
    let task: Option<TaskId> = args.task.as_deref().map(parse_task).transpose()?;
    let options = Options {
        role: parse_role(&args.role)?,
        id: args.id.as_deref().map(parse_agent).transpose()?,
        provider: args.provider.clone(),
        once: args.once,
        task,
        woken: args.woken.clone(),
        parent: args.parent,
    };
    if args.explain {
        let explained = explain(&session.ctx, &options)?;
        return Ok(Answer::new(explained.data, explained.text));
    }
    let sink = session.ui.event_sink();
    let mut runner = Runner::start(&session.ctx, options, sink)?;
    let id = runner.agent().clone();
    let mut answer = Answer::new(serde_json::json!({ "agent": id }), String::new());
    match runner.run()? {
        Left::Done | Left::NothingToDo => {}
        Left::Signal(signal) => answer.exit = exit_code(signal),
        Left::Aborted(why) => {
            return Err(Failure::new("switch.set", why)
                .hint("work in progress is kept; `liza resume` takes the switch away"));
        }
        Left::GaveUp(why) => {
            return Err(Failure::new("refused.crash_loop", format!("{id} is not started again: {why}"))
                .hint(format!(
                    "its output is under .liza/runs; then `liza agent run --id {id} --role {}`",
                    args.role
                )));
        }
    }
    Ok(answer)
}
