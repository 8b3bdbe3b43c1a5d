//! People in the team: a run waits for their reviews and merges what they approved.

use super::*;

#[test]
fn run_waits_for_a_persons_reviews_and_merges() {
    let world = scripted(EVERY_ROLE);
    let notified_file = world.home().join("out/notified");
    configure(
        &world,
        &format!(
            "run: {{ grace_seconds: 1 }}\nwatch: {{ notify: 'echo \"$LIZA_ALERT_KIND $LIZA_ALERT_SUBJECT\" >> {}' }}\nteam:\n  - {{ role: coder }}\n  - {{ role: code_reviewer, provider: human }}\n",
            notified_file.display()
        ),
    );
    for task in ["a", "b"] {
        add(&world, task);
    }
    let child = start_quickly(&world, &["--json", "run"]);
    until("both wait for a review", || {
        ["a", "b"].iter().all(|task| world.row(task)["status"] == "READY_FOR_REVIEW")
    });
    let listed = world.json(&HUMAN, &["review", "list"]).ok().data()["reviews"].clone();
    let listed = listed.as_array().unwrap();
    assert_eq!(listed.len(), 2, "{listed:?}");
    assert!(listed.iter().all(|one| one["reviewer"].is_null() && one["may_claim"] == true), "{listed:?}");
    // One person holds both reviews.
    for task in ["a", "b"] {
        world.human(&["review", "claim", task]).ok();
    }
    let mine = world.json(&HUMAN, &["review", "list", "--mine"]).ok().data()["reviews"].clone();
    assert_eq!(mine.as_array().unwrap().len(), 2, "{mine}");
    world
        .human(&["review", "reject", "b", "--reason", "not yet", "--issue", "major:b.txt:1:say it louder"])
        .ok();
    world.human(&["review", "approve", "a", "--summary", "fine"]).ok();
    until("the approved one is merged", || world.row("a")["status"] == "MERGED");
    until("the other one comes back", || world.row("b")["status"] == "READY_FOR_REVIEW");
    world.human(&["review", "claim", "b"]).ok();
    let prior = ["review", "approve", "b", "--summary", "fine", "--prior", "i1=resolved"];
    world.human(&prior).ok();
    let ran = Ran::of(child.wait_with_output().expect("it ends"));
    assert_eq!(
        (ran.exit, &answer(&ran)["data"]["outcome"]),
        (0, &serde_json::json!("complete")),
        "{}",
        ran.stdout
    );
    let all = events(&ran);
    let wanted: Vec<_> = named(&all, "review_wanted").iter().map(|event| event["task"].clone()).collect();
    assert_eq!(wanted.len(), 3, "each submission is reported once: {}", ran.stdout);
    assert!(named(&all, "review_wanted")[0]["text"].as_str().unwrap().contains("liza review claim"));
    let notified = std::fs::read_to_string(&notified_file).unwrap_or_default();
    assert_eq!(notified.lines().filter(|line| line.starts_with("person_wanted ")).count(), 3, "{notified}");
    assert_eq!(world.show("a")["approval"]["reviewer"], "human");
    // Agents that finished are not shown as dead.
    let agents = world.json(&HUMAN, &["agent", "list"]).ok().data()["agents"].clone();
    assert!(agents.as_array().unwrap().iter().all(|agent| agent["state"] == "finished"), "{agents}");
    let seen = world.json(&HUMAN, &["overseer"]).ok().data()["agents"].clone();
    assert!(seen.as_array().unwrap().iter().all(|agent| agent["liveness"]["grade"] == "finished"), "{seen}");
    world.sound();
}

/// Agents give the first approval; a person gives the second.
#[test]
fn person_gives_the_second_approval() {
    let world = scripted(EVERY_ROLE);
    configure(
        &world,
        "run: { grace_seconds: 1 }\nreview: { quorum: { low: 2, medium: 2, high: 2 } }\nteam:\n  - { role: coder }\n  - { role: code_reviewer }\n  - { role: code_reviewer, provider: human }\n",
    );
    add(&world, "a");
    let child = start_quickly(&world, &["--json", "run"]);
    until("the agent has approved it", || world.show("a")["approvals"]["by"].as_array().is_some());
    until("it is free", || world.row("a")["reviewer"].is_null());
    world.human(&["review", "claim", "a"]).ok();
    world.human(&["review", "approve", "a", "--summary", "fine"]).ok();
    let ran = Ran::of(child.wait_with_output().expect("it ends"));
    assert_eq!(ran.exit, 0, "{}", ran.stdout);
    assert_eq!(named(&events(&ran), "review_wanted").len(), 1, "{}", ran.stdout);
    assert_eq!(world.row("a")["status"], "MERGED");
}
