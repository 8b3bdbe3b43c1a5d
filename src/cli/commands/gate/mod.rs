//! Gates from the command line.

mod accept;
mod bless;
mod list;
mod retire;
mod run;
mod show;

crate::cli::session::commands! {
    /// Run, list, accept and retire gates; show their results
    ///
    /// Example: liza gate list
    pub enum GateCommand {
        Run(run::RunArgs),
        List(list::ListArgs),
        Show(show::ShowArgs),
        Accept(accept::AcceptArgs),
        Bless(bless::BlessArgs),
        Retire(retire::RetireArgs),
    }
}
