mod heartbeat;
mod list;
mod log;
mod register;
mod retire;
mod run;

crate::cli::session::commands! {
    /// Register, list, run and retire agents
    ///
    /// Example: liza agent list
    pub enum AgentCommand {
        Register(register::RegisterArgs),
        List(list::ListArgs),
        Heartbeat(heartbeat::HeartbeatArgs),
        Retire(retire::RetireArgs),
        Run(run::RunArgs),
        Log(log::LogArgs),
    }
}
