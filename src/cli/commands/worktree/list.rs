use crate::cli::prelude::*;
use crate::flow::worktrees::{ListedWorktree, list};

/// List worktrees with task, branch, size and whether they are unused
///
/// Example: liza worktree list --json
#[derive(Args)]
pub struct ListArgs {}

impl OnBoard for ListArgs {
    const ACCESS: Access = Access::Reads;

    fn run(&self, session: &mut Session) -> Result<Answer, Failure> {
        let worktrees = list(&session.ctx)?;
        let total: u64 = worktrees.iter().map(|worktree| worktree.bytes).sum();
        let text = table(&worktrees, total);
        Ok(Answer::new(json!({ "worktrees": worktrees, "bytes": total }), text))
    }
}

fn table(worktrees: &[ListedWorktree], total: u64) -> String {
    if worktrees.is_empty() {
        return "there are no worktrees".to_owned();
    }
    let width = worktrees.iter().map(|worktree| worktree.path.display().to_string().len()).max().unwrap_or(0);
    let purposes = worktrees.iter().map(|worktree| worktree.purpose.as_str().len()).max().unwrap_or(0).max(6);
    let mut text = String::new();
    for worktree in worktrees {
        let state = match (worktree.status, worktree.archived) {
            (Some(status), true) => format!("{status}, archived"),
            (Some(status), false) => status.to_string(),
            (None, _) => "-".to_owned(),
        };
        text.line(format!(
            "{}  {}  {}  {}  {}{}",
            pad_to(&worktree.path.display().to_string(), width),
            pad_to(worktree.purpose.as_str(), purposes),
            pad_to(&state, 20),
            pad_to(&bytes(worktree.bytes), 10),
            pad_to(worktree.branch.as_deref().unwrap_or("(no branch)"), 16),
            if worktree.dirty { "  uncommitted work" } else { "" },
        ));
        let may = if worktree.prunable { "removable" } else { "stays" };
        text.line(format!("  {may}: {}", worktree.why));
    }
    text.line(format!("{} in all", bytes(total)));
    text
}
