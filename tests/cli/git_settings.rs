//! Settings, names and objects that an agent plants in git do not affect liza's git commands.

use std::path::{Path, PathBuf};

use crate::concurrency::{go_on, make_executable};
use crate::support::process::Bounded as _;
use crate::support::{HUMAN, Who, World, write};

struct Team {
    world: World,
    coder: Who,
    reviewer: Who,
}

impl Team {
    fn new() -> Self {
        Self::of(World::new())
    }

    fn of(world: World) -> Self {
        let (coder, reviewer) = (world.register("coder", "coder-1"), world.register("code_reviewer", "rev"));
        Self { world, coder, reviewer }
    }

    /// A program that creates a file when it runs, and the path of that file.
    fn canary(&self, more: &str) -> (PathBuf, PathBuf) {
        let (script, trace) = (self.world.home().join("canary.sh"), self.world.home().join("ran"));
        let text = format!("#!/bin/sh\necho \"$@\" >> '{}'\n{more}\n", trace.display());
        write(self.world.home(), "canary.sh", &text);
        make_executable(&script);
        (script, trace)
    }

    /// An approved task and a person's commit on integration that change different lines of one file.
    fn two_sides(&self) {
        let all: String = (1..=30).map(|n| format!("line {n}\n")).collect();
        let world = &self.world;
        world.merge_task(&self.coder, &self.reviewer, "base", "f.txt", &all);
        world.task("two", &["f.txt", "tests/test_two.sh"]);
        let two = all.replace("line 28\n", "twenty-eight\n");
        let two = world.submit_work(&self.coder, "two", "f.txt", &two);
        world.approve(&self.reviewer, "two", &two);
        let side = world.home().join("side");
        let at = side.to_str().expect("a path");
        world.git(&["worktree", "add", "-q", "-b", "side", at, "refs/heads/integration"]);
        world.write_and_commit(&side, &[("f.txt", &all.replace("line 2\n", "two\n"))]);
        world.human(&["integration", "advance", "side", "--reason", "of the person"]).ok();
        world.git(&["worktree", "remove", "--force", at]);
    }
}

fn plant_driver(team: &Team, way: &str) {
    let (world, (script, _)) = (&team.world, team.canary("echo evil >> \"$2\"; exit 0"));
    let driver = format!("{} %O %A %B", script.display());
    std::fs::create_dir_all(world.path(".git/info")).expect("a directory");
    let config = format!("[merge \"evil\"]\n\tdriver = {driver}\n");
    match way {
        "include" => {
            write(world.home(), "more", &config);
            world.git(&["config", "include.path", world.home().join("more").to_str().expect("a path")]);
        }
        "global" => write(world.home(), ".gitconfig", &config),
        _ => {
            world.git(&["config", "merge.evil.driver", &driver]);
        }
    }
    match way {
        "default" => {
            world.git(&["config", "merge.default", "evil"]);
        }
        "checkout" => write(&world.root, ".gitattributes", "* merge=evil\n"),
        "attributes_file" => {
            write(world.home(), "attributes", "* merge=evil\n");
            let file = world.home().join("attributes");
            world.git(&["config", "core.attributesFile", file.to_str().expect("a path")]);
        }
        "union" => write(&world.root, ".git/info/attributes", "* merge=union\n"),
        "binary" => write(&world.root, ".git/info/attributes", "* -merge\n"),
        _ => write(&world.root, ".git/info/attributes", "* merge=evil\n"),
    }
}

#[test]
fn planted_merge_driver_changes_no_merge() {
    for way in ["info", "default", "checkout", "attributes_file", "include", "global", "union", "binary"] {
        let team = Team::new();
        team.two_sides();
        plant_driver(&team, way);
        let world = &team.world;
        world.liza(&team.reviewer, &["merge", "two"]).ok();
        world.human(&["verify"]).ok();
        let merged = world.git(&["show", "refs/heads/integration:f.txt"]);
        assert_eq!(merged.lines().count(), 30, "{way}: {merged}");
        assert!(merged.contains("\ntwo\n") && merged.contains("\ntwenty-eight\n"), "{way}: {merged}");
        assert!(!world.home().join("ran").exists(), "{way}: the driver ran");
        let said = world.human(&["doctor"]).stdout;
        let name = match way {
            "union" | "binary" => ".git/info/attributes",
            _ => "merge.evil.driver",
        };
        assert!(said.contains(name), "{way}: {said}");
        assert!(world.human(&["verify"]).ok().stdout.contains(name), "{way}");
    }
}

#[test]
fn accept_git_shows_and_records_settings() {
    let team = Team::new();
    team.two_sides();
    plant_driver(&team, "info");
    let world = &team.world;
    let shown = world.human(&["doctor", "--accept-git", "--dry-run"]).ok().stdout;
    assert!(shown.contains("merge.evil.driver") && shown.contains("not there"), "{shown}");
    world.refused(&team.coder, &["doctor", "--accept-git"], 1, "refused.human_only");
    let accepted = world.human(&["doctor", "--accept-git"]).ok().stdout;
    assert!(accepted.contains("merge.evil.driver"), "{accepted}");
    world.human(&["doctor"]).ok();
    world.liza(&team.reviewer, &["merge", "two"]).ok();
    assert!(world.home().join("ran").exists(), "a person wanted the driver");
    // The record of the settings cannot be replaced by another.
    let dir = world.path(".liza/git");
    for entry in std::fs::read_dir(&dir).expect("records").flatten() {
        std::fs::write(entry.path(), "{}").expect("written");
    }
    std::fs::remove_file(world.home().join("ran")).expect("removed");
    assert!(world.human(&["doctor"]).exits(1).stdout.contains("merge.evil.driver"));
    world.task("three", &["g.txt"]);
    world.claim(&team.coder, "three");
    assert!(!world.home().join("ran").exists());
}

#[test]
fn planted_filters_run_in_no_command_of_liza() {
    for way in ["config", "worktree", "commondir", "gitfile"] {
        let team = Team::new();
        let (world, (script, trace)) = (&team.world, team.canary("cat"));
        world.task("t1", &["a.txt", "tests/test_t1.sh", ".gitattributes"]);
        let worktree = world.claim(&team.coder, "t1");
        world.checkpoint(&team.coder, "t1", &["a.txt", "tests/test_t1.sh"]);
        world.write_and_commit(&worktree, &[("a.txt", "a\n"), ("tests/test_t1.sh", "true\n")]);
        let admin = world.path(".git/worktrees/t1");
        let config = format!("[filter \"x\"]\n\tclean = {0}\n\tsmudge = {0}\n", script.display());
        std::fs::create_dir_all(world.path(".git/info")).expect("a directory");
        write(&world.root, ".git/info/attributes", "* filter=x\n");
        let real = world.path(".git");
        match way {
            "config" => append(&real.join("config"), &config),
            "worktree" => {
                world.git(&["config", "extensions.worktreeConfig", "true"]);
                write(&admin, "config.worktree", &config);
            }
            // Another common directory, with the repository's content and other settings.
            _ => {
                let fake = world.home().join("fake.git");
                std::fs::create_dir_all(fake.join("info")).expect("a directory");
                for name in ["objects", "refs", "HEAD", "worktrees", "logs"] {
                    std::os::unix::fs::symlink(real.join(name), fake.join(name)).expect("a link");
                }
                write(&fake, "config", &format!("[core]\n\trepositoryformatversion = 0\n{config}"));
                write(&fake, "info/attributes", "* filter=x\n");
                if way == "commondir" {
                    write(&admin, "commondir", &format!("{}\n", fake.display()));
                } else {
                    let leads = format!("gitdir: {}\n", fake.join("worktrees/t1").display());
                    write(&worktree, ".git", &leads);
                }
            }
        }
        // Changed file times, so that git would filter the files again.
        let later = std::time::SystemTime::now() + std::time::Duration::from_secs(5);
        let file = std::fs::File::options().append(true).open(worktree.join("a.txt")).expect("a file");
        file.set_modified(later).expect("touched");
        for args in
            [&["task", "submit", "t1"][..], &["task", "release", "t1"], &["worktree", "list"], &["doctor"]]
        {
            world.liza(&team.coder, args);
            world.human(args);
        }
        assert!(!trace.exists(), "{way}: {}", std::fs::read_to_string(&trace).unwrap_or_default());
    }
}

fn append(path: &Path, text: &str) {
    let old = std::fs::read_to_string(path).unwrap_or_default();
    std::fs::write(path, old + text).expect("written");
}

#[test]
fn tag_of_the_same_name_hides_no_branch() {
    let team = Team::new();
    let world = &team.world;
    world.write("mine.txt", "mine\n");
    world.commit_all("of the person");
    world.git(&["tag", "integration", "main"]);
    world.git(&["tag", "main", "integration~0"]);
    world.merge_task(&team.coder, &team.reviewer, "t1", "a.txt", "a\n");
    let head = world.git(&["rev-parse", "refs/heads/integration"]);
    world.human(&["deliver", "--to", "released", "--create"]).ok();
    assert_eq!(world.git(&["rev-parse", "refs/heads/released"]), head);
    // A name means the branch, also inside an expression.
    let base = world.git(&["rev-parse", "refs/heads/integration~1"]);
    world.git(&["tag", "released", "main"]);
    world.human(&["integration", "advance", "released", "--reason", "the same"]).exits(1);
    assert_eq!(world.git(&["rev-parse", "refs/heads/integration"]), head);
    let data = world.json(&HUMAN, &["gate", "run", "--tree", "integration~1"]).data();
    assert!(data.is_null() || data.to_string().contains(&base[..7]) || !data.to_string().contains("mine"));
    // `deliver` moves the user's branch, not the tag.
    world.human(&["deliver", "--to", "main"]).ok();
    let delivered = world.git(&["rev-parse", "refs/heads/main"]);
    assert_eq!(delivered, world.git(&["rev-parse", "refs/heads/integration"]));
    assert_eq!(world.read("a.txt"), "a\n");
}

#[test]
fn symbolic_integration_moves_no_other_branch() {
    for way in ["symbolic", "link"] {
        let team = Team::new();
        let world = &team.world;
        world.git(&["branch", "mine", "integration"]);
        world.approved(&team.coder, &team.reviewer, "t1", "a.txt", "a\n");
        let before = world.git(&["rev-parse", "refs/heads/mine"]);
        let file = world.path(".git/refs/heads/integration");
        std::fs::remove_file(&file).expect("a loose ref");
        match way {
            "symbolic" => std::fs::write(&file, "ref: refs/heads/mine\n").expect("written"),
            _ => std::os::unix::fs::symlink("mine", &file).expect("a link"),
        }
        let ran = world.liza(&team.reviewer, &["merge", "t1"]).exits(8);
        assert!(
            ran.stderr.contains("not a plain ref") && ran.stderr.contains("doctor --fix"),
            "{}",
            ran.stderr
        );
        assert_eq!(world.git(&["rev-parse", "refs/heads/mine"]), before, "{way}");
        let ran = world.human(&["doctor", "--fix"]);
        assert!(ran.stdout.contains("not a plain ref"), "{}", ran.stdout);
        world.liza(&team.reviewer, &["merge", "t1"]).ok();
        assert_eq!(world.git(&["rev-parse", "refs/heads/mine"]), before, "{way}");
        assert_eq!(world.status_of("t1"), "MERGED");
        world.sound();
    }
}

#[test]
fn git_gc_before_the_pin_loses_no_merge() {
    let team = Team::new();
    team.two_sides();
    let world = &team.world;
    let merging = world.stopped_at(&team.reviewer, "merge.made", &["merge", "two"]);
    world.git(&["gc", "--quiet", "--prune=now"]);
    let ran = go_on(merging).ok();
    assert!(ran.stderr.contains("merging again"), "{}", ran.stderr);
    assert_eq!(world.status_of("two"), "MERGED");
    world.git(&["fsck", "--no-dangling"]);
    world.git(&["gc", "--quiet", "--prune=now"]);
    world.sound();
}

#[test]
fn ref_to_a_missing_object_is_repaired() {
    let team = Team::new();
    let world = &team.world;
    write(&world.root, ".git/refs/liza/merges/t9/1", &format!("{}\n", "1234567890".repeat(4)));
    let found = world.human(&["doctor"]).exits(1).stdout;
    assert!(found.contains("refs/liza/merges/t9/1") && found.contains("missing"), "{found}");
    world.human(&["doctor", "--fix"]);
    world.git(&["gc", "--quiet"]);
    world.human(&["doctor"]).ok();
}

#[test]
fn forged_object_is_not_merged() {
    let team = Team::new();
    let world = &team.world;
    let commit = world.approved(&team.coder, &team.reviewer, "t1", "a.txt", "good\n");
    let loose = |id: &str| world.path(&format!(".git/objects/{}/{}", &id[..2], &id[2..]));
    let good = world.git(&["rev-parse", &format!("{commit}:a.txt")]);
    write(world.home(), "evil", "evil\n");
    let evil = world.git(&["hash-object", "-w", world.home().join("evil").to_str().expect("a path")]);
    let kept = std::fs::read(loose(&good)).expect("an object");
    std::fs::remove_file(loose(&good)).expect("removed");
    std::fs::copy(loose(&evil), loose(&good)).expect("copied");
    assert_eq!(world.git(&["cat-file", "-p", &good]), "evil", "git believes it");
    let before = world.git(&["rev-parse", "refs/heads/integration"]);
    let ran = world.liza(&team.reviewer, &["merge", "t1"]).exits(8);
    assert!(ran.stderr.contains(&good), "{}", ran.stderr);
    assert_eq!(world.git(&["rev-parse", "refs/heads/integration"]), before);
    std::fs::remove_file(loose(&good)).expect("removed");
    std::fs::write(loose(&good), kept).expect("written");
    world.liza(&team.reviewer, &["merge", "t1"]).ok();
}

#[test]
fn nested_repository_is_refused_with_reason() {
    let team = Team::new();
    let world = &team.world;
    world.task("t1", &["lib/", "tests/test_t1.sh"]);
    let worktree = world.claim(&team.coder, "t1");
    world.checkpoint(&team.coder, "t1", &["lib/sub", "tests/test_t1.sh"]);
    let sub = worktree.join("lib/sub");
    std::fs::create_dir_all(&sub).expect("a directory");
    world.git_in(&sub, &["init", "-q", "-b", "main"]);
    world.write_and_commit(&sub, &[("x.txt", "x\n")]);
    world.write_and_commit(&worktree, &[("tests/test_t1.sh", "true\n")]);
    let ran = world.liza(&team.coder, &["task", "submit", "t1"]).exits(1);
    assert!(ran.stderr.contains("lib/sub") && ran.stderr.contains(".gitmodules"), "{}", ran.stderr);
    assert_eq!(world.status_of("t1"), "WORKING");
}

#[test]
fn grafts_and_replacements_change_no_decision() {
    let team = Team::new();
    let world = &team.world;
    let commit = world.approved(&team.coder, &team.reviewer, "t1", "a.txt", "a\n");
    let unrelated = world.git(&["commit-tree", "-m", "x", &format!("{commit}^{{tree}}")]);
    world.git(&["replace", &commit, &unrelated]);
    write(&world.root, ".git/info/grafts", &format!("{commit}\n"));
    world.liza(&team.reviewer, &["merge", "t1"]).ok();
    std::fs::remove_file(world.path(".git/info/grafts")).expect("removed");
    world.git(&["replace", "-d", &commit]);
    world.git(&["merge-base", "--is-ancestor", &commit, "refs/heads/integration"]);
    world.sound();
}

#[test]
fn verdict_is_refused_on_changed_checkout() {
    let team = Team::new();
    let world = &team.world;
    world.write("other.txt", "other\n");
    world.commit_all("more");
    world.human(&["integration", "advance", "main", "--reason", "more"]).ok();
    let commit = world.submitted(&team.coder, "t1", "a.txt", "evil\n");
    let checkout = world.json(&team.reviewer, &["review", "claim", "t1"]).ok().data()["checkout"].clone();
    let checkout = PathBuf::from(checkout.as_str().expect("a path"));
    let approve = ["review", "approve", "t1", "--commit", &commit, "--summary", "fine"];
    for (file, text) in [("a.txt", "good\n"), ("other.txt", "another\n")] {
        write(&checkout, file, text);
        // Git is configured to skip the file.
        world.git_in(&checkout, &["update-index", "--assume-unchanged", file]);
        let error = world.refused(&team.reviewer, &approve, 1, "refused.worktree_dirty");
        assert!(error["message"].as_str().expect("text").contains(file), "{error}");
        world.refused(
            &team.reviewer,
            &["review", "discuss", "t1", "--commit", &commit, "--reason", "r", "--question", "q"],
            1,
            "refused.worktree_dirty",
        );
        world.liza(&team.reviewer, &["review", "claim", "t1"]).ok();
    }
    // Untracked files of a reviewer's own tests and a touched file are no obstacle.
    write(&checkout, "built.o", "x");
    write(&checkout, "a.txt", "evil\n");
    world.liza(&team.reviewer, &approve).ok();
}

#[test]
fn implementer_does_not_merge_own_task() {
    let world = World::new();
    let both = world.register_roles(&["coder", "code_reviewer"], "both-1");
    let reviewer = world.register("code_reviewer", "rev");
    world.approved(&both, &reviewer, "t1", "a.txt", "a\n");
    world.tier0(&both, &["merge", "t1"], "tier0.self_approval");
    assert_eq!(world.status_of("t1"), "APPROVED");
    world.approved(&both, &reviewer, "t2", "b.txt", "b\n");
    world.liza(&reviewer, &["merge", "t1"]).ok();
    world.human(&["merge", "t2"]).ok();
}

/// Git opens these by name and would wait for a pipe, or read an endless file, for ever.
#[test]
fn pipe_in_place_of_a_git_file_is_named() {
    let team = Team::new();
    let world = &team.world;
    world.task("t1", &["a.txt"]);
    for name in [
        "refs/heads/integration",
        "info/exclude",
        "info/attributes",
        "info/grafts",
        "objects/info/alternates",
        "packed-refs",
        "refs/heads/integration",
    ] {
        let path = world.path(".git").join(name);
        let kept = world.home().join("kept");
        let was_there = std::fs::rename(&path, &kept).is_ok();
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        for kind in ["pipe", "device", "endless"] {
            match kind {
                "pipe" => {
                    let mut pipe = world.command("mkfifo", &world.root);
                    assert!(pipe.arg(&path).finish_status().expect("mkfifo").success());
                }
                "device" => std::os::unix::fs::symlink("/dev/zero", &path).expect("a link"),
                _ if name.starts_with("refs/") => continue,
                _ => std::fs::File::create(&path).and_then(|file| file.set_len(20 << 30)).expect("a file"),
            }
            for args in [["doctor"].as_slice(), &["task", "claim", "t1"]] {
                let ran = world.human(args);
                assert!(ran.exit > 0, "{name} {kind} {args:?}: {ran:?}");
                let said = format!("{}{}", ran.stdout, ran.stderr);
                assert!(said.contains(name) && said.contains("remove it"), "{name} {kind} {args:?}: {said}");
            }
            std::fs::remove_file(&path).expect("removed");
        }
        if was_there {
            std::fs::rename(&kept, &path).expect("put back");
        }
    }
    world.claim(&team.coder, "t1");
    world.sound();
}
