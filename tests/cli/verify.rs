//! `liza verify`: board, log and repository agree, or it names the first contradiction.

use crate::support::{HUMAN, Who, World};

struct Scene {
    world: World,
    other: Who,
    reviewer: Who,
    /// The merge of `two`, the head of integration.
    head: String,
}

fn scene() -> Scene {
    let world = World::new();
    let coder = world.register("coder", "coder-1");
    let reviewer = world.register("code_reviewer", "reviewer-1");
    world.merge_task(&coder, &reviewer, "one", "1.sh", "echo 1\n");
    let head = world.merge_task(&coder, &reviewer, "two", "2.sh", "echo 2\n");
    world.task("three", &["3.sh"]);
    world.claim(&coder, "three");
    world.sound();
    let other = world.register("coder", "coder-2");
    Scene { world, other, reviewer, head }
}

impl Scene {
    fn put(&self, commit: &str) {
        self.world.git(&["update-ref", "-m", "by hand", "refs/heads/integration", commit]);
    }

    /// A commit that liza did not make.
    fn foreign(&self, onto: &str, subject: &str) -> String {
        self.world.git(&["commit-tree", "-p", onto, "-m", subject, &format!("{onto}^{{tree}}")])
    }

    /// The first broken link, as text.
    #[track_caller]
    fn broken(&self) -> String {
        let before = self.world.bytes();
        let ran = self.world.json(&HUMAN, &["verify"]).exits(6);
        assert_eq!(ran.code(), "board.verify");
        assert_eq!(self.world.bytes(), before);
        ran.json()["error"]["message"].as_str().expect("a message").to_owned()
    }
}

#[test]
fn verify_names_the_first_foreign_commit() {
    let scene = scene();
    let first = scene.foreign("integration", "sneaked in");
    let second = scene.foreign(&first, "and another");
    scene.put(&second);
    let finding = scene.broken();
    assert!(
        finding.contains(&first) && finding.contains("sneaked in") && finding.contains("1 more"),
        "{finding}"
    );
    assert!(finding.contains("by hand") && finding.contains("Mona"), "the reflog tells who: {finding}");
    assert!(!finding.contains("no longer in it"), "{finding}");
    scene.put(&scene.head);
    scene.world.sound();

    // An ordinary `git commit` in a checkout of the branch.
    let place = scene.world.home().join("checkout");
    scene.world.git(&["worktree", "add", "-q", place.to_str().expect("text"), "integration"]);
    let commit = scene.world.write_and_commit(&place, &[("x.txt", "x\n")]);
    let finding = scene.broken();
    assert!(finding.contains(&commit), "{finding}");
}

#[test]
fn verify_names_a_reset_or_forced_branch() {
    let scene = scene();
    scene.put("integration~1");
    let finding = scene.broken();
    assert!(finding.contains("two is MERGED") && finding.contains(&scene.head), "{finding}");
    // Without a missing merged task the branch itself shows it: an empty merge is amended.
    scene.put(&scene.head);
    let amended = scene.world.git(&[
        "commit-tree",
        "-p",
        "integration^1",
        "-p",
        "integration^2",
        "-m",
        "Merge two, nicer",
        "integration^{tree}",
    ]);
    scene.put(&amended);
    let finding = scene.broken();
    assert!(finding.contains("two is MERGED"), "{finding}");
    let checks = scene.world.json(&HUMAN, &["verify"]).json()["error"]["details"]["checks"].clone();
    let line = checks.as_array().expect("checks").iter().find(|check| check["name"] == "integration");
    let finding = line.expect("looked at")["detail"].as_str().expect("text").to_owned();
    assert!(finding.contains(&amended) && finding.contains("Merge two, nicer"), "{finding}");
    assert!(finding.contains("no longer in it"), "{finding}");
    // To an unrelated commit.
    let elsewhere = scene.world.git(&["commit-tree", "-m", "unrelated", "main^{tree}"]);
    scene.put(&elsewhere);
    assert!(scene.broken().contains("one is MERGED"));
    scene.world.git(&["update-ref", "-d", "refs/heads/integration"]);
    assert!(scene.broken().contains("is gone"));
    scene.put(&scene.head);
    scene.world.sound();
}

#[test]
fn verify_names_foreign_commit_below_a_merge() {
    let scene = scene();
    let foreign = scene.foreign("integration", "below");
    scene.put(&foreign);
    let merging = ["merge", "four"];
    scene.put(&scene.head);
    scene.world.approved(&scene.other, &scene.reviewer, "four", "4.sh", "echo 4\n");
    scene.put(&foreign);
    // A later merge does not hide the foreign commit below it.
    if scene.world.liza(&scene.reviewer, &merging).exit == 0 {
        let finding = scene.broken();
        assert!(finding.contains(&foreign) && finding.contains("before the merge of four"), "{finding}");
    }
    // A person may accept it once.
    scene.world.human(&["integration", "advance", "integration", "--reason", "it is right"]).ok();
    scene.world.sound();
    let again = ["integration", "advance", "integration", "--reason", "again"];
    scene.world.refused(&HUMAN, &again, 1, "refused.empty");
}

#[test]
fn recorded_advance_passes_verify() {
    let scene = scene();
    let world = &scene.world;
    // Fast-forward, then a merge, then a branch that took integration in from the side.
    let ahead = scene.foreign("integration", "ahead");
    world.human(&["integration", "advance", &ahead, "--reason", "needed"]).ok();
    world.sound();
    world.write("main.txt", "x\n");
    world.commit_all("on main");
    world.human(&["integration", "advance", "main", "--reason", "needed"]).ok();
    world.sound();
    world.git(&["checkout", "-q", "-b", "side", "main~1"]);
    world.git(&["merge", "-q", "--no-ff", "-m", "take it in", "integration"]);
    world.git(&["checkout", "-q", "main"]);
    world.human(&["integration", "advance", "side", "--reason", "needed"]).ok();
    world.sound();
    world.git(&["branch", "-f", "release", "main~1"]);
    world.human(&["deliver", "--to", "release", "--create", "--accept-config"]).ok();
    world.sound();
}

#[test]
fn moved_branch_is_found_without_the_log() {
    let scene = scene();
    let integration = |scene: &Scene| {
        let checks =
            scene.world.json(&HUMAN, &["verify"]).exits(6).json()["error"]["details"]["checks"].clone();
        let found =
            checks.as_array().expect("checks").iter().find(|check| check["name"] == "integration").cloned();
        found.expect("looked at")
    };
    let log = scene.world.path(".liza/log.yaml");
    let text = std::fs::read_to_string(&log).expect("a log");
    std::fs::write(&log, text.replacen("A greeting program", "B greeting program", 1)).expect("written");
    assert_eq!(integration(&scene)["ok"], true);
    let foreign = scene.foreign("integration", "sneaked in");
    scene.put(&foreign);
    let finding = integration(&scene);
    assert_eq!(finding["ok"], false);
    let finding = finding["detail"].as_str().expect("text");
    assert!(finding.contains(&foreign) && finding.contains("liza did not move it"), "{finding}");
}

#[test]
fn verify_reports_missing_task_branch() {
    let scene = scene();
    let world = &scene.world;
    let at = world.git(&["rev-parse", "task/three"]);
    world.git(&["update-ref", "-d", "refs/heads/task/three"]);
    let finding = scene.broken();
    assert!(finding.contains("task/three") && finding.contains("WORKING"), "{finding}");
    assert!(world.human(&["doctor"]).exits(1).stdout.contains("task/three"));
    world.git(&["update-ref", "refs/heads/task/three", &at]);
    world.sound();
    // The branch of a finished task may be deleted.
    world.git(&["update-ref", "-d", "refs/heads/task/one"]);
    world.sound();
}

#[test]
fn verify_names_unknown_worktrees() {
    let scene = scene();
    let add = ["worktree", "add", "-q", "--lock", "--reason", "liza: task stranger", "--detach"];
    scene.world.git(&[&add[..], &[".worktrees/stranger"]].concat());
    assert!(scene.broken().contains(".worktrees/stranger"));
    std::fs::remove_dir_all(scene.world.path(".worktrees/stranger")).expect("removed");
    assert!(scene.broken().contains(".worktrees/stranger"), "its record is still there");
    scene.world.git(&["worktree", "unlock", ".worktrees/stranger"]);
    scene.world.git(&["worktree", "prune"]);
    scene.world.sound();
    // A directory without a record in git is unknown; worktrees of the user are left alone.
    std::fs::create_dir(scene.world.path(".worktrees/nothing")).expect("made");
    assert!(scene.broken().contains(".worktrees/nothing"));
    std::fs::remove_dir(scene.world.path(".worktrees/nothing")).expect("removed");
    scene.world.git(&["worktree", "add", "-q", "--detach", ".worktrees/mine"]);
    scene.world.sound();
}

#[test]
fn verify_checks_archived_tasks() {
    let scene = scene();
    let archive = scene.world.path(".liza/archive/old.yaml");
    let file = |commit: &str| format!("id: Old\nstatus: MERGED\nepoch: 3\nmerge:\n  commit: \"{commit}\"\n");
    std::fs::write(&archive, file(&scene.head)).expect("written");
    scene.world.git(&["update-ref", "refs/liza/submitted/Old/3-1", "main"]);
    scene.world.git(&["update-ref", "refs/heads/task/Old.2", "main"]);
    scene.world.sound();
    let elsewhere = scene.foreign("main", "never merged");
    std::fs::write(&archive, file(&elsewhere)).expect("written");
    let finding = scene.broken();
    assert!(finding.contains("Old is MERGED") && finding.contains(&elsewhere), "{finding}");
    std::fs::write(&archive, "id: [\n").expect("written");
    assert!(scene.broken().contains("old.yaml"));
}

/// The approved content lands, whatever replacement git is configured to show.
#[test]
fn replaced_objects_and_grafts_change_nothing() {
    let world = World::new();
    let (coder, reviewer) = (world.register("coder", "coder-1"), world.register("code_reviewer", "rev-1"));
    let commit = world.approved(&coder, &reviewer, "t1", "a.sh", "echo a\n");
    let base = world.git(&["rev-parse", "integration"]);
    world.git(&["checkout", "-q", "--detach", &commit]);
    world.write("out-of-scope.txt", "evil\n");
    world.commit_all("other");
    let other = world.git(&["rev-parse", "HEAD"]);
    world.git(&["checkout", "-q", "main"]);
    world.git(&["replace", &commit, &other]);
    std::fs::write(world.path(".git/info/grafts"), format!("{commit} {base}\n")).expect("grafts");
    let found = world.json(&HUMAN, &["doctor"]).exits(1).data()["findings"].to_string();
    assert!(found.contains("refs/replace") && found.contains("grafts"), "{found}");
    world.liza(&reviewer, &["merge", "t1"]).ok();
    world.git(&["replace", "-d", &commit]);
    std::fs::remove_file(world.path(".git/info/grafts")).expect("removed");
    let files = world.git(&["ls-tree", "-r", "--name-only", "integration"]);
    assert!(files.contains("a.sh") && !files.contains("out-of-scope.txt"), "{files}");
    world.human(&["verify"]).ok();
}

/// A merge with more than its two sides, whatever its message says.
#[test]
fn merge_with_foreign_changes_is_named() {
    let world = World::new();
    let (coder, reviewer) = (world.register("coder", "coder-1"), world.register("code_reviewer", "rev-1"));
    world.approved(&coder, &reviewer, "t1", "a.sh", "echo a\n");
    // A forging git: it adds one more file to the merge.
    let bin = world.home().join("bin");
    std::fs::create_dir(&bin).expect("a directory");
    let forging = r#"#!/bin/sh
PATH=$REAL
for word; do [ "$word" != merge-tree ] || forge=1; done
[ -n "$forge" ] || exec git "$@"
tree=$(git "$@" | tr '\0' '\n' | head -n 1)
blob=$(echo evil | git hash-object -w --stdin)
new=$( (git ls-tree "$tree"; printf '100644 blob %s\tevil.txt\n' "$blob") | git mktree)
printf '%s\0' "$new"
"#;
    std::fs::write(bin.join("git"), forging).expect("a program");
    let mode: std::fs::Permissions = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(bin.join("git"), mode).expect("a mode");
    let real = std::env::var("PATH").expect("a path");
    let path = format!("{}:{real}", bin.display());
    world.json_env(&reviewer, &["merge", "t1"], &[("PATH", &path), ("REAL", &real)]).ok();
    assert!(world.git(&["ls-tree", "--name-only", "integration"]).contains("evil.txt"), "the control forges");
    let verify = world.human(&["verify"]).exits(6);
    assert!(verify.stderr.contains("differs from the merge of"), "{}", verify.stderr);
}

#[test]
fn advance_refuses_to_drop_merged_work() {
    let world = World::new();
    let (coder, reviewer) = (world.register("coder", "coder-1"), world.register("code_reviewer", "rev-1"));
    let start = world.git(&["rev-parse", "integration"]);
    let merge = world.merge_task(&coder, &reviewer, "t1", "a.sh", "echo a\n");
    // Moved back below merged work: `advance` refuses it, and the printed command restores the branch.
    world.git(&["branch", "-f", "integration", &start]);
    let accept = ["integration", "advance", "integration", "--reason", "fine"];
    let error = world.refused(&HUMAN, &accept, 1, "refused.not_ancestor");
    let hint = format!("liza integration advance {merge} --reason");
    assert!(error["hint"].as_str().unwrap().contains(&hint), "{error}");
    assert!(world.human(&["doctor"]).exits(1).stdout.contains(&hint));
    world.human(&["integration", "advance", &merge, "--reason", "back"]).ok();
    world.human(&["verify"]).ok();
    // A foreign commit on top: liza does not build on it until a person accepts it.
    world.git(&["checkout", "-q", "integration"]);
    world.write("foreign.txt", "x\n");
    world.commit_all("foreign");
    world.git(&["checkout", "-q", "main"]);
    world.write("other.txt", "x\n");
    world.commit_all("other");
    world.refused(&HUMAN, &["integration", "advance", "main", "--reason", "x"], 6, "board.integration_moved");
    world.human(&["integration", "advance", "integration", "--reason", "seen"]).ok();
    world.human(&["integration", "advance", "main", "--reason", "x"]).ok();
    world.human(&["verify"]).ok();
}
