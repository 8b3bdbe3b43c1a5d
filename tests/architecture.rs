//! Project rules that a test can check.

#![allow(clippy::disallowed_methods, reason = "reads the project's own files")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

#[path = "architecture/retired_words.rs"]
mod retired_words;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn sources(dir: &Path) -> Vec<PathBuf> {
    walkdir::WalkDir::new(dir)
        .into_iter()
        .flatten()
        .map(walkdir::DirEntry::into_path)
        .filter(|path| path.extension().is_some_and(|ending| ending == "rs"))
        .collect()
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

const OVERVIEW: &str = "specs/architecture/overview.md";

/// A row of the table of rooms: a room and the rooms it may use.
#[derive(Debug)]
struct Room {
    name: String,
    may_use: Vec<String>,
}

fn rooms() -> Vec<Room> {
    parse_rooms(&read(&root().join(OVERVIEW))).unwrap_or_else(|problem| panic!("{OVERVIEW}: {problem}"))
}

/// Reads the table of rooms. A room may use only rooms above it, so the rows form no cycle.
fn parse_rooms(text: &str) -> Result<Vec<Room>, String> {
    let begin = text.find("<!-- rooms:begin -->").ok_or("the line `<!-- rooms:begin -->` is missing")?;
    let end = text.find("<!-- rooms:end -->").ok_or("the line `<!-- rooms:end -->` is missing")?;
    let table = text.get(begin..end).ok_or("`rooms:end` stands before `rooms:begin`")?;
    let first_line = text[..begin].lines().count() + 1;
    let mut lines = table.lines().enumerate().skip(1).map(|(at, line)| (first_line + at, line.trim()));
    for expected in ["| room | what it is for | may use |", "|---|---|---|"] {
        match lines.next() {
            Some((_, line)) if line == expected => {}
            found => return Err(format!("the table must begin with `{expected}`, found {found:?}")),
        }
    }
    let mut rooms: Vec<Room> = Vec::new();
    for (number, line) in lines {
        let wrong = |why: String| format!("line {number}: {why}: {line}");
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let ["", room, purpose, uses, ""] = cells[..] else {
            return Err(wrong("a row is `| room | what it is for | may use |`".to_owned()));
        };
        let name = code(room).ok_or_else(|| wrong("the room must stand in backticks".to_owned()))?;
        if purpose.is_empty() {
            return Err(wrong(format!("it is not said what `{name}` is for")));
        }
        if rooms.iter().any(|room| room.name == name) {
            return Err(wrong(format!("`{name}` has two rows")));
        }
        let mut may_use = Vec::new();
        for cell in uses.split(',').filter(|_| uses != "nothing") {
            let used = code(cell.trim()).ok_or_else(|| {
                wrong("`may use` is `nothing`, or rooms in backticks with commas between".to_owned())
            })?;
            if !rooms.iter().any(|room| room.name == used) {
                return Err(wrong(format!("`{name}` may use `{used}`, which is no room above it")));
            }
            may_use.push(used);
        }
        rooms.push(Room { name, may_use });
    }
    if rooms.is_empty() { Err("the table has no row".to_owned()) } else { Ok(rooms) }
}

/// The text between a pair of backticks.
fn code(cell: &str) -> Option<String> {
    let name = cell.strip_prefix('`')?.strip_suffix('`')?;
    let plain = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    plain.then(|| name.to_owned())
}

#[test]
fn malformed_room_table_says_what_is_wrong() {
    let head = "<!-- rooms:begin -->\n| room | what it is for | may use |\n|---|---|---|\n";
    let table = |rows: &str| format!("{head}{rows}\n<!-- rooms:end -->\n");
    let two = parse_rooms(&table("| `a` | words | nothing |\n| `b` | more | `a` |")).expect("a sound table");
    assert_eq!((two[1].name.as_str(), two[1].may_use.as_slice()), ("b", ["a".to_owned()].as_slice()));
    let cases = [
        ("no table here".to_owned(), "`<!-- rooms:begin -->` is missing"),
        (head.to_owned(), "`<!-- rooms:end -->` is missing"),
        ("<!-- rooms:begin -->\n| room |\n<!-- rooms:end -->".to_owned(), "the table must begin with"),
        (format!("{head}<!-- rooms:end -->"), "the table has no row"),
        (table("| `a` | words |"), "line 4: a row is"),
        (table("| a | words | nothing |"), "line 4: the room must stand in backticks"),
        (table("| `a` | | nothing |"), "line 4: it is not said what `a` is for"),
        (table("| `a` | words | nothing |\n| `a` | words | nothing |"), "line 5: `a` has two rows"),
        (table("| `a` | words | |"), "line 4: `may use` is"),
        (table("| `a` | words | everything |"), "line 4: `may use` is"),
        (
            table("| `a` | words | `b` |\n| `b` | words | nothing |"),
            "line 4: `a` may use `b`, which is no room above",
        ),
    ];
    for (text, expected) in cases {
        let problem = parse_rooms(&text).expect_err(expected);
        assert!(problem.contains(expected), "{problem}\ndoes not contain\n{expected}");
    }
}

/// The source directories of the rooms.
const SOURCES: [&str; 3] = ["crates/core/src", "crates/machine/src", "src"];

fn all_sources() -> Vec<PathBuf> {
    SOURCES.iter().flat_map(|dir| sources(&root().join(dir))).collect()
}

fn room_dir(room: &str) -> PathBuf {
    let dirs = SOURCES.iter().map(|dir| root().join(dir).join(room));
    dirs.into_iter().find(|dir| dir.is_dir()).unwrap_or_else(|| panic!("no room `{room}`"))
}

/// Tests of a room may use other rooms to build their data.
fn is_of_tests(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str() == "tests" || part.as_os_str() == "model")
        || path.file_stem().is_some_and(|name| {
            ["testing", "tests", "model", "replay_tests"].contains(&name.to_string_lossy().as_ref())
        })
}

/// Names of the board's files: only `store` uses them, so that another engine could keep the board elsewhere.
const BY_NAME: [&str; 10] = [
    ".layout()",
    "Layout::",
    "store.dir()",
    ".join(DIRECTORY",
    ".join(\".liza",
    ".join(\"state.yaml",
    ".join(\"log.yaml",
    "address().join(",
    "home().join(",
    "watched_dir().join(",
];

#[test]
fn only_store_reaches_board_files_by_name() {
    let mut wrong = Vec::new();
    for path in all_sources() {
        if path.starts_with(room_dir("store")) || is_of_tests(&path) {
            continue;
        }
        let text = read(&path);
        let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
        for (number, line) in code.lines().enumerate() {
            if let Some(found) = BY_NAME.iter().find(|by_name| line.contains(**by_name)) {
                wrong.push(format!("{}:{}: {found}", path.display(), number + 1));
            }
        }
    }
    assert!(wrong.is_empty(), "ask `Store` or `Machine` instead:\n{}", wrong.join("\n"));
}

#[test]
fn rooms_use_only_allowed_rooms() {
    let rooms = rooms();
    let mut wrong = Vec::new();
    let mut looked_at = 0;
    for Room { name: room, may_use } in &rooms {
        for path in sources(&room_dir(room)) {
            if is_of_tests(&path) {
                continue;
            }
            looked_at += 1;
            let text = read(&path);
            let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
            for (number, line) in code.lines().enumerate() {
                for (at, _) in line.match_indices("crate::") {
                    let used: String = line[at + 7..]
                        .chars()
                        .take_while(|c| c.is_ascii_alphanumeric() || *c == '_')
                        .collect();
                    let is_room = rooms.iter().any(|room| room.name == used);
                    if used != *room && is_room && !may_use.contains(&used) {
                        wrong.push(format!("{}:{}: {room} uses {used}", path.display(), number + 1));
                    }
                }
            }
        }
    }
    assert!(looked_at > 60, "only {looked_at} files were looked at");
    assert!(wrong.is_empty(), "{OVERVIEW} does not allow:\n{}", wrong.join("\n"));
}

#[test]
fn every_room_is_in_the_table() {
    let directories: BTreeSet<String> = SOURCES
        .iter()
        .flat_map(|dir| std::fs::read_dir(root().join(dir)).expect("a directory of sources").flatten())
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    let table: BTreeSet<String> = rooms().into_iter().map(|room| room.name).collect();
    assert_eq!(directories, table, "directories of {SOURCES:?} and rows in {OVERVIEW}");
}

#[test]
fn pure_rooms_use_no_disk_clock_or_environment() {
    for room in ["board", "gate", "policy", "prompt", "text", "wire"] {
        for path in sources(&room_dir(room)) {
            let text = read(&path);
            assert!(
                !text.contains("#![expect(clippy::disallowed_methods"),
                "{} opens a door",
                path.display()
            );
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            for effect in ["std::fs", "std::process", "std::env", "SystemTime", "Instant::now"] {
                let inside_tests = path.components().any(|part| part.as_os_str() == "tests");
                assert!(inside_tests || !code.contains(effect), "{} uses {effect}", path.display());
            }
        }
    }
}

/// A process without a deadline could keep the suite from ending.
#[test]
fn tests_start_processes_with_a_deadline() {
    let unbounded = [".output()", ".spawn()", ".status()"];
    for path in sources(&root().join("tests/cli")) {
        if path.ends_with("support/process.rs") {
            continue;
        }
        for (number, line) in read(&path).lines().enumerate() {
            let found = unbounded.iter().find(|call| line.contains(**call));
            assert!(
                found.is_none(),
                "{}:{}: use `finish`, `finish_status` or `start` of tests/cli/support/process.rs",
                path.display(),
                number + 1
            );
        }
    }
}

/// One file sets deadlines, process groups and environments.
#[test]
fn one_file_starts_processes() {
    for path in all_sources() {
        let inside_tests = path.components().any(|part| part.as_os_str() == "tests")
            || path.file_stem().is_some_and(|name| name == "testing");
        if inside_tests || path.ends_with("host/spawn.rs") {
            continue;
        }
        let text = read(&path);
        let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
        for start in
            ["Command::new(", "process::Command", "CommandExt", "posix_spawn", "execve", "::runtime::"]
        {
            assert!(!code.contains(start), "{} uses {start}: use host::Program", path.display());
        }
        // Also if a file imports it under another name.
        for import in code.split("process::{").skip(1) {
            let named = import.split('}').next().unwrap_or_default();
            assert!(!has_word(named, "Command"), "{} imports Command: use host::Program", path.display());
        }
    }
}

/// The source of every file outside of these rooms and of tests, line by line.
fn lines_outside(rooms: &[&str]) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let dirs: Vec<PathBuf> = rooms.iter().map(|room| room_dir(room)).collect();
    for path in all_sources() {
        if dirs.iter().any(|dir| path.starts_with(dir)) || is_of_tests(&path) {
            continue;
        }
        let text = read(&path);
        let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
        for (number, line) in code.lines().enumerate() {
            found.push((format!("{}:{}", path.display(), number + 1), line.trim().to_owned()));
        }
    }
    assert!(found.len() > 10_000, "only {} lines were looked at", found.len());
    found
}

/// Whether the line contains this as a whole word.
fn has_word(line: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        !line[..at].chars().next_back().is_some_and(is_part)
            && !line[at + word.len()..].chars().next().is_some_and(is_part)
    })
}

/// Where the word means something else than a program to start: a path, a directory, the name of a process that was found; and the
/// demo plays people, who type git themselves.
const NAMES_GIT: [&str; 7] = [
    "crates/core/src/board/paths/check.rs",
    "crates/machine/src/store/switches.rs",
    "crates/machine/src/store/machine/runners.rs",
    "crates/machine/src/store/machine/mod.rs",
    "crates/machine/src/host/process.rs",
    "src/cli/demo/experiment.rs",
    "src/cli/demo/stage.rs",
];

/// Git settings that an agent planted do not affect liza, because only the room `git` uses git.
#[test]
fn only_git_room_runs_git_and_libgit2() {
    for (place, line) in lines_outside(&["git"]) {
        let code = line.split("//").next().unwrap_or_default();
        assert!(!has_word(code, "git2"), "{place} uses libgit2: ask the room `git`");
        // A name that leads to the program, however it is started.
        let names = code.contains("\"git\"") && !NAMES_GIT.iter().any(|file| place.contains(file));
        assert!(!names, "{place} names the program git: use crate::git::Git");
        // The demo acts as a person who types git.
        let plays = place.contains("src/cli/demo/");
        for start in ["Program::new(\"git", "Program::held(\"git", "held_for_gate(board, \"git"] {
            assert!(plays || !line.contains(start), "{place} starts git: use crate::git::Git");
        }
    }
    // Inside of the room one file starts the program, and two open repositories.
    let of_room = |pattern: &str| -> Vec<String> {
        let mut found: Vec<String> = sources(&room_dir("git"))
            .into_iter()
            .filter(|path| !is_of_tests(path))
            .filter(|path| read(path).split("#[cfg(test)]").next().unwrap_or_default().contains(pattern))
            .map(|path| path.strip_prefix(room_dir("git")).unwrap_or(&path).display().to_string())
            .collect();
        found.sort();
        found
    };
    assert_eq!(of_room("Program::new("), ["command.rs"]);
    // Besides, liza runs hooks that a person accepted where git would run them.
    assert_eq!(of_room("held_for_gate(&"), ["command.rs", "fast_forward.rs", "push.rs", "worktree.rs"]);
    assert_eq!(of_room("Repository::"), ["query.rs"]);
    assert_eq!(of_room("Repository as"), [""; 0], "an import under another name hides it");
    let manifest = |name: &str| read(&root().join(name));
    assert!(manifest("crates/machine/Cargo.toml").contains("git2.workspace"));
    for name in ["Cargo.toml", "crates/core/Cargo.toml"] {
        let text = manifest(name);
        let normal = text.split("[dependencies]").nth(1).and_then(|rest| rest.split('[').next());
        assert!(!normal.unwrap_or_default().contains("git2"), "{name} depends on libgit2");
    }
}

/// Files that name a person as the actor: `identify` decides who is a person, a verb asks it, and these record what a person's
/// command was identified for.
const SPEAK_OF_PEOPLE: [&str; 10] = [
    "crates/core/src/board/call.rs",
    "crates/core/src/board/rules/agents.rs",
    "crates/core/src/policy/run.rs",
    "crates/machine/src/store/commit.rs",
    "crates/machine/src/store/edits.rs",
    "crates/machine/src/store/pending.rs",
    "crates/machine/src/store/refound.rs",
    "src/flow/agents.rs",
    "src/flow/hooks/judge.rs",
    "src/flow/init.rs",
];

/// Where something below /proc is read.
const READ_PROC: [&str; 12] = [
    "crates/core/src/board/origin.rs",
    "crates/machine/src/git/locks.rs",
    "crates/machine/src/git/query.rs",
    "crates/machine/src/host/filesystem.rs",
    "crates/machine/src/host/anchored_path.rs",
    "crates/machine/src/host/process.rs",
    "crates/machine/src/host/procfs.rs",
    "crates/machine/src/host/waiting.rs",
    "crates/machine/src/store/lock.rs",
    "src/flow/briefing.rs",
    "src/flow/doctor/locks.rs",
    "src/flow/tidy.rs",
];

/// Files where a process puts its own pid into a name or a message.
const NAME_THEMSELVES: [&str; 7] = [
    "crates/machine/src/git/scratch.rs",
    "crates/machine/src/store/files.rs",
    "crates/machine/src/store/lock.rs",
    "crates/machine/src/store/log_file.rs",
    "src/flow/gates/by_runner.rs",
    "src/flow/views.rs",
    "src/supervise/team.rs",
];

/// `Board::identify` decides who the caller is, from what `host` read and `Machine::descent` collected.
#[test]
fn only_listed_files_decide_who_the_caller_is() {
    let naming = |wanted: &str| -> BTreeSet<String> {
        let lines = lines_outside(&[]).into_iter().filter(|(_, line)| line.contains(wanted));
        let files = lines
            .map(|(place, _)| place.rsplit_once(':').map(|(file, _)| file.to_owned()).unwrap_or_default());
        let root = format!("{}/", root().display());
        files.map(|file| file.trim_start_matches(&root).to_owned()).collect()
    };
    let only = |files: &[&str]| files.iter().map(|file| (*file).to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(naming("host::ancestors("), only(&["crates/machine/src/store/machine/runners.rs"]));
    assert_eq!(naming(".descent("), only(&["src/flow/context.rs"]));
    assert_eq!(naming("Ok(Actor::Human)"), only(&["crates/core/src/board/call.rs"]));
    assert_eq!(naming("Actor::Human"), only(&SPEAK_OF_PEOPLE));
    assert_eq!(naming("Credentials::Descendant { of: "), only(&["src/flow/context.rs"]));
    // Few files list processes. Outside of `procfs` the result serves messages and finding one's own
    // children, and identifies no caller.
    assert_eq!(naming("\"/proc"), only(&READ_PROC));
    for asked in ["getppid(", "getpid(", "parent_id()", "getsid(", "getpgid("] {
        let known = ["src/supervise/child.rs", "crates/machine/src/host/"];
        let other = naming(asked).into_iter().find(|file| !known.iter().any(|known| file.starts_with(known)));
        assert_eq!(other, None, "asks for {asked}): use host");
    }
    assert_eq!(naming("process::id()"), only(&NAME_THEMSELVES));
    // The caller can replace the C library, so identifying values come from the kernel directly.
    for (place, line) in lines_outside(&[]) {
        let in_host = place.contains("crates/machine/src/host/");
        assert!(!(in_host && line.contains("std::process::id()")), "{place}: use procfs::this_pid");
        let of_identity = place.contains("host/procfs.rs") || place.contains("host/mark.rs");
        assert!(!(of_identity && line.contains("std::fs")), "{place}: use rustix");
    }
}

/// The code of a file without its tests.
fn without_tests(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default()
}

/// What empties, moves or makes directory trees by their paths. `host::anchored_path` does it by handles instead.
const BY_PATH_ONLY: [&str; 8] = [
    "remove_dir_all",
    "remove_dir",
    "tempfile::tempdir",
    "tempfile::Builder",
    "TempDir",
    "AtFlags::REMOVEDIR",
    "mkdirat",
    "unlinkat",
];

/// Files that rename single files, never directories.
const RENAMES_FILES: [&str; 16] = [
    "crates/machine/src/store/results.rs",
    "crates/machine/src/store/images.rs",
    "crates/machine/src/store/pending.rs",
    "crates/machine/src/store/rebuild.rs",
    "crates/machine/src/store/archive.rs",
    "crates/machine/src/store/edits.rs",
    "crates/machine/src/store/alerts.rs",
    "crates/machine/src/store/switches.rs",
    "crates/machine/src/store/files.rs",
    "crates/machine/src/store/commit.rs",
    "crates/machine/src/git/private.rs",
    "src/flow/hooks/install.rs",
    "src/supervise/output.rs",
    "crates/machine/src/store/refound.rs",
    "crates/machine/src/store/copies.rs",
    "src/flow/gates/by_runner.rs",
];

/// Outside of the rooms whose business files are (`store`, `git`, `host`), these make or remove single files of liza's own.
const MAKE_FILES: [&str; 20] = [
    "src/cli/commands/hooks/run.rs",
    "src/cli/commands/man.rs",
    "src/cli/commands/redteam.rs",
    "src/cli/demo/experiment.rs",
    "src/cli/demo/stage.rs",
    "src/cli/redteam/world.rs",
    "src/flow/briefing/sources.rs",
    "src/flow/doctor/rights.rs",
    "src/flow/experiment/lab.rs",
    "src/flow/experiment/trace.rs",
    "src/flow/gates/ask.rs",
    "src/flow/gates/by_runner.rs",
    "src/flow/gates/mod.rs",
    "src/flow/gates/gate_worktree.rs",
    "src/flow/hooks/install.rs",
    "src/flow/init.rs",
    "src/flow/oversight/mod.rs",
    "src/flow/prepare.rs",
    "src/flow/prepared.rs",
    "src/flow/uninstall.rs",
];

#[test]
fn only_listed_files_write_by_path() {
    let ways = [
        "fs::write",
        "File::create",
        "create_dir",
        "DirBuilder",
        "fs::symlink",
        "fs::hard_link",
        "fs::copy",
        "OpenOptions",
        "remove_file",
        "set_permissions",
        "set_len(",
    ];
    let mut found = BTreeSet::new();
    for (place, line) in lines_outside(&["store", "git", "host", "watch"]) {
        let code = line.split("//").next().unwrap_or_default();
        if ways.iter().any(|way| code.contains(way) && !code.contains("fs::symlink_metadata")) {
            let file = place.rsplit_once(':').map_or(place.clone(), |(file, _)| file.to_owned());
            found.insert(file.trim_start_matches(&format!("{}/", root().display())).to_owned());
        }
    }
    assert_eq!(found, MAKE_FILES.iter().map(|file| (*file).to_owned()).collect());
}

#[test]
fn only_anchored_path_changes_directory_trees() {
    let mut wrong = Vec::new();
    for path in all_sources() {
        let name = path.strip_prefix(root()).unwrap_or(&path).display().to_string();
        if is_of_tests(&path) || name.starts_with("crates/machine/src/host/anchored_path") {
            continue;
        }
        let text = read(&path);
        for (number, line) in without_tests(&text).lines().enumerate() {
            let renames = has_word(line, "fs::rename")
                || line.contains("renameat")
                || (line.contains("fs::{") && has_word(line, "rename"));
            let is_around = BY_PATH_ONLY.iter().any(|way| line.contains(way))
                || (renames && !RENAMES_FILES.contains(&name.as_str()));
            if is_around && !line.trim_start().starts_with("//") {
                wrong.push(format!("{name}:{}: {}", number + 1, line.trim()));
            }
        }
    }
    assert!(wrong.is_empty(), "use host::anchored_path:\n{}", wrong.join("\n"));
}

/// A failed thread start is an error to handle; `thread::spawn` and `Scope::spawn` panic, and so do
/// `env::args` and `env::vars` on bytes that are no UTF-8.
#[test]
fn no_code_panics_on_threads_or_foreign_bytes() {
    let panics = ["thread::spawn(", "scope.spawn(", "env::args()", "env::vars()"];
    let mut wrong = Vec::new();
    for path in all_sources() {
        if is_of_tests(&path) {
            continue;
        }
        let text = read(&path);
        for (number, line) in without_tests(&text).lines().enumerate() {
            if panics.iter().any(|call| line.contains(call)) {
                wrong.push(format!("{}:{}: {}", path.display(), number + 1, line.trim()));
            }
        }
    }
    assert!(wrong.is_empty(), "use host::start_thread, args_os, vars_os:\n{}", wrong.join("\n"));
}

#[test]
fn files_stay_small() {
    for path in all_sources() {
        let lines = read(&path).lines().count();
        assert!(lines <= 700, "{} has {lines} lines", path.display());
    }
}

/// `cargo package` packs files inside a crate, and follows links to files outside of it.
#[test]
fn crates_include_only_their_own_files() {
    let mut outside = Vec::new();
    for path in sources(&root().join("crates")).into_iter().filter(|path| !is_of_tests(path)) {
        let inside = path.strip_prefix(root().join("crates")).expect("below crates").components().count() - 2;
        for line in without_tests(&read(&path)).lines().filter(|line| line.contains("include_")) {
            if line.matches("../").count() > inside {
                outside.push(format!("{}: {}", path.display(), line.trim()));
            }
        }
    }
    assert_eq!(outside, Vec::<String>::new(), "link the file into the crate's templates");
}

#[test]
fn one_file_names_the_yaml_crate() {
    let naming: Vec<String> = all_sources()
        .into_iter()
        .filter(|path| read(path).contains("serde_yaml::"))
        .map(|path| path.strip_prefix(root()).unwrap_or(&path).display().to_string())
        .collect();
    assert_eq!(naming, ["crates/core/src/wire/foreign.rs"]);
}

/// Every requirement has a row, and every test that a row names exists.
#[test]
fn coverage_table_names_existing_tests() {
    let table = read(&root().join("specs/coverage.md"));
    let rows: BTreeMap<String, Vec<String>> = table
        .lines()
        .filter_map(|line| {
            let cells: Vec<String> =
                line.strip_prefix("| ")?.split('|').map(|cell| cell.trim().to_owned()).collect();
            let id = cells.first()?.clone();
            let letter = id.chars().next()?;
            let numbered = id[1..].parse::<u32>().is_ok();
            ("LBOPF".contains(letter) && numbered).then_some((id, cells))
        })
        .collect();
    for (letter, last) in [('L', 24), ('B', 14), ('O', 18), ('P', 15), ('F', 12)] {
        for number in 1..=last {
            assert!(rows.contains_key(&format!("{letter}{number}")), "{letter}{number} has no row");
        }
    }
    let mut all = String::new();
    for path in all_sources().into_iter().chain(sources(&root().join("tests"))) {
        all.push_str(&read(&path));
    }
    for (id, cells) in rows {
        let tests = cells.get(2).cloned().unwrap_or_default();
        if cells.iter().any(|cell| cell.contains("planned")) {
            continue;
        }
        let named: Vec<&str> = tests.split('`').skip(1).step_by(2).collect();
        assert!(!named.is_empty(), "{id} names no test");
        for name in named {
            let function = name.rsplit("::").next().unwrap_or(name);
            assert!(
                all.contains(&format!("fn {function}(")),
                "{id} names the test {name}, which is not there"
            );
        }
    }
}

/// Every promise of specs/trust.md names tests that exist.
#[test]
fn rows_of_trust_name_their_tests() {
    let page = read(&root().join("specs/trust.md"));
    let table =
        page.split("<!-- rows:begin -->").nth(1).and_then(|rest| rest.split("<!-- rows:end -->").next());
    let mut all = String::new();
    for path in all_sources().into_iter().chain(sources(&root().join("tests"))) {
        all.push_str(&read(&path));
    }
    let rows: Vec<&str> =
        table.unwrap_or_default().lines().filter(|line| line.starts_with("| ")).skip(1).collect();
    assert!(rows.len() >= 26, "{} rows", rows.len());
    for row in rows {
        let tests = row.trim_end_matches(" |").rsplit(" | ").next().unwrap_or_default();
        let named: Vec<&str> = tests.split('`').skip(1).step_by(2).collect();
        assert!(!named.is_empty(), "no test in: {row}");
        for name in named {
            assert!(all.contains(&format!("fn {name}(")), "{name} is no test, in: {row}");
        }
    }
}
