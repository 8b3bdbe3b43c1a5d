//! One file per command: its flags, and a few lines that hand them to the use case and put the outcome into words.

pub mod agent;
mod agent_run;
pub mod archive;
pub mod breaker;
pub mod bug;
pub mod bundle;
pub mod completions;
pub mod demo;
pub mod diff;
pub mod gate;
pub mod gc;
pub mod graph;
pub mod health;
pub mod hold;
pub mod hooks;
pub mod init;
pub mod integration;
pub mod lock;
pub mod log;
pub mod man;
pub mod merge;
pub mod message;
pub mod metrics;
pub mod next;
pub mod overseer;
pub mod plan;
pub mod records;
pub mod report;
pub mod review;
pub mod roles;
pub mod run;
pub mod schema;
pub mod sprint;
pub mod status;
pub mod switch;
pub mod task;
mod task_write;
pub mod trash;
pub mod uninstall;
pub mod watch;
pub mod worktree;

use crate::flow::Failure;

use super::Session;
use super::args::Command;
use super::ui::Answer;

pub fn dispatch(session: &mut Session, command: Command) -> Result<Answer, Failure> {
    match command {
        Command::Init(args) => init::run(session, &args),
        Command::Status(args) => status::run(session, &args),
        Command::Task(command) => task::run(session, command),
        Command::Next(args) => next::run(session, &args),
        Command::Roles(args) => roles::run(session, &args),
        Command::Review(command) => review::run(session, command),
        Command::Merge(args) => merge::run(session, &args),
        Command::Integration(command) => integration::run(session, command),
        Command::Deliver(args) => integration::deliver(session, &args),
        Command::Bundle(command) => bundle::run(session, &command),
        Command::Plan(args) => plan::run(session, &args),
        Command::Agent(command) => agent::run(session, command),
        Command::Run(args) => run::run(session, &args),
        Command::Pause(args) => switch::set(session, crate::board::SwitchKind::Pause, &args),
        Command::Abort(args) => switch::set(session, crate::board::SwitchKind::Abort, &args),
        Command::Checkpoint(args) => switch::set(session, crate::board::SwitchKind::Checkpoint, &args),
        Command::Breaker(args) => breaker::run(session, &args),
        Command::Watch(args) => watch::run(session, &args),
        Command::Overseer(args) => overseer::run(session, &args),
        Command::Resume(args) => switch::resume(session, &args),
        Command::Note(args) => records::note(session, &args),
        Command::Anomaly(args) => records::anomaly(session, &args),
        Command::Discover(args) => records::discover(session, &args),
        Command::Bug(args) => bug::run(session, &args),
        Command::SpecChange(args) => records::spec_change(session, &args),
        Command::Inbox(args) => records::inbox(session, &args),
        Command::Message(command) => message::run(session, &command),
        Command::Log(args) => log::run(session, &args),
        Command::Report(args) => report::run(session, &args),
        Command::Metrics(args) => metrics::run(session, &args),
        Command::Sprint(command) => sprint::run(session, &command),
        Command::Lock(command) => lock::run(session, &command),
        Command::Graph(args) => graph::run(session, &args),
        Command::Diff(args) => diff::run(session, &args),
        Command::Validate(args) => health::validate(session, &args),
        Command::Verify(_) => health::verify(session),
        Command::Doctor(args) => health::doctor(session, &args),
        Command::Hooks(command) => hooks::run(session, command),
        Command::Archive(args) => archive::run(session, &args),
        Command::Worktree(command) => worktree::run(session, &command),
        Command::Gate(command) => gate::run(session, command),
        Command::Gc(args) => gc::run(session, &args),
        Command::Trash(command) => trash::run(session, &command),
        Command::Uninstall(args) => uninstall::run(session, &args),
        Command::Schema(args) => schema::run(&args),
        Command::Completions(args) => Ok(completions::run(&args)),
        Command::Man(args) => man::run(&args),
        Command::Complete(args) => completions::complete(&args),
        Command::Demo(args) => demo::run(&args, session.ui),
        Command::Hold(args) => hold::run(&args),
    }
}

/// A role that nobody can have is a slip of the finger, and said before anything else.
fn known_role(session: &Session, role: &crate::board::Role) -> Result<(), Failure> {
    let built_in = crate::board::agent::BUILT_IN_ROLES;
    if built_in.contains(&role.as_str()) || session.ctx.project_config()?.roles.contains_key(role) {
        return Ok(());
    }
    Err(Failure::new("refused.unknown_role", format!("there is no role `{role}`"))
        .hint(format!("roles: {}; more can be defined in liza.yaml", built_in.join(", "))))
}

/// Refuses agents: what cannot be taken back is for people to decide.
fn people_only(session: &Session, verb: &str) -> Result<(), Failure> {
    if session.ctx.is_human() {
        return Ok(());
    }
    Err(Failure::new("refused.human_only", format!("only a person may {verb}"))
        .hint("say what you need with `liza note`"))
}
