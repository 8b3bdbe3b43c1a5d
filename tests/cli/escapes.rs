//! Texts that would act on a terminal or on the eye are stored exactly and never printed raw.

use serde_json::Value;

use crate::support::{HUMAN, Ran, Who, World, checkpoint_args};

/// Escape sequences (7 and 8 bit), a bell, DEL, direction marks, a zero-width space, a line separator, a tag.
const EVIL: &str =
    "x\u{1b}[31mR\u{1b}]0;t\u{7}\u{9b}2J\u{7f}\u{202e}gnp\u{2066}\u{200b}\u{feff}\u{2028}\u{e0041}|`<b>y";

#[track_caller]
fn clean(what: &str, text: &str) {
    for c in text.chars() {
        let fine = c == '\n' || c == '\t' || !liza::text::is_unseen(c);
        assert!(fine, "{what}: raw {:?} in {}", c, text.escape_debug());
    }
}

struct Scene {
    world: World,
    coder: Who,
    reviewer: Who,
}

/// Hostile text in every field that takes text.
fn scene() -> Scene {
    let world = World::bare_repo();
    world.human(&["init", EVIL]).ok();
    let coder = world.register("coder", "coder-1");
    let reviewer = world.register("code_reviewer", "reviewer-1");
    let add = |id: &str, path: &str| {
        let test = format!("tests/{id}.sh");
        let args = [
            "task",
            "add",
            "--id",
            id,
            "--title",
            EVIL,
            "--desc",
            EVIL,
            "--spec",
            "specs/vision.md",
            "--done",
            EVIL,
            "--tag",
            EVIL,
            "--input",
            EVIL,
            "--output",
            EVIL,
            "--in",
            path,
            "--in",
            &test,
            "--finalize",
        ];
        world.human(&args).ok();
    };
    add("t1", "a.sh");
    add("t2", "b.sh");
    add("t3", "c.sh");
    let worktree = world.claim(&coder, "t1");
    let validate = format!("printf '%s' '{EVIL}'; echo ok");
    let mut checkpoint = checkpoint_args("t1", &["a.sh", "tests/t1.sh"], &validate, EVIL);
    let intent = format!("{EVIL} and two words");
    checkpoint[4] = &intent;
    checkpoint[6] = EVIL;
    checkpoint.extend(["--assume", EVIL, "--assume-critical", EVIL]);
    world.liza(&coder, &checkpoint).ok();
    let commit = world.write_and_commit(&worktree, &[("c.sh", "x\n"), ("tests/t3.sh", "echo ok\n")]);
    world.liza(&coder, &["task", "submit", "t3"]).ok();
    world.approve(&reviewer, "t3", &commit);
    world.liza(&reviewer, &["merge", "t3"]).ok();
    clean("merge message", &world.git(&["log", "-1", "--format=%B", "integration"]));
}

#[test]
fn hostile_file_names_are_shown_escaped() {
    let world = World::new();
    let coder = world.register("coder", "coder-1");
    world.task("t1", &["a.sh"]);
    let worktree = world.claim(&coder, "t1");
    world.checkpoint(&coder, "t1", &["a.sh"]);
    let name = "evil\u{1b}[2J\u{202e}name.txt";
    std::fs::write(worktree.join(name), "x\n").unwrap();
    let listed = |ran: &Ran| {
        clean("stdout", &ran.stdout);
        clean("stderr", &ran.stderr);
        assert!(format!("{}{}", ran.stdout, ran.stderr).contains("evil"));
    };
    listed(&world.liza(&coder, &["task", "submit", "t1"]).exits(1));
    listed(&world.json(&coder, &["task", "submit", "t1"]).exits(1));
    world.write_and_commit(&worktree, &[("a.sh", "x\n")]);
    listed(&world.liza(&coder, &["task", "submit", "t1"]).exits(1));
    listed(&world.liza(&HUMAN, &["diff", "t1"]).ok());
    listed(&world.liza(&HUMAN, &["--color", "always", "--json", "diff", "t1"]).ok());
}
