//! Tasks on the board: adding, finalizing, waiting for others, listing.

use serde_json::json;

use crate::support::{HUMAN, World};

#[test]
fn every_flag_of_add_is_kept_as_it_was_given() {
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
    // Without --owns, the scope is what it owns.
    assert_eq!(world.show("t0")["owns"], json!(["old/"]));
    world.sound();
}

#[test]
fn texts_come_from_a_file_or_standard_input() {
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
fn a_whole_task_comes_as_yaml_or_json() {
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
fn hostile_ids_are_usage_errors() {
    let world = World::new();
    let long = "a".repeat(300);
    for id in [
        "",
        "-rf",
        "_a",
        "a/b",
        "..",
        ".",
        "a b",
        "a;b",
        "a$(id)",
        "`id`",
        "a\u{202e}b",
        "a\nb",
        "CON",
        "nul",
        "é",
        "a.b",
        "a~1",
        "a^",
        "a:b",
        "a?*[",
        "@{-1}",
        "HEAD",
        "--help=",
        "a\\b",
        "a'b",
        "a|b",
        "a\u{200b}",
        "lock",
        "review",
        "merge",
        "all",
        &long,
    ] {
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
fn hostile_paths_are_refused() {
    let world = World::new();
    for path in [
        "/etc/passwd",
        "../x",
        "a/../../x",
        "..",
        ".git/config",
        ".GIT/hooks/",
        "sub/.git/x",
        ".liza/state.yaml",
        ".Liza/",
        ".worktrees/t1/x",
        "",
        "a\\b",
        "a\nb",
        "a\u{202e}b",
        "C:/x",
        "git~1/config",
        ".git./x",
        "a\u{7}",
    ] {
        for flag in ["--in", "--out", "--owns"] {
            let given = format!("{flag}={path}");
            let error = world.refused(
                &HUMAN,
                &["task", "add", "--id", "t1", "--title", "t", &given],
                1,
                "refused.value",
            );
            assert!(error["message"].as_str().unwrap().contains(flag), "{error}");
        }
    }
    std::os::unix::fs::symlink("/etc", world.path("specs/link")).unwrap();
    std::os::unix::fs::symlink("vision.md", world.path("specs/alias.md")).unwrap();
    for spec in [
        "/etc/passwd",
        "../x.md",
        ".git/config",
        ".liza/state.yaml",
        "specs/link/passwd",
        "specs/alias.md",
        "specs",
    ] {
        let add = ["task", "add", "--id", "t1", "--title", "t", "--spec", spec];
        world.refused(&HUMAN, &add, 1, "refused.value");
    }
    assert!(world.tasks().is_empty());
}

#[test]
fn odd_but_honest_values_stay_literal() {
    let world = World::new();
    let coder = world.register("coder", "coder-1");
    let reviewer = world.register("code_reviewer", "reviewer-1");
    // A leading dash, blanks, quotes and other letters in paths and titles, all the way to a merge.
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
fn ids_are_unique_ignoring_case() {
    let world = World::new();
    world.human(&["task", "add", "--id", "Greet", "--title", "t"]).ok();
    for id in ["Greet", "greet", "GREET"] {
        world.refused(&HUMAN, &["task", "add", "--id", id, "--title", "t"], 1, "refused.id_taken");
    }
    let error = world.refused(&HUMAN, &["task", "show", "GREET"], 1, "refused.unknown_task");
    assert!(error["hint"].as_str().unwrap().contains("Greet"), "{error}");
    // Neither does an ended task give its id back.
    world.human(&["task", "abandon", "Greet", "--reason", "no"]).ok();
    world.refused(&HUMAN, &["task", "add", "--id", "greet", "--title", "t"], 1, "refused.id_taken");
}

#[test]
fn finalize_names_everything_that_is_missing() {
    let world = World::new();
    world.human(&["task", "add", "--id", "t1", "--title", "t"]).ok();
    let error = world.refused(&HUMAN, &["task", "finalize", "t1"], 1, "refused.incomplete");
    let missing = error["details"]["missing"].to_string();
    for part in ["done_when", "spec_ref", "scope"] {
        assert!(missing.contains(part), "{missing}");
    }
    world
        .human(&[
            "task",
            "add",
            "--id",
            "t2",
            "--title",
            "t",
            "--done",
            "d",
            "--in",
            "src/",
            "--spec",
            "specs/none.md",
        ])
        .ok();
    let error = world.refused(&HUMAN, &["task", "finalize", "t2"], 1, "refused.incomplete");
    assert!(error["message"].as_str().unwrap().contains("specs/none.md"), "{error}");
    world.refused(&HUMAN, &["task", "finalize", "nope"], 1, "refused.unknown_task");
    world.refused(&HUMAN, &["task", "finalize"], 2, "usage.arguments");
    world.task("t3", &["a/"]);
    world.refused(&HUMAN, &["task", "finalize", "t3"], 1, "refused.transition");
    let add = [
        "task",
        "add",
        "--id",
        "t4",
        "--title",
        "t",
        "--done",
        "d",
        "--in",
        "b/",
        "--spec",
        "specs/vision.md",
    ];
    world.human(&[&add[..], &["--depends", "ghost"]].concat()).ok();
    let error = world.refused(&HUMAN, &["task", "finalize", "t4"], 1, "refused.dependency_missing");
    assert_eq!(error["details"]["dependency"], "ghost");
}

#[test]
fn finalize_takes_several_or_all_and_is_all_or_nothing() {
    let world = World::new();
    let draft = |id: &str, depends: &[&str]| {
        let path = format!("{id}/");
        let mut args = vec![
            "task",
            "add",
            "--id",
            id,
            "--title",
            id,
            "--done",
            "d",
            "--spec",
            "specs/vision.md",
            "--in",
            &path,
        ];
        for on in depends {
            args.extend(["--depends", on]);
        }
        world.human(&args).ok();
    };
    draft("a", &["c"]);
    draft("b", &["a"]);
    draft("c", &["b"]);
    draft("d", &[]);
    let error = world.refused(&HUMAN, &["task", "finalize", "--all"], 1, "refused.cycle");
    let message = error["message"].as_str().unwrap();
    // The cycle itself, not all drafts.
    for id in ["a", "b", "c"] {
        assert!(message.contains(id), "{message}");
    }
    assert_eq!(error["details"]["cycle"].as_array().unwrap().len(), 3, "{error}");
    world.refused(&HUMAN, &["task", "finalize", "d", "a"], 1, "refused.cycle");
    world.human(&["task", "finalize", "d"]).ok();
    world.human(&["task", "abandon", "c", "--reason", "cycle"]).ok();
    world.human(&["task", "finalize", "--all"]).ok();
    assert_eq!(world.status_of("a"), "IDLE");
    assert_eq!(world.status_of("b"), "IDLE");
    world.refused(&HUMAN, &["task", "finalize", "--all"], 1, "refused.incomplete");
}

#[test]
fn add_with_finalize_is_one_commit() {
    let world = World::new();
    let before = world.revision();
    world.task("t1", &["src/"]);
    assert_eq!(world.revision(), before + 1);
    world.refused(
        &HUMAN,
        &["task", "add", "--id", "t2", "--title", "t", "--finalize"],
        1,
        "refused.incomplete",
    );
    assert_eq!(world.tasks().len(), 1);
}

#[test]
fn only_planners_and_people_plan() {
    let world = World::new();
    let coder = world.register("coder", "coder-1");
    let planner = world.register("planner", "planner-1");
    world.task("t1", &["src/"]);
    for args in [
        ["task", "add", "--id", "x", "--title", "t"].as_slice(),
        &["task", "finalize", "t1"],
        &["task", "abandon", "t1", "--reason", "r"],
        &["task", "rescope", "t1", "--by", "t1", "--reason", "r"],
        &["task", "unblock", "t1", "--answer", "a"],
        &["spec-change", "new", "--spec", "specs/vision.md"],
    ] {
        world.refused(&coder, args, 1, "refused.role");
    }
    let add = [
        "task",
        "add",
        "--id",
        "p1",
        "--title",
        "t",
        "--done",
        "d",
        "--spec",
        "specs/vision.md",
        "--in",
        "p/",
    ];
    world.liza(&planner, &add).ok();
    world.liza(&planner, &["task", "finalize", "p1"]).ok();
    assert_eq!(world.show("p1")["created_by"], "planner-1");
    // And a planner does not code: claiming is a breach of the role boundary.
    world.tier0(&planner, &["task", "claim", "p1"], "tier0.role_boundary");
}

#[test]
fn a_dependency_holds_until_it_is_merged() {
    let world = World::new();
    let coder = world.register("coder", "coder-1");
    let reviewer = world.register("code_reviewer", "reviewer-1");
    world.task("t1", &["a.sh", "tests/test_t1.sh"]);
    world.task_with("t2", &["b.sh"], &["--depends", "t1"]);
    let row = world.row("t2");
    assert_eq!((&row["node_state"], &row["waiting_on"]), (&json!("pending"), &json!(["t1"])));
    let error = world.refused(&coder, &["task", "claim", "t2"], 1, "refused.dependency_unmet");
    assert_eq!(error["details"]["waiting_on"], json!(["t1"]));
    let commit = world.submit_work(&coder, "t1", "a.sh", "echo a\n");
    world.approve(&reviewer, "t1", &commit);
    world.refused(&coder, &["task", "claim", "t2"], 1, "refused.dependency_unmet");
    world.liza(&reviewer, &["merge", "t1"]).ok();
    let row = world.row("t2");
    assert_eq!((&row["node_state"], &row["waiting_on"]), (&json!("ready"), &json!(["coder"])));
    // It starts from what it waited for.
    let worktree = world.claim(&coder, "t2");
    assert!(worktree.join("a.sh").is_file());
}

#[test]
fn overlapping_paths_wait_and_shared_ones_do_not() {
    let world = World::new();
    let (one, two) = (world.register("coder", "coder-1"), world.register("coder", "coder-2"));
    world.task("t1", &["src/**/*.sh"]);
    world.task("t2", &["src/deep/x.*"]);
    world.task_with("t3", &["src/deep/x.txt", "other/"], &["--owns", "other/"]);
    world.claim(&one, "t1");
    let error = world.refused(&two, &["task", "claim", "t2"], 1, "refused.paths_overlap");
    assert_eq!(error["details"]["waiting_on"], json!(["t1"]));
    assert_eq!(world.row("t2")["node_state"], "blocked");
    assert!(world.row("t2")["why"].as_str().unwrap().contains("t1"));
    world.claim(&two, "t3");
    // One task at a time for each.
    world.task("t4", &["four/"]);
    let error = world.refused(&two, &["task", "claim", "t4"], 1, "refused.holds_another");
    assert_eq!(error["details"]["holds"], "t3");
    world.refused(&two, &["task", "claim", "t1"], 3, "stale.held");
    world.refused(&one, &["task", "claim", "t1"], 1, "refused.transition");
}

#[test]
fn list_filters() {
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
    assert!(error["hint"].as_str().unwrap().contains("READY_FOR_REVIEW"));
}
