//! The command line as a whole: what every command understands. The commands stand in `commands`.

use std::path::PathBuf;

use clap::{Args, Parser};

use super::commands::Command;
use super::ui::ColorChoice;

/// Let a team of coding agents work on one git repository without losing work or approving their own code
///
/// Agents and people change the board in .liza/state.yaml only through these commands; every task has its own
/// worktree, somebody else reviews it, and only then does the integration branch move.
///
/// Example: liza status
#[derive(Parser)]
#[command(name = "liza", version, propagate_version = true, max_term_width = 100)]
pub struct Cli {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Args)]
pub struct Global {
    /// Print one JSON object instead of text
    #[arg(long, global = true)]
    pub json: bool,
    /// The board's directory, if it is not found from here (also LIZA_DIR)
    #[arg(long, global = true, value_name = "DIR")]
    pub board: Option<PathBuf>,
    /// When to use colours
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN")]
    pub color: ColorChoice,
    /// Say nothing on standard error except errors
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// Repeating a command with the same id and arguments gives the first outcome and changes nothing
    #[arg(long, global = true, value_name = "ID")]
    pub request_id: Option<String>,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        super::Cli::command().debug_assert();
    }
}
