//! Files under `.liza` damaged in many ways: the damage is detected, never trusted, and repaired from images and log.

use std::path::PathBuf;

use liza::board::{Applied, Board, Credentials, Needs, Stamp, Transition, Wall};
use liza::store::images::IMAGES_KEPT;
use liza::store::rebuild::replay;
use liza::store::{Proposal, Store, StoreError};
use liza::wire::log::{LogError, read_chain};
use liza::wire::state::{Decoded, StateError};
use serde_json::{Value, json};

/// Small and seeded, so that a failure is reproducible by its seed.
pub struct Chance(u64);

impl Chance {
    pub fn seeded(default: u64) -> Self {
        let seed = std::env::var("LIZA_TEST_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(default);
        eprintln!("LIZA_TEST_SEED={seed}");
        Self(seed.wrapping_mul(2).wrapping_add(1))
    }

    pub fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from((self.0 >> 11) % limit as u64).expect("small")
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }
}

struct Session {
    dir: tempfile::TempDir,
    store: Store,
    seconds: u64,
    /// The text of every board that was published, by revision.
    published: Vec<String>,
}

const ZERO: &str = "0000000000000000000000000000000000000000";

fn transition(value: Value) -> Transition {
    serde_json::from_value(value.clone()).unwrap_or_else(|error| panic!("{error}: {value}"))
}

impl Session {
    fn new() -> Self {
        let dir = crate::support::temporary_home();
        let liza = dir.path().join(".liza");
        let store = Store::new(&liza);
        store.make_directories().expect("made");
        let mut session = Self { dir, store, seconds: 1_000, published: Vec::new() };
        let init = transition(json!({ "init": {
            "goal": "a goal", "spec_ref": "specs/vision.md", "config": { "integration_branch": "integration" },
            "integration_head": ZERO,
        }}));
        let now = session.now();
        session.store.create(init, &now).expect("a board");
        session.published.push(session.text());
        session
    }

    fn now(&self) -> Stamp {
        Stamp {
            wall: Wall(1_700_000_000 + i64::try_from(self.seconds).expect("small")),
            monotonic: self.seconds * 1_000_000_000,
            boot: "boot".into(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(".liza").join(name)
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(self.path("state.yaml")).expect("bytes")).into_owned()
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.path("log.yaml")).expect("text")
    }

    fn agent(id: &str) -> Credentials {
        Credentials::Agent { id: liza::board::AgentId::new(id).expect("an id"), token_hash: "a".repeat(64) }
    }

    fn propose(&mut self, who: &Credentials, what: Value) -> Result<Value, StoreError> {
        self.seconds += 1;
        let proposal = Proposal { credentials: who, what: transition(what), request: None };
        let done = self.store.commit_any(proposal, &self.now());
        let text = self.text();
        if self.published.last() != Some(&text) {
            self.published.push(text);
        }
        done.map(|done| match done.outcome {
            Applied::Changed(outcome) => outcome.to_json(),
            Applied::Repeated(kept) => kept,
        })
    }

    fn note(&mut self, text: &str) {
        self.propose(&Credentials::Human, json!({ "add_note": { "text": text } })).expect("a note");
    }

    /// One more random command; refusals are allowed.
    fn random_command(&mut self, chance: &mut Chance) {
        let task = chance.pick(&["t0", "t1", "t2", "t3"]);
        let coder = Self::agent(chance.pick(&["coder-1", "coder-2"]));
        let human = Credentials::Human;
        let number = self.published.len();
        let process = json!({ "pid": 1, "started": 1, "boot": "boot", "namespace": "n" });
        let what = match chance.below(12) {
            0 => (human, json!({ "add_note": { "text": format!("say \"{number}\": # é\u{202e}\t%\n- x") } })),
            1 => (
                human,
                json!({ "add_tasks": { "finalize": chance.below(2) == 0, "specs_found": [task], "tasks": [{
                    "id": task, "title": "a title", "spec_ref": "specs/vision.md", "done_when": ["it works"],
                    "scope": { "in": [format!("{task}/")] },
                }]}}),
            ),
            2 => (human, json!({ "finalize": { "tasks": [task], "specs_found": [task] } })),
            3 => (
                human,
                json!({ "register_agent": { "id": chance.pick(&["coder-1", "coder-2"]), "roles": ["coder"], "token_hash": "a".repeat(64) } }),
            ),
            4 | 5 => {
                let begun = self.propose(
                    &coder,
                    json!({ "begin_claim": { "task": task, "base": ZERO, "owner": process } }),
                );
                let Ok(begun) = begun else { return };
                if chance.below(3) == 0 {
                    (
                        human,
                        json!({ "cancel_claim": { "intent": begun["intent"], "owner": process, "reason": "r" } }),
                    )
                } else {
                    (
                        coder,
                        json!({ "finish_claim": { "intent": begun["intent"], "owner": process, "base": ZERO,
                            "handout": { "head": ZERO, "tree": ZERO } } }),
                    )
                }
            }
            6 => (coder, json!({ "renew": { "task": task } })),
            7 => (human, json!({ "block": { "task": task, "reason": "a reason", "questions": ["why?"] } })),
            8 => (human, json!({ "unblock": { "task": task, "answer": "because" } })),
            9 => (coder, json!({ "release": { "task": task, "reason": "" } })),
            10 => (coder, json!({ "hand_off": { "task": task, "summary": "s", "next_action": "n" } })),
            _ => {
                self.seconds += 4_000;
                (human, json!({ "extend_leases": { "seconds": 7 } }))
            }
        };
        match self.propose(&what.0, what.1.clone()) {
            Ok(_) | Err(StoreError::Refused(_)) => {}
            Err(error) => panic!("{error}: {}", what.1),
        }
    }

    fn revision(&self) -> u64 {
        self.published.len() as u64
    }

    fn board(&self) -> Board {
        self.store.read(&Needs::Everything).expect("a board").board
    }
}

#[test]
fn any_board_is_rebuilt_from_any_image() {
    let mut chance = Chance::seeded(7);
    for _ in 0..crate::support::sweep(1, 4) {
        let mut session = Session::new();
        while session.revision() < 130 {
            session.random_command(&mut chance);
            session.note("one more");
        }
        let last = session.revision();
        let images = session.store.image_revisions();
        let wanted: Vec<u64> = (last - IMAGES_KEPT..last).collect();
        assert_eq!(images, wanted, "exactly the last {IMAGES_KEPT}");
        let now = session.board();
        assert_eq!(now.revision, last);
        for image in images {
            let at = usize::try_from(image).expect("small") - 1;
            let bytes = std::fs::read(session.path(&format!("images/{image}.yaml"))).expect("an image");
            assert_eq!(
                String::from_utf8(bytes.clone()).expect("text"),
                session.published[at],
                "image {image}"
            );
            let from = Decoded::new(bytes).expect("a whole board");
            let records = session.store.records_after(&from.board).expect("records");
            assert_eq!(records.len() as u64, last - image);
            let rebuilt = replay(from, &records, None).expect("a board");
            assert_eq!(rebuilt.text(), session.text(), "from image {image}");
            let rebuilt = session.store.rebuild(Some(image)).expect("a board");
            assert_eq!(rebuilt.text(), session.published[at], "revision {image}");
        }
        // With only the oldest image, every later board is still rebuilt from the log.
        for image in last - IMAGES_KEPT + 1..last {
            std::fs::remove_file(session.path(&format!("images/{image}.yaml"))).expect("removed");
        }
        for revision in [last - IMAGES_KEPT + 1, last - 30, last] {
            let at = usize::try_from(revision).expect("small") - 1;
            let rebuilt = session.store.rebuild(Some(revision)).expect("a board");
            assert_eq!(rebuilt.text(), session.published[at]);
        }
        // Older than every image: the whole log makes it.
        let older = last - IMAGES_KEPT - 1;
        let rebuilt = session.store.rebuild(Some(older)).expect("a board");
        assert_eq!(rebuilt.text(), session.published[usize::try_from(older).expect("small") - 1]);
        assert!(session.store.rebuild(Some(last + 1)).is_err(), "never published");
    }
}

fn sample() -> Session {
    let mut session = Session::new();
    let mut chance = Chance::seeded(3);
    while session.board().tasks.len() < 3 || session.revision() < 20 {
        session.random_command(&mut chance);
    }
    session
}

#[test]
fn every_truncated_state_is_detected() {
    let session = sample();
    let whole = session.text();
    assert!(Decoded::new(whole.clone().into_bytes()).is_ok());
    for cut in 0..whole.len() {
        match Decoded::new(whole.as_bytes()[..cut].to_vec()) {
            Err(StateError::Truncated | StateError::NotText) => {}
            other => panic!("cut at {cut}: {other:?}"),
        }
    }
}

#[test]
fn every_flipped_byte_of_a_state_is_detected() {
    let session = sample();
    let whole = session.text().into_bytes();
    let mut chance = Chance::seeded(11);
    let mut tried = 0;
    // Every position once, the last line (its checksum covers everything but itself) with every bit, then random positions.
    let last_line = whole.len() - 75..whole.len();
    let systematic = (0..whole.len())
        .map(|at| (at, 1))
        .chain(last_line.flat_map(|at| (0..8).map(move |bit| (at, 1u8 << bit))))
        .collect::<Vec<_>>();
    let random: Vec<_> = (0..2_000)
        .map(|_| (chance.below(whole.len()), u8::try_from(1 + chance.below(255)).expect("a byte")))
        .collect();
    for (at, flip) in systematic.into_iter().chain(random) {
        let mut bytes = whole.clone();
        bytes[at] ^= flip;
        assert!(Decoded::new(bytes).is_err(), "byte {at} ^ {flip:#x} was believed");
        tried += 1;
    }
    assert!(tried > 2_000);
}

#[test]
fn damaged_state_is_refused_without_changes() {
    let mut session = sample();
    let whole = session.text();
    let log = session.log();
    let mut chance = Chance::seeded(13);
    for _ in 0..40 {
        let mut bytes = whole.clone().into_bytes();
        if chance.below(2) == 0 {
            bytes.truncate(chance.below(bytes.len()));
        } else {
            let at = chance.below(bytes.len());
            bytes[at] ^= 0x80;
        }
        std::fs::write(session.path("state.yaml"), &bytes).expect("written");
        let refused = session.propose(&Credentials::Human, json!({ "add_note": { "text": "x" } }));
        assert!(matches!(refused, Err(StoreError::Invalid { .. })), "{refused:?}");
        assert_eq!(session.log(), log);
        let rebuilt = session.store.rebuild(None).expect("a board");
        assert_eq!(rebuilt.text(), whole, "the last good board is always to be had");
        let kept = session.store.restore(&rebuilt, 1 << 30, &session.now()).expect("restored");
        assert_eq!(std::fs::read(kept.expect("a copy")).expect("bytes"), bytes, "what stood there is kept");
        assert_eq!(session.text(), whole);
    }
    session.note("and on it goes");
}

/// A command and a runner read the board more than once; their cached board must not hide an edit.
#[test]
fn edit_of_an_already_read_board_is_found() {
    for wait in [0, 60] {
        let mut session = sample();
        std::thread::sleep(std::time::Duration::from_millis(wait));
        let path = session.path("state.yaml");
        let modified = std::fs::metadata(&path).expect("a file").modified().expect("a time");
        assert!(session.store.read(&Needs::Nothing).expect("a board").warning.is_none());
        // In place, with the same length and the old time.
        let edited = session.text().replacen("a goal", "b goal", 1);
        let mut file = std::fs::OpenOptions::new().write(true).open(&path).expect("opened");
        std::io::Write::write_all(&mut file, edited.as_bytes()).expect("written");
        file.set_modified(modified).expect("put back");
        drop(file);
        let seen = session.store.read(&Needs::Nothing).expect("a board");
        assert!(seen.warning.is_some_and(|warning| warning.contains("edited by hand")), "after {wait} ms");
        let agent = session.propose(&Session::agent("coder-1"), json!({ "add_note": { "text": "x" } }));
        assert!(agent.is_ok() && session.text().contains("a goal"), "{agent:?}");
        assert!(session.path("edits/pending").is_dir(), "set aside");
    }
}

#[test]
fn every_truncated_last_record_is_set_aside() {
    let mut session = sample();
    let (state, log) = (session.text(), session.log());
    session.note("the last one, with é and \u{1f600}");
    let longer = session.log();
    assert!(longer.starts_with(&log));
    let note_length = longer.len() - log.len();
    for cut in 1..=note_length {
        // As a kill between append and rename leaves it.
        std::fs::write(session.path("state.yaml"), &state).expect("written");
        std::fs::write(session.path("log.yaml"), &longer.as_bytes()[..log.len() + cut]).expect("written");
        std::fs::write(session.path("state.yaml.lock"), "").expect("written");
        session.note("the next one");
        let after = session.log();
        assert!(after.starts_with(&log) && !after.contains("the last one"), "cut at {cut}");
        let aside: Vec<_> = std::fs::read_dir(session.path("edits"))
            .expect("edits")
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.to_string_lossy().contains("unpublished"))
            .collect();
        assert_eq!(aside.len(), 1);
        let kept = std::fs::read(&aside[0]).expect("bytes");
        assert_eq!(kept, &longer.as_bytes()[log.len()..log.len() + cut], "it is kept as it was");
        std::fs::remove_file(&aside[0]).expect("removed");
        assert!(read_chain(&after, String::new()).is_ok());
        // The image is of an earlier revision, whatever came after it.
        let next = session.board().revision;
        let _ = std::fs::remove_file(session.path(&format!("images/{next}.yaml")));
    }
}

#[test]
fn only_one_unpublished_record_is_set_aside() {
    let mut session = sample();
    let (state, log, lock) = (session.text(), session.log(), session.path("state.yaml.lock"));
    session.note("one");
    let one = session.log();
    session.note("two");
    let two = session.log();
    let mark = std::fs::read(&lock).expect("a mark");
    let refused = |session: &mut Session, what: &str| {
        let before = session.log();
        let refused = session.propose(&Credentials::Human, json!({ "add_note": { "text": "x" } }));
        assert!(matches!(refused, Err(StoreError::Invalid { .. })), "{what}: {refused:?}");
        assert!(session.log().starts_with(&before), "{what}: the log is never cut");
    };
    // Two records: the board was rolled back, whatever the mark says.
    std::fs::write(session.path("state.yaml"), &state).expect("written");
    std::fs::write(&lock, "").expect("written");
    refused(&mut session, "two records");
    // One record, but the mark says it was published: restored, and the command is refused once.
    std::fs::write(session.path("state.yaml"), &state).expect("written");
    std::fs::write(session.path("log.yaml"), &one).expect("written");
    let published_one = String::from_utf8(mark.clone()).expect("text").replacen(
        &format!("\"revision\":{}", session.revision()),
        &format!("\"revision\":{}", session.revision() - 1),
        1,
    );
    std::fs::write(&lock, &published_one).expect("written");
    refused(&mut session, "below the mark");
    assert!(session.text().contains("one"), "the board of the mark is restored");
    // Foreign text, a record that breaks the chain, and a record of another revision.
    for (what, tail) in [
        ("foreign", "- {\"x\":1}\n".to_owned()),
        ("another chain", log.lines().next().expect("a line").to_owned() + "\n"),
        ("the second of two", two[one.len()..].to_owned()),
    ] {
        std::fs::write(session.path("state.yaml"), &state).expect("written");
        std::fs::write(session.path("log.yaml"), log.clone() + &tail).expect("written");
        std::fs::write(&lock, "").expect("written");
        refused(&mut session, what);
    }
    // A log that is too short.
    std::fs::write(session.path("state.yaml"), &state).expect("written");
    std::fs::write(session.path("log.yaml"), &log[..log.len() - 10]).expect("written");
    refused(&mut session, "records gone");
}

#[test]
fn every_change_of_the_log_breaks_its_chain() {
    let mut session = sample();
    let mut chance = Chance::seeded(17);
    while session.revision() < 40 {
        session.random_command(&mut chance);
    }
    let whole = session.log();
    let head = session.board().journal.hash.clone();
    // As `verify` checks it: the chain, and that its last line made the board.
    let sound = |bytes: &[u8]| -> bool {
        let Ok(text) = std::str::from_utf8(bytes) else { return false };
        let last = text.trim_end_matches('\n').rfind('\n').map_or(0, |at| at + 1);
        match read_chain(text, String::new()) {
            Ok(records) => {
                liza::wire::state::hash(&bytes[last..]) == head && records.len() as u64 == session.revision()
            }
            Err(LogError::Torn(_) | LogError::Malformed { .. } | LogError::Broken { .. }) => false,
        }
    };
    assert!(sound(whole.as_bytes()));
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    for _ in 0..500 {
        let at = chance.below(lines.len());
        let edited: Vec<u8> = match chance.below(5) {
            0 => {
                let mut bytes = whole.clone().into_bytes();
                let place = chance.below(bytes.len());
                bytes[place] ^= u8::try_from(1 + chance.below(255)).expect("a byte");
                bytes
            }
            1 => [&lines[..at], &lines[at + 1..]].concat().concat().into_bytes(),
            2 => [&lines[..=at], &lines[at..]].concat().concat().into_bytes(),
            3 => {
                let other = (at + 1 + chance.below(lines.len() - 1)) % lines.len();
                let mut swapped = lines.clone();
                swapped.swap(at, other);
                swapped.concat().into_bytes()
            }
            _ => {
                // A text inside a record, changed so that the line is still JSON.
                let mut changed: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
                changed[at] = changed[at].replacen("\"at\":{\"wall\":\"2023", "\"at\":{\"wall\":\"2022", 1);
                if changed[at] == lines[at] {
                    changed[at] = changed[at].replacen(":1", ":2", 1);
                }
                if changed[at] == lines[at] {
                    continue;
                }
                changed.concat().into_bytes()
            }
        };
        assert!(!sound(&edited), "an edit of record {} went unnoticed", at + 1);
    }
}

#[test]
fn edit_in_place_does_not_spoil_linked_image() {
    let mut session = sample();
    session.note("before");
    // A commit killed after it linked the image: state and image are one file.
    let revision = session.board().revision;
    let image = session.path(&format!("images/{revision}.yaml"));
    std::fs::hard_link(session.path("state.yaml"), &image).expect("linked");
    let good = session.text();
    let edited = good.replace("a goal", "another goal");
    std::fs::write(session.path("state.yaml"), &edited).expect("written in place");
    assert_eq!(std::fs::read_to_string(&image).expect("text"), edited, "both are changed");
    session.note("after");
    assert!(session.text().contains("another goal"), "the edit is adopted");
    assert_eq!(std::fs::read_to_string(&image).expect("text"), good, "the image is what the log makes");
    let rebuilt = session.store.rebuild(Some(revision)).expect("a board");
    assert_eq!(rebuilt.text(), good);
}
