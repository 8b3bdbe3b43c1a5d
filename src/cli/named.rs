//! Declaring to clap only the commands that the command line names: declaring all of them takes longer than most commands.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};

use clap::error::ErrorKind;
use clap::{ArgMatches, Args, Command, CommandFactory, Error, FromArgMatches, Id, Subcommand};

use super::args::{Cli, Global};
use super::commands;

thread_local! {
    /// The words of the command line while only commands among them are declared; none while all are.
    static WORDS: RefCell<Option<BTreeSet<OsString>>> = const { RefCell::new(None) };
}

/// The arguments of a command, which clap learns only if the command may be the one that was typed.
pub struct Named<T>(pub T);

/// Reads a command line. Where the named commands alone do not understand it, all commands decide and word the error.
pub fn parse(words: &[OsString]) -> Result<Cli, Error> {
    WORDS.set(Some(words.iter().cloned().collect()));
    let root = Global::augment_args(Command::default().name("liza").version(env!("CARGO_PKG_VERSION")));
    let named = only_named::<commands::Command>(root).subcommand_required(true);
    WORDS.set(None);
    match read(named, words) {
        Err(error) if error.kind() != ErrorKind::DisplayVersion => read(Cli::command(), words),
        understood => understood,
    }
}

fn read(mut command: Command, words: &[OsString]) -> Result<Cli, Error> {
    let matches = command.try_get_matches_from_mut(words);
    // The process reads one command line: taking the tree of commands apart again would be for nothing.
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
