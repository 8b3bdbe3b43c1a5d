//! The demo: a whole team on a throw-away repository, on any machine, without leftovers.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;

use crate::support::process::Bounded as _;
use crate::support::{HUMAN, Ran, World};

/// Git settings of a machine where every setting is wrong.
fn misconfigure_git(world: &World) {
    let hooks = world.home().join("hooks");
    std::fs::create_dir(&hooks).expect("a folder");
    for hook in ["pre-commit", "commit-msg", "post-checkout", "reference-transaction"] {
        let path = hooks.join(hook);
        std::fs::write(&path, "#!/bin/sh\nexit 1\n").expect("a hook");
        let rights = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&path, rights).expect("rights");
    }
    let text = format!(
        "[core]\n\thooksPath = {0}\n\tautocrlf = true\n[commit]\n\tgpgsign = true\n[gpg]\n\tprogram = /bin/false\n[init]\n\ttemplateDir = {0}\n\tdefaultBranch = other\n",
        hooks.display()
    );
    std::fs::write(world.home().join(".gitconfig"), text).expect("a configuration");
}

/// Processes of a demo below this directory.
fn processes_of(home: &Path) -> Vec<String> {
    let wanted = format!("DEMO_STAGE={}", home.display());
    let Ok(all) = std::fs::read_dir("/proc") else { return Vec::new() };
    all.flatten()
        .filter(|entry| {
            let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
            String::from_utf8_lossy(&environment).contains(&wanted)
        })
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect()
}

fn temporary_files(world: &World) -> Vec<String> {
    let all = std::fs::read_dir(world.home().join("tmp")).expect("the folder for temporary files");
    all.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

#[test]
fn demo_shows_every_check_and_cleans_up() {
    let world = World::bare_repo();
    let place = world.home().join("kept");
    misconfigure_git(&world);
    let mut command =
        world.liza_command(&HUMAN, &world.root, &["--json", "-q", "demo", "--tasks", "11", "--keep"]);
    command.arg(&place).env("GIT_DIR", "/nowhere").env("LIZA_AGENT_ID", "coder-1");
    let ran = Ran::of(command.finish().expect("liza runs"));
    let data = ran.data();
    let missing: Vec<_> = data["checks"]
        .as_array()
        .expect("checks")
        .iter()
        .filter(|check| check["shown"] != true)
        .map(|check| check.to_string())
        .collect();
    assert!(missing.is_empty(), "{missing:?}\n{}", ran.stderr);
    assert_eq!(data["checks"].as_array().map(Vec::len), Some(11));
    assert_eq!(data["shown"], true);
    assert_eq!(ran.exit, 0, "{}", ran.stderr);
    assert_eq!(ran.stderr, "", "quiet means quiet");
    assert_eq!(temporary_files(&world), Vec::<String>::new());
    assert_eq!(processes_of(world.home()), Vec::<String>::new());

    // The kept repository is complete and works without the demo.
    let report = data["report"].as_str().expect("a report");
    assert!(std::fs::read_to_string(report).expect("the report").contains("Outcome: complete"));
    std::fs::remove_file(world.home().join(".gitconfig")).expect("the configuration");
    let verified = world.liza_in(&HUMAN, &place, &["verify"]).ok();
    assert!(verified.stdout.contains("11 merged"), "{}", verified.stdout);

    // An existing directory is left alone.
    let before = std::fs::read(place.join(".liza/state.yaml")).expect("the board");
    world.human(&["demo", "--keep", place.to_str().expect("text")]).exits(2);
    assert_eq!(std::fs::read(place.join(".liza/state.yaml")).expect("the board"), before);
}

#[test]
fn interrupted_demo_ends_all_its_processes() {
    let world = World::bare_repo();
    let mut command = world.liza_command(&HUMAN, &world.root, &["demo"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).start().expect("liza runs");
    let said = BufReader::new(child.stderr.take().expect("a pipe"));
    let mut lines = said.lines().map_while(Result::ok);
    assert!(lines.any(|line| line.contains("submitted")), "agents never worked");
    assert!(!processes_of(world.home()).is_empty());
    let pid = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw).expect("a pid");
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("a signal");
    lines.for_each(drop);
    assert_eq!(child.wait().expect("an end").code(), Some(130));
    assert_eq!(processes_of(world.home()), Vec::<String>::new());
    assert_eq!(temporary_files(&world), Vec::<String>::new());
}

#[test]
fn demo_refuses_impossible_sizes() {
    let world = World::bare_repo();
    for args in [["--tasks", "9"], ["--coders", "2"], ["--speed", "-1"], ["--speed", "soon"]] {
        world.human(&["demo", args[0], args[1]]).exits(2);
    }
}

#[test]
fn director_demo_passes_its_checks() {
    let world = World::bare_repo();
    let place = world.home().join("kept");
    misconfigure_git(&world);
    let mut command =
        world.liza_command(&HUMAN, &world.root, &["--json", "-q", "demo", "--director", "--keep"]);
    command.arg(&place).env("GIT_DIR", "/nowhere").env("LIZA_AGENT_ID", "coder-1");
    let ran = Ran::of(command.finish().expect("liza runs"));
    let data = ran.data();
    let checks = data["checks"].as_array().cloned().unwrap_or_default();
    let missing: Vec<_> = checks.iter().filter(|check| check["shown"] != true).collect();
    assert!(missing.is_empty(), "{missing:?}\n{}\n{}", ran.stdout, ran.stderr);
    assert_eq!((checks.len(), ran.exit), (8, 0), "{}", ran.stderr);
    assert_eq!(temporary_files(&world), Vec::<String>::new());
    assert_eq!(processes_of(world.home()), Vec::<String>::new());
    std::fs::remove_file(world.home().join(".gitconfig")).expect("the configuration");
    world.liza_in(&HUMAN, &place, &["verify"]).ok();
    world.liza_in(&HUMAN, &place, &["validate"]).ok();
    world.human(&["demo", "--director", "--coders", "4"]).exits(2);
}

#[test]
fn experiment_demo_passes_its_checks() {
    let world = World::bare_repo();
    misconfigure_git(&world);
    let place = world.home().join("kept");
    let mut command =
        world.liza_command(&HUMAN, &world.root, &["--json", "-q", "demo", "--experiment", "--keep"]);
    command.arg(&place).env("GIT_DIR", "/nowhere").env("DEMO_KEY", "of the machine");
    let ran = Ran::of(command.finish().expect("liza runs"));
    let data = ran.data();
    let checks = data["checks"].as_array().expect("checks");
    let missing: Vec<_> = checks.iter().filter(|check| check["shown"] != true).collect();
    assert!(missing.is_empty(), "{missing:?}\n{}", ran.stderr);
    assert_eq!((checks.len(), &data["shown"], ran.exit), (8, &true.into(), 0), "{}", ran.stderr);
    assert_eq!(ran.stderr, "", "quiet means quiet");
    assert_eq!(temporary_files(&world), Vec::<String>::new());
    std::fs::remove_file(world.home().join(".gitconfig")).expect("the configuration");
    let report = world.liza_in(&HUMAN, &place, &["experiment", "report"]).ok().stdout;
    assert!(report.lines().nth(1).is_some_and(|line| line.contains("follow-the-trend")), "{report}");
    world.human(&["demo", "--experiment", "--coders", "4"]).exits(2);
}
