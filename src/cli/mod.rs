//! The command line: arguments, and every text that a person reads.

#![expect(
    clippy::disallowed_methods,
    reason = "the command line, the environment and standard input enter here"
)]

mod args;
mod commands;
mod complete;
mod demo;
mod groups;
mod input;
mod live;
mod named;
mod paint;
mod prelude;
mod redteam;
mod session;
mod task_here;
mod times;
mod ui;
mod view;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::CommandFactory;
use clap::error::ErrorKind;

use crate::board::Class;
use crate::flow::{ErrorCode, Failure};

use args::Cli;
use session::{Execute, Invocation};
use ui::Ui;

/// The whole tree of commands, for completion, manual pages and tests.
pub fn command_line() -> clap::Command {
    groups::grouped(Cli::command())
}

pub fn run() -> ExitCode {
    survive_large_files();
    let words: Vec<OsString> = std::env::args_os().collect();
    let cli = match named::parse(&words) {
        Ok(cli) => cli,
        Err(error) => return usage(&error, words.iter().any(|word| word == "--json")),
    };
    let ui = Ui::new(cli.global.json, cli.global.quiet, cli.global.color);
    crate::host::progress::narrate_with(move |line| ui.narrate(line));
    let outcome = cli.command.execute(&Invocation { global: cli.global, ui });
    crate::git::door::close();
    let exit = match outcome {
        Ok(answer) => {
            ui.answer(&answer);
            answer.exit
        }
        Err(failure) => ui.failure(&failure),
    };
    crate::store::machine::release_intents();
    ExitCode::from(ui::unprinted(exit))
}

/// Makes a write beyond the file size limit an error to report; by default, SIGXFSZ ends the process.
fn survive_large_files() {
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, std::sync::Arc::default());
}

fn usage(error: &clap::Error, json: bool) -> ExitCode {
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        if let Err(why) = error.print() {
            ui::note_unprinted(&why);
        }
        return ExitCode::from(ui::unprinted(ui::DONE));
    }
    let hint = usage_hint();
    if json {
        let ui = Ui::new(true, false, ui::ColorChoice::Never);
        let message = error.to_string();
        let code = match error.kind() {
            ErrorKind::ValueValidation => ErrorCode::UsageArgument,
            _ => ErrorCode::UsageArguments,
        };
        let failure = Failure::new(code, message.trim().to_owned()).hint(hint);
        return ExitCode::from(ui.failure(&failure));
    }
    // clap's message repeats the typed words, so it is escaped like any other foreign text.
    let message = error.to_string();
    let message = message.trim_end().trim_end_matches("For more information, try '--help'.").trim_end();
    Ui::new(false, false, ui::ColorChoice::Auto).narrate(&format!("{message}\nhint: {hint}"));
    ExitCode::from(Class::Usage.exit())
}

/// A hint to the help of the innermost command that the words name.
fn usage_hint() -> String {
    let mut root = command_line();
    root.build();
    let (mut command, mut path) = (&root, "liza".to_owned());
    for word in std::env::args_os().skip(1) {
        if let Some(inner) =
            command.find_subcommand(&word).filter(|inner| !inner.is_hide_set() && inner.get_name() != "help")
        {
            command = inner;
            path = format!("{path} {}", inner.get_name());
        }
    }
    format!("run `{path} --help`")
}
