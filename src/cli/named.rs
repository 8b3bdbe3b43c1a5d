//! Declares to clap only the commands that the command line names: declaring all commands takes longer than running one.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};

use clap::error::ErrorKind;
use clap::{ArgMatches, Args, Command, Error, FromArgMatches, Id, Subcommand};

use super::args::{Cli, Global};
use super::commands;

thread_local! {
    /// The words of the command line while only the commands they name are declared; `None` while all are.
    static WORDS: RefCell<Option<BTreeSet<OsString>>> = const { RefCell::new(None) };
}

/// The arguments of a command, declared to clap only if the command line names the command.
pub struct Named<T>(pub T);

/// Parses a command line with the named commands only. If that fails, parses it with all commands, whose error is shown.
pub fn parse(words: &[OsString]) -> Result<Cli, Error> {
    WORDS.set(Some(words.iter().cloned().collect()));
    let root = Command::default().name("liza").version(env!("CARGO_PKG_VERSION")).propagate_version(true);
    let root = Global::augment_args(root.disable_help_flag(true).disable_version_flag(true));
    let named = only_named::<commands::Command>(root).subcommand_required(true);
    WORDS.set(None);
    match read(named, words) {
        Err(error) if error.kind() != ErrorKind::DisplayVersion => read(super::command_line(), words),
        understood => understood,
    }
}

fn read(mut command: Command, words: &[OsString]) -> Result<Cli, Error> {
    let matches = command.try_get_matches_from_mut(words);
    // The process parses one command line and ends; freeing the tree of commands would only take time.
    std::mem::forget(command);
    Cli::from_arg_matches_mut(&mut matches?)
}

fn is_named(command: &Command) -> bool {
    WORDS.with_borrow(|words| {
        words.as_ref().is_none_or(|words| words.contains(OsStr::new(command.get_name())))
    })
}

/// The command with those of its subcommands that are named.
fn only_named<T: Subcommand>(command: Command) -> Command {
    let all = T::augment_subcommands(Command::default());
    command.subcommands(all.get_subcommands().filter(|inner| is_named(inner)).cloned())
}

impl<T: FromArgMatches> FromArgMatches for Named<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        T::from_arg_matches(matches).map(Self)
    }

    fn from_arg_matches_mut(matches: &mut ArgMatches) -> Result<Self, Error> {
        T::from_arg_matches_mut(matches).map(Self)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches(matches)
    }
}

impl<T: Args> Args for Named<T> {
    fn group_id() -> Option<Id> {
        T::group_id()
    }

    fn augment_args(command: Command) -> Command {
        if is_named(&command) { T::augment_args(command) } else { command }
    }

    fn augment_args_for_update(command: Command) -> Command {
        T::augment_args_for_update(command)
    }
}

impl<T: Subcommand> Subcommand for Named<T> {
    fn augment_subcommands(command: Command) -> Command {
        let all_wanted = WORDS.with_borrow(Option::is_none);
        match is_named(&command) {
            true if all_wanted => T::augment_subcommands(command),
            true => only_named::<T>(command),
            false => command,
        }
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        T::augment_subcommands_for_update(command)
    }

    fn has_subcommand(name: &str) -> bool {
        T::has_subcommand(name)
    }
}
