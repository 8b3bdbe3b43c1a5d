mod list;
pub mod prune;

crate::cli::session::commands! {
    /// Look at the worktrees, and take away those nobody needs any more
    ///
    /// Example: liza worktree list
    pub enum WorktreeCommand {
        List(list::ListArgs),
        Prune(prune::PruneArgs),
    }
}
