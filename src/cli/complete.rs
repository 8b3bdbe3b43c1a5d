//! Completes a command line: walks the tree of commands and offers the names on the board. The shell scripts only ask and
//! show.

use std::any::TypeId;
use std::collections::BTreeSet;

use clap::builder::ArgExt;
use clap::{Arg, ArgAction, Command, ValueHint};

use crate::board::agent::BUILT_IN_ROLES;
use crate::board::names::Named as _;
use crate::board::oversight::Behaviour;
use crate::board::records::{AnomalyKind, MessageKind, Recipient, Urgency};
use crate::board::review::Severity;
use crate::board::task::{Kind, Risk};
use crate::board::{AgentId, Board, MessageId, RecordId, Role, SprintId, Status, TaskId, TripId};
use crate::flow::hooks::Hook;

/// A word that could be typed next, and a short description.
#[derive(Debug)]
pub struct Candidate {
    pub value: String,
    pub about: String,
}

impl Candidate {
    fn new(value: impl Into<String>, about: impl Into<String>) -> Self {
        Self { value: value.into(), about: about.into() }
    }
}

/// The candidates, or a request for file names.
#[derive(Debug)]
pub enum Offer {
    Candidates(Vec<Candidate>),
    /// The shell completes file names itself.
    Files,
}

/// Where the cursor is.
struct Cursor<'c> {
    command: &'c Command,
    /// The option whose value is being typed.
    option: Option<&'c Arg>,
    positionals: usize,
    /// Set after `--`: no options follow.
    only_values: bool,
}

/// The value of `--board` on the command line.
pub fn named_board(words: &[String]) -> Option<&str> {
    words.iter().enumerate().rev().find_map(|(at, word)| match word.strip_prefix("--board=") {
        Some(dir) => Some(dir),
        None => (word == "--board").then(|| words.get(at + 1).map(String::as_str)).flatten(),
    })
}

/// `words` are the words after the program's name up to the cursor; the last one is being typed.
pub fn offer(root: &Command, words: &[String], board: impl FnOnce() -> Option<Board>) -> Offer {
    let (typed, before) = match words.split_last() {
        Some((typed, before)) => (typed.as_str(), before),
        None => ("", words),
    };
    let cursor = walk(root, before);
    // Some shells split `--option=value` into three words.
    let typed = if typed == "=" { "" } else { typed };
    if let Some(option) = cursor.option {
        return values(option, typed, board);
    }
    if !cursor.only_values
        && let Some((name, value)) = typed.split_once('=')
        && let Some(option) = option_named(&cursor, name)
    {
        let whole =
            |candidate: Candidate| Candidate { value: format!("{name}={}", candidate.value), ..candidate };
        return match values(option, value, board) {
            Offer::Candidates(found) => Offer::Candidates(found.into_iter().map(whole).collect()),
            Offer::Files => Offer::Files,
        };
    }
    if !cursor.only_values && typed.starts_with('-') {
        let mut found = starting_with(typed, flags(&cursor));
        if found.is_empty() {
            found = starting_with(typed, aliases(&cursor));
        }
        return Offer::Candidates(found);
    }
    if cursor.command.has_subcommands() {
        let commands = cursor.command.get_subcommands().filter(|command| !command.is_hide_set());
        let all = commands.map(|command| Candidate::new(command.get_name(), first_line(command.get_about())));
        return Offer::Candidates(starting_with(typed, all));
    }
    let positionals: Vec<&Arg> = cursor.command.get_positionals().collect();
    match positionals.get(cursor.positionals).or(positionals.last().filter(|last| repeats(last))) {
        Some(arg) => values(arg, typed, board),
        None => Offer::Candidates(starting_with(typed, flags(&cursor))),
    }
}

fn walk<'c>(root: &'c Command, words: &[String]) -> Cursor<'c> {
    let mut cursor = Cursor { command: root, option: None, positionals: 0, only_values: false };
    for word in words {
        if word == "=" && cursor.option.is_some() || cursor.option.take().is_some() {
            continue;
        }
        if word == "--" {
            cursor.only_values = true;
        } else if !cursor.only_values && word.starts_with('-') && word.len() > 1 {
            cursor.option = option_named(&cursor, word).filter(|option| takes_value(option));
        } else if let Some(command) = cursor.command.find_subcommand(word).filter(|_| cursor.positionals == 0)
        {
            cursor.command = command;
        } else {
            cursor.positionals += 1;
        }
    }
    cursor
}

fn takes_value(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::Set | ArgAction::Append)
}

fn repeats(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::Append)
}

fn option_named<'c>(cursor: &Cursor<'c>, word: &str) -> Option<&'c Arg> {
    let mut options = cursor.command.get_arguments().filter(|arg| !arg.is_positional());
    match word.strip_prefix("--") {
        Some(name) => options.find(|arg| {
            arg.get_long() == Some(name) || arg.get_all_aliases().is_some_and(|all| all.contains(&name))
        }),
        // The last of a bundle such as `-qn` may take a value.
        None => word.chars().last().and_then(|short| options.find(|arg| arg.get_short() == Some(short))),
    }
}

fn flags<'p>(cursor: &'p Cursor<'_>) -> impl Iterator<Item = Candidate> + 'p {
    let shown = cursor.command.get_arguments().filter(|arg| !arg.is_positional() && !arg.is_hide_set());
    shown.filter_map(|arg| Some(Candidate::new(format!("--{}", arg.get_long()?), first_line(arg.get_help()))))
}

/// Aliases of flags, offered if no flag fits.
fn aliases<'p>(cursor: &'p Cursor<'_>) -> impl Iterator<Item = Candidate> + 'p {
    let all = cursor.command.get_arguments().flat_map(|arg| {
        let names = arg.get_visible_aliases().unwrap_or_default();
        names.into_iter().map(|name| Candidate::new(format!("--{name}"), first_line(arg.get_help())))
    });
    all.collect::<Vec<_>>().into_iter()
}

fn first_line(text: Option<&clap::builder::StyledStr>) -> String {
    text.map(ToString::to_string).unwrap_or_default().lines().next().unwrap_or_default().to_owned()
}

fn starting_with(typed: &str, all: impl IntoIterator<Item = Candidate>) -> Vec<Candidate> {
    all.into_iter().filter(|candidate| candidate.value.starts_with(typed)).collect()
}

fn values(arg: &Arg, typed: &str, board: impl FnOnce() -> Option<Board>) -> Offer {
    let possible = arg.get_possible_values().into_iter().filter(|value| !value.is_hide_set());
    let possible: Vec<Candidate> =
        possible.map(|value| Candidate::new(value.get_name(), first_line(value.get_help()))).collect();
    if !possible.is_empty() {
        return Offer::Candidates(starting_with(typed, possible));
    }
    let all = match arg.get::<Completer>() {
        Some(completer) => board().map(|board| completer.offered(&board)).unwrap_or_default(),
        None => match arg.get_value_hint() {
            ValueHint::AnyPath | ValueHint::FilePath | ValueHint::DirPath => return Offer::Files,
            ValueHint::Other => Vec::new(),
            _ => of_type(arg, board),
        },
    };
    Offer::Candidates(starting_with(typed, all))
}

/// Candidates for an argument whose type alone does not determine them: `#[arg(add = …)]`.
#[derive(Debug, Clone, Copy)]
pub enum Completer {
    /// Tasks in a state that the command accepts; all tasks if there is none.
    Tasks(fn(Status) -> bool),
    /// Revisions of the board.
    Revisions,
}

impl ArgExt for Completer {}

impl Completer {
    fn offered(self, board: &Board) -> Vec<Candidate> {
        match self {
            Self::Tasks(fits) => match tasks(board, fits) {
                fitting if fitting.is_empty() => tasks(board, |_| true),
                fitting => fitting,
            },
            Self::Revisions => revisions(board),
        }
    }
}

type Words = fn() -> Vec<&'static str>;
type OnBoard = fn(&Board) -> Vec<Candidate>;

/// Candidates for an argument by its type.
fn of_type(arg: &Arg, board: impl FnOnce() -> Option<Board>) -> Vec<Candidate> {
    let wanted = arg.get_value_parser().type_id();
    let words: [(TypeId, Words); 10] = [
        (TypeId::of::<Status>(), Status::names),
        (TypeId::of::<Role>(), || BUILT_IN_ROLES.to_vec()),
        (TypeId::of::<Severity>(), Severity::names),
        (TypeId::of::<Behaviour>(), Behaviour::names),
        (TypeId::of::<Urgency>(), Urgency::names),
        (TypeId::of::<Kind>(), Kind::names),
        (TypeId::of::<Risk>(), Risk::names),
        (TypeId::of::<MessageKind>(), MessageKind::names),
        (TypeId::of::<AnomalyKind>(), AnomalyKind::names),
        (TypeId::of::<Hook>(), Hook::names),
    ];
    if let Some((_, names)) = words.iter().find(|(id, _)| wanted == *id) {
        return names().into_iter().map(|name| Candidate::new(name, "")).collect();
    }
    let on_board: [(TypeId, OnBoard); 7] = [
        (TypeId::of::<TaskId>(), |board| tasks(board, |_| true)),
        (TypeId::of::<AgentId>(), agents),
        (TypeId::of::<Recipient>(), recipients),
        (TypeId::of::<MessageId>(), messages),
        (TypeId::of::<SprintId>(), sprints),
        (TypeId::of::<RecordId>(), records),
        (TypeId::of::<TripId>(), trips),
    ];
    let found = on_board.iter().find(|(id, _)| wanted == *id);
    found.and_then(|(_, of)| board().map(|board| of(&board))).unwrap_or_default()
}

/// Open trips of the breaker.
fn trips(board: &Board) -> Vec<Candidate> {
    let open = board.rest.circuit_breaker.open();
    open.map(|trip| Candidate::new(trip.id.as_str(), trip.pattern.as_str())).collect()
}

fn tasks(board: &Board, fits: fn(Status) -> bool) -> Vec<Candidate> {
    let fitting = board.tasks.iter().filter(|task| fits(task.status));
    fitting.map(|task| Candidate::new(task.id.as_str(), task.status.as_str())).collect()
}

fn agents(board: &Board) -> Vec<Candidate> {
    let named = board.rest.agents.iter().map(|(id, agent)| {
        let roles: Vec<&str> = agent.roles.iter().map(|role| role.as_str()).collect();
        Candidate::new(id.as_str(), roles.join(", "))
    });
    let mut all: Vec<Candidate> = named.collect();
    // A board of the older implementation has no identities, but tasks that name their agents.
    for task in &board.tasks {
        if let Some(agent) = &task.assigned_to
            && !all.iter().any(|known| known.value == agent.as_str())
        {
            all.push(Candidate::new(agent.as_str(), ""));
        }
    }
    all
}

fn sprints(board: &Board) -> Vec<Candidate> {
    let all = std::iter::once(&board.rest.sprint).chain(board.rest.former_sprints.iter().rev());
    all.map(|sprint| Candidate::new(sprint.id.as_str(), sprint.goal.clone().unwrap_or_default())).collect()
}

/// The last 64 revisions, newest first.
fn revisions(board: &Board) -> Vec<Candidate> {
    let oldest = board.revision.saturating_sub(63).max(1);
    (oldest..=board.revision).rev().map(|revision| Candidate::new(revision.to_string(), "")).collect()
}

/// Recipients of messages: agents, roles and people.
fn recipients(board: &Board) -> Vec<Candidate> {
    let roles: BTreeSet<&str> =
        board.rest.agents.values().flat_map(|agent| &agent.roles).map(|role| role.as_str()).collect();
    let mut all = agents(board);
    all.extend(
        roles.into_iter().map(|role| Candidate::new(format!("role:{role}"), "all agents of that role")),
    );
    all.push(Candidate::new("human", "a person"));
    all
}

/// Messages on the board, newest first.
fn messages(board: &Board) -> Vec<Candidate> {
    let newest = board.rest.messages.iter().rev();
    newest.map(|message| Candidate::new(message.id.as_str(), message.kind.as_str())).collect()
}

/// Unprocessed records.
fn records(board: &Board) -> Vec<Candidate> {
    let rest = &board.rest;
    let notes = rest.human_notes.iter().filter(|note| note.processed_by.is_none()).map(|note| &note.id);
    let anomalies = rest.anomalies.iter().filter(|found| found.processed_by.is_none()).map(|found| &found.id);
    let found = rest.discovered.iter().filter(|found| found.processed_by.is_none()).map(|found| &found.id);
    let specs =
        rest.spec_changes.iter().filter(|change| change.processed_by.is_none()).map(|change| &change.id);
    notes.chain(anomalies).chain(found).chain(specs).map(|id| Candidate::new(id.as_str(), "")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::testing::Bench;
    use crate::cli::command_line;

    fn offered(words: &[&str]) -> Vec<String> {
        offered_on(None, words)
    }

    fn offered_on(board: Option<Board>, words: &[&str]) -> Vec<String> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let mut root = command_line();
        root.build();
        match offer(&root, &words, || board) {
            Offer::Candidates(found) => found.into_iter().map(|candidate| candidate.value).collect(),
            Offer::Files => vec!["<files>".to_owned()],
        }
    }

    #[test]
    fn commands_flags_and_values_are_completed() {
        assert!(offered(&[""]).contains(&"task".to_owned()));
        assert!(!offered(&["__"]).contains(&"__complete".to_owned()));
        assert_eq!(offered(&["task", "cl"]), ["claim"]);
        assert_eq!(offered(&["--board", "/x", "task", "cl"]), ["claim"]);
        assert_eq!(offered(&["--json", "task", "cl"]), ["claim"]);
        assert_eq!(offered(&["graph", "--format", "me"]), ["mermaid"]);
        assert_eq!(offered(&["graph", "--format=me"]), ["--format=mermaid"]);
        assert_eq!(offered(&["graph", "--format", "=", "me"]), ["mermaid"]);
        assert_eq!(offered(&["task", "list", "--status", "READY"]), ["READY_FOR_REVIEW"]);
        assert_eq!(offered(&["task", "list", "--re"]), ["--ready", "--request-id"]);
        assert_eq!(offered(&["task", "add", "--done"]), ["--done"]);
        assert_eq!(offered(&["task", "add", "--done-"]), ["--done-when"]);
        assert_eq!(offered(&["task", "add", "--scope-in", ""]), ["<files>"]);
        assert_eq!(offered(&["schema", "fe"]), ["feedback"]);
        assert_eq!(offered(&["lock", "re"]), ["release"]);
        assert_eq!(offered(&["lock", "show", ""]), ["<files>"]);
        assert_eq!(offered(&["status", "--force"]), ["--force-unlock"]);
        assert_eq!(offered(&["next", "--role", "code_"]), ["code_reviewer"]);
        assert_eq!(offered(&["message", "re"]), ["reply", "request-handoff"]);
        assert_eq!(offered(&["message", "send", "--type", "nu"]), ["nudge"]);
        assert_eq!(
            offered(&["message", "list", "--type", "review_"]),
            ["review_feedback", "review_approved"]
        );
        assert_eq!(offered(&["message", "request-handoff", "--to-role", "test_"]), ["test_engineer"]);
        assert_eq!(offered(&["validate", ""]), ["<files>"]);
        assert_eq!(offered(&["--board", ""]), ["<files>"]);
        assert_eq!(offered(&["task", "claim", ""]), [""; 0]);
        assert_eq!(offered(&["anomaly", "spec_a"]), ["spec_ambiguity"]);
        assert_eq!(offered(&["task", "handoff", "--to-role", "test_"]), ["test_engineer"]);
        assert_eq!(offered(&["hooks", "run", "pre-p"]), ["pre-push"]);
    }

    /// The completer of an argument overrides its type.
    #[test]
    fn only_tasks_the_command_accepts_are_offered() {
        let mut bench = Bench::with_tasks(&["t1", "t2"]);
        bench.claim("coder-1", "t1");
        assert_eq!(offered_on(Some(bench.board.clone()), &["task", "claim", ""]), ["t2"]);
        assert_eq!(offered_on(Some(bench.board.clone()), &["task", "submit", ""]), ["t1"]);
        assert_eq!(offered_on(Some(bench.board.clone()), &["task", "show", ""]), ["t1", "t2"]);
        // If no task fits, all tasks are offered.
        assert_eq!(offered_on(Some(bench.board.clone()), &["merge", ""]), ["t1", "t2"]);
        // The id of a new task is not completed.
        assert_eq!(offered_on(Some(bench.board), &["task", "add", "--id", ""]), [""; 0]);
    }
}
