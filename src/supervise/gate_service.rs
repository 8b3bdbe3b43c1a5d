//! While an agent works, its runner runs the gates that cannot run in the agent's sandbox (`flow::gates::by_runner`).

use super::prelude::*;
use crate::flow::gates::by_runner;
use crate::store::Machine;

/// How often the runner looks for the directory of a request.
const EVERY: Duration = Duration::from_millis(200);

/// Stops when dropped. The runner then also ends a gate that still runs.
pub struct GateService {
    stop: Option<Sender<()>>,
    machine: Machine,
    agent: AgentId,
}

impl GateService {
    pub fn start(ctx: &Context, agent: &AgentId) -> Self {
        let (stop, stopped) = channel::<()>();
        let (machine, board, root) =
            (ctx.machine.clone(), ctx.store.address().to_owned(), ctx.root().to_owned());
        by_runner::forget(&machine, agent);
        let service = Self { stop: Some(stop), machine: machine.clone(), agent: agent.clone() };
        let agent = agent.clone();
        // Without the thread, the agent's command reports that the runner does not answer.
        let _ = crate::host::start_thread(move || {
            while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(EVERY) {
                by_runner::serve(&machine, &agent, |task, gate| {
                    let program = Program::new(this_program()).args(["--json", "--board"]).arg(&board);
                    let program = program.args(["gate", "run", task.as_str(), "--gate", gate]);
                    let output = program.dir(&root).own_group().output();
                    output.map(|output| output.stdout).map_err(|error| error.to_string())
                });
            }
        });
        service
    }
}

impl Drop for GateService {
    fn drop(&mut self) {
        drop(self.stop.take());
        by_runner::forget(&self.machine, &self.agent);
    }
}
