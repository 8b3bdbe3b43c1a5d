//! One file per command: its arguments, the call of its use case, and the outcome as text. A new command is its file, its
//! `mod` line, its row in a table (here, or in the `mod.rs` of its parent command) and, at the top level, its name in
//! `cli/groups.rs`.

mod agent;
mod anomaly;
mod archive;
mod breaker;
mod bug;
mod bundle;
mod complete;
mod completions;
mod config;
mod deliver;
mod demo;
mod diff;
mod discover;
mod dispatch;
mod doctor;
mod edits;
mod experiment;
mod gate;
mod gc;
mod goal;
mod graph;
mod hold;
mod hooks;
mod inbox;
mod init;
mod integration;
mod lock;
mod log;
mod man;
mod merge;
mod message;
mod metrics;
mod next;
mod note;
mod overseer;
mod plan;
mod redteam;
mod report;
mod result;
mod resume;
mod review;
mod roles;
mod run;
mod schema;
mod spec_change;
mod sprint;
mod ssot_id;
mod status;
mod stream;
mod switch;
mod task;
mod trash;
mod uninstall;
mod validate;
mod verify;
mod watch;
mod worktree;

crate::cli::session::commands! {
    #[expect(clippy::large_enum_variant, reason = "one value a process")]
    pub enum Command {
        Init(init::InitArgs),
        Goal(goal::GoalArgs),
        #[command(subcommand)]
        Config(config::ConfigCommand),
        Status(status::StatusArgs),
        #[command(subcommand)]
        Task(task::TaskCommand),
        Next(next::NextArgs),
        Roles(roles::RolesArgs),
        #[command(subcommand)]
        Review(review::ReviewCommand),
        #[command(subcommand)]
        Dispatch(dispatch::DispatchCommand),
        #[command(subcommand)]
        Result(result::ResultCommand),
        Merge(merge::MergeArgs),
        #[command(subcommand)]
        Integration(integration::IntegrationCommand),
        Deliver(deliver::DeliverArgs),
        #[command(subcommand)]
        Bundle(bundle::BundleCommand),
        Plan(plan::PlanArgs),
        #[command(subcommand)]
        Stream(stream::StreamCommand),
        #[command(subcommand)]
        Agent(agent::AgentCommand),
        Run(run::RunArgs),
        Watch(watch::WatchArgs),
        Breaker(breaker::BreakerArgs),
        Overseer(overseer::OverseerArgs),
        Pause(switch::PauseArgs),
        Resume(resume::ResumeArgs),
        Abort(switch::AbortArgs),
        Checkpoint(switch::CheckpointArgs),
        #[command(subcommand)]
        Gate(gate::GateCommand),
        Note(note::NoteArgs),
        Anomaly(anomaly::AnomalyArgs),
        Discover(discover::DiscoverArgs),
        Bug(bug::BugArgs),
        SpecChange(spec_change::SpecChangeArgs),
        Inbox(inbox::InboxArgs),
        #[command(subcommand)]
        Message(message::MessageCommand),
        Log(log::LogArgs),
        Graph(graph::GraphArgs),
        Report(report::ReportArgs),
        Metrics(metrics::MetricsArgs),
        #[command(subcommand)]
        Sprint(sprint::SprintCommand),
        #[command(subcommand)]
        Experiment(experiment::ExperimentCommand),
        #[command(subcommand)]
        Lock(lock::LockCommand),
        Diff(diff::DiffArgs),
        Validate(validate::ValidateArgs),
        Verify(verify::VerifyArgs),
        Doctor(doctor::DoctorArgs),
        #[command(subcommand)]
        Edits(edits::EditsCommand),
        #[command(subcommand)]
        Hooks(hooks::HooksCommand),
        Archive(archive::ArchiveArgs),
        #[command(subcommand)]
        Worktree(worktree::WorktreeCommand),
        Gc(gc::GcArgs),
        #[command(subcommand)]
        Trash(trash::TrashCommand),
        Uninstall(uninstall::UninstallArgs),
        Schema(schema::SchemaArgs),
        SsotId(ssot_id::SsotIdArgs),
        Demo(demo::DemoArgs),
        Redteam(redteam::RedteamArgs),
        Completions(completions::CompletionsArgs),
        Man(man::ManArgs),
        #[command(name = "__hold", hide = true)]
        Hold(hold::HoldArgs),
        #[command(name = "__complete", hide = true)]
        Complete(complete::CompleteArgs),
    }
}
