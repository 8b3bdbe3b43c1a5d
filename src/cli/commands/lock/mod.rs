mod list;
pub mod release;
mod show;

use crate::cli::prelude::*;
use crate::policy::locks::{EndsWith, Lock, needed_for_locks};

commands! {
    /// Show which task holds which paths, and release paths
    ///
    /// A task holds its owned paths from its first claim until it is merged or ends. The board itself is the list of
    /// locks.
    ///
    /// Example: liza lock list
    pub enum LockCommand {
        List(list::ListArgs),
        Show(show::ShowArgs),
        Release(release::ReleaseArgs),
    }
}

fn board(session: &Session) -> Result<Board, Failure> {
    let now = session.ctx.now.clone();
    Ok(session.ctx.read_with(|board| needed_for_locks(board, &now))?.board)
}

fn table(session: &Session, locks: &[Lock]) -> String {
    let now = session.ctx.now.wall;
    let width = |text: &dyn Fn(&Lock) -> usize| locks.iter().map(text).max().unwrap_or(0);
    let paths = width(&|lock| crate::text::display_width(lock.path.as_str()));
    let tasks = width(&|lock| lock.task.as_str().len());
    let mut text = String::new();
    for lock in locks {
        let agent = lock.agent.as_ref().map_or("no agent", |agent| agent.as_str());
        let since = lock.since.map_or(String::new(), |since| format!(" since {}", ago(now.since(since))));
        let until = match (lock.ends_with, lock.until) {
            (EndsWith::Lease, Some(until)) => format!("lease until {until}"),
            (EndsWith::BlockedHold, Some(until)) => format!("until {until} at the latest"),
            _ => "until it is merged or ends".to_owned(),
        };
        let stale = if lock.stale {
            format!("  !! stale: `liza lock release {} --reason …` releases it", lock.task)
        } else {
            String::new()
        };
        text.line(format!(
            "{}  {}  {}  {}  {agent}{since}, {until}{stale}",
            pad_to(lock.path.as_str(), paths),
            pad_to(lock.granularity.as_str(), 9),
            pad_to(lock.task.as_str(), tasks),
            pad_to(lock.status.as_str(), 18),
        ));
    }
    text
}
