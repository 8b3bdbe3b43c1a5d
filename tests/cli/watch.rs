//! `liza watch`: what it notices, where it reports it, and which faults it survives.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::process::{Bounded as _, Running};
use crate::support::{HUMAN, Ran, Who, World};

const PATIENCE: Duration = Duration::from_secs(30);

#[track_caller]
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "never: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A running watcher, with its output in files.
struct Watching {
    child: Running,
    out: PathBuf,
    err: PathBuf,
}

impl Watching {
    fn start(world: &World, args: &[&str], env: &[(&str, &str)]) -> Self {
        let (out, err) = (world.home().join("watch.out"), world.home().join("watch.err"));
        let mut all = vec!["watch"];
        all.extend(args);
        let mut command = world.liza_command(&HUMAN, &world.root, &all);
        command.envs(env.iter().copied());
        command.stdout(Stdio::from(std::fs::File::create(&out).expect("a file")));
        command.stderr(Stdio::from(std::fs::File::create(&err).expect("a file")));
        let watching = Self { child: command.start().expect("it starts"), out, err };
        until("it watches", || watching.err().contains("watching"));
        // A watcher that holds the lock has started.
        until("it holds the lock", || {
            std::fs::read_to_string(world.path(".liza/watch.lock"))
                .is_ok_and(|text| text.contains(&format!("\"pid\":{}", watching.child.id())))
        });
        watching
    }

    fn out(&self) -> String {
        std::fs::read_to_string(&self.out).unwrap_or_default()
    }

    fn err(&self) -> String {
        std::fs::read_to_string(&self.err).unwrap_or_default()
    }

    fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(
            std::process::Command::new("kill").args([name, &pid]).finish_status().expect("kill").success()
        );
    }

    /// The exit status, by itself or after a signal.
    #[track_caller]
    fn ends(mut self) -> Ran {
        let deadline = Instant::now() + PATIENCE;
        let status = loop {
            match self.child.try_wait().expect("a status") {
                Some(status) => break status,
                None => assert!(Instant::now() < deadline, "it goes on: {}", self.err()),
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        Ran { exit: status.code().unwrap_or(-1), stdout: self.out(), stderr: self.err() }
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The alerts in the log, as `kind subject`.
fn logged(world: &World) -> Vec<String> {
    let text = std::fs::read_to_string(world.path(".liza/alerts.log")).unwrap_or_default();
    text.lines()
        .map(|line| {
            let alert: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
            format!(
                "{} {}",
                alert["kind"].as_str().expect("a kind"),
                alert["subject"].as_str().expect("a subject")
            )
        })
        .collect()
}

/// The alerts of `watch --once` this many seconds from now, as `kind subject`.
#[track_caller]
fn once_later(world: &World, seconds: i64) -> Vec<String> {
    let data = world.later(seconds, &HUMAN, &["watch", "--once"]).ok().data();
    let alerts = data["alerts"].as_array().expect("alerts").clone();
    alerts
        .iter()
        .map(|alert| format!("{} {}", alert["kind"].as_str().unwrap(), alert["subject"].as_str().unwrap()))
        .collect()
}

#[track_caller]
fn once(world: &World) -> Vec<String> {
    once_later(world, 0)
}

#[track_caller]
fn block(world: &World, id: &str, reason: &str) {
    world.human(&["task", "block", id, "--reason", reason, "--question", "and now?"]).ok();
}

#[track_caller]
fn unblock(world: &World, id: &str) {
    world.human(&["task", "unblock", id, "--answer", "go on"]).ok();
}

fn tasks(ids: &[&str]) -> World {
    let world = World::new();
    for id in ids {
        world.task(id, &[&format!("{id}/")]);
    }
    world
}

fn notify(world: &World, command: &str) {
    let text = world.read("liza.yaml");
    let quoted = serde_json::to_string(command).expect("JSON");
    world.write("liza.yaml", &format!("{text}\nwatch:\n  notify: {quoted}\n"));
}

fn reports(world: &World) -> Vec<String> {
    let entries = std::fs::read_dir(world.path(".liza/reports")).expect("reports");
    entries
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| name.ends_with(".md"))
        .collect()
}

#[test]
fn block_alert_reaches_log_terminal_and_command() {
    let world = tasks(&["t1"]);
    notify(
        &world,
        "printf '%s|%s|%s|%s|%s|%s\\n' \"$LIZA_ALERT_KIND\" \"$LIZA_ALERT_SUBJECT\" \"$LIZA_ALERT_SEVERITY\" \"$LIZA_ALERT_TEXT\" \"$LIZA_ALERT_HINT\" \"${LIZA_AGENT_TOKEN-none}\" >> notified.txt",
    );
    let watching = Watching::start(&world, &[], &[]);
    let hostile = "x'\"; touch canary; $(touch canary) `touch canary`\u{1b}[2J\n|| touch canary #";
    block(&world, "t1", hostile);
    let notified = world.path("notified.txt");
    until("the command is called", || {
        std::fs::read_to_string(&notified).is_ok_and(|text| text.ends_with('\n'))
    });
    assert_eq!(logged(&world), ["blocked t1"]);
    let text = world.read("notified.txt");
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(
        text.starts_with("blocked|t1|warning|t1 is blocked: x'\"; touch canary; $(touch canary)"),
        "{text}"
    );
    assert!(text.ends_with("|`liza task unblock t1 --answer …`|none\n"), "{text}");
    assert!(!world.path("canary").exists());
    until("it is shown", || watching.out().contains("warning blocked t1: "));
    for shown in [watching.out(), text, world.read(".liza/alerts.log")] {
        assert!(!shown.contains('\u{1b}'), "{shown:?}");
    }
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &std::fs::metadata(world.path(".liza/alerts.log")).expect("the log").permissions(),
    );
    assert_eq!(mode & 0o777, 0o600);
    watching.signal("-TERM");
    watching.ends().exits(143);
    world.sound();
    world.human(&["doctor"]).ok();
}

#[test]
fn touched_checkpoint_switch_gets_one_report() {
    let world = tasks(&["t1"]);
    let watching = Watching::start(&world, &["--json"], &[]);
    world.write(".liza/CHECKPOINT", "");
    until("the report is written", || reports(&world).len() == 1);
    until("it is reported", || logged(&world) == ["switch_set CHECKPOINT"]);
    // Touching the CHECKPOINT switch again makes no second report; a new switch does.
    world.write(".liza/CHECKPOINT", "end of the day\n");
    assert!(once_refused(&world).contains(&watching.child.id().to_string()));
    world.human(&["resume"]).ok();
    world.human(&["checkpoint", "--reason", "Friday"]).ok();
    until("the second is reported", || logged(&world).len() == 2);
    let all = reports(&world);
    assert_eq!(all.len(), 2, "{all:?}");
    assert!(all.iter().any(|name| world.read(&format!(".liza/reports/{name}")).contains("Reason: Friday")));
    let first: Value = serde_json::from_str(watching.out().lines().next().expect("a line")).expect("JSON");
    assert_eq!((&first["kind"], &first["subject"]), (&"switch_set".into(), &"CHECKPOINT".into()));
    watching.signal("-INT");
    let ran = watching.ends().exits(130);
    let last: Value = serde_json::from_str(ran.stdout.lines().last().expect("a line")).expect("JSON");
    assert_eq!((&last["liza"], &last["ok"]), (&1.into(), &false.into()));
}

#[test]
fn watcher_updates_files_for_other_programs() {
    let world = tasks(&["t1"]);
    let coder = world.register("coder", "coder-1");
    let watching = Watching::start(&world, &[], &[]);
    let table = || -> Value {
        let text = std::fs::read_to_string(world.path(".liza/locks/locks.json")).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    };
    until("it has written", || table()["revision"] == world.revision());
    world.claim(&coder, "t1");
    world.human(&["note", "soon after"]).ok();
    until("it has written again", || table()["revision"] == world.revision());
    assert_eq!(table()["locks"][0]["task"], "t1");
    world.human(&["lock", "release", "t1", "--reason", "why"]).ok();
    until("nothing is held", || table()["locks"].as_array().is_some_and(Vec::is_empty));
    watching.signal("-TERM");
    watching.ends().exits(143);
}

/// A second watcher is refused; returns the refusal.
#[track_caller]
fn once_refused(world: &World) -> String {
    let ran = world.json(&HUMAN, &["watch", "--once"]).exits(3);
    assert_eq!(ran.code(), "stale.watched");
    ran.json()["error"]["message"].as_str().expect("a message").to_owned()
}

#[test]
fn board_has_one_watcher_at_a_time() {
    let world = tasks(&[]);
    let watching = Watching::start(&world, &[], &[]);
    assert!(once_refused(&world).contains(&format!("process {}", watching.child.id())));
    world.json(&HUMAN, &["watch"]).exits(3);
    watching.signal("-KILL");
    watching.ends().exits(-1);
    once(&world);
    let watching = Watching::start(&world, &[], &[]);
    watching.signal("-HUP");
    watching.ends().exits(129);
}

#[test]
fn watch_once_reports_each_alert_once() {
    let world = tasks(&["t1", "t2"]);
    assert!(once(&world).is_empty());
    block(&world, "t1", "why");
    assert_eq!(once(&world), ["blocked t1"]);
    assert!(once(&world).is_empty());
    block(&world, "t2", "why");
    assert_eq!(once(&world), ["blocked t2"]);
    unblock(&world, "t1");
    assert!(once(&world).is_empty());
    block(&world, "t1", "why");
    assert_eq!(once(&world), ["blocked t1"], "it came again");
    // A watcher that lost its memory file reports it again, without other effects.
    for memory in [None, Some("\u{0}rubbish\nblocked:t9:1:1\n")] {
        match memory {
            None => std::fs::remove_file(world.path(".liza/alerts.told")).expect("removed"),
            Some(text) => world.write(".liza/alerts.told", text),
        }
        assert_eq!(once(&world), ["blocked t1", "blocked t2"], "{memory:?}");
        assert!(once(&world).is_empty());
    }
    let text = world.human(&["watch", "--once"]).ok().stdout;
    assert_eq!(text, "");
    assert_eq!(logged(&world).len(), 7);
}

#[test]
fn invalid_board_pauses_the_team_once() {
    let world = tasks(&["t1"]);
    let watching = Watching::start(&world, &[], &[]);
    let good = world.state();
    let cut = || world.write(".liza/state.yaml", &good[..good.len() / 2]);
    let pause = world.path(".liza/PAUSE");
    cut();
    until("the team is halted", || pause.exists());
    assert!(world.read(".liza/PAUSE").starts_with("set by `liza watch`: the board cannot be trusted"));
    until("it is reported", || logged(&world).contains(&"switch_set PAUSE".to_owned()));
    assert_eq!(logged(&world)[0], "invalid_board board");
    // A person who resumes anyway is not stopped again for the same damage.
    std::fs::remove_file(&pause).expect("removed");
    world.write(".liza/CHECKPOINT-t1", "");
    until("it has looked again", || logged(&world).contains(&"switch_set CHECKPOINT-t1".to_owned()));
    assert!(!pause.exists());
    assert_eq!(logged(&world).iter().filter(|line| line.starts_with("invalid_board")).count(), 1);
    // Once the board is repaired the team goes on; damaged again, the watcher pauses it again.
    world.human(&["doctor", "--fix"]).ok();
    std::fs::remove_file(world.path(".liza/CHECKPOINT-t1")).expect("removed");
    block(&world, "t1", "why");
    until("it goes on", || logged(&world).contains(&"blocked t1".to_owned()));
    assert!(!pause.exists());
    cut();
    until("the team is halted", || pause.exists());
    watching.signal("-TERM");
    watching.ends().exits(143);
}

#[test]
fn watcher_without_inotify_polls_and_says_so() {
    let world = tasks(&["t1"]);
    let watching = Watching::start(&world, &[], &[("LIZA_TEST_NO_NOTIFICATION", "1")]);
    until("it says so", || watching.err().contains("five times a second: a test took it away"));
    world.write(".liza/PAUSE", "");
    until("a switch is reported", || logged(&world) == ["switch_set PAUSE"]);
    std::fs::remove_file(world.path(".liza/PAUSE")).expect("removed");
    block(&world, "t1", "why");
    until("a change is reported", || logged(&world).contains(&"blocked t1".to_owned()));
    assert_eq!(watching.err().matches("five times").count(), 1);
}

#[test]
fn watcher_sees_last_of_a_thousand_renames() {
    for env in [&[][..], &[("LIZA_TEST_NO_NOTIFICATION", "1")]] {
        let world = tasks(&["t1"]);
        let _watching = Watching::start(&world, &[], env);
        let dir = world.path(".liza");
        let storm = |from: u32| {
            for number in from..from + 500 {
                std::fs::write(dir.join(".storm"), number.to_string()).expect("written");
                std::fs::rename(dir.join(".storm"), dir.join("storm")).expect("renamed");
            }
        };
        storm(0);
        world.write(".liza/ABORT-t1", "");
        block(&world, "t1", "why");
        storm(500);
        until("both are reported", || {
            let reported = logged(&world);
            ["blocked t1", "switch_set ABORT-t1"].iter().all(|line| reported.contains(&(*line).to_owned()))
        });
    }
}

#[test]
fn stalled_queue_is_reported_in_time() {
    let world = tasks(&["t1", "t2"]);
    let coder = world.register("coder", "coder-1");
    world.claim(&coder, "t1");
    // Tasks that wait for a working agent are no stall.
    assert!(once_later(&world, 920).is_empty());
    let release = ["task", "release", "t1"];
    world.liza(&coder, &release).ok();
    assert!(once_later(&world, 880).is_empty());
    assert_eq!(once_later(&world, 920), ["stalled coder"]);
    assert!(
        world.read(".liza/alerts.log").contains("waiting: ready for a coder, but no agent claims it: t1, t2")
    );
}

#[test]
fn expired_lease_is_reported_after_a_heartbeat() {
    let world = tasks(&["t1"]);
    let coder = world.register("coder", "coder-1");
    world.claim(&coder, "t1");
    assert!(once_later(&world, 1800 + 50).is_empty());
    assert_eq!(once_later(&world, 1800 + 70), ["lease_expired t1"]);
    assert!(once_later(&world, 1800 + 80).is_empty());
    world.later(1800 + 90, &coder, &["task", "renew", "t1"]).ok();
    assert_eq!(once_later(&world, 3600 + 200), ["lease_expired t1"]);
    assert_eq!(once_later(&world, 3600 + 1100), ["stalled coder"]);
    world.sound();
}

#[test]
fn unstaffed_role_is_reported() {
    let world = tasks(&["t1"]);
    assert!(once_later(&world, 880).is_empty());
    assert_eq!(once_later(&world, 920), ["stalled coder"]);
    assert!(world.read(".liza/alerts.log").contains("unstaffed: no active agent has the role coder"));
}

#[test]
fn stale_checkpoint_switch_is_escalated() {
    let world = tasks(&[]);
    world.human(&["checkpoint", "--reason", "lunch"]).ok();
    assert_eq!(once_later(&world, 1700), ["switch_set CHECKPOINT"]);
    assert_eq!(once_later(&world, 1900), ["checkpoint_stale CHECKPOINT"]);
    assert!(once_later(&world, 2000).is_empty());
    assert_eq!(once_later(&world, 7300), ["checkpoint_stale CHECKPOINT"]);
    assert!(!world.path(".liza/ESCALATION").exists());
    assert_eq!(once_later(&world, 28_900), ["checkpoint_stale CHECKPOINT"]);
    assert!(world.read(".liza/ESCALATION").contains("CHECKPOINT has halted all agents for 8 h"));
    world.human(&["doctor"]).ok();
    world.human(&["resume"]).ok();
    assert!(!world.path(".liza/ESCALATION").exists());
    // Time in which the team was halted is no stall.
    assert!(once_later(&world, 29_000).is_empty());
}

#[test]
fn watch_reports_low_disk_and_moved_integration() {
    let world = tasks(&[]);
    let low = world.json_env(&HUMAN, &["watch", "--once"], &[("LIZA_TEST_FREE_BYTES", "1000")]).ok().data();
    assert_eq!(low["alerts"][0]["kind"], "disk_low");
    let watching = Watching::start(&world, &[], &[]);
    let tree = world.git(&["rev-parse", "HEAD^{tree}"]);
    let commit = world.git(&["commit-tree", "-p", "integration", "-m", "sneaked in", &tree]);
    world.git(&["update-ref", "refs/heads/integration", &commit]);
    until("it is reported", || logged(&world).contains(&"integration_moved integration".to_owned()));
    assert!(world.read(".liza/alerts.log").contains("sneaked in"));
    drop(watching);
}

#[test]
fn merges_are_never_reported_as_moves() {
    let world = tasks(&[]);
    let (coder, reviewer) =
        (world.register("coder", "coder-1"), world.register("code_reviewer", "reviewer-1"));
    let watching = Watching::start(&world, &[], &[("LIZA_TEST_NO_NOTIFICATION", "1")]);
    for number in 0..3 {
        world.merge_task(&coder, &reviewer, &format!("m{number}"), &format!("m{number}.sh"), "x\n");
    }
    world.write(".liza/PAUSE", "");
    until("it has seen all", || logged(&world).contains(&"switch_set PAUSE".to_owned()));
    assert_eq!(logged(&world), ["switch_set PAUSE"]);
    drop(watching);
}

#[test]
fn watcher_reports_a_removed_board() {
    let world = tasks(&[]);
    let watching = Watching::start(&world, &["--json"], &[]);
    std::fs::rename(world.path(".liza"), world.path(".liza-elsewhere")).expect("renamed");
    let ran = watching.ends().exits(6);
    assert!(ran.stdout.contains("\"code\":\"board.gone\""), "{}", ran.stdout);
    // A new board at the same path is another board.
    std::fs::rename(world.path(".liza-elsewhere"), world.path(".liza")).expect("renamed");
    let watching = Watching::start(&world, &[], &[]);
    world.human(&["uninstall", "--yes"]).ok();
    world.human(&["init", "Another goal"]).ok();
    watching.ends().exits(6);
}

#[test]
fn only_people_watch() {
    let world = tasks(&[]);
    let coder = world.register("coder", "coder-1");
    for args in [&["watch"][..], &["watch", "--once"]] {
        world.refused(&coder, args, 1, "refused.human_only");
    }
    let ran = Ran::of(
        world.liza_command(&Who::default(), world.home(), &["watch", "--once"]).finish().expect("it runs"),
    );
    ran.exits(2);
}

#[test]
fn failing_notify_command_is_reported_once() {
    let world = tasks(&["t1", "t2", "t3"]);
    notify(&world, "echo no such luck >&2; exit 4");
    let watching = Watching::start(&world, &[], &[]);
    for id in ["t1", "t2", "t3"] {
        block(&world, id, "why");
        until("it is reported", || logged(&world).contains(&format!("blocked {id}")));
    }
    until("it is said", || watching.err().contains("it exited with 4 (no such luck)"));
    // A mistake in liza.yaml does not stop the watcher.
    world.write("liza.yaml", "watch: [\n");
    until("that is said too", || watching.err().contains("the former settings still apply"));
    unblock(&world, "t1");
    block(&world, "t1", "again");
    until("it goes on", || logged(&world).len() == 4);
    watching.signal("-TERM");
    let ran = watching.ends().exits(143);
    assert_eq!(ran.stderr.matches("`watch.notify` of liza.yaml failed").count(), 1, "{}", ran.stderr);
}

#[test]
fn hanging_notify_command_blocks_no_alert() {
    let world = tasks(&["t1", "t2"]);
    notify(&world, "sleep 600 & echo $! > child.pid; sleep 600");
    let watching = Watching::start(&world, &[], &[]);
    block(&world, "t1", "why");
    let pid_file = world.path("child.pid");
    until("it hangs", || std::fs::read_to_string(&pid_file).is_ok_and(|text| text.ends_with('\n')));
    block(&world, "t2", "why");
    until("the next is reported", || logged(&world) == ["blocked t1", "blocked t2"]);
    watching.signal("-TERM");
    watching.ends().exits(143);
    let child = world.read("child.pid");
    until("its children are gone", || {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.trim())).unwrap_or_default();
        stat.is_empty() || stat.contains(") Z ")
    });
}

#[test]
fn running_watcher_trips_the_breaker() {
    let world = tasks(&["t1"]);
    let agents = ["coder-1", "coder-2"].map(|name| world.register("coder", name));
    let watching = Watching::start(&world, &[], &[("LIZA_TEST_BREAKER_REST_MS", "100")]);
    for (who, words) in agents.iter().zip(["GitHub API unavailable", "github is down"]) {
        let detail = format!("blocker_service={words}");
        world.liza(who, &["anomaly", "external_blocker", "--task", "t1", "--detail", &detail]).ok();
    }
    until("it is reported", || logged(&world).contains(&"breaker_open trip-1".to_owned()));
    until("the team is halted", || world.path(".liza/CHECKPOINT").exists());
    watching.signal("-TERM");
    let ran = watching.ends();
    assert!(ran.stderr.contains("the breaker tripped (trip-1, external_outage)"), "{}", ran.stderr);
    assert_eq!(logged(&world).iter().filter(|alert| alert.starts_with("breaker_open")).count(), 1);
}
