mod close;
mod scope;
mod show;
mod start;

crate::cli::session::commands! {
    /// Start, show and close sprints
    ///
    /// One sprint is open at a time. When its deadline passes, `liza watch` or `liza run` sets the CHECKPOINT switch
    /// once, which halts the team.
    ///
    /// Example: liza sprint show
    pub enum SprintCommand {
        Start(start::StartArgs),
        Close(close::CloseArgs),
        Show(show::ShowArgs),
        Scope(scope::ScopeArgs),
    }
}
