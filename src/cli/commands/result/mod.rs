mod accept;
mod reject;
mod show;

crate::cli::session::commands! {
    /// Read what a report delivered, accept it or send it back
    ///
    /// Example: liza result show probe-1
    pub enum ResultCommand {
        Show(show::ShowArgs),
        Accept(accept::AcceptArgs),
        Reject(reject::RejectArgs),
    }
}
