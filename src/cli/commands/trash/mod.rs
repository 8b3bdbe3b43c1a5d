mod empty;
mod list;
mod restore;

crate::cli::session::commands! {
    /// Look at what was removed, bring it back, or delete it for good
    ///
    /// Example: liza trash list
    pub enum TrashCommand {
        List(list::ListArgs),
        Restore(restore::RestoreArgs),
        Empty(empty::EmptyArgs),
    }
}
