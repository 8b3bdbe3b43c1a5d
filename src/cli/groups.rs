//! The groups that `liza --help` lists its commands in.

use std::fmt::Write as _;

use clap::Command;

/// Each heading with its commands, in the order they are listed. A test fails for a command that has no group.
const GROUPS: [(&str, &[&str]); 7] = [
    ("Start", &["init", "goal", "plan", "run", "demo"]),
    (
        "Work",
        &[
            "next",
            "task",
            "stream",
            "message",
            "inbox",
            "note",
            "discover",
            "bug",
            "anomaly",
            "spec-change",
            "experiment",
        ],
    ),
    ("Review and land", &["review", "result", "gate", "merge", "bundle", "integration", "deliver"]),
    (
        "Watch and control",
        &["watch", "pause", "resume", "checkpoint", "abort", "overseer", "breaker", "lock", "sprint"],
    ),
    ("Look", &["status", "graph", "log", "diff", "dispatch", "report", "metrics", "roles"]),
    ("Maintain", &["doctor", "verify", "validate", "edits", "archive", "worktree", "gc", "trash", "redteam"]),
    ("Set up", &["config", "agent", "hooks", "schema", "ssot-id", "completions", "man", "uninstall"]),
];

/// The heading of the options that every command has.
pub const GLOBAL_OPTIONS: &str = "Global options";

/// The heading of commands without a group, so that help never hides a command.
const UNGROUPED: &str = "Other";

/// Gives the root command a help page with its commands in groups.
pub fn grouped(root: Command) -> Command {
    let template = template(&root);
    root.help_template(template)
}

fn template(root: &Command) -> String {
    let commands: Vec<&Command> = root.get_subcommands().filter(|command| !command.is_hide_set()).collect();
    let width = commands.iter().map(|command| command.get_name().len()).max().unwrap_or_default();
    let header = root.get_styles().get_header();
    let literal = root.get_styles().get_literal();
    let mut text = String::from("{before-help}{about-with-newline}\n{usage-heading} {usage}\n\n");
    for (heading, members) in members(&commands) {
        let _ = writeln!(text, "{header}{heading}:{header:#}");
        for command in members {
            let name = command.get_name();
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(text, "  {literal}{name:width$}{literal:#}  {about}");
        }
        text.push('\n');
    }
    let _ =
        write!(text, "`liza COMMAND --help` explains a command.\n\n{header}{GLOBAL_OPTIONS}:{header:#}\n");
    text.push_str("{options}{after-help}");
    text
}

/// The commands under their headings.
fn members<'c>(commands: &[&'c Command]) -> Vec<(&'static str, Vec<&'c Command>)> {
    let find = |name: &&str| commands.iter().find(|command| command.get_name() == *name).copied();
    let mut groups: Vec<_> =
        GROUPS.iter().map(|(heading, names)| (*heading, names.iter().filter_map(find).collect())).collect();
    let is_grouped = |name| GROUPS.iter().any(|(_, names)| names.contains(&name));
    let others: Vec<_> = commands.iter().filter(|command| !is_grouped(command.get_name())).copied().collect();
    if !others.is_empty() {
        groups.push((UNGROUPED, others));
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONGEST_LINE: usize = 70;

    fn root() -> Command {
        crate::cli::command_line()
    }

    #[test]
    fn every_command_has_one_group() {
        for command in root().get_subcommands().filter(|command| !command.is_hide_set()) {
            let name = command.get_name();
            let count = GROUPS.iter().filter(|(_, names)| names.contains(&name)).count();
            assert_eq!(count, 1, "`{name}` must be in exactly one group of src/cli/groups.rs");
        }
    }

    #[test]
    fn command_without_group_is_listed_under_other() {
        let root = Command::new("liza").subcommand(Command::new("new").about("Do something new"));
        let page = grouped(root).render_help().to_string();
        assert!(page.contains("Other:\n  new  Do something new\n"), "{page}");
    }

    #[test]
    fn top_level_lines_have_at_most_70_characters() {
        let page = root().render_help().to_string();
        let (_, list) = page.split_once("Start:").expect("the first group");
        let (list, _) = list.split_once("Global options:").expect("the options after the groups");
        let long: Vec<&str> = list.lines().filter(|line| line.chars().count() > LONGEST_LINE).collect();
        assert!(long.is_empty(), "shorten the first help line of these commands: {long:#?}");
    }

    #[test]
    fn first_help_lines_have_at_most_70_characters() {
        fn collect(command: &Command, long: &mut Vec<String>) {
            for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
                let about = inner.get_about().map(ToString::to_string).unwrap_or_default();
                if about.is_empty() || about.chars().count() > LONGEST_LINE {
                    long.push(format!("{} {}: {about}", command.get_name(), inner.get_name()));
                }
                collect(inner, long);
            }
        }
        let mut long = Vec::new();
        collect(&root(), &mut long);
        assert!(long.is_empty(), "a first help line is missing or too long: {long:#?}");
    }

    #[test]
    fn command_help_lists_global_options_last() {
        let mut root = root();
        root.build();
        let command = root.find_subcommand_mut("watch").expect("watch");
        let page = command.render_help().to_string();
        let own = page.find("--once").expect("an option of the command");
        let heading = page.find("Global options:").expect("the heading");
        let global = ["--json", "--help", "--version"].map(|name| page.find(name).expect("a global option"));
        assert!(own < heading && global.iter().all(|at| heading < *at), "{page}");
    }
}
