mod empty;
mod list;
mod restore;

crate::cli::session::commands! {
    /// List, restore or permanently delete removed files
    ///
    /// Example: liza trash list
    pub enum TrashCommand {
        List(list::ListArgs),
        Restore(restore::RestoreArgs),
        Empty(empty::EmptyArgs),
    }
}
