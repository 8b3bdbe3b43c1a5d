//! Many slices at once: at most as many as the window allows, and the next starts when one finishes.

use std::collections::BTreeSet;

use super::{PLAYBOOK, data, fresh, run, slices, streams};
use crate::support::sweep;
use crate::team::events;

#[test]
fn many_slices_run_within_the_window() {
    // Forty slices in the long tests.
    let count = sweep(14, 40);
    let names: Vec<String> = (1..=count).map(|number| format!("a{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let world = fresh(&format!(
        "{PLAYBOOK}\ninitial_planning() {{ liza plan - <<'PLAN'\n{}\nPLAN\n}}\nplan_of() {{ plan_json a '{}'; }}\nplay\n",
        streams(&["a"]),
        slices(&names),
    ));
    let ran = run(&world, &["Write many files", "--multi", "--mode", "write"]);
    assert_eq!(data(&ran)["outcome"], "complete", "{}\n{}", ran.stdout, ran.stderr);
    for name in &names {
        assert_eq!(world.status_of(name), "MERGED", "{name}");
    }
    // How many agents worked at the same time, by the events of the run.
    let (mut at_work, mut most, mut coders) = (BTreeSet::new(), 0, BTreeSet::new());
    for event in events(&ran) {
        let agent = event["agent"].as_str().unwrap_or_default().to_owned();
        if agent.is_empty() || agent.starts_with("planner") {
            continue;
        }
        if agent.starts_with("coder-") {
            coders.insert(agent.clone());
        }
        match event["event"].as_str() {
            Some("started") => drop(at_work.insert(agent)),
            Some("ended") => drop(at_work.remove(&agent)),
            _ => {}
        }
        most = most.max(at_work.len());
    }
    assert!(most <= 12, "{most} at once");
    assert!(coders.len() > 4 && coders.len() <= 12, "{coders:?}");
}
