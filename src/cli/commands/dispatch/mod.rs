mod show;

crate::cli::session::commands! {
    /// Show the messages sent to agents for slices
    ///
    /// Example: liza dispatch show probe-1
    pub enum DispatchCommand {
        Show(show::ShowArgs),
    }
}
