use crate::cli::prelude::*;
use crate::supervise::explain::explain;
use crate::supervise::runner::{Left, Options, Runner};

/// Supervise one agent: claim work, start the agent, check the result
///
/// The agent's command comes from `provider`, `roles` and `team` in liza.yaml, or from --provider. It runs in the
/// task's worktree, in its own process group; `liza agent log` shows its output. The runner renews the lease while
/// the agent lives, saves uncommitted work, and merges what its reviewer approved. It ends at ABORT (exit 5), at a
/// signal, or after three crashes in five minutes (exit 1).
///
/// Example: liza agent run --role coder --explain
#[derive(Args)]
pub struct RunArgs {
    /// Role of the agent
    #[arg(long)]
    pub role: Role,
    /// Id of the agent (default: the role and the first number without a live runner)
    #[arg(long)]
    pub id: Option<AgentId>,
    /// Provider of the agent (overrides liza.yaml)
    #[arg(long)]
    pub provider: Option<String>,
    /// End after one piece of work, or at once if there is none
    #[arg(long)]
    pub once: bool,
    /// Work on this task only
    #[arg(long, value_name = "TASK")]
    pub task: Option<TaskId>,
    /// Show what would be started; start nothing
    #[arg(long)]
    pub explain: bool,
    /// Process id of the `liza run` that started this runner
    #[arg(long, hide = true)]
    pub parent: Option<u32>,
    /// Triggers that a planner is started for
    #[arg(long, hide = true)]
    pub woken: Vec<String>,
}

impl OnBoard for RunArgs {
    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        // Reports a missing board before any other refusal.
        let board = session.ctx.read(&Needs::Nothing)?.board;
        session.people_only("run agents")?;
        session.known_role(&self.role)?;
        let options = Options {
            role: self.role.clone(),
            id: self.id.clone(),
            provider: self.provider.clone(),
            once: self.once,
            task: self.task.clone(),
            woken: self.woken.clone(),
            parent: self.parent,
        };
        if self.explain {
            let explained = explain(&session.ctx, &options)?;
            return Ok(Answer::new(explained.data, explained.text).verbatim());
        }
        // `liza run` has settled manual edits before it started this runner.
        if self.parent.is_none() {
            session.ctx.settle_edits()?;
            if let Ok(config) = session.ctx.project_config() {
                // Records new gates before the agent starts; a changed gate stops approvals and merges.
                let _ = crate::flow::gates::accepted::note_new(&session.ctx, &board, &config);
            }
        }
        session.ctx.store.supervise();
        let sink = session.ui.event_sink();
        let mut runner = Runner::start(&session.ctx, options, sink)?;
        let id = runner.agent().clone();
        let mut answer = Answer::new(json!({ "agent": id }), String::new());
        match runner.run()? {
            Left::Done | Left::NothingToDo => {}
            Left::Signal(signal) => answer.exit = exit_code(signal),
            Left::Aborted(why) => {
                return Err(Failure::new(Code::Switched, why)
                    .hint("work in progress is kept; `liza resume` removes the switch"));
            }
            Left::GaveUp(why) => {
                let again = format!("liza agent run --id {id} --role {}", self.role);
                let text = format!("{id} is not started again: {why}");
                return Err(Failure::new(ErrorCode::RefusedCrashLoop, text)
                    .hint(format!("`liza agent log {id}` shows its last session; then `{again}`")));
            }
        }
        Ok(answer)
    }
}
