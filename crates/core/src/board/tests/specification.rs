//! The table in specs/architecture/state-machine.md agrees with the rules exactly.

use std::collections::{BTreeMap, BTreeSet};

use crate::board::task::Status;

use super::matrix::{ACTORS, VERBS, in_state, transition};

const TEXT: &str = include_str!("../../../../../specs/architecture/state-machine.md");

/// For each verb and state, the states that the table allows afterwards.
fn table() -> BTreeMap<(String, String), BTreeSet<String>> {
    let begin = TEXT.find("<!-- transitions:begin -->").expect("the table begins");
    let end = TEXT.find("<!-- transitions:end -->").expect("the table ends");
    let mut table: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
    for line in TEXT[begin..end].lines().skip(3) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        if let [verb, from, to, _who] = cells[..] {
            table.entry((verb.to_owned(), from.to_owned())).or_default().insert(to.to_owned());
        }
    }
    table
}

/// The command for a verb of the matrix.
fn command(verb: &str) -> String {
    match verb {
        "approve" | "reject" | "discuss" => format!("review {verb}"),
        "merge" | "lock release" => verb.to_owned(),
        "bless" => "gate bless --task".to_owned(),
        verb if verb.starts_with("review") => verb.to_owned(),
        verb => format!("task {verb}"),
    }
}

#[test]
fn rules_match_the_documented_transitions() {
    let table = table();
    assert!(table.len() > 40, "the table was not read: {}", table.len());
    let mut made: BTreeSet<(String, String)> = BTreeSet::new();
    for verb in VERBS {
        for from in Status::ALL {
            for actor in ACTORS {
                let mut bench = in_state(from);
                let what = transition(&bench, verb);
                let by = bench.actor(actor);
                if bench.attempt(by, what, None).is_err() {
                    continue;
                }
                let key = (command(verb), from.as_str().to_owned());
                let to = bench.status("t").as_str().to_owned();
                let documented = table.get(&key);
                // A merge only begins here; the tests of merging show where it leads.
                let known = documented.is_some_and(|states| verb == "merge" || states.contains(&to));
                assert!(known, "{actor} may {verb} from {from} to {to}, which the table does not say");
                made.insert(key);
            }
        }
    }
    // Cases that need more than one state: an expired lease, a reservation, the red team's turn.
    let elsewhere = [
        ("task claim", "WORKING"),
        ("task release", "IDLE"),
        ("lock release", "IDLE"),
        ("review claim", "APPROVED"),
        ("review renew", "APPROVED"),
        ("review release", "APPROVED"),
        ("review approve", "APPROVED"),
        ("review reject", "APPROVED"),
    ];
    let commands: BTreeSet<String> = VERBS.iter().map(|verb| command(verb)).collect();
    for (verb, from) in table.keys() {
        let shown = made.contains(&(verb.clone(), from.clone()));
        let scene =
            elsewhere.contains(&(verb.as_str(), from.as_str())) || from == "–" || !commands.contains(verb);
        assert!(shown || scene, "the table says {verb} from {from}, but no actor may");
    }
}
