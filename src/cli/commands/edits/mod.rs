//! Manual edits of state.yaml.

mod apply;
mod list;
mod refuse;
mod show;

crate::cli::session::commands! {
    /// Show, apply or refuse manual edits of state.yaml
    ///
    /// Example: liza edits list
    pub enum EditsCommand {
        List(list::ListArgs),
        Show(show::ShowArgs),
        Apply(apply::ApplyArgs),
        Refuse(refuse::RefuseArgs),
    }
}
