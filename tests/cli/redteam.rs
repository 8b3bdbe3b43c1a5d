//! `liza redteam`: every attack is refused or noticed, and every check would detect a successful one.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::Value;

use crate::support::process::Bounded as _;
use crate::support::{HUMAN, Ran, World};

/// Verdicts by the name of the attack, with the explanation of each.
fn verdicts(ran: &Ran) -> Vec<(String, String, String)> {
    let data = ran.data();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let attacks = data["attacks"].as_array().expect("attacks").iter();
    attacks.map(|tried| (text(&tried["id"]), text(&tried["verdict"]), text(&tried["by"]))).collect()
}

fn temporary_files(world: &World) -> Vec<String> {
    let all = std::fs::read_dir(world.home().join("tmp")).expect("the folder for temporary files");
    all.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

#[test]
fn every_attack_is_refused_or_noticed() {
    let world = World::bare_repo();
    let ran = world.liza_with(&HUMAN, &["--json", "-q", "redteam"], b"", &[("LIZA_AGENT_ID", "coder-1")]);
    let all = verdicts(&ran);
    assert!(all.len() > 50, "{}", all.len());
    let got_through = |verdict: &str| verdict == "not_refused" || verdict == "not_tried";
    let through: Vec<_> = all.iter().filter(|(_, verdict, _)| got_through(verdict)).collect();
    assert!(through.is_empty(), "{through:#?}");
    assert_eq!(ran.exit, 0);
    assert_eq!(ran.stderr, "", "quiet means quiet");
    // Only attacks whose tools the machine lacks are skipped, and each names the tool.
    for (id, _, why) in all.iter().filter(|(_, verdict, _)| verdict == "skipped") {
        assert!(!why.is_empty(), "{id}");
        eprintln!("skipped: {id}: {why}");
    }
    assert!(all.iter().filter(|(_, verdict, _)| verdict == "refused").count() > 30, "{all:#?}");
    assert_eq!(temporary_files(&world), Vec::<String>::new());
}

#[test]
fn every_check_detects_a_successful_attack() {
    let world = World::bare_repo();
    let won = [("LIZA_TEST_REDTEAM_WON", "1")];
    let ran = world.liza_with(&HUMAN, &["--json", "-q", "redteam"], b"", &won);
    let all = verdicts(&ran);
    assert!(all.len() > 50, "{}", all.len());
    let unseen: Vec<_> =
        all.iter().filter(|(_, verdict, _)| verdict != "not_refused" && verdict != "skipped").collect();
    assert!(unseen.is_empty(), "{unseen:#?}");
    assert_eq!(ran.exit, 1);
    assert_eq!(temporary_files(&world).len(), 1, "what got through can be looked at");
}

#[test]
fn attacks_are_chosen_listed_and_kept() {
    let world = World::bare_repo();
    let place = world.home().join("kept");
    let listed = world.human(&["redteam", "--list"]).ok().stdout;
    assert!(
        listed.contains("merge-driver") && listed.contains("a merge holds what was approved"),
        "{listed}"
    );
    let ran = world
        .human(&[
            "redteam",
            "--only",
            "own-approval",
            "--only",
            "rolled-back",
            "--keep",
            place.to_str().expect("text"),
        ])
        .ok();
    assert!(
        ran.stdout.contains("2 attacks") && ran.stdout.contains("1 refused, 1 noticed"),
        "{}",
        ran.stdout
    );
    assert!(ran.stderr.contains("does not have the role code_reviewer"), "{}", ran.stderr);
    assert!(place.join("own-approval/repository/.liza/log.yaml").exists());
    world.human(&["redteam", "--keep", place.to_str().expect("text")]).exits(2);
    let error = world.json(&HUMAN, &["redteam", "--only", "nothing"]).exits(2).stdout;
    assert!(error.contains("liza redteam --list"), "{error}");
}

#[test]
fn interrupted_redteam_leaves_no_files() {
    let world = World::bare_repo();
    let mut command = world.liza_command(&HUMAN, &world.root, &["redteam"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).start().expect("liza runs");
    let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.starts_with("refused")), "nothing was tried");
    let pid = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw).expect("a pid");
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("a signal");
    lines.for_each(drop);
    assert_eq!(child.wait().expect("an end").code(), Some(130));
    assert_eq!(temporary_files(&world), Vec::<String>::new());
}
