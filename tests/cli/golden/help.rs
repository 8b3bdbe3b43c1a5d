//! Golden files of every help page, as a terminal of 100 columns or a pipe shows them.

use super::{Files, check};
use crate::help_examples::visible;
use crate::support::World;

const WIDTH: usize = 100;

/// The help page of each visible command, by the name of its golden file.
fn pages() -> Files {
    let mut root = liza::cli::command_line().term_width(WIDTH);
    root.build();
    let mut pages = Files::new();
    visible(&root, "liza", &mut |name, command| {
        let page = command.clone().term_width(WIDTH).render_long_help().to_string();
        pages.insert(format!("{}.txt", name.replace(' ', "-")), page);
    });
    pages
}

#[test]
fn every_help_page_is_as_recorded() {
    let pages = pages();
    assert!(pages.len() > 80, "only {} help pages", pages.len());
    check("help", &pages);
}

/// The pages are rendered without a process; these show that the binary prints the same.
#[test]
fn binary_prints_the_recorded_help() {
    let world = World::bare_repo();
    let pages = pages();
    for args in [&["--help"][..], &["task", "--help"], &["help", "task", "claim"], &["gate", "run", "--help"]]
    {
        let words: Vec<&str> = args.iter().copied().filter(|word| !word.contains("help")).collect();
        let name = ["liza"].into_iter().chain(words).collect::<Vec<_>>().join("-");
        let page = &pages[&format!("{name}.txt")];
        assert_same_page(page, &world.human(args).ok().stdout);
    }
}

#[track_caller]
fn assert_same_page(expected: &str, found: &str) {
    assert!(expected == found, "{}", super::diff("help", "rendered", expected, found));
}
