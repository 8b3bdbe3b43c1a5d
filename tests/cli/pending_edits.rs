//! Edits of state.yaml that an agent's command finds: set aside, and settled by a person.

use serde_json::{Value, json};

use crate::support::process::Bounded as _;
use crate::support::{HUMAN, Ran, Who, World};

struct Scene {
    world: World,
    coder: Who,
    planner: Who,
}

fn scene() -> Scene {
    let world = World::new();
    let coder = world.register("coder", "coder-1");
    let planner = world.register("planner", "planner-1");
    world.task("held", &["held/"]);
    world.task_with("idle", &["idle/"], &["--desc", "the idle one"]);
    world.claim(&coder, "held");
    Scene { world, coder, planner }
}

fn in_dir(world: &World, dir: &str) -> Vec<String> {
    let entries = std::fs::read_dir(world.path(dir)).into_iter().flatten().flatten();
    let files = entries.filter(|entry| entry.path().is_file());
    let mut names: Vec<_> = files.map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// The names of the waiting edits.
fn pending(world: &World) -> Vec<String> {
    in_dir(world, ".liza/edits/pending")
}

fn listed(world: &World) -> Value {
    world.json(&HUMAN, &["edits", "list"]).ok().data()
}

/// An agent's command sets the edit aside. Returns the name of the waiting edit.
#[track_caller]
fn set_aside(scene: &Scene) -> String {
    let edited = scene.world.state();
    let before = pending(&scene.world);
    let ran = scene.world.liza(&scene.coder, &["task", "renew", "held"]).ok();
    assert!(ran.stderr.contains("set aside"), "{}", ran.stderr);
    let new: Vec<String> = pending(&scene.world).into_iter().filter(|name| !before.contains(name)).collect();
    assert_eq!(new.len(), 1, "{new:?} beside {before:?}");
    assert_eq!(scene.world.read(&format!(".liza/edits/pending/{}", new[0])), edited, "as it was found");
    assert!(!scene.world.path(".liza/PAUSE").exists());
    let again = scene.world.liza(&scene.coder, &["task", "renew", "held"]).ok();
    assert!(!again.stderr.contains("edited"), "said once: {}", again.stderr);
    scene.world.sound();
    new[0].clone()
}

fn wake(scene: &Scene) -> Value {
    scene.world.json(&scene.planner, &["next", "--role", "planner"]).ok().data()
}

#[track_caller]
fn assert_prints(ran: &Ran, words: &[&str]) {
    for word in words {
        assert!(ran.stderr.contains(word), "{word} in {}", ran.stderr);
    }
}

#[test]
fn agents_continue_and_person_applies_edits() {
    let scene = scene();
    let world = &scene.world;
    world.edit_state("max_review_cycles: 5", "max_review_cycles: 50");
    let edit = set_aside(&scene);
    assert!(world.state().contains("max_review_cycles: 5\n"), "the last good board goes on");
    assert_eq!(listed(world)["pending"][0]["file"], edit.as_str());
    assert_eq!(listed(world)["pending"][0]["by"], "coder-1");
    // Read commands settle nothing, and neither do agents.
    world.human(&["status"]).ok();
    world.liza(&scene.planner, &["note", "x"]).ok();
    assert_eq!(pending(world), [edit.as_str()]);
    let ran = world.human(&["note", "go on"]).ok();
    assert_prints(&ran, &["adopted", "config.max_review_cycles: 5 -> 50", &edit]);
    assert!(world.state().contains("max_review_cycles: 50\n"));
    assert!(pending(world).is_empty());
    assert_eq!(listed(world)["pending"], json!([]));
    assert!(in_dir(world, ".liza/edits").contains(&format!("applied-{edit}")));
    world.sound();
}

#[test]
fn resume_watch_and_doctor_settle_edits() {
    let scene = scene();
    let world = &scene.world;
    for (command, limit) in [(["resume"].as_slice(), 6), (&["watch", "--once"], 7), (&["doctor", "--fix"], 8)]
    {
        let text = world.state();
        let at = text.find("max_review_cycles: ").unwrap();
        let end = at + text[at..].find('\n').unwrap();
        let edited = format!("{}max_review_cycles: {limit}{}", &text[..at], &text[end..]);
        std::fs::write(world.path(".liza/state.yaml"), edited).unwrap();
        set_aside(&scene);
        world.human(command);
        assert!(world.state().contains(&format!("max_review_cycles: {limit}\n")), "{command:?}");
        assert!(pending(world).is_empty(), "{command:?}");
    }
    world.sound();
}

#[test]
fn forbidden_edit_is_refused_without_pause() {
    let scene = scene();
    let world = &scene.world;
    world.edit_state("tier0_violations: 0", "tier0_violations: 7");
    let edit = set_aside(&scene);
    let ran = world.human(&["note", "go on"]).ok();
    assert_prints(&ran, &["not applied", "only liza changes circuit_breaker"]);
    assert!(!world.path(".liza/PAUSE").exists(), "an edit that was set aside pauses no agent");
    assert!(world.state().contains("tier0_violations: 0\n"));
    assert!(in_dir(world, ".liza/edits").contains(&format!("refused-{edit}")));
    let doctor = world.human(&["doctor"]).exits(1);
    assert!(doctor.stdout.contains("+  tier0_violations: 7"), "{}", doctor.stdout);
    world.refused(&HUMAN, &["edits", "apply", &edit], 1, "refused.edit");
    world.human(&["resume"]).ok();
    world.human(&["doctor"]).ok();
    world.sound();
}

#[test]
fn typed_note_wakes_the_planner_and_is_no_answer() {
    let scene = scene();
    let world = &scene.world;
    assert!(wake(&scene).is_null());
    world.edit_state("human_notes: []", "human_notes:\n  - use argparse");
    set_aside(&scene);
    assert_eq!(
        (&wake(&scene)["trigger"], &wake(&scene)["about"]),
        (&json!("typed_note"), &json!(["note-1"]))
    );
    let inbox = world.liza(&scene.planner, &["inbox"]).ok().stdout;
    assert!(inbox.contains("typed into state.yaml") && inbox.contains("use argparse"), "{inbox}");
    world.liza(&scene.planner, &["inbox", "--done", "note-1"]).ok();
    assert!(wake(&scene).is_null());
    // A person's command makes the note an answer, even after the planner has processed it.
    world.human(&["task", "add", "--id", "other", "--title", "another"]).ok();
    assert_eq!(
        (&wake(&scene)["trigger"], &wake(&scene)["about"]),
        (&json!("answered_note"), &json!(["note-1"]))
    );
    let notes = world.json(&HUMAN, &["inbox"]).ok().data()["human_notes"].clone();
    assert_eq!((notes.as_array().unwrap().len(), &notes[0]["typed"]), (1, &Value::Null), "{notes}");
    world.sound();
}

#[test]
fn edited_file_wakes_a_waiting_planner() {
    let scene = scene();
    let world = &scene.world;
    let args = ["--json", "next", "--role", "planner", "--wait", "60"];
    let mut waiting = world.liza_command(&scene.planner, &world.root, &args);
    waiting.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let waiting = waiting.start().expect("liza starts");
    let sees = || {
        let edited = world.state().contains("human_notes: []");
        if edited {
            world.edit_state("human_notes: []", "human_notes:\n  - look here");
        }
        !pending(world).is_empty()
    };
    crate::team::until("the edit is set aside", sees);
    let ran = Ran::of(waiting.wait_with_output().expect("an answer")).ok();
    assert_eq!(ran.data()["trigger"], "typed_note", "{}", ran.stdout);
}

#[test]
fn notes_of_other_authors_are_not_typed() {
    let scene = scene();
    let world = &scene.world;
    world.liza(&scene.coder, &["note", "mine"]).ok();
    for (from, to) in [
        ("human_notes:\n", "human_notes:\n  - { by: planner-1, text: forged }\n"),
        ("human_notes:\n", "human_notes:\n  - { typed: x, text: forged }\n"),
        ("by: coder-1\n    text: mine", "by: human\n    text: mine"),
    ] {
        world.edit_state(from, to);
        set_aside(&scene);
        assert!(wake(&scene).is_null() || wake(&scene)["trigger"] == "typed_note");
        assert_prints(&world.human(&["note", "x"]).ok(), &["not applied", "only liza changes"]);
        assert!(!world.state().contains("forged"), "{}", world.state());
        assert!(world.state().contains("by: coder-1"));
        world.liza(&scene.planner, &["inbox", "--done", &last_note(world)]).ok();
        world.human(&["resume"]).ok();
    }
}

fn last_note(world: &World) -> String {
    let notes = world.json(&HUMAN, &["inbox"]).ok().data()["human_notes"].clone();
    notes.as_array().unwrap().last().unwrap()["id"].as_str().unwrap().to_owned()
}

#[test]
fn pending_edits_are_settled_in_order() {
    let scene = scene();
    let world = &scene.world;
    world.edit_state("max_review_cycles: 5", "max_review_cycles: 6");
    set_aside(&scene);
    world.edit_state("title: idle", "title: another title");
    set_aside(&scene);
    // Made without knowledge of the first edit.
    world.edit_state("max_review_cycles: 5", "max_review_cycles: 9");
    set_aside(&scene);
    assert_eq!(pending(world).len(), 3);
    let ran = world.human(&["note", "x"]).ok();
    assert_prints(
        &ran,
        &[
            "max_review_cycles: 5 -> 6",
            "another title",
            "config.max_review_cycles was changed on the board meanwhile",
        ],
    );
    assert!(world.state().contains("max_review_cycles: 6\n"));
    assert_eq!(world.show("idle")["title"], "another title");
    assert!(pending(world).is_empty());
    world.sound();
}

#[test]
fn edit_of_older_board_applies_only_its_change() {
    let scene = scene();
    let world = &scene.world;
    let old = world.state();
    world.liza(&scene.coder, &["note", "said meanwhile"]).ok();
    world.human(&["task", "add", "--id", "added", "--title", "added meanwhile"]).ok();
    let saved = old.replace("human_notes: []", "human_notes:\n  - typed in an old window");
    assert_ne!(saved, old);
    std::fs::write(world.path(".liza/state.yaml"), &saved).unwrap();
    set_aside(&scene);
    assert_prints(&world.human(&["note", "x"]).ok(), &["adopted", "typed in an old window"]);
    let state = world.state();
    for kept in ["said meanwhile", "added meanwhile", "typed in an old window"] {
        assert!(state.contains(kept), "{kept}");
    }
    // The same if a person's command finds it first.
    std::fs::write(world.path(".liza/state.yaml"), saved.replace("old window", "second window")).unwrap();
    assert_prints(&world.human(&["note", "y"]).ok(), &["adopted", "second window"]);
    assert!(world.state().contains("added meanwhile"));
    world.sound();
}

#[test]
fn tampered_pending_edit_is_not_applied() {
    let scene = scene();
    let world = &scene.world;
    world.edit_state("max_review_cycles: 5", "max_review_cycles: 6");
    let edit = set_aside(&scene);
    let path = world.path(&format!(".liza/edits/pending/{edit}"));
    let swapped =
        std::fs::read_to_string(&path).unwrap().replace("max_review_cycles: 6", "max_review_cycles: 60");
    std::fs::write(&path, &swapped).unwrap();
    std::fs::write(world.path(".liza/edits/pending/1-planted.yaml"), &swapped).unwrap();
    let shown = world.human(&["edits", "show", &edit]).ok();
    assert!(shown.stdout.contains("changed after liza set it aside"), "{}", shown.stdout);
    assert_prints(&world.human(&["note", "x"]).ok(), &["changed after liza set it aside"]);
    assert!(world.state().contains("max_review_cycles: 5\n"));
    let doctor = world.json(&HUMAN, &["doctor", "--fix"]).data();
    let stray = doctor["findings"].as_array().unwrap().iter().find(|one| one["code"] == "edit.stray");
    assert_eq!(stray.unwrap()["fixed"], true, "{doctor:#}");
    assert!(pending(world).is_empty());
    world.sound();
}

#[test]
fn edits_are_shown_applied_and_refused_by_name() {
    let scene = scene();
    let world = &scene.world;
    world.edit_state("max_review_cycles: 5", "max_review_cycles: 6");
    let first = set_aside(&scene);
    world.edit_state("human_notes: []", "human_notes:\n  - drop me");
    let second = set_aside(&scene);
    let shown = world.human(&["edits", "show", &first]).ok().stdout;
    assert!(shown.contains("config.max_review_cycles: 5 -> 6"), "{shown}");
    for args in [["edits", "apply", &first], ["edits", "refuse", &first]] {
        world.refused(&scene.coder, &args, 1, "refused.human_only");
    }
    world.human(&["edits", "refuse", &second]).ok();
    assert!(!world.state().contains("drop me"));
    world.human(&["edits", "apply", &first]).ok();
    assert!(world.state().contains("max_review_cycles: 6\n"));
    world.refused(&HUMAN, &["edits", "apply", "nothing"], 1, "refused.edit");
    world.refused(&HUMAN, &["edits", "show", "../state.yaml"], 1, "refused.edit");
    world.sound();
}

#[test]
fn refused_command_reports_settled_edits() {
    let scene = scene();
    let world = &scene.world;
    world.edit_state("max_review_cycles: 5", "max_review_cycles: 6");
    set_aside(&scene);
    let ran = world.human(&["task", "finalize", "held"]).exits(1);
    assert_prints(&ran, &["adopted", "config.max_review_cycles: 5 -> 6"]);
    // A refused reading command settles the edit, too.
    world.edit_state("max_review_cycles: 6", "max_review_cycles: 7");
    set_aside(&scene);
    let ran = world.human(&["review", "approve", "held", "--commit", "0123456789"]);
    assert_ne!(ran.exit, 0);
    let later = world.human(&["note", "x"]).ok();
    let said = format!("{}{}", ran.stderr, later.stderr);
    assert_eq!(said.matches("max_review_cycles: 6 -> 7").count(), 1, "{said}");
}

#[test]
fn number_of_pending_edits_is_limited() {
    let scene = scene();
    let world = &scene.world;
    for number in 0..40 {
        let note = format!("human_notes:\n  - typed {number}\n");
        let text = world.state();
        let text = match text.contains("human_notes: []\n") {
            true => text.replacen("human_notes: []\n", &note, 1),
            false => text.replacen("human_notes:\n", &note, 1),
        };
        std::fs::write(world.path(".liza/state.yaml"), text).unwrap();
        world.liza(&scene.coder, &["task", "renew", "held"]).ok();
    }
    assert_eq!(pending(world).len(), 32);
    world.human(&["note", "x"]).ok();
    // Also the first edit, although the image of its revision is gone.
    for typed in ["typed 0\n", "typed 30\n", "typed 39\n"] {
        assert!(world.state().contains(typed), "{typed}");
    }
    let bases = in_dir(world, ".liza/edits/bases");
    assert!(bases.is_empty(), "{bases:?}");
    assert!(pending(world).is_empty());
    world.sound();
}

#[test]
fn edited_board_grants_no_person_rights() {
    let scene = scene();
    let world = &scene.world;
    // The edited file does not decide who is an agent.
    let text = world.state();
    let at = text.find("agents:\n").unwrap();
    let end = at + text[at..].find("\nintents:").unwrap();
    std::fs::write(world.path(".liza/state.yaml"), format!("{}agents: {{}}{}", &text[..at], &text[end..]))
        .unwrap();
    let status = world.json(&HUMAN, &["agent", "list"]).ok().data();
    assert!(status.to_string().contains("coder-1"), "{status}");
    set_aside(&scene);
}

#[test]
fn edit_of_killed_command_is_settled_once() {
    for (point, by_person) in
        [("edit.kept", false), ("edit.set-aside", false), ("edit.applied", true), ("edit.refused", true)]
    {
        let scene = scene();
        let world = &scene.world;
        world.edit_state("human_notes: []", "human_notes:\n  - typed once");
        if point == "edit.refused" {
            world.edit_state("tier0_violations: 0", "tier0_violations: 7");
        }
        if by_person {
            set_aside(&scene);
        }
        let who = if by_person { &HUMAN } else { &scene.coder };
        let killed = world.json_env(who, &["note", "x"], &[("LIZA_CRASH_AT", point)]);
        assert_ne!(killed.exit, 0, "{point}");
        world.liza(&scene.coder, &["note", "goes on"]).ok();
        world.human(&["note", "a person"]).ok();
        let typed = usize::from(point != "edit.refused");
        assert_eq!(world.state().matches("text: typed once").count(), typed, "{point}: {}", world.state());
        assert!(listed(world)["pending"] == json!([]), "{point}");
        world.human(&["doctor", "--fix"]);
        assert!(pending(world).is_empty(), "{point}");
        world.sound();
    }
}

#[test]
fn half_saved_board_is_left_for_doctor() {
    let scene = scene();
    let world = &scene.world;
    // An editor that has truncated the file and not yet written it.
    let good = world.state();
    let half: String = good.chars().take(good.len() / 2).collect();
    std::fs::write(world.path(".liza/state.yaml"), &half).unwrap();
    world.liza(&scene.coder, &["note", "x"]).exits(6);
    assert_eq!(world.state(), half, "a file without its last line is for the doctor");
    world.human(&["doctor", "--fix"]);
    assert_eq!(world.state(), good);
    world.liza(&scene.coder, &["note", "x"]).ok();
}
