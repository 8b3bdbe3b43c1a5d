mod show;

crate::cli::session::commands! {
    /// Look at the messages that agents are sent for slices
    ///
    /// Example: liza dispatch show probe-1
    pub enum DispatchCommand {
        Show(show::ShowArgs),
    }
}
