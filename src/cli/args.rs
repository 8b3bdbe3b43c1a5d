//! The whole command line: one enum, one line a command. Each command's flags stand in its own file.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use super::commands;
use super::ui::ColorChoice;

/// Let a team of coding agents work on one git repository without losing work or approving their own code
///
/// Agents and people change the board in .liza/state.yaml only through these commands; every task has its own
/// worktree, somebody else reviews it, and only then does the integration branch move.
///
/// Example: liza status
#[derive(Parser)]
#[command(name = "liza", version, propagate_version = true, max_term_width = 100)]
pub struct Cli {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Args)]
pub struct Global {
    /// Print one JSON object instead of text
    #[arg(long, global = true)]
    pub json: bool,
    /// The board's directory, if it is not found from here (also LIZA_DIR)
    #[arg(long, global = true, value_name = "DIR")]
    pub board: Option<PathBuf>,
    /// When to use colours
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN")]
    pub color: ColorChoice,
    /// Say nothing on standard error except errors
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// Repeating a command with the same id and arguments gives the first outcome and changes nothing
    #[arg(long, global = true, value_name = "ID")]
    pub request_id: Option<String>,
}

#[derive(Subcommand)]
#[expect(clippy::large_enum_variant, reason = "one value a process")]
pub enum Command {
    Init(commands::init::InitArgs),
    Status(commands::status::StatusArgs),
    #[command(subcommand)]
    Task(commands::task::TaskCommand),
    Next(commands::next::NextArgs),
    Roles(commands::roles::RolesArgs),
    #[command(subcommand)]
    Review(commands::review::ReviewCommand),
    Merge(commands::merge::MergeArgs),
    #[command(subcommand)]
    Integration(commands::integration::IntegrationCommand),
    Deliver(commands::integration::DeliverArgs),
    #[command(subcommand)]
    Bundle(commands::bundle::BundleCommand),
    Plan(commands::plan::PlanArgs),
    #[command(subcommand)]
    Agent(commands::agent::AgentCommand),
    Run(commands::run::RunArgs),
    Watch(commands::watch::WatchArgs),
    Breaker(commands::breaker::BreakerArgs),
    Overseer(commands::overseer::OverseerArgs),
    /// Stop new work: nobody claims, submits, judges or merges until `liza resume`
    ///
    /// The same as `touch .liza/PAUSE`. Saving work goes on, and agents keep their leases.
    ///
    /// Example: liza pause --reason "looking at t3"
    Pause(commands::switch::SwitchArgs),
    Resume(commands::switch::ResumeArgs),
    /// Tell every agent to stop
    ///
    /// The same as `touch .liza/ABORT`: stronger than a pause. Work in progress is kept.
    ///
    /// Example: liza abort --reason "wrong goal"
    Abort(commands::switch::SwitchArgs),
    /// Halt everything and write a summary report for people
    ///
    /// The same as `touch .liza/CHECKPOINT`, plus the report. (A coder's plan is `liza task checkpoint`.)
    ///
    /// Example: liza checkpoint --reason "end of the day"
    Checkpoint(commands::switch::SwitchArgs),
    #[command(subcommand)]
    Gate(commands::gate::GateCommand),
    Note(commands::records::NoteArgs),
    Anomaly(commands::records::AnomalyArgs),
    Discover(commands::records::DiscoverArgs),
    Bug(commands::bug::BugArgs),
    SpecChange(commands::records::SpecChangeArgs),
    Inbox(commands::records::InboxArgs),
    #[command(subcommand)]
    Message(commands::message::MessageCommand),
    Log(commands::log::LogArgs),
    Graph(commands::graph::GraphArgs),
    Report(commands::report::ReportArgs),
    Metrics(commands::metrics::MetricsArgs),
    #[command(subcommand)]
    Sprint(commands::sprint::SprintCommand),
    #[command(subcommand)]
    Lock(commands::lock::LockCommand),
    Diff(commands::diff::DiffArgs),
    Validate(commands::health::ValidateArgs),
    Verify(commands::health::VerifyArgs),
    Doctor(commands::health::DoctorArgs),
    #[command(subcommand)]
    Hooks(commands::hooks::HooksCommand),
    Archive(commands::archive::ArchiveArgs),
    #[command(subcommand)]
    Worktree(commands::worktree::WorktreeCommand),
    Gc(commands::gc::GcArgs),
    #[command(subcommand)]
    Trash(commands::trash::TrashCommand),
    Uninstall(commands::uninstall::UninstallArgs),
    Schema(commands::schema::SchemaArgs),
    Demo(commands::demo::DemoArgs),
    Completions(commands::completions::CompletionsArgs),
    Man(commands::man::ManArgs),
    #[command(name = "__hold", hide = true)]
    Hold(commands::hold::HoldArgs),
    #[command(name = "__complete", hide = true)]
    Complete(commands::completions::CompleteArgs),
}

impl Command {
    /// Whether it only looks. What a gate started may do nothing else on this board.
    pub fn only_looks(&self) -> bool {
        use commands::agent::AgentCommand;
        use commands::review::ReviewCommand;
        use commands::task::TaskCommand;
        use commands::worktree::WorktreeCommand;
        match self {
            Self::Status(_) | Self::Log(_) | Self::Graph(_) | Self::Diff(_) => true,
            Self::Roles(_) => true,
            Self::Validate(_) | Self::Verify(_) => true,
            Self::Task(command) => matches!(command, TaskCommand::List(_) | TaskCommand::Show(_)),
            Self::Review(command) => matches!(command, ReviewCommand::Show(_)),
            Self::Agent(command) => matches!(command, AgentCommand::List(_)),
            Self::Worktree(command) => matches!(command, WorktreeCommand::List(_)),
            Self::Gate(command) => command.only_looks(),
            Self::Message(command) => command.only_looks(),
            Self::Breaker(args) => args.only_looks(),
            Self::Metrics(_) => true,
            Self::Sprint(command) => matches!(command, commands::sprint::SprintCommand::Show(_)),
            Self::Overseer(args) => args.only_looks(),
            _ => false,
        }
    }

    /// Whether its caller is about to read what waits for it.
    pub fn reads_messages(&self) -> bool {
        matches!(self, Self::Message(commands::message::MessageCommand::Inbox(_)))
    }

    /// Whether it may be shown a board of another version: it changes nothing, and needs nothing that only a board of
    /// this version has.
    pub fn reads_any_version(&self) -> bool {
        use commands::agent::AgentCommand;
        use commands::task::TaskCommand;
        match self {
            Self::Status(_) | Self::Log(_) | Self::Graph(_) | Self::Validate(_) => true,
            Self::Task(command) => matches!(command, TaskCommand::List(_) | TaskCommand::Show(_)),
            Self::Agent(command) => matches!(command, AgentCommand::List(_)),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        super::Cli::command().debug_assert();
    }
}
