mod accept;
mod reject;
mod show;

crate::cli::session::commands! {
    /// Show, accept or reject the results of reports
    ///
    /// Example: liza result show probe-1
    pub enum ResultCommand {
        Show(show::ShowArgs),
        Accept(accept::AcceptArgs),
        Reject(reject::RejectArgs),
    }
}
