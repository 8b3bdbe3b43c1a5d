//! Kills at every named point and at random moments. One ordinary command afterwards leaves a valid board
//! and completes or undoes the killed command; no acknowledged change is lost; integration is before or after the move.

use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use crate::concurrency::{go_on, signal};
use crate::store::Chance;
use crate::support::process::Bounded as _;
use crate::support::{HUMAN, Ran, Who, World, sweep};

/// The numbered steps of one commit.
const COMMIT: [&str; 9] = [
    "commit.1",
    "commit.2",
    "commit.4",
    "commit.5-appended",
    "commit.5",
    "commit.6-written",
    "commit.6",
    "commit.7",
    "commit.8",
];

/// The points of one operation: its own, and the steps of each of its commits; the short version takes every third step,
/// different ones for each commit.
pub fn points(own: &[&str], commits: usize) -> Vec<String> {
    let every = sweep(3, 1);
    let steps = (1..=commits).flat_map(|nth| {
        let steps = COMMIT.iter().enumerate().filter(move |(at, _)| (at + nth) % every == 0);
        steps.map(move |(_, step)| format!("{step}:{nth}"))
    });
    own.iter().map(|point| (*point).to_owned()).chain(steps).collect()
}

/// Whether the change of the commit in which the process died was published.
fn published(point: &str) -> bool {
    point.starts_with("commit.7") || point.starts_with("commit.8")
}

impl World {
    /// Runs liza and kills it at the point, which must be reached.
    #[track_caller]
    pub fn dies_at(&self, point: &str, who: &Who, args: &[&str]) {
        let mut command = self.liza_command(who, &self.root, args);
        command.env("LIZA_CRASH_AT", point);
        let output = command.finish().expect("liza runs");
        assert_eq!(output.status.signal(), Some(9), "{point} of {args:?} was not reached: {output:?}");
    }

    /// One ordinary command completes or undoes the killed one; then board, log and repository agree.
    #[track_caller]
    pub fn recovers(&self, after: &str) -> Ran {
        // Readers see a complete board meanwhile.
        self.human(&["validate"]).ok();
        let ran = self.human(&["note", &format!("after {after}")]);
        assert_eq!(ran.exit, 0, "{after}: {ran:?}");
        let status = self.json(&HUMAN, &["status"]).ok();
        assert_eq!(status.exit, 0);
        assert!(!self.state().contains("\n  - id: 0") && !self.has_intents(), "{after}: {}", self.state());
        self.human(&["validate"]).ok();
        let verified = self.human(&["verify"]);
        assert_eq!(verified.exit, 0, "{after}: {verified:?}");
        self.git(&["fsck", "--no-dangling", "--connectivity-only"]);
        ran
    }

    fn has_intents(&self) -> bool {
        !self.state().contains("\nintents: []\n")
    }
}

/// A world that can be restored to this state, at the same path (git records absolute paths).
pub struct Saved<'w> {
    world: &'w World,
    copy: PathBuf,
}

impl<'w> Saved<'w> {
    pub fn of(world: &'w World) -> Self {
        let copy = world.home().join("saved");
        copy_tree(&world.root, &copy);
        Self { world, copy }
    }

    pub fn restore(&self) {
        std::fs::remove_dir_all(&self.world.root).expect("removed");
        copy_tree(&self.copy, &self.world.root);
    }
}

fn copy_tree(from: &Path, to: &Path) {
    let status =
        std::process::Command::new("cp").arg("-a").arg(from).arg(to).finish_status().expect("cp runs");
    assert!(status.success());
}

pub struct People {
    pub coder: Who,
    pub other: Who,
    pub reviewer: Who,
}

pub fn people(world: &World) -> People {
    People {
        coder: world.register("coder", "coder-1"),
        other: world.register("coder", "coder-2"),
        reviewer: world.register("code_reviewer", "reviewer-1"),
    }
}

/// A task `t1` that is approved, and an idle `t2`.
pub fn approved(world: &World) -> (People, String) {
    let people = people(world);
    world.task("t1", &["a.txt", "tests/test_t1.sh"]);
    let commit = world.submit_work(&people.coder, "t1", "a.txt", "hello\n");
    world.approve(&people.reviewer, "t1", &commit);
    world.task("t2", &["b.txt"]);
    (people, commit)
}

#[test]
fn killed_init_recovers_at_any_step() {
    for point in ["init.prepared", "init.image", "init.log", "init.state"] {
        let world = World::bare_repo();
        world.dies_at(point, &HUMAN, &["init", "A goal"]);
        if point == "init.state" {
            world.human(&["init", "A goal"]).exits(1);
        } else {
            assert_ne!(world.human(&["status"]).exit, 0, "{point}: there is no board yet");
            // With another text, to see that no trace of the first try is left.
            world.human(&["init", "Another goal"]).ok();
            assert!(world.state().contains("Another goal"), "{point}");
        }
        world.recovers(point);
        assert_eq!(world.git(&["status", "--porcelain"]), "?? liza.yaml");
    }
}

#[test]
fn init_refuses_board_whose_state_is_lost() {
    let world = World::new();
    std::fs::remove_file(world.path(".liza/state.yaml")).expect("removed");
    world.human(&["init", "Another goal"]).exits(1);
    std::fs::remove_file(world.path(".liza/state.yaml.lock")).expect("removed");
    // Now only the first record is left, and no mark says that it was published: doctor can still restore it.
    world.human(&["doctor", "--fix"]).ok();
    assert!(world.state().contains("A greeting program"));
    world.human(&["note", "more than one record"]).ok();
    std::fs::remove_file(world.path(".liza/state.yaml")).expect("removed");
    std::fs::remove_file(world.path(".liza/state.yaml.lock")).expect("removed");
    world.human(&["init", "Another goal"]).exits(1);
    world.human(&["doctor", "--fix"]).ok();
    assert!(world.state().contains("more than one record"));
    world.sound();
}

#[test]
fn killed_commit_recovers_at_any_step() {
    let world = World::new();
    for (round, point) in COMMIT.iter().enumerate() {
        let text = format!("note of round {round}");
        let before = world.state();
        world.dies_at(point, &HUMAN, &["note", &text]);
        let there = world.state().contains(&text);
        assert_eq!(there, published(point), "{point}");
        if !there {
            assert_eq!(world.state(), before, "{point}: not a byte is different");
        }
        let ran = world.recovers(point);
        let torn = point.starts_with("commit.5") || point.starts_with("commit.6");
        assert_eq!(ran.stderr.contains("set aside"), torn, "{point}: {}", ran.stderr);
        assert_eq!(world.state().contains(&text), there, "{point}");
        world.human(&["note", &text]).ok();
        world.revisions_are_contiguous();
    }
}

/// Boards with few images, so that each commit reuses the file of one.
const FEW: [(&str, &str); 1] = [("LIZA_TEST_FEW_IMAGES", "1")];

#[test]
fn killed_commit_over_image_recovers_at_any_step() {
    let world = World::new();
    let note = |text: &str| {
        let mut command = world.liza_command(&HUMAN, &world.root, &["note", text]);
        command.envs(FEW);
        command
    };
    for round in 0..6 {
        assert!(note(&format!("before {round}")).finish().expect("liza runs").status.success());
    }
    for point in COMMIT.iter().chain(&["commit.4-room"]) {
        let text = format!("note that dies at {point}");
        let mut command = note(&text);
        command.env("LIZA_CRASH_AT", point);
        let output = command.finish().expect("liza runs");
        assert_eq!(output.status.signal(), Some(9), "{point} was not reached: {output:?}");
        assert_eq!(world.state().contains(&text), published(point), "{point}");
        world.recovers(point);
        // The killed command may have removed an image.
        assert!(note("once more").finish().expect("liza runs").status.success());
        assert!(note("and again").finish().expect("liza runs").status.success());
    }
}

#[test]
fn expired_image_file_is_reused_unless_linked() {
    use std::os::unix::fs::MetadataExt as _;
    let world = World::new();
    let note = |text: &str| world.liza_with(&HUMAN, &["note", text], b"", &FEW).ok();
    let images = || {
        let names = std::fs::read_dir(world.path(".liza/images")).expect("images").flatten();
        let mut all: Vec<u64> = names
            .filter_map(|entry| entry.file_name().to_str()?.strip_suffix(".yaml")?.parse().ok())
            .collect();
        all.sort_unstable();
        all
    };
    let inode = |path: &str| std::fs::metadata(world.path(path)).expect("a file").ino();
    (0..6).for_each(|round| drop(note(&format!("note {round}"))));
    let oldest = images()[0];
    assert_eq!(images().len(), 4);
    let free = inode(&format!(".liza/images/{oldest}.yaml"));
    note("longer than what stood there before, so that nothing of it is left behind");
    assert_eq!(inode(".liza/state.yaml"), free);
    assert_eq!(images(), (oldest + 1..oldest + 5).collect::<Vec<_>>());
    // A person keeps the oldest image under another name: its bytes stay.
    let oldest = world.path(&format!(".liza/images/{}.yaml", images()[0]));
    let (kept, bytes) = (world.home().join("kept.yaml"), std::fs::read(&oldest).expect("an image"));
    std::fs::hard_link(&oldest, &kept).expect("a link");
    note("another file is written");
    assert!(!oldest.exists() && std::fs::read(&kept).expect("kept") == bytes);
    assert_ne!(inode(".liza/state.yaml"), std::fs::metadata(&kept).expect("kept").ino());
    // A shorter board leaves no bytes of the longer one in the reused file.
    world.human(&["verify"]).ok();
    world.sound();
}

#[test]
fn killed_claim_recovers_at_any_step() {
    let world = World::new();
    let people = people(&world);
    world.task("t1", &["a.txt"]);
    let saved = Saved::of(&world);
    for point in points(&["claim.begun", "claim.registered", "claim.added", "claim.made"], 2) {
        saved.restore();
        world.dies_at(&point, &people.coder, &["task", "claim", "t1"]);
        world.recovers(&point);
        let finished = published(&point) && point.ends_with(":2");
        assert_eq!(world.status_of("t1"), if finished { "WORKING" } else { "IDLE" }, "{point}");
        let holder = if finished {
            people.coder.clone()
        } else {
            // No partial directory is left that looks like a worktree.
            let left: Vec<_> = worktrees(&world);
            assert!(left.is_empty(), "{point}: {left:?}");
            world.claim(&people.other, "t1");
            people.other.clone()
        };
        world.checkpoint(&holder, "t1", &["a.txt"]);
        world.sound();
    }
}

fn worktrees(world: &World) -> Vec<PathBuf> {
    std::fs::read_dir(world.path(".worktrees"))
        .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
        .unwrap_or_default()
}

#[test]
fn killed_submit_and_review_recover_at_any_step() {
    let world = World::new();
    let people = people(&world);
    world.task("t1", &["a.txt", "tests/"]);
    let worktree = world.claim(&people.coder, "t1");
    world.checkpoint(&people.coder, "t1", &["a.txt", "tests/t.sh"]);
    let commit = world.write_and_commit(&worktree, &[("a.txt", "a\n"), ("tests/t.sh", "true\n")]);
    let saved = Saved::of(&world);
    for point in points(&["submit.validated"], 1) {
        saved.restore();
        world.dies_at(&point, &people.coder, &["task", "submit", "t1"]);
        world.recovers(&point);
        if published(&point) {
            assert_eq!(world.status_of("t1"), "READY_FOR_REVIEW", "{point}");
        } else {
            assert_eq!(world.status_of("t1"), "WORKING", "{point}");
            world.liza(&people.coder, &["task", "submit", "t1"]).ok();
        }
        assert_eq!(world.show("t1")["review_commit"], commit.as_str(), "{point}");
    }
    saved.restore();
    world.liza(&people.coder, &["task", "submit", "t1"]).ok();
    let saved = Saved { world: &world, copy: world.home().join("submitted") };
    copy_tree(&world.root, &saved.copy);
    for point in points(&["review.started", "checkout.registered"], 1) {
        saved.restore();
        world.dies_at(&point, &people.reviewer, &["review", "claim", "t1"]);
        world.recovers(&point);
        let data = world.json(&people.reviewer, &["review", "claim", "t1"]).ok().data();
        let checkout = PathBuf::from(data["checkout"].as_str().expect("a checkout"));
        assert_eq!(world.git_in(&checkout, &["rev-parse", "HEAD"]), commit, "{point}");
        let approve = ["review", "approve", "t1", "--commit", &commit, "--summary", "fine"];
        world.liza(&people.reviewer, &approve).ok();
    }
    for point in points(&[], 1) {
        saved.restore();
        world.liza(&people.reviewer, &["review", "claim", "t1"]).ok();
        let approve = ["review", "approve", "t1", "--commit", &commit, "--summary", "fine"];
        world.dies_at(&point, &people.reviewer, &approve);
        world.recovers(&point);
        if !published(&point) {
            world.liza(&people.reviewer, &approve).ok();
        }
        assert_eq!(world.status_of("t1"), "APPROVED", "{point}");
    }
}

/// Board and branch agree about the merge of `t1`.
#[track_caller]
fn before_or_after(world: &World, before: &str, commit: &str, what: &str) -> bool {
    let head = world.git(&["rev-parse", "integration"]);
    match world.status_of("t1").as_str() {
        "APPROVED" => {
            assert_eq!(head, before, "{what}");
            false
        }
        "MERGED" => {
            assert_eq!(world.git(&["merge-base", commit, &head]), commit, "{what}");
            assert_eq!(world.show("t1")["merge"]["commit"], head.as_str(), "{what}");
            true
        }
        other => panic!("{what}: {other}"),
    }
}

#[test]
fn killed_merge_recovers_at_any_step() {
    let world = World::new();
    let (people, commit) = approved(&world);
    let before = world.git(&["rev-parse", "integration"]);
    let saved = Saved::of(&world);
    let own = ["merge.begun", "merge.commit", "merge.recorded", "merge.moved", "merge.synced"];
    for point in points(&own, 3) {
        saved.restore();
        world.dies_at(&point, &people.reviewer, &["merge", "t1"]);
        world.recovers(&point);
        let merged = before_or_after(&world, &before, &commit, &point);
        let moved = matches!(&*point, "merge.moved" | "merge.synced") || point.ends_with(":3");
        assert_eq!(merged, moved, "{point}");
        if !merged {
            world.liza(&people.reviewer, &["merge", "t1"]).ok();
        }
        assert!(before_or_after(&world, &before, &commit, &point));
        assert_eq!(world.git(&["rev-list", "--count", &format!("{before}..integration")]), "2", "{point}");
        world.sound();
    }
}

#[test]
fn killed_advance_recovers_at_any_step() {
    let world = World::new();
    let before = world.git(&["rev-parse", "integration"]);
    world.write("more.md", "more\n");
    world.git(&["add", "more.md"]);
    world.git(&["commit", "-q", "-m", "by hand"]);
    let wanted = world.git(&["rev-parse", "main"]);
    let saved = Saved::of(&world);
    let advance = ["integration", "advance", "main", "--reason", "take it in"];
    for point in points(&["move.begun", "move.recorded", "move.moved"], 3) {
        saved.restore();
        world.dies_at(&point, &HUMAN, &advance);
        world.recovers(&point);
        let head = world.git(&["rev-parse", "integration"]);
        let moved = point == "move.moved" || point.ends_with(":3");
        assert_eq!(head, if moved { &*wanted } else { &*before }, "{point}");
        if !moved {
            world.human(&advance).ok();
        }
        assert_eq!(world.git(&["rev-parse", "integration"]), wanted, "{point}");
        world.sound();
    }
}

#[test]
fn killed_recovery_recovers_at_any_step() {
    let world = World::new();
    let (people, commit) = approved(&world);
    let before = world.git(&["rev-parse", "integration"]);
    let saved = Saved::of(&world);
    let deaths: [(&str, &Who, &[&str]); 3] = [
        ("claim.added", &people.other, &["task", "claim", "t2"]),
        ("merge.recorded", &people.reviewer, &["merge", "t1"]),
        ("merge.moved", &people.reviewer, &["merge", "t1"]),
    ];
    for (first, who, args) in deaths {
        // The points of the note's own commit, of taking over the intent, and of its outcome.
        for point in points(&["recover.taken"], 3) {
            saved.restore();
            world.dies_at(first, who, args);
            world.dies_at(&point, &HUMAN, &["note", "recovering"]);
            world.recovers(&format!("{first}, then {point}"));
            assert_eq!(world.status_of("t2"), "IDLE");
            let merged = before_or_after(&world, &before, &commit, &point);
            assert_eq!(merged, first == "merge.moved", "{first}, {point}");
        }
    }
    world.claim(&people.other, "t2");
}

#[test]
fn killed_repair_recovers_at_any_step() {
    let world = World::new();
    let people = people(&world);
    world.task("t1", &["a.txt"]);
    // A record that was never published, found by commands that are killed as well.
    for point in COMMIT {
        world.dies_at("commit.5", &HUMAN, &["note", "never"]);
        world.dies_at(point, &HUMAN, &["note", "also"]);
        world.recovers(point);
        assert!(!world.state().contains("never"));
    }
    // An edit by hand, adopted by a command that is killed.
    for point in points(&[], 2).into_iter().filter(|point| !matches!(&**point, "commit.1:2" | "commit.2:2")) {
        let edited = world.state().replace("A greeting program", "A program for greetings");
        world.write(".liza/state.yaml", &edited);
        world.dies_at(&point, &HUMAN, &["note", "adopting"]);
        world.human(&["note", "next"]).ok();
        assert!(world.state().contains("A program for greetings"), "{point}");
        world.sound();
        world.write(
            ".liza/state.yaml",
            &world.state().replace("A program for greetings", "A greeting program"),
        );
        world.human(&["note", "and back"]).ok();
        world.sound();
    }
    world.claim(&people.coder, "t1");
}

#[test]
fn kill_at_any_moment_is_recovered() {
    let world = World::new();
    let (people, commit) = approved(&world);
    let before = world.git(&["rev-parse", "integration"]);
    let saved = Saved::of(&world);
    let mut chance = Chance::seeded(42);
    let mut killed = 0;
    for round in 0..30 {
        saved.restore();
        let merging = round % 2 == 0;
        let (who, args): (&Who, &[&str]) = if merging {
            (&people.reviewer, &["merge", "t1"])
        } else {
            (&people.other, &["task", "claim", "t2"])
        };
        let mut command = world.liza_command(who, &world.root, args);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).start().expect("liza starts");
        // Not a synchronisation: the sleep only makes the point of the kill arbitrary.
        std::thread::sleep(Duration::from_micros(chance.below(120_000) as u64));
        let _ = child.kill();
        let status = child.wait().expect("it ends");
        killed += u32::from(status.signal() == Some(9));
        // Its git process may still be running; liza must handle that, too.
        world.human(&["note", "afterwards"]).ok();
        world.human(&["validate"]).ok();
        if merging {
            if world.status_of("t1") != "MERGED" {
                // It is refused only if the git of the killed command still ran and this command found its merge landed.
                drop(world.liza(&people.reviewer, &["merge", "t1"]));
            }
            assert_eq!(world.status_of("t1"), "MERGED", "round {round}");
            let head = world.git(&["rev-parse", "integration"]);
            assert_ne!(head, before);
            assert_eq!(world.git(&["merge-base", &commit, &head]), commit);
        } else if world.status_of("t2") != "WORKING" {
            world.claim(&people.coder, "t2");
        }
        world.sound();
    }
    eprintln!("{killed} of 30 were killed before they had ended");
}

#[test]
fn every_crash_point_and_branch_position_recovers() {
    let world = World::new();
    let (people, commit) = approved(&world);
    let old = world.git(&["rev-parse", "integration"]);
    world.git(&["checkout", "-q", "-b", "elsewhere"]);
    world.write("c.txt", "by a person\n");
    world.git(&["add", "c.txt"]);
    world.git(&["commit", "-q", "-m", "elsewhere"]);
    world.git(&["checkout", "-q", "main"]);
    let elsewhere = world.git(&["rev-parse", "elsewhere"]);
    let saved = Saved::of(&world);
    let mut tried = 0;
    for cut in ["merge.begun", "merge.commit", "merge.recorded", "merge.moved"] {
        for place in ["old", "new", "elsewhere"] {
            saved.restore();
            world.dies_at(cut, &people.reviewer, &["merge", "t1"]);
            let made = world.git(&["for-each-ref", "--format=%(objectname)", "refs/liza/merges"]);
            let to = match place {
                "old" => old.clone(),
                "elsewhere" => elsewhere.clone(),
                // Before the merge commit is made, only a person's fast-forward can have moved the branch.
                _ if made.is_empty() => commit.clone(),
                _ => made,
            };
            world.git(&["update-ref", "refs/heads/integration", &to]);
            let what = format!("{cut}, branch at {place}");
            let mut seen = Vec::new();
            for _ in 0..3 {
                // A branch moved by hand stays a finding; the interrupted merge is completed all the same.
                let doctor = world.human(&["doctor", "--fix"]);
                assert!(doctor.exit <= 1, "{what}: {}", doctor.stderr);
                world.human(&["note", "again"]).ok();
                world.human(&["validate"]).ok();
                assert!(!world.has_intents(), "{what}");
                assert_eq!(world.git(&["rev-parse", "integration"]), to, "{what}: recovery moves no branch");
                seen.push(world.status_of("t1"));
            }
            let recorded = matches!(cut, "merge.recorded" | "merge.moved");
            let wanted = if recorded && place == "new" { "MERGED" } else { "APPROVED" };
            assert_eq!(seen, [wanted; 3], "{what}");
            if wanted == "APPROVED" && place != "old" {
                // Nothing lands on a branch moved by hand until a person accepts it.
                let halted = world.liza(&people.reviewer, &["merge", "t1"]).exits(6);
                assert!(halted.stderr.contains("liza did not move it"), "{what}: {}", halted.stderr);
                world.human(&["verify"]).exits(6);
                world.human(&["integration", "advance", "integration", "--reason", "it is right"]).ok();
            }
            if wanted == "APPROVED" {
                world.liza(&people.reviewer, &["merge", "t1"]).ok();
            }
            assert_eq!(world.status_of("t1"), "MERGED", "{what}");
            let head = world.git(&["rev-parse", "integration"]);
            for part in [&commit, &to] {
                assert_eq!(&world.git(&["merge-base", part, &head]), part, "{what}: nothing was forced");
            }
            world.sound();
            tried += 1;
        }
    }
    assert_eq!(tried, 12);
}

#[test]
fn branch_lock_of_dead_git_stops_no_merge() {
    let world = World::new();
    let (people, _) = approved(&world);
    let saved = Saved::of(&world);
    let lock = world.path(".git/refs/heads/integration.lock");
    for text in ["", "half", "whole"] {
        saved.restore();
        world.dies_at("merge.recorded", &people.reviewer, &["merge", "t1"]);
        let new = world.git(&["for-each-ref", "--format=%(objectname)", "refs/liza/merges"]);
        let left = match text {
            "half" => &new[..20],
            "whole" => &new,
            _ => "",
        };
        std::fs::write(&lock, left).expect("written");
        world.recovers(text);
        assert!(!lock.exists());
        world.liza(&people.reviewer, &["merge", "t1"]).ok();
    }
    // A lock of another program is named and left alone.
    saved.restore();
    world.dies_at("merge.recorded", &people.reviewer, &["merge", "t1"]);
    let theirs = format!("{}\n", world.git(&["rev-parse", "main"]));
    std::fs::write(&lock, &theirs).expect("written");
    world.human(&["note", "afterwards"]).ok();
    let ran = world.liza(&people.reviewer, &["merge", "t1"]).exits(8);
    assert!(ran.stderr.contains("integration.lock"), "{}", ran.stderr);
    assert_eq!(std::fs::read_to_string(&lock).expect("text"), theirs);
    std::fs::remove_file(&lock).expect("removed");
    world.liza(&people.reviewer, &["merge", "t1"]).ok();
    world.sound();
}

/// What a kill inside `git worktree add` can leave: git fails in the whole repository.
fn plant_half_made(world: &World, name: &str) {
    let record = world.path(&format!(".git/worktrees/{name}"));
    std::fs::create_dir_all(&record).expect("made");
    let gitdir = world.path(&format!(".worktrees/{name}/.git"));
    std::fs::write(record.join("gitdir"), format!("{}\n", gitdir.display())).expect("written");
    std::fs::write(record.join("HEAD"), "ref: refs/heads/main\n").expect("written");
    std::fs::write(record.join("commondir"), "").expect("written");
    let mut command = world.command("git", &world.root);
    assert!(!command.arg("branch").finish().expect("git runs").status.success(), "this is what breaks git");
}

#[test]
fn claim_and_doctor_repair_empty_commondir() {
    let world = World::new();
    let (people, _) = approved(&world);
    plant_half_made(&world, "t2");
    world.human(&["doctor"]).exits(1);
    world.claim(&people.other, "t2");
    world.git(&["branch"]);
    plant_half_made(&world, "x");
    world.human(&["doctor", "--fix"]).ok();
    world.git(&["branch"]);
    world.human(&["doctor"]).ok();
    // A merge or a review meets the same damage: it works, or reports it and works after `doctor --fix`.
    plant_half_made(&world, "y");
    let merged = world.liza(&people.reviewer, &["merge", "t1"]);
    if merged.exit != 0 {
        assert_eq!(merged.exit, 8, "{merged:?}");
        assert_eq!(world.status_of("t1"), "APPROVED");
        world.human(&["doctor", "--fix"]).ok();
        world.liza(&people.reviewer, &["merge", "t1"]).ok();
    }
    world.human(&["doctor", "--fix"]).ok();
    world.sound();
}

#[test]
fn claim_of_killed_process_is_fenced() {
    let world = World::new();
    let people = people(&world);
    world.task("t1", &["a.txt"]);
    // The process lives, although it does nothing: no other process may end its intent.
    let slow = world.stopped_at(&people.coder, "claim.added", &["task", "claim", "t1"]);
    world.human(&["note", "meanwhile"]).ok();
    world.liza(&people.other, &["task", "claim", "t1"]).exits(3);
    assert_eq!(world.status_of("t1"), "WORKING");
    go_on(slow).ok();
    world.checkpoint(&people.coder, "t1", &["a.txt"]);
    // It is stopped again and then killed: now it is dead.
    world.task("t2", &["b.txt"]);
    let slow = world.stopped_at(&people.other, "claim.added", &["task", "claim", "t2"]);
    signal(slow.id(), "KILL");
    let _ = slow.wait_with_output();
    world.recovers("a stopped process that was killed");
    world.claim(&people.other, "t2");
    world.sound();
}
