//! Texts with control or invisible characters are stored exactly and never printed raw.

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

/// Hostile text in every text field.
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
    let commit =
        world.write_and_commit(&worktree, &[("a.sh", &format!("{EVIL}\n")), ("tests/t1.sh", "echo ok\n")]);
    world.liza(&coder, &["task", "submit", "t1"]).ok();
    world.liza(&reviewer, &["review", "claim", "t1"]).ok();
    let (issue, unsure) = (format!("major:a.sh:1:{EVIL}"), format!("2=not_checked: {EVIL}"));
    let reject = ["review", "reject", "t1", "--commit", &commit, "--reason", EVIL, "--issue", &issue];
    let answers = ["--assumption", "1=held", "--assumption", &unsure];
    world.liza(&reviewer, &[&reject[..], &answers[..]].concat()).ok();
    world.claim(&coder, "t1");
    world.liza(&coder, &["task", "handoff", "t1", "--summary", EVIL, "--next", EVIL]).ok();
    world.human(&["note", EVIL]).ok();
    world.human(&["anomaly", "spec_ambiguity", "--task", "t1", "--detail", &format!("question={EVIL}")]).ok();
    world.human(&["discover", EVIL, "--task", "t1", "--severity", "minor", "--urgency", "immediate"]).ok();
    world.human(&["spec-change", EVIL, "--spec", "specs/vision.md"]).ok();
    world.human(&["task", "block", "t2", "--reason", EVIL, "--question", EVIL]).ok();
    world.human(&["task", "block", "t3", "--reason", EVIL, "--question", EVIL]).ok();
    world.human(&["task", "unblock", "t3", "--answer", EVIL]).ok();
    world.human(&["pause", "--task", "t2", "--reason", EVIL]).ok();
    Scene { world, coder, reviewer }
}

#[test]
fn every_command_escapes_hostile_text() {
    let Scene { world, coder, reviewer } = scene();
    let planner = world.register("planner", "planner-1");
    let paths: Vec<(&Who, Vec<&str>)> = vec![
        (&HUMAN, vec!["status"]),
        (&HUMAN, vec!["status", "--all"]),
        (&HUMAN, vec!["task", "list"]),
        (&HUMAN, vec!["task", "show", "t1"]),
        (&HUMAN, vec!["task", "show", "t2"]),
        (&HUMAN, vec!["task", "show", "t3"]),
        (&HUMAN, vec!["task", "show", "t1", "--feedback"]),
        (&HUMAN, vec!["task", "show", "t3", "--feedback"]),
        (&HUMAN, vec!["log", "-n", "1000"]),
        (&HUMAN, vec!["log", "--task", "t1"]),
        (&HUMAN, vec!["graph"]),
        (&HUMAN, vec!["graph", "--format", "mermaid"]),
        (&HUMAN, vec!["graph", "--format", "dot"]),
        (&HUMAN, vec!["graph", "--format", "json"]),
        (&HUMAN, vec!["inbox"]),
        (&HUMAN, vec!["diff", "t1"]),
        (&HUMAN, vec!["validate"]),
        (&HUMAN, vec!["verify"]),
        (&HUMAN, vec!["doctor"]),
        (&HUMAN, vec!["agent", "list"]),
        (&HUMAN, vec!["init", EVIL]),
        (&planner, vec!["next", "--role", "planner"]),
        (&coder, vec!["task", "claim", "t2"]),
        (&reviewer, vec!["merge", "t2"]),
        (&coder, vec!["task", "submit", "t1"]),
        // Errors repeat typed arguments.
        (&HUMAN, vec!["task", "show", EVIL]),
        (&HUMAN, vec!["task", "add", "--id", "n", "--title", "t", "--in", EVIL]),
        (&HUMAN, vec!["task", "add", "--id", "n", "--title", "t", "--spec", EVIL]),
        (&HUMAN, vec!["task", "add", "--id", "n", "--title", "t", "--kind", EVIL]),
        (&HUMAN, vec!["task", "list", "--status", EVIL]),
        (&HUMAN, vec!["agent", "register", "--role", EVIL]),
        (&HUMAN, vec!["schema", EVIL]),
        (&HUMAN, vec!["anomaly", EVIL, "--task", "t1"]),
        (&HUMAN, vec!["integration", "advance", EVIL, "--reason", "r"]),
        (&HUMAN, vec!["deliver", "--to", EVIL]),
        (&HUMAN, vec!["plan", EVIL]),
        (&HUMAN, vec!["note", "--request-id", EVIL, "x"]),
        (&HUMAN, vec!["--board", EVIL, "status"]),
        (&HUMAN, vec![EVIL]),
        (&HUMAN, vec!["graph", "--format", EVIL]),
        (&HUMAN, vec!["task", EVIL]),
        (&HUMAN, vec!["validate", EVIL]),
    ];
    for (who, args) in paths {
        let text: Ran = world.liza(who, &args);
        let label =
            format!("{:?}", args.iter().map(|arg| arg.escape_debug().to_string()).collect::<Vec<_>>());
        clean(&format!("{label} stdout"), &text.stdout);
        clean(&format!("{label} stderr"), &text.stderr);
        let json = world.json(who, &args);
        clean(&format!("{label} --json"), &json.stdout);
        clean(&format!("{label} --json stderr"), &json.stderr);
        serde_json::from_str::<Value>(&json.stdout).unwrap_or_else(|error| panic!("{label}: {error}"));
    }
    // Environment variables are foreign text, too.
    for env in
        [("LIZA_AGENT_ID", EVIL), ("LIZA_CLAIM", EVIL), ("LIZA_AGENT_TOKEN_FILE", EVIL), ("LIZA_DIR", EVIL)]
    {
        let ran = world.liza_with(&HUMAN, &["note", "x"], b"", &[env]);
        clean(&format!("{env:?}"), &ran.stderr);
    }
}

#[test]
fn hostile_text_is_stored_unchanged() {
    let Scene { world, .. } = scene();
    let task = world.show("t1");
    assert_eq!((task["title"].as_str(), task["description"].as_str()), (Some(EVIL), Some(EVIL)));
    assert_eq!(task["rejection_reason"], EVIL);
    assert_eq!(world.json(&HUMAN, &["status"]).ok().data()["goal"], EVIL);
    assert_eq!(world.json(&HUMAN, &["inbox"]).ok().data()["human_notes"][0]["text"], EVIL);
    // The files themselves hold it escaped, so that `cat` and `grep` are safe.
    clean("state.yaml", &world.state());
    clean("log.yaml", &world.read(".liza/log.yaml"));
    world.sound();
}

#[test]
fn report_and_merge_message_are_escaped() {
    let Scene { world, coder, reviewer } = scene();
    let data = world.json(&HUMAN, &["checkpoint", "--reason", EVIL]).ok().data();
    let report = std::fs::read_to_string(data["report"].as_str().unwrap()).unwrap();
    clean("report", &report);
    assert!(!report.contains("<b>"), "markup of the text must not act: {report}");
    // A table row has as many cells as its header.
    let cells = |line: &str| line.replace("\\|", "").matches('|').count();
    let rows: Vec<&str> = report.lines().filter(|line| line.starts_with('|')).collect();
    assert!(rows.len() >= 5 && rows.iter().all(|row| cells(row) == cells(rows[0])), "{rows:?}");
    world.human(&["resume"]).ok();
    let worktree = world.claim(&coder, "t3");
    world.checkpoint(&coder, "t3", &["c.sh", "tests/t3.sh"]);
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
