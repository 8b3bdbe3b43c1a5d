pub mod install;
mod run;
mod status;
mod uninstall;

crate::cli::session::commands! {
    /// Install, check and remove git hooks
    ///
    /// The hooks report early what submit and merge would refuse, and protect the integration branch.
    ///
    /// Example: liza hooks status
    pub enum HooksCommand {
        Install(install::InstallArgs),
        Uninstall(uninstall::UninstallArgs),
        Status(status::StatusArgs),
        Run(run::RunArgs),
    }
}
