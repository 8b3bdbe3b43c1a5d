//! The example board is valid and matches its log.

#![allow(clippy::disallowed_methods, reason = "reads the project's own files")]

use std::path::PathBuf;

use liza::board::{Needs, Status, violations};
use liza::store::rebuild::replay;
use liza::wire::log::read_chain;
use liza::wire::state::Decoded;

fn example(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(".liza-example").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn example_board_is_valid_and_finished() {
    let mut decoded = Decoded::new(example("state.yaml")).expect("a board liza wrote");
    decoded.load(&Needs::Everything).expect("whole tasks");
    assert_eq!(violations(&decoded.board), []);
    assert!(decoded.board.tasks.iter().any(|task| task.status == Status::Merged));
}

#[test]
fn example_board_matches_its_log() {
    let log = String::from_utf8(example("log.yaml")).expect("text");
    let records = read_chain(&log, String::new()).expect("a chain");
    let first = Decoded::new(example("images/1.yaml")).expect("the first board");
    let rebuilt = replay(first, &records[1..], None).expect("it replays");
    assert_eq!(rebuilt.text().as_bytes(), example("state.yaml"));
}
