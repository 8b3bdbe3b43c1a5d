//! What each parser promises about any bytes at all, as functions that a fuzzer can call: it ends, it does not panic, its
//! complaint hides nothing, and what it accepts means the same once it is written down again.
//!
//! `fuzz/` runs them for long with coverage; a test here runs them briefly with every build.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::board::review::Feedback;
use crate::board::{Needs, Stamp, Wall, violations};

use super::bundle;
use super::log::{Record, read_chain};
use super::state::{Decoded, sealed};
use super::{ForeignError, Limits, emit, is_hidden, parse, read_foreign, read_foreign_value};

pub type Target = fn(&[u8]);

pub const ALL: [(&str, Target); 7] = [
    ("general", general),
    ("canonical", canonical),
    ("state", state),
    ("log", log),
    ("feedback", feedback),
    ("plan", plan),
    ("bundle", bundle),
];

/// Foreign YAML or JSON, also where a whole board is expected.
pub fn general(bytes: &[u8]) {
    let now = Stamp { wall: Wall(1_800_000_000), monotonic: 0, boot: String::new() };
    if let Some(value) = accepted(read_foreign_value(bytes, Limits::default())) {
        same_in_yaml(&value);
    }
    if let Some(board) = accepted(super::flat::read_edited(bytes, &now)) {
        let _ = violations(&board);
    }
}

/// The layout that liza writes, without its checksum.
pub fn canonical(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(value) = parse::<Value>(text, 0) else { return };
    let mut again = String::new();
    emit(&value, 0, &mut again).expect("what was read can be written");
    assert_eq!(parse::<Value>(&again, 0).expect("what was written can be read"), value);
}

/// A board with a right checksum, so that the checks behind it are reached.
pub fn state(bytes: &[u8]) {
    let _ = Decoded::new(bytes.to_vec());
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(mut decoded) = Decoded::new(sealed(text).into_bytes()) else { return };
    if decoded.load(&Needs::Everything).is_ok() {
        let _ = violations(&decoded.board);
    }
}

pub fn log(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let _ = read_chain(text, String::new());
    for line in text.lines() {
        if let Ok(record) = Record::parse(line, 1) {
            let (again, _) = record.line();
            assert_eq!(Record::parse(&again, 1).expect("what was written can be read").line().0, again);
        }
    }
}

pub fn feedback(bytes: &[u8]) {
    if let Some(feedback) = accepted(read_foreign::<Feedback>(bytes, Limits::default())) {
        same_in_yaml(&feedback);
    }
}

pub fn plan(bytes: &[u8]) {
    if let Some(tasks) = accepted(super::plan::read_plan(bytes)) {
        same_in_yaml(&tasks);
    }
    // A file, a directory or nothing exists there, so that outputs are read in every way.
    let standing = |path: &str| match path.len() % 3 {
        0 => None,
        1 => Some(super::plan::Standing::File),
        _ => Some(super::plan::Standing::Directory),
    };
    if let Some(planned) = accepted(super::plan::read_planned(bytes, &standing)) {
        same_in_yaml(&planned.tasks);
    }
}

/// A patch bundle, applied to existing files and to none.
pub fn bundle(bytes: &[u8]) {
    struct Files(&'static [u8]);

    impl bundle::Tree for Files {
        type Error = std::convert::Infallible;

        fn at(&self, path: &str) -> Result<bundle::Found, Self::Error> {
            Ok(match path {
                "a" | "src" => bundle::Found::Directory,
                "link" => bundle::Found::Symlink,
                _ if self.0.is_empty() => bundle::Found::Absent,
                _ => bundle::Found::File { bytes: self.0.to_vec(), executable: false },
            })
        }

        fn files_below(&self, path: &str) -> Result<Vec<String>, Self::Error> {
            Ok(vec![format!("{path}/x")])
        }
    }

    match bundle::read(bytes) {
        Err(problems) => {
            assert!(!problems.is_empty());
            assert!(!problems.iter().any(|problem| problem.message.chars().any(is_hidden)), "{problems:?}");
        }
        Ok(read) => {
            assert_eq!(bundle::read(&bundle::write(&read)).as_ref(), Ok(&read));
            for files in [&b""[..], b"one\ntwo\nthree", b"\r\n\n"] {
                let Ok(applied) = bundle::apply(&read, &Files(files));
                let known = |path: &str| crate::board::RepoPath::new(path).is_ok();
                assert!(applied.changes.iter().all(|change| match change {
                    bundle::Change::Write { path, .. } | bundle::Change::Remove { path } => known(path),
                }));
            }
        }
    }
}

fn accepted<T>(read: Result<T, ForeignError>) -> Option<T> {
    match read {
        Ok(value) => Some(value),
        Err(error) => {
            let message = error.to_string();
            assert!(!message.chars().any(is_hidden), "{message:?}");
            None
        }
    }
}

/// Written in our layout and read back, by our own parser and by the general one.
fn same_in_yaml<T: Serialize + DeserializeOwned>(value: &T) {
    let mut text = String::new();
    // Values deeper or stranger than the layout allows are refused when they are written.
    if emit(value, 0, &mut text).is_err() {
        return;
    }
    let wanted = serde_json::to_value(value).expect("a value");
    if let Ok(own) = parse::<T>(&text, 0) {
        assert_eq!(serde_json::to_value(&own).expect("a value"), wanted, "{text}");
    } else {
        panic!("not read again: {text}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATE: &[u8] = include_bytes!("../../../../../.liza-example/state.yaml");
    const LOG: &[u8] = include_bytes!("../../../../../.liza-example/log.yaml");
    const FEEDBACK: &[u8] = b"verdict: request_changes\nsummary: \"no: 'x' \xc3\xa4\"\nissues:\n  - severity: major\n    file: src/a.rs\n    line: 3\n    text: |\n      two\n      lines\n";
    const PLAN: &[u8] = b"tasks:\n- id: t1\n  title: One\n  spec_ref: specs/vision.md\n  done_when: [it works]\n  scope: {in: [src/, \"*.md\"]}\n  depends_on: []\n- {id: t2, title: Two, depends_on: [t1]}\n";
    const GRAPH: &[u8] = b"{\"id\":\"G-001\",\"max_parallel\":4,\"nodes\":[{\"id\":\"WN-1\",\"description\":\"One\\nmore\",\"outputs\":[\"src/\",\"hash\"],\"owner_role\":\"Implementer\",\"status\":\"pending\",\"assigned_to\":null},{\"id\":\"WN-2\",\"description\":\"Two\",\"dependencies\":[\"WN-1\"]}],\"edges\":[[\"WN-1\",\"WN-2\"],{\"from\":\"WN-1\",\"to\":\"WN-2\"}]}";
    const BUNDLE: &[u8] = br#"{"version": 1, "metadata": {"id": "PB-1", "intent": "x", "author": "a", "timestamp": "2026-02-20T10:30:00Z"},
"patches": [{"file": "src/a", "hunks": [{"start_line": 2, "old_text": "two", "new_text": "2\n3"}], "mode": "100755"},
{"file": "b", "binary": {"old": "Zg==", "new": "Zm8="}}, {"file": "c", "renamed_from": "d", "no_final_newline": {"old": true, "new": false}}]}"#;
    const PIECES: [&[u8]; 24] = [
        b"\n",
        b"  ",
        b": ",
        b"- ",
        b"\"",
        b"'",
        b"[",
        b"]",
        b"{",
        b"}",
        b"|\n",
        b">-\n",
        b"&a ",
        b"*a",
        b"!!x ",
        b"#",
        b"\t",
        b"\0",
        b"\xff",
        b"\xe2\x80\xae",
        b"999999999999999999999",
        b"-0x1F",
        b"~",
        b"end: \"",
    ];

    /// Small and seeded, so that a failure can be repeated.
    struct Dice(u64);

    impl Dice {
        fn below(&mut self, limit: usize) -> usize {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) as usize % limit.max(1)
        }
    }

    /// One seed with a few changes.
    fn mutant(dice: &mut Dice, seeds: &[&[u8]]) -> Vec<u8> {
        let seed = seeds[dice.below(seeds.len())];
        let (start, length) = (dice.below(seed.len()), 1 + dice.below(2048));
        let mut bytes = match dice.below(4) {
            0 => seed[start..(start + length).min(seed.len())].to_vec(),
            _ => seed[..seed.len().min(4096)].to_vec(),
        };
        for _ in 0..=dice.below(4) {
            let at = dice.below(bytes.len() + 1);
            match dice.below(5) {
                0 if at < bytes.len() => bytes[at] ^= 1 << dice.below(8),
                1 => bytes.truncate(at),
                2 => {
                    let end = (at + dice.below(40)).min(bytes.len());
                    let piece = bytes[at..end].to_vec();
                    bytes.splice(at..at, piece);
                }
                3 => drop(bytes.drain(at..(at + dice.below(40)).min(bytes.len()))),
                _ => drop(bytes.splice(at..at, PIECES[dice.below(PIECES.len())].iter().copied())),
            }
        }
        bytes
    }

    #[test]
    fn every_parser_keeps_its_promises_on_mutants() {
        let seeds = [STATE, LOG, FEEDBACK, PLAN, GRAPH, BUNDLE];
        for (name, target) in ALL {
            let mut dice = Dice(0x11_2a);
            for round in 0..2_000 {
                let bytes = mutant(&mut dice, &seeds);
                let judged = std::panic::catch_unwind(|| target(&bytes));
                assert!(judged.is_ok(), "{name}, round {round}: {:?}", String::from_utf8_lossy(&bytes));
            }
        }
    }

    /// Found by the fuzzer: the head of a board below its content.
    #[test]
    fn a_header_out_of_place_is_refused() {
        state(b"goal:\n  id: x\nversion: 2\nrevision: 1\ntasks: []\n");
    }

    /// The unchanged seeds are accepted; otherwise the mutants would test nothing.
    #[test]
    fn the_seeds_are_accepted() {
        assert!(Decoded::new(STATE.to_vec()).is_ok());
        assert!(read_chain(std::str::from_utf8(LOG).unwrap(), String::new()).is_ok());
        read_foreign::<Feedback>(FEEDBACK, Limits::default()).unwrap();
        super::super::plan::read_plan(PLAN).unwrap();
        super::super::plan::read_planned(GRAPH, &|_| None).unwrap();
        bundle::read(BUNDLE).unwrap();
        let changed = String::from_utf8_lossy(STATE).replace("A program", "Another program");
        assert!(Decoded::new(changed.clone().into_bytes()).is_err());
        assert!(Decoded::new(sealed(&changed).into_bytes()).is_ok(), "the checksum is made right");
    }
}
