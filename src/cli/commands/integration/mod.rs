mod advance;

crate::cli::session::commands! {
    /// Bring outside commits into the integration branch
    ///
    /// Example: liza integration advance main --reason "upstream fix"
    pub enum IntegrationCommand {
        Advance(advance::AdvanceArgs),
    }
}
