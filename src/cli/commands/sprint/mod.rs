mod close;
mod scope;
mod show;
mod start;

crate::cli::session::commands! {
    /// Stretches of the work with an end to look back from
    ///
    /// One is open at a time. A deadline that passes sets CHECKPOINT once, while `liza watch` or `liza run` is there to notice.
    ///
    /// Example: liza sprint show
    pub enum SprintCommand {
        Start(start::StartArgs),
        Close(close::CloseArgs),
        Show(show::ShowArgs),
        Scope(scope::ScopeArgs),
    }
}
