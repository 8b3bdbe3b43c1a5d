//! Edits of state.yaml by hand.

mod apply;
mod list;
mod refuse;
mod show;

crate::cli::session::commands! {
    /// Show edits of state.yaml by hand, and apply or refuse them
    ///
    /// Example: liza edits list
    pub enum EditsCommand {
        List(list::ListArgs),
        Show(show::ShowArgs),
        Apply(apply::ApplyArgs),
        Refuse(refuse::RefuseArgs),
    }
}
