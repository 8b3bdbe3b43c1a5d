//! Declares to clap only the commands that the command line names: declaring all commands takes longer than running one.

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::{Args, Command, Error, FromArgMatches};

use super::args::{Cli, Global};
use super::commands;

/// Arguments, or a table of commands, that can be declared for one command line.
pub trait Declare {
    /// Adds to `command` what parsing these words needs.
    fn declare(command: Command, words: &[&str]) -> Command;
}

impl<T: Args> Declare for T {
    fn declare(command: Command, _: &[&str]) -> Command {
        T::augment_args(command)
    }
}

/// Parses a command line with the named commands only. If that fails, parses it with all commands, whose error is shown.
pub fn parse(words: &[OsString]) -> Result<Cli, Error> {
    let root = Command::default().name("liza").version(env!("CARGO_PKG_VERSION")).propagate_version(true);
    let root = Global::augment_args(root.disable_help_flag(true).disable_version_flag(true));
    let texts: Vec<&str> = words.iter().filter_map(|word| word.to_str()).collect();
    match read(commands::Command::declare(root, &texts), words) {
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

/// Adds one row of a table to its command if a word names it. Not inlined: a function with the values of all rows would
/// touch many pages of the stack.
#[inline(never)]
pub fn declare_row<T: Declare>(command: &mut Command, variant: &str, words: &[&str]) {
    if let Some(name) = words.iter().find(|word| is_name_of(word, variant)) {
        // Used until the process ends.
        let inner = T::declare(Command::default().name(&*(*name).to_owned().leak()), words);
        *command = std::mem::take(command).subcommand(inner);
    }
}

/// The variants of hidden commands, whose names begin with `__`.
const HIDDEN: [&str; 2] = ["Hold", "Complete"];

/// Whether this is the name of this variant: `spec-change` of `SpecChange`, `__hold` of `Hold`.
fn is_name_of(word: &str, variant: &str) -> bool {
    let word = match HIDDEN.contains(&variant) {
        true => word.strip_prefix("__").unwrap_or_default(),
        false => word,
    };
    let mut rest = word.bytes();
    let mut letters = variant.bytes().enumerate();
    letters.all(|(at, letter)| {
        (at == 0 || letter.is_ascii_lowercase() || rest.next() == Some(b'-'))
            && rest.next() == Some(letter.to_ascii_lowercase())
    }) && rest.next().is_none()
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    fn declared(words: &[&str]) -> Command {
        commands::Command::declare(Command::default(), words)
    }

    /// Every command with the words that lead to it.
    fn paths(command: &Command, above: &[String], into: &mut Vec<Vec<String>>) {
        for inner in command.get_subcommands().filter(|inner| inner.get_name() != "help") {
            let path = [above, &[inner.get_name().to_owned()]].concat();
            into.push(path.clone());
            paths(inner, &path, into);
        }
    }

    #[test]
    fn every_command_is_declared_by_its_words() {
        let mut all = Vec::new();
        paths(&Cli::command(), &[], &mut all);
        assert!(all.len() > 100, "{all:?}");
        for path in all {
            let words: Vec<&str> = path.iter().map(String::as_str).collect();
            let mut command = &declared(&words);
            for word in &words {
                command = command.find_subcommand(word).unwrap_or_else(|| panic!("{path:?} is not declared"));
            }
        }
    }

    #[test]
    fn only_named_commands_are_declared() {
        let root = declared(&["liza", "task", "show"]);
        let names = |command: &Command| {
            command.get_subcommands().map(|inner| inner.get_name().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(names(&root), ["task"]);
        assert_eq!(names(root.find_subcommand("task").expect("task")), ["show"]);
    }

    #[test]
    fn names_are_those_of_the_derive() {
        assert!(is_name_of("spec-change", "SpecChange"));
        assert!(is_name_of("__hold", "Hold"));
        for other in
            ["specchange", "spec-chang", "spec-changes", "-spec-change", "", "spec_change", "__spec-change"]
        {
            assert!(!is_name_of(other, "SpecChange"), "{other}");
        }
        assert!(!is_name_of("hold", "Hold") && !is_name_of("", "Hold"));
    }
}
