mod get;
mod reference;
mod set;

crate::cli::session::commands! {
    /// Read and change settings of liza.yaml
    ///
    /// Example: liza config get provider
    pub enum ConfigCommand {
        Reference(reference::ReferenceArgs),
        Get(get::GetArgs),
        Set(set::SetArgs),
    }
}
