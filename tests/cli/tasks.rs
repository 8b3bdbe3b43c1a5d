//! Tasks on the board as commands: adding, finalizing, listing. The rules are tested in src/flow/tests/tasks.rs.

use serde_json::json;

use crate::support::{HUMAN, World};

#[test]
fn task_add_keeps_every_flag_value() {
    let world = World::new();
    world.task("t0", &["old/"]);
    world
        .human(&[
            "task",
            "add",
            "--id",
            "T-1_a",
            "--title",
            "Greet by name",
            "--desc",
            "Says hello",
            "--spec",
            "specs/vision.md#names",
            "--done",
            "prints Hello, Ada",
            "--done",
            "exits 0",
            "--in",
            "src/",
            "--in",
            "tests/*.sh",
            "--out",
            "src/legacy/",
            "--owns",
            "src/greet.sh",
            "--depends",
            "t0",
            "--priority",
            "-7",
            "--kind",
            "docs",
            "--risk",
            "high",
            "--parent",
            "t0",
            "--tag",
            "ui",
            "--input",
            "names.txt",
            "--output",
            "greet.sh",
        ])
        .ok();
    let task = world.show("T-1_a");
    for (key, wanted) in [
        ("status", json!("DRAFT")),
        ("title", json!("Greet by name")),
        ("description", json!("Says hello")),
        ("spec_ref", json!("specs/vision.md#names")),
        ("done_when", json!(["prints Hello, Ada", "exits 0"])),
        ("scope", json!({ "in": ["src/", "tests/*.sh"], "out": ["src/legacy/"] })),
        ("owns", json!(["src/greet.sh"])),
        ("depends_on", json!(["t0"])),
        ("priority", json!(-7)),
        ("kind", json!("docs")),
        ("risk", json!("high")),
        ("parent", json!("t0")),
        ("tags", json!(["ui"])),
        ("inputs", json!(["names.txt"])),
        ("expected_outputs", json!(["greet.sh"])),
        ("created_by", json!("human")),
        ("epoch", json!(0)),
    ] {
        assert_eq!(task[key], wanted, "{key}");
    }
    // Without --owns, the task owns its scope.
    assert_eq!(world.show("t0")["owns"], json!(["old/"]));
    world.sound();
}

#[test]
fn task_text_comes_from_file_or_stdin() {
    let world = World::new();
    let long = "line one\n\n  - \"quoted\": #not a comment\n\ttab\n";
    world.write("long.txt", long);
    let add = ["task", "add", "--id", "t1", "--title", "t", "--desc", "@long.txt", "--done", "@long.txt"];
    world.human(&add).ok();
    assert_eq!(world.show("t1")["description"], long.strip_suffix('\n').unwrap());
    let ran = world.json_stdin(&HUMAN, &["task", "add", "--id", "t2", "--title", "t", "--desc", "-"], "a\nb");
    ran.ok();
    assert_eq!(world.show("t2")["description"], "a\nb");
    world.refused(&HUMAN, &["task", "add", "--id", "t3", "--title", "@no-such"], 2, "usage.input");
    for bad in [b"\xff\xfe".as_slice(), b"a\0b"] {
        let ran = world.liza_with(&HUMAN, &["--json", "task", "add", "--id", "t3", "--title", "-"], bad, &[]);
        assert_eq!((ran.exit, ran.code().as_str()), (2, "usage.input"));
    }
    assert_eq!(world.tasks().len(), 2);
}

#[test]
fn task_can_be_read_from_yaml_or_json() {
    let world = World::new();
    let yaml = "id: y1\ntitle: From YAML\nspec_ref: specs/vision.md\ndone_when:\n  - works\nscope:\n  in: [src/]\n  out: [src/x.sh]\npriority: 3\n";
    world.json_stdin(&HUMAN, &["task", "add", "--from", "-", "--finalize"], yaml).ok();
    let task = world.show("y1");
    assert_eq!((&task["status"], &task["priority"]), (&json!("IDLE"), &json!(3)));
    assert_eq!(task["scope"]["out"], json!(["src/x.sh"]));
    let text = json!({ "id": "j1", "title": "From JSON", "spec": "specs/vision.md", "done_when": ["works"],
        "scope": { "in": ["docs/"] }, "dependencies": ["y1"] });
    world.write("task.json", &text.to_string());
    world.human(&["task", "add", "--from", "task.json", "--finalize"]).ok();
    assert_eq!(world.show("j1")["depends_on"], json!(["y1"]));
    for (bad, why) in [
        ("id: x\ntitle: t\nstatus: APPROVED\n", "status"),
        ("id: x\ntitle: t\nid: y\n", "id"),
        ("id: x\n", "title"),
        ("id: ../x\ntitle: t\n", "../x"),
        ("id: &a x\ntitle: *a\n", "anchor"),
        ("[1, 2]", ""),
        ("", ""),
        ("id: x\ntitle: t\nscope:\n  in: [../up]\n", "../up"),
    ] {
        let before = world.bytes();
        let ran = world.json_stdin(&HUMAN, &["task", "add", "--from", "-"], bad);
        assert!(matches!(ran.exit, 1 | 2), "{bad:?}: {} {}", ran.exit, ran.stdout);
        assert!(ran.stdout.contains(why), "{bad:?}: {}", ran.stdout);
        assert!(world.bytes() == before, "{bad:?}");
    }
}

#[test]
fn special_characters_in_values_stay_literal() {
    let world = World::new();
    let coder = world.register("coder", "coder-1");
    let reviewer = world.register("code_reviewer", "reviewer-1");
    // A leading dash, blanks, quotes and non-ASCII letters in paths and titles, up to the merge.
    world
        .human(&[
            "task",
            "add",
            "--id",
            "t1",
            "--title=--force \"x\" $(id) #5",
            "--spec",
            "specs/vision.md",
            "--done=-n",
            "--in=-rf",
            "--in=größe 東京.txt",
            "--in=it's \"here\".txt",
            "--finalize",
            "--kind",
            "docs",
        ])
        .ok();
    let worktree = world.claim(&coder, "t1");
    world
        .liza(
            &coder,
            &[
                "task",
                "checkpoint",
                "t1",
                "--intent=--all of the odd files",
                "--risks=-",
                "--validate",
                "ls -- -rf",
                "--expect=-rf",
                "--file=-rf",
                "--file=größe 東京.txt",
                "--file=it's \"here\".txt",
            ],
        )
        .exits(1); // an empty standard input is no text of a risk
    world
        .liza(
            &coder,
            &[
                "task",
                "checkpoint",
                "t1",
                "--intent=--all of the odd files",
                "--risks=--none",
                "--validate",
                "ls -- -rf",
                "--expect=-rf",
                "--file=-rf",
                "--file=größe 東京.txt",
                "--file=it's \"here\".txt",
            ],
        )
        .ok();
    let commit = world.write_and_commit(
        &worktree,
        &[("-rf", "a\n"), ("größe 東京.txt", "b\n"), ("it's \"here\".txt", "c\n")],
    );
    world.liza(&coder, &["task", "submit", "t1"]).ok();
    world.approve(&reviewer, "t1", &commit);
    world.liza(&reviewer, &["merge", "t1"]).ok();
    assert_eq!(world.git(&["show", "integration:größe 東京.txt"]), "b");
    let subject = world.git(&["log", "-1", "--format=%s", "integration"]);
    assert!(subject.contains("--force \"x\" $(id) #5"), "{subject}");
    world.sound();
}

#[test]
fn task_list_applies_its_filters() {
    let world = World::new();
    let coder = world.register("coder", "coder-1");
    world.task("t1", &["a/"]);
    world.task("t2", &["b/"]);
    world.task_with("t3", &["c/"], &["--depends", "t2"]);
    world.human(&["task", "add", "--id", "t4", "--title", "t"]).ok();
    world.claim(&coder, "t1");
    let ids = |args: &[&str]| -> Vec<String> {
        let data = world.json(&HUMAN, &[&["task", "list"], args].concat()).ok().data();
        let rows = data["tasks"].as_array().unwrap().clone();
        rows.iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ids(&[]), ["t1", "t2", "t3", "t4"]);
    assert_eq!(ids(&["--status", "IDLE"]), ["t2", "t3"]);
    assert_eq!(ids(&["--status", "draft", "--status", "WORKING"]), ["t1", "t4"]);
    assert_eq!(ids(&["--agent", "coder-1"]), ["t1"]);
    assert_eq!(ids(&["--ready"]), ["t2"]);
    assert!(ids(&["--status", "MERGED"]).is_empty());
    let error = world.refused(&HUMAN, &["task", "list", "--status", "DONE"], 2, "usage.argument");
    assert!(error["message"].as_str().unwrap().contains("READY_FOR_REVIEW"));
}

/// Every verb with an id argument refuses an invalid id.
#[test]
fn hostile_id_is_a_usage_error_of_every_verb() {
    let world = World::new();
    for id in ["-rf", "a/b", "a\u{202e}b"] {
        let flag = format!("--id={id}");
        world.refused(&HUMAN, &["task", "add", &flag, "--title", "t"], 2, "usage.argument");
        for verb in ["show", "claim", "submit", "renew", "sync"] {
            let ran = world.json(&HUMAN, &["task", verb, "--", id]);
            assert_eq!(ran.exit, 2, "task {verb} {id:?}: {}", ran.stdout);
        }
    }
    let widest = "a".repeat(64);
    world.human(&["task", "add", "--id", &widest, "--title", "t"]).ok();
}

#[test]
fn hostile_path_is_refused_with_its_flag() {
    let world = World::new();
    for flag in ["--in", "--out", "--owns"] {
        let given = format!("{flag}=../x");
        let add = ["task", "add", "--id", "t1", "--title", "t", &given];
        let error = world.refused(&HUMAN, &add, 1, "refused.value");
        assert!(error["message"].as_str().unwrap().contains(flag), "{error}");
    }
    let add = ["task", "add", "--id", "t1", "--title", "t", "--spec", "/etc/passwd"];
    world.refused(&HUMAN, &add, 1, "refused.value");
    assert!(world.tasks().is_empty());
}

#[test]
fn finalize_refuses_incomplete_task() {
    let world = World::new();
    world.human(&["task", "add", "--id", "Greet", "--title", "t"]).ok();
    let error = world.refused(&HUMAN, &["task", "finalize", "Greet"], 1, "refused.incomplete");
    assert!(error["details"]["missing"].to_string().contains("done_when"), "{error}");
    world.refused(&HUMAN, &["task", "finalize"], 2, "usage.arguments");
    world.refused(&HUMAN, &["task", "add", "--id", "GREET", "--title", "t"], 1, "refused.id_taken");
    let error = world.refused(&HUMAN, &["task", "show", "GREET"], 1, "refused.unknown_task");
    assert!(error["hint"].as_str().unwrap().contains("Greet"), "{error}");
    world.human(&["task", "abandon", "Greet", "--reason", "no"]).ok();
    let add = ["task", "add", "--id", "t1", "--title", "t", "--done", "d", "--in", "a/"];
    world.human(&[&add[..], &["--spec", "specs/vision.md"]].concat()).ok();
    world.human(&["task", "finalize", "--all"]).ok();
    assert_eq!(world.status_of("t1"), "IDLE");
}
