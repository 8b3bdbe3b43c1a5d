mod list;
pub mod prune;

crate::cli::session::commands! {
    /// List worktrees and remove unused ones
    ///
    /// Example: liza worktree list
    pub enum WorktreeCommand {
        List(list::ListArgs),
        Prune(prune::PruneArgs),
    }
}
