use clap::{Args, Subcommand};
use serde_json::json;

use crate::board::{Board, PathPattern};
use crate::flow::init::parse_task;
use crate::flow::{Failure, lock, views};
use crate::policy::locks::{EndsWith, Lock, locks, locks_on, needed_for_locks};
use crate::text::{ago, pad_to, plural};

use super::super::Session;
use super::super::ui::Answer;

/// Show who holds which paths, and take paths back
///
/// A task holds the paths it owns from its first claim until it is merged or ends. There is no table beside the board.
///
/// Example: liza lock list
#[derive(Subcommand)]
pub enum LockCommand {
    List(ListArgs),
    Show(ShowArgs),
    Release(ReleaseArgs),
}

/// List every path that a task keeps from others: since when, until when, and whether anybody is still there
///
/// Example: liza lock list --json
#[derive(Args)]
pub struct ListArgs {}

/// Say who holds a file, a directory or a pattern, or parts of it
///
/// Example: liza lock show src/main.rs
#[derive(Args)]
pub struct ShowArgs {
    /// A file, a directory with a final slash, or a pattern, relative to the root of the repository
    pub path: String,
}

/// Take the paths of a task back (people only)
///
/// The claim ends: whoever still works on the task is refused from then on. The work stays on its branch, and the task can be
/// claimed again when the paths are free. The same as `liza status --force-unlock`.
///
/// Example: liza lock release t1 --reason "its agent is gone"
#[derive(Args)]
pub struct ReleaseArgs {
    /// The task
    pub id: String,
    /// Why
    #[arg(long)]
    pub reason: String,
}

pub fn run(session: &mut Session, command: &LockCommand) -> Result<Answer, Failure> {
    match command {
        LockCommand::List(_) => list(session),
        LockCommand::Show(args) => show(session, args),
        LockCommand::Release(args) => {
            let reason = session.input.text(&args.reason)?;
            release(session, &args.id, &reason)
        }
    }
}

fn board(session: &Session) -> Result<Board, Failure> {
    let now = session.ctx.now.clone();
    Ok(session.ctx.read_with(|board| needed_for_locks(board, &now))?.board)
}

fn list(session: &Session) -> Result<Answer, Failure> {
    let board = board(session)?;
    let all = locks(&board, &session.ctx.now);
    views::refresh(&session.ctx);
    let text = if all.is_empty() { "no paths are held".to_owned() } else { table(session, &all) };
    Ok(Answer::new(json!({ "locks": all }), text).at(board.revision))
}

fn show(session: &Session, args: &ShowArgs) -> Result<Answer, Failure> {
    let path = PathPattern::new(&args.path).map_err(|why| {
        Failure::usage(format!("`{}` cannot be a path here: {why}", args.path)).hint(
            "a file, a directory with a final slash, or a pattern, relative to the root of the repository",
        )
    })?;
    let board = board(session)?;
    let found = locks_on(&board, &session.ctx.now, &path);
    let text = if found.is_empty() { format!("{path} is free") } else { table(session, &found) };
    Ok(Answer::new(json!({ "path": path, "free": found.is_empty(), "locks": found }), text)
        .at(board.revision))
}

/// The work of `lock release` and of `status --force-unlock`.
pub fn release(session: &mut Session, id: &str, reason: &str) -> Result<Answer, Failure> {
    let id = parse_task(id)?;
    session.seal_request()?;
    let (data, revision) = lock::release(&session.ctx, &id, reason)?;
    let count = data["paths"].as_array().map_or(0, Vec::len);
    let fenced = match data["fenced"].as_str() {
        Some(agent) => format!("; `{agent}` can no longer hand anything in for it"),
        None => String::new(),
    };
    let text = format!(
        "{id} is {} and has given {} back{fenced}; its work stays on its branch",
        data["status"].as_str().unwrap_or_default(),
        plural(count, "path")
    );
    Ok(Answer::new(data, text).at(revision))
}

fn table(session: &Session, locks: &[Lock]) -> String {
    let now = session.ctx.now.wall;
    let width = |text: &dyn Fn(&Lock) -> usize| locks.iter().map(text).max().unwrap_or(0);
    let paths = width(&|lock| crate::text::display_width(lock.path.as_str()));
    let tasks = width(&|lock| lock.task.as_str().len());
    let mut text = String::new();
    for lock in locks {
        let agent = lock.agent.as_ref().map_or("nobody", |agent| agent.as_str());
        let since = lock.since.map_or(String::new(), |since| format!(" since {}", ago(now.since(since))));
        let until = match (lock.ends_with, lock.until) {
            (EndsWith::Lease, Some(until)) => format!("lease until {until}"),
            (EndsWith::BlockedHold, Some(until)) => format!("until {until} at the latest"),
            _ => "until it is merged or ends".to_owned(),
        };
        let stale = if lock.stale {
            format!("  !! stale: `liza lock release {} --reason …` takes it back", lock.task)
        } else {
            String::new()
        };
        text.push_str(&format!(
            "{}  {}  {}  {}  {agent}{since}, {until}{stale}\n",
            pad_to(lock.path.as_str(), paths),
            pad_to(lock.granularity.as_str(), 9),
            pad_to(lock.task.as_str(), tasks),
            pad_to(lock.status.as_str(), 18),
        ));
    }
    text
}
