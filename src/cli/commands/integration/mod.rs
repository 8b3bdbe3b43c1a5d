mod advance;

crate::cli::session::commands! {
    /// The integration branch
    ///
    /// Example: liza integration advance main --reason "upstream fix"
    pub enum IntegrationCommand {
        Advance(advance::AdvanceArgs),
    }
}
