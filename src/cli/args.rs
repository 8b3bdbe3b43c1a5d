//! The root of the command line and its global options. The commands are in `commands`.

use std::path::PathBuf;

use clap::{ArgAction, Args, Parser};

use super::commands::Command;
use super::groups::GLOBAL_OPTIONS;
use super::ui::ColorChoice;

/// Let a team of coding agents work on one git repository
///
/// Every task has its own worktree and branch. An agent that did not work on the task reviews it; only approved work
/// moves the integration branch. Agents and people change the board (.liza/state.yaml) only through these commands.
///
/// Example: liza status
#[derive(Parser)]
#[command(name = "liza", version, propagate_version = true, max_term_width = 100)]
#[command(disable_help_flag = true, disable_version_flag = true)]
pub struct Cli {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Args)]
#[command(next_help_heading = GLOBAL_OPTIONS)]
pub struct Global {
    /// Print one JSON object instead of text
    #[arg(long, global = true)]
    pub json: bool,
    /// Directory of the board (default: LIZA_DIR, else found from the current directory)
    #[arg(long, global = true, value_name = "DIR")]
    pub board: Option<PathBuf>,
    /// When to use colours
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN")]
    pub color: ColorChoice,
    /// Print only errors on standard error
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// Id of this request; the same id and arguments again print the first outcome and change nothing
    #[arg(long, global = true, value_name = "ID")]
    pub request_id: Option<String>,
    /// Print help; -h prints a summary
    #[arg(short, long, global = true, action = ArgAction::Help)]
    help: Option<bool>,
    /// Print the version
    #[arg(short = 'V', long, global = true, action = ArgAction::Version)]
    version: Option<bool>,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn command_line_is_consistent() {
        super::Cli::command().debug_assert();
    }
}
