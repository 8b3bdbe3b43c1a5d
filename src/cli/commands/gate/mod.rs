//! Gates from the command line.

mod accept;
mod bless;
mod list;
mod retire;
mod run;
mod show;

crate::cli::session::commands! {
    /// Checks that a tree must pass: run them by hand, list them, see what they said
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
