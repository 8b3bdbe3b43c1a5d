pub mod install;
mod run;
mod status;
mod uninstall;

crate::cli::session::commands! {
    /// Git hooks: an early word about what submit and merge would refuse, and a guard of the integration branch
    ///
    /// Example: liza hooks status
    pub enum HooksCommand {
        Install(install::InstallArgs),
        Uninstall(uninstall::UninstallArgs),
        Status(status::StatusArgs),
        Run(run::RunArgs),
    }
}
