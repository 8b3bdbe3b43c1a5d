//! Hand edits of state.yaml: adopted where a person may change it, otherwise undone with a copy kept; never lost, never silent.

use serde_json::json;

use crate::support::{HUMAN, Ran, World};

/// A board with a draft, an idle, a held and a merged task.
fn board() -> (World, crate::support::Who) {
    let world = World::new();
    let coder = world.register("coder", "coder-1");
    let reviewer = world.register("code_reviewer", "reviewer-1");
    world.merge_task(&coder, &reviewer, "done", "done.sh", "x\n");
    world.task_with("idle", &["idle/"], &["--desc", "the idle one"]);
    world.human(&["task", "add", "--id", "draft", "--title", "the draft"]).ok();
    world.task("held", &["held/"]);
    world.claim(&coder, "held");
    (world, coder)
}

fn kept(world: &World) -> Vec<String> {
    let mut found: Vec<_> = std::fs::read_dir(world.path(".liza/edits"))
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().path().is_file())
        .map(|entry| String::from_utf8_lossy(&std::fs::read(entry.unwrap().path()).unwrap()).into_owned())
        .collect();
    found.sort();
    found
}

/// The next command of a person adopts the edit and says so.
#[track_caller]
fn adopted(world: &World) -> Ran {
    let edited = world.state();
    let read = world.human(&["status"]).ok();
    assert!(read.stderr.contains("edited by hand"), "{}", read.stderr);
    assert_eq!(world.state(), edited, "reads repair nothing");
    let ran = world.human(&["note", "and another thing"]).ok();
    assert!(ran.stderr.contains("adopted"), "{}", ran.stderr);
    assert!(kept(world).contains(&edited), "a copy is kept");
    assert!(!world.path(".liza/PAUSE").exists());
    world.sound();
    ran
}

#[test]
fn edited_notes_limits_goal_and_texts_are_adopted() {
    let (world, _) = board();
    world
        .edit_state("human_notes: []", "human_notes:\n  - please use argparse, not click\n  - \"2nd: note\"");
    adopted(&world);
    let notes = world.json(&HUMAN, &["inbox"]).ok().data()["human_notes"].clone();
    let texts: Vec<&str> =
        notes.as_array().unwrap().iter().filter_map(|note| note["text"].as_str()).collect();
    assert_eq!(texts, ["please use argparse, not click", "2nd: note", "and another thing"]);
    assert!(notes.as_array().unwrap().iter().all(|note| note["by"] == "human"), "{notes}");
    let ids: std::collections::BTreeSet<&str> =
        notes.as_array().unwrap().iter().filter_map(|note| note["id"].as_str()).collect();
    assert_eq!(ids.len(), 3);

    world.edit_state("max_review_cycles: 5", "max_review_cycles: 7 # more patience");
    adopted(&world);
    assert!(world.state().contains("max_review_cycles: 7\n"));

    world.edit_state("description: A greeting program", "description: A better greeting program");
    adopted(&world);
    assert_eq!(world.json(&HUMAN, &["status"]).ok().data()["goal"], "A better greeting program");

    world.edit_state("title: the draft", "title: \"the draft: rewritten\"");
    adopted(&world);
    world.edit_state("description: the idle one", "description: |-\n      now of\n      two lines");
    adopted(&world);
    assert_eq!(world.show("draft")["title"], "the draft: rewritten");
    assert_eq!(world.show("idle")["description"], "now of\ntwo lines");
    let events: Vec<String> = world.show("idle")["history"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| format!("{} {}", line["event"], line["agent"]))
        .collect();
    assert_eq!(events.last().unwrap(), "\"edited\" \"human\"");
}

#[test]
fn scope_and_priority_of_an_idle_task_are_adopted() {
    let (world, coder) = board();
    world.liza(&coder, &["task", "release", "held"]).ok();
    let text = world.state();
    let at = text.find("  - id: idle\n").unwrap();
    let rest = text[at..].replacen("priority: 0", "priority: 42", 1).replacen("- idle/", "- lazy/", 2);
    std::fs::write(world.path(".liza/state.yaml"), format!("{}{rest}", &text[..at])).unwrap();
    adopted(&world);
    let task = world.show("idle");
    assert_eq!(
        (&task["priority"], &task["scope"]["in"], &task["owns"]),
        (&json!(42), &json!(["lazy/"]), &json!(["lazy/"]))
    );
    assert_eq!(world.json(&coder, &["next", "--role", "coder"]).ok().data()["task"], "idle");
}

#[test]
fn edited_layout_and_comments_change_nothing() {
    let (world, _) = board();
    let good = world.state();
    let revision = world.revision();
    for edited in [
        good.replace("goal:\n", "# a comment\ngoal:   # here too\n"),
        format!("{good}# below the end\n"),
        format!("{good}\n"),
        good.replace("status: IN_PROGRESS", "status: \"IN_PROGRESS\""),
        good.replace("intents: []\n", "intents:\n  []\n"),
    ] {
        assert_ne!(edited, good);
        std::fs::write(world.path(".liza/state.yaml"), &edited).unwrap();
        let ran = world.human(&["task", "list"]).ok();
        assert!(ran.stderr.contains("edited"), "{}", ran.stderr);
        let ran = world.human(&["task", "renew", "held"]).exits(3);
        assert!(ran.stderr.contains("held by"), "{}", ran.stderr);
        assert_eq!(world.state(), good, "the layout is restored");
        assert_eq!(world.revision(), revision);
        assert!(kept(&world).contains(&edited));
    }
    world.sound();
}

#[test]
fn forbidden_edit_is_refused_kept_and_undone() {
    let (world, _) = board();
    let whole = |from: &'static str, to: &'static str| {
        move |text: &str| {
            assert!(text.contains(from), "{from}");
            text.replacen(from, to, 1)
        }
    };
    type Edit = Box<dyn Fn(&str) -> String>;
    let in_task = |id: &'static str, from: &'static str, to: &'static str| -> Edit {
        Box::new(move |text: &str| {
            let at = text.find(&format!("  - id: {id}\n")).expect("the task");
            assert!(text[at..].contains(from), "{id}: {from}");
            format!("{}{}", &text[..at], text[at..].replacen(from, to, 1))
        })
    };
    let edits: Vec<(&str, Edit)> = vec![
        ("status", in_task("idle", "status: IDLE", "status: APPROVED")),
        ("status", in_task("held", "status: WORKING", "status: IDLE")),
        ("assigned_to", in_task("held", "assigned_to: coder-1", "assigned_to: reviewer-1")),
        ("epoch", in_task("held", "epoch: 1", "epoch: 9")),
        ("title", in_task("held", "title: held", "title: changed while an agent works on it")),
        ("implementers", in_task("done", "implementers:\n      - coder-1\n", "implementers: []\n")),
        ("review_commit", in_task("done", "review_commit: ", "review_commit: 0000")),
        ("history", in_task("done", "event: submitted", "event: created")),
        ("depends_on", in_task("idle", "    iteration: 0", "    depends_on: [draft]\n    iteration: 0")),
        ("agents", Box::new(whole("token_hash: ", "token_hash: 0000"))),
        ("agents", Box::new(whole("      - code_reviewer\n", "      - code_reviewer\n      - planner\n"))),
        ("integration", Box::new(whole("  head: ", "  head: 0000"))),
        ("revision", Box::new(whole("revision: ", "revision: 9"))),
        (
            "integration_branch",
            Box::new(whole("integration_branch: integration", "integration_branch: main")),
        ),
        ("tier0", Box::new(whole("tier0_violations: 0", "tier0_violations: 7"))),
        ("lease_seconds", Box::new(whole("lease_seconds: 1800", "lease_seconds: 0"))),
        ("title", in_task("idle", "title: idle", "title: \"\"")),
        ("unknown", Box::new(whole("goal:\n", "surprise: 1\ngoal:\n"))),
        ("YAML", Box::new(whole("goal:\n", "goal: [[[\n"))),
        (
            "tasks",
            Box::new(|text: &str| {
                let (a, b) = (text.find("  - id: draft\n").unwrap(), text.find("  - id: held\n").unwrap());
                format!("{}{}", &text[..a], &text[b..])
            }),
        ),
    ];
    for (name, edit) in edits {
        let good = world.state();
        let edited = edit(&good);
        assert_ne!(edited, good, "{name}");
        std::fs::write(world.path(".liza/state.yaml"), &edited).unwrap();
        let ran = world.json(&HUMAN, &["note", "x"]);
        assert_eq!(ran.exit, 6, "{name}: {} {}", ran.stdout, ran.stderr);
        assert!(ran.code().starts_with("board."), "{name}: {}", ran.stdout);
        assert_eq!(world.state(), good, "{name}: the last good board at the same revision");
        assert!(kept(&world).contains(&edited), "{name}: the edit is kept");
        assert!(world.path(".liza/PAUSE").is_file(), "{name}");
        let doctor = world.human(&["doctor"]).exits(1);
        let changed: Vec<&str> = edited.lines().filter(|line| !good.contains(line)).take(1).collect();
        for line in changed {
            assert!(doctor.stdout.contains(&format!("+{line}")), "{name}: {line} in {}", doctor.stdout);
        }
        world.human(&["resume"]).ok();
        world.human(&["doctor"]).ok();
    }
    world.sound();
}

#[test]
fn refused_command_still_settles_the_edit() {
    let (world, _) = board();
    world.edit_state("max_review_cycles: 5", "max_review_cycles: 6");
    let ran = world.human(&["task", "finalize", "idle"]).exits(1);
    assert!(ran.stderr.contains("config.max_review_cycles: 5 -> 6"), "never in silence: {}", ran.stderr);
    assert!(world.human(&["status"]).ok().stderr.is_empty(), "adopted or restored, no longer pending");
    assert!(world.state().contains("max_review_cycles: 6"));
    world.sound();
}

/// The one finding of that code.
fn finding(world: &World, code: &str) -> serde_json::Value {
    let data = world.json(&HUMAN, &["doctor"]).data();
    let found: Vec<_> =
        data["findings"].as_array().unwrap().iter().filter(|f| f["code"] == code).cloned().collect();
    assert_eq!(found.len(), 1, "{code} in {data:#}");
    found[0].clone()
}

#[test]
fn edit_refusal_names_cause_and_dropped_parts() {
    let (world, _) = board();
    // A field that may be edited, with an impossible value, beside an edit that would have been adopted.
    world.edit_state("lease_seconds: 1800", "lease_seconds: 5");
    world.edit_state("human_notes: []", "human_notes:\n  - a remark");
    let remedy = finding(&world, "board.edited")["remedy"].as_str().unwrap().to_owned();
    assert!(remedy.contains("refuses it") && remedy.contains("config.lease_seconds must be"), "{remedy}");
    let message =
        world.json(&HUMAN, &["note", "x"]).exits(6).json()["error"]["message"].as_str().unwrap().to_owned();
    assert!(message.contains("config.lease_seconds must be at least"), "{message}");
    assert!(!message.contains("only liza"), "{message}");
    assert!(message.contains("human_notes"), "dropped, too: {message}");
    let remedy = finding(&world, "edit.refused")["remedy"].as_str().unwrap().to_owned();
    for allowed in ["human_notes", "config", "goal", "scope", "priority", "DRAFT and IDLE", "liza resume"] {
        assert!(remedy.contains(allowed), "{allowed} in {remedy}");
    }
    world.human(&["resume"]).ok();

    // A field that only liza writes, beside an impossible value: both are named.
    world.edit_state("tier0_violations: 0", "tier0_violations: 9");
    world.edit_state("lease_seconds: 1800", "lease_seconds: 5");
    let message =
        world.json(&HUMAN, &["note", "x"]).exits(6).json()["error"]["message"].as_str().unwrap().to_owned();
    for wrong in ["only liza changes circuit_breaker", "config.lease_seconds must be"] {
        assert!(message.contains(wrong), "{wrong} in {message}");
    }
    world.human(&["resume"]).ok();
    world.sound();
}

#[test]
fn doctor_says_once_what_an_edit_would_do() {
    let (world, _) = board();
    world.edit_state("max_review_cycles: 5", "max_review_cycles: 7");
    let edited = world.state();
    let ran = world.human(&["doctor"]).exits(1);
    let said = format!("{}{}", ran.stdout, ran.stderr);
    assert_eq!(said.matches("was edited by hand").count(), 1, "{said}");
    assert!(said.contains("adopts it: config"), "{said}");
    assert_eq!(world.state(), edited, "a look changes nothing");
    assert!(kept(&world).is_empty());
    world.human(&["note", "x"]).ok();
    assert!(world.state().contains("max_review_cycles: 7"));
}

#[test]
fn refused_edit_diff_is_against_its_base_board() {
    let (world, _) = board();
    world.edit_state("tier0_violations: 0", "tier0_violations: 9");
    world.human(&["note", "x"]).exits(6);
    for number in 0..3 {
        world.human(&["note", &format!("a later remark {number}")]).ok();
    }
    let what = finding(&world, "edit.refused")["what"].as_str().unwrap().to_owned();
    assert!(what.contains("+  tier0_violations: 9"), "{what}");
    assert!(!what.contains("later remark") && !what.contains("revision:"), "{what}");
}
