//! A lost or damaged log while the board is intact: liza reports it, and a person may have the log refounded.

use std::os::unix::process::ExitStatusExt;

use serde_json::Value;

use crate::support::process::Bounded as _;
use crate::support::{HUMAN, Who, World};

/// A board with a merged and a held task.
fn board() -> (World, Who, Who) {
    let world = World::new();
    let coder = world.register("coder", "coder-1");
    let reviewer = world.register("code_reviewer", "reviewer-1");
    world.merge_task(&coder, &reviewer, "done", "done.sh", "x\n");
    world.task("held", &["held/"]);
    world.claim(&coder, "held");
    world.human(&["note", "the last one"]).ok();
    (world, coder, reviewer)
}

fn finding(world: &World, args: &[&str], code: &str) -> Value {
    let data = world.json(&HUMAN, args).data();
    let found = data["findings"].as_array().expect("findings");
    found
        .iter()
        .find(|finding| finding["code"] == code)
        .unwrap_or_else(|| panic!("{code} in {data:#}"))
        .clone()
}

/// Without this, the copies below `.git` would restore the log.
fn without_copies(world: &World) {
    let _ = std::fs::remove_dir_all(world.path(".git/liza"));
}

fn write_log(world: &World, text: &str) {
    without_copies(world);
    std::fs::write(world.path(".liza/log.yaml"), text).expect("written");
}

/// A log that is damaged further.
type Harm = fn(&World);

fn remove_log(world: &World) {
    without_copies(world);
    std::fs::remove_file(world.path(".liza/log.yaml")).expect("removed");
}

fn empty_log(world: &World) {
    write_log(world, "");
}

fn shorten_log(world: &World) {
    let log = world.read(".liza/log.yaml");
    write_log(world, &log[..log.len() * 2 / 3]);
}

fn lengthen_record(world: &World) {
    let log = world.read(".liza/log.yaml");
    write_log(world, &log.replacen("A greeting program", "A greeting programme", 1));
}

fn change_record(world: &World) {
    let log = world.read(".liza/log.yaml");
    write_log(world, &log.replacen("A greeting program", "A greeting pr0gram", 1));
}

fn append_comment(world: &World) {
    let log = world.read(".liza/log.yaml");
    write_log(world, &format!("{log}# remember the milk\n"));
}

#[test]
fn doctor_refounds_a_lost_or_broken_log() {
    let cases: [(&str, Harm, &str, bool); 6] = [
        ("gone", remove_log, "log.lost", true),
        ("emptied", empty_log, "log.lost", true),
        ("shortened", shorten_log, "log.lost", true),
        ("lengthened", lengthen_record, "log.broken", true),
        ("changed", change_record, "log.broken", false),
        ("scribbled on", append_comment, "log.broken", true),
    ];
    for (name, harm, code, stops) in cases {
        let (world, coder, reviewer) = board();
        harm(&world);
        let left = std::fs::read(world.path(".liza/log.yaml")).ok();
        let state = world.state();
        let revision = world.revision();
        if stops {
            let ran = world.json(&HUMAN, &["note", "x"]).exits(6);
            let hint = ran.json()["error"]["hint"].as_str().expect("a hint").to_owned();
            assert!(hint.contains("doctor"), "{name}: {hint}");
        }
        let seen = finding(&world, &["doctor"], code);
        let words = seen.to_string();
        assert!(words.contains("backup") && words.contains(".liza/edits"), "{name}: {words}");
        assert_eq!(
            seen["why"].as_str().unwrap().contains("no command can change the board"),
            stops,
            "{words}"
        );
        assert!(!words.contains("goes on working"), "{name}: {words}");
        let ran = world.human(&["doctor", "--fix", "--dry-run"]).exits(1);
        assert!(!ran.stdout.contains("story.log"), "{name}: said once: {}", ran.stdout);
        // A refused command and a read change nothing: they create no empty log.
        assert!(world.state() == state && std::fs::read(world.path(".liza/log.yaml")).ok() == left, "{name}");

        let fixed = finding(&world, &["doctor", "--fix"], code);
        assert_eq!(fixed["fixed"], true, "{name}: {fixed}");
        assert_eq!(world.revision(), revision + 1, "{name}");
        let content =
            |text: &str| text[text.find("\ngoal:").unwrap()..text.rfind("\nend:").unwrap()].to_owned();
        assert_eq!(content(&world.state()), content(&state), "{name}: nothing of the board has changed");
        let record: Value =
            serde_json::from_str(world.read(".liza/log.yaml").trim_end().strip_prefix("- ").unwrap())
                .unwrap();
        assert_eq!((&record["prev"], &record["revision"]), (&"".into(), &(revision + 1).into()), "{name}");
        let recorded = &record["do"]["refound_log"];
        assert!(
            recorded["integration_head"].is_string() && recorded["reason"].is_string(),
            "{name}: {recorded}"
        );
        match left.filter(|left| !left.is_empty()) {
            Some(left) => {
                let kept = format!(".liza/{}", recorded["kept"].as_str().expect("where it is kept"));
                assert_eq!(std::fs::read(world.path(&kept)).unwrap(), left, "{name}");
                assert!(fixed["remedy"].as_str().unwrap().contains("log-until-"), "{name}: {fixed}");
            }
            None => assert!(recorded["kept"].is_null(), "{name}: {recorded}"),
        }
        world.human(&["doctor"]).ok();
        world.sound();

        // Work continues, and later changes are provable again.
        world.human(&["note", "after"]).ok();
        world.liza(&coder, &["task", "release", "held"]).ok();
        world.merge_task(&coder, &reviewer, "more", "more.sh", "z\n");
        world.human(&["validate"]).ok();
        world.sound();
        let ran = world.human(&["verify"]).ok();
        assert!(ran.stdout.contains(&format!("refounded at revision {}", revision + 1)), "{}", ran.stdout);
        let log = world.human(&["log", "-n", "1000"]).ok().stdout;
        assert!(log.lines().next().unwrap().contains("refound_log"), "{name}: {log}");
        world.human(&["doctor"]).ok();
    }
}

#[test]
fn boards_since_refounding_can_be_rebuilt() {
    let (world, _, _) = board();
    let before = world.revision();
    shorten_log(&world);
    world.human(&["doctor", "--fix"]).ok();
    for number in 0..4 {
        world.human(&["note", &format!("note {number}")]).ok();
    }
    let last = world.revision();
    let image = |revision: u64| world.path(&format!(".liza/images/{revision}.yaml"));
    // With every later image removed, the last earlier board and the log rebuild them all.
    for revision in before + 1..last {
        std::fs::remove_file(image(revision)).expect("an image");
    }
    for revision in before..=last {
        let ran = world.human(&["doctor", "--image", &revision.to_string()]).ok();
        assert!(ran.stdout.contains(&format!("\nrevision: {revision}\n")), "{}", ran.stdout);
    }
    let good = world.state();
    std::fs::write(world.path(".liza/state.yaml"), &good[..good.len() / 2]).expect("written");
    world.human(&["doctor", "--fix"]).ok();
    assert_eq!(world.state(), good);
    world.sound();
    world.human(&["doctor", "--restore", &(before + 1).to_string()]).ok();
    world.sound();
    // Earlier boards exist only as kept images.
    let earlier = before - 2;
    world.human(&["doctor", "--image", &earlier.to_string()]).ok();
    std::fs::remove_file(image(earlier)).expect("an image");
    let ran = world.json(&HUMAN, &["doctor", "--image", &earlier.to_string()]).exits(6);
    assert!(ran.stdout.contains(&format!("the log starts at revision {}", before + 1)), "{}", ran.stdout);
    world.human(&["doctor"]).ok();
}

#[test]
fn killed_refounding_recovers_at_any_step() {
    for point in ["refound.kept", "refound.image", "refound.log", "refound.state"] {
        for harm in [remove_log as Harm, shorten_log, lengthen_record] {
            let (world, _, _) = board();
            let whole = world.read(".liza/log.yaml");
            let (state, revision) = (world.state(), world.revision());
            harm(&world);
            let left = std::fs::read(world.path(".liza/log.yaml")).ok();
            let output = world
                .liza_command(&HUMAN, &world.root, &["doctor", "--fix"])
                .env("LIZA_CRASH_AT", point)
                .finish()
                .expect("liza runs");
            assert_eq!(output.status.signal(), Some(9), "{point}: {output:?}");
            if point != "refound.state" {
                assert_eq!(world.state(), state, "{point}: the old board stands");
                world.human(&["status"]).ok();
                world.human(&["note", "x"]).exits(6);
                // Restoring a backup still works.
                let now = std::fs::read(world.path(".liza/log.yaml")).ok();
                write_log(&world, &whole);
                world.human(&["verify"]).ok();
                match now {
                    Some(now) => std::fs::write(world.path(".liza/log.yaml"), now).expect("written"),
                    None => remove_log(&world),
                }
                world.human(&["doctor", "--fix"]).ok();
            }
            assert_eq!(world.revision(), revision + 1, "{point}: once");
            if let Some(left) = left {
                let kept: Vec<Vec<u8>> = std::fs::read_dir(world.path(".liza/edits"))
                    .expect("edits")
                    .flatten()
                    .map(|entry| std::fs::read(entry.path()).expect("kept"))
                    .collect();
                assert_eq!(kept, [left], "{point}: what was left is kept, once");
            }
            world.human(&["note", "after"]).ok();
            world.human(&["doctor"]).ok();
            world.sound();
        }
    }
}

#[test]
fn killed_merge_completes_after_refounding() {
    for point in ["merge.recorded", "merge.moved"] {
        let (world, _, reviewer) = board();
        let coder = world.register("coder", "coder-2");
        world.approved(&coder, &reviewer, "next", "next.sh", "n\n");
        let output = world
            .liza_command(&reviewer, &world.root, &["merge", "next"])
            .env("LIZA_CRASH_AT", point)
            .finish()
            .expect("liza runs");
        assert_eq!(output.status.signal(), Some(9), "{point}: {output:?}");
        remove_log(&world);
        world.human(&["doctor", "--fix"]).ok();
        if world.status_of("next") != "MERGED" {
            world.liza(&reviewer, &["merge", "next"]).ok();
        }
        world.human(&["doctor"]).ok();
        world.sound();
    }
}

#[test]
fn refounding_does_not_accept_moved_branch() {
    let (world, _, _) = board();
    remove_log(&world);
    let tree = world.git(&["rev-parse", "integration^{tree}"]);
    let foreign = world.git(&["commit-tree", "-p", "integration", "-m", "mine", tree.trim()]);
    world.git(&["update-ref", "refs/heads/integration", foreign.trim()]);
    world.human(&["doctor", "--fix"]).exits(1);
    let ran = world.json(&HUMAN, &["verify"]).exits(6);
    assert!(ran.json()["error"]["message"].as_str().unwrap().starts_with("integration"), "{}", ran.stdout);
}

#[test]
fn board_and_log_both_damaged_need_a_person() {
    let (world, _, _) = board();
    let (good, log, revision) = (world.state(), world.read(".liza/log.yaml"), world.revision());
    let newest = revision - 1;
    shorten_log(&world);
    std::fs::write(world.path(".liza/state.yaml"), &good[..good.len() / 2]).expect("written");
    let seen = finding(&world, &["doctor", "--fix"], "board.broken");
    assert_eq!((&seen["fixable"], &seen["fixed"]), (&false.into(), &false.into()), "{seen}");
    let remedy = seen["remedy"].as_str().unwrap();
    assert!(remedy.contains("both damaged") && remedy.contains(&format!("--image {newest}")), "{remedy}");
    assert_eq!(world.state(), good[..good.len() / 2], "left as it is");
    let ran = world.human(&["doctor", "--image", &newest.to_string()]).ok();
    assert!(ran.stdout.contains(&format!("\nrevision: {newest}\n")));
    // An edit cannot be checked then, and liza does not overwrite it with an older board.
    let edited = good.replacen("max_review_cycles: 5", "max_review_cycles: 7", 1);
    std::fs::write(world.path(".liza/state.yaml"), &edited).expect("written");
    world.human(&["note", "x"]).exits(6);
    assert_eq!(world.state(), edited);
    let seen = finding(&world, &["doctor"], "board.broken");
    assert!(seen["remedy"].as_str().unwrap().contains("both damaged"), "{seen}");
    // Restoring one of the two is enough.
    write_log(&world, &log);
    world.human(&["note", "x"]).ok();
    assert!(world.state().contains("max_review_cycles: 7"));
    world.sound();
}

#[test]
fn only_a_person_refounds_the_log() {
    let (world, coder, _) = board();
    remove_log(&world);
    world.refused(&coder, &["doctor", "--fix"], 1, "refused.human_only");
    world.liza(&coder, &["task", "renew", "held"]).exits(6);
    assert!(!world.path(".liza/log.yaml").exists());
}

#[test]
fn failed_resume_keeps_the_switch() {
    let (world, coder, _) = board();
    world.human(&["pause", "--reason", "a look"]).ok();
    let log = world.read(".liza/log.yaml");
    remove_log(&world);
    world.human(&["resume"]).exits(6);
    assert!(world.path(".liza/PAUSE").is_file(), "still paused");
    write_log(&world, &log);
    // A kill between the two steps extends the leases twice and loses nothing.
    let output = world
        .liza_command(&HUMAN, &world.root, &["resume"])
        .env("LIZA_CRASH_AT", "resume.extended")
        .finish()
        .expect("liza runs");
    assert_eq!(output.status.signal(), Some(9), "{output:?}");
    assert!(world.path(".liza/PAUSE").is_file(), "still paused");
    let data = world.json(&HUMAN, &["resume"]).ok().data();
    assert_eq!(data["cleared"], serde_json::json!(["PAUSE"]));
    assert!(!world.path(".liza/PAUSE").exists());
    world.liza(&coder, &["task", "renew", "held"]).ok();
    world.sound();
}

/// Board and journal as written by builds before decision 0031.
fn as_an_earlier_build_wrote_it(world: &World) {
    let hash = |text: &str| blake3::hash(text.as_bytes()).to_hex().to_string();
    let (mut log, mut prev) = (String::new(), String::new());
    for line in world.read(".liza/log.yaml").lines() {
        let mut record: Value = serde_json::from_str(line.strip_prefix("- ").unwrap()).unwrap();
        record["prev"] = prev.as_str().into();
        record["board"] = hash(line).into();
        let line = format!("- {record}\n");
        prev = hash(&line);
        log.push_str(&line);
    }
    let state = world.state();
    let lines = state.split_inclusive('\n').map(|line| match line.split_once(": ") {
        Some(("  length", _)) => format!("  length: {}\n", log.len()),
        Some(("  hash", _)) => format!("  hash: \"{prev}\"\n"),
        Some(("    hash" | "end", _)) => String::new(),
        _ => line.to_owned(),
    });
    let state: String = lines.collect();
    let (header, content) = state.split_at(state.find("\ngoal:").unwrap() + 1);
    let end = hash(&format!("{header}{}", hash(content)));
    std::fs::write(world.path(".liza/state.yaml"), format!("{state}end: \"{end}\"\n")).expect("written");
    write_log(world, &log);
}

#[test]
fn earlier_builds_journal_is_refounded() {
    for point in [None, Some("refound.image"), Some("refound.log")] {
        let (world, coder, reviewer) = board();
        let (now, revision) = (world.state(), world.revision());
        as_an_earlier_build_wrote_it(&world);
        let (state, log) = (world.state(), world.read(".liza/log.yaml"));
        for args in [&["status"][..], &["note", "x"], &["verify"]] {
            let ran = world.json(&HUMAN, args).exits(6);
            let error = &ran.json()["error"];
            assert!(error["message"].as_str().unwrap().contains("earlier build of liza"), "{error}");
            assert!(error["hint"].as_str().unwrap().contains("`liza doctor --fix`"), "{error}");
        }
        world.liza(&coder, &["task", "renew", "held"]).exits(6);
        finding(&world, &["doctor"], "board.earlier_build");
        assert!(world.state() == state && world.read(".liza/log.yaml") == log, "nothing was changed");
        if let Some(point) = point {
            let output = world
                .liza_command(&HUMAN, &world.root, &["doctor", "--fix"])
                .env("LIZA_CRASH_AT", point)
                .finish()
                .expect("liza runs");
            assert_eq!(output.status.signal(), Some(9), "{point}: {output:?}");
            assert_eq!(world.state(), state, "{point}: the old board stands");
        }
        let fixed = finding(&world, &["doctor", "--fix"], "board.earlier_build");
        assert_eq!(fixed["fixed"], true, "{fixed}");
        assert_eq!(world.revision(), revision + 1);
        let content =
            |text: &str| text[text.find("\ngoal:").unwrap()..text.rfind("\nend:").unwrap()].to_owned();
        assert_eq!(content(&world.state()), content(&now), "the same board, with the hashes of this build");
        let kept = world.read(".liza/log.yaml");
        let kept: Value = serde_json::from_str(kept.trim_end().strip_prefix("- ").unwrap()).unwrap();
        let kept = kept["do"]["refound_log"]["kept"].as_str().expect("where it is kept").to_owned();
        assert_eq!(world.read(&format!(".liza/{kept}")), log);
        world.human(&["doctor"]).ok();
        world.sound();
        world.liza(&coder, &["task", "release", "held"]).ok();
        world.merge_task(&coder, &reviewer, "more", "more.sh", "z\n");
        world.sound();
    }
}
