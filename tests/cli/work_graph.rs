//! Work graphs: plans in graph form, graph reports and files, readiness, and the limit of parallel tasks.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::support::{HUMAN, Ran, World};
use crate::team;

/// Five nodes in the documented form, with everything a task needs.
fn graph() -> Value {
    let node = |id: &str, outputs: &[&str], after: &[&str]| {
        json!({
            "id": id, "description": format!("Do {id}\nThe long story of {id}."), "inputs": ["README.md"],
            "outputs": outputs, "dependencies": after, "owner_role": "Implementer", "tags": ["vm"],
            "status": "pending", "assigned_to": null, "patch_bundle": null, "review_result": null,
        })
    };
    json!({
        "id": "G-001", "max_parallel": 4,
        "defaults": {"spec_ref": "specs/vision.md", "done_when": ["it works"], "scope": {"in": ["tests/"]}},
        "nodes": [
            node("WN-001", &["crates/core"], &[]),
            node("WN-002", &["a.sh", "trace-hash"], &["WN-001"]),
            node("WN-003", &["b.sh"], &[]),
            node("WN-004", &["crates/core/lib.rs"], &[]),
            node("WN-005", &["e.sh"], &[]),
        ],
        "edges": [["WN-001", "WN-003"], {"from": "WN-002", "to": "WN-003"}],
    })
}

fn planned(world: &World, plan: &Value, more: &[&str]) -> Ran {
    world.json_stdin(&HUMAN, &[&["plan", "-"], more].concat(), &plan.to_string())
}

fn with_core() -> World {
    let world = World::bare_repo();
    world.write("crates/core/lib.rs", "// core\n");
    world.commit_all("core");
    world.human(&["init", "A greeting program"]).ok();
    world
}

fn report(world: &World) -> Value {
    world.json(&HUMAN, &["report"]).ok().data()
}

fn node<'r>(report: &'r Value, id: &str) -> &'r Value {
    report["nodes"].as_array().unwrap().iter().find(|node| node["id"] == id).unwrap_or_else(|| panic!("{id}"))
}

fn view(world: &World, path: &str) -> Value {
    let mode = std::fs::metadata(world.path(path)).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "{path}");
    serde_json::from_str(&world.read(path)).unwrap()
}

#[test]
fn documented_graph_format_becomes_tasks() {
    let world = with_core();
    let data = planned(&world, &graph(), &[]).ok().data();
    assert_eq!((&data["status"], &data["lacking"]), (&json!("IDLE"), &json!({})));
    let task = world.json(&HUMAN, &["task", "show", "WN-001"]).ok().data();
    assert_eq!(task["title"], "Do WN-001");
    assert_eq!(task["description"], "Do WN-001\nThe long story of WN-001.");
    assert_eq!((&task["role"], &task["tags"]), (&json!("coder"), &json!(["vm"])));
    assert_eq!(task["owns"], json!(["crates/core/"]), "what is a directory is locked as one");
    assert_eq!(task["scope"]["in"], json!(["crates/core/", "tests/"]));
    assert_eq!(
        (&task["inputs"], &task["expected_outputs"]),
        (&json!(["README.md"]), &json!(["crates/core"]))
    );
    let task = world.json(&HUMAN, &["task", "show", "WN-002"]).ok().data();
    assert_eq!(task["owns"], json!(["a.sh"]), "an artifact is no path");
    assert_eq!(task["expected_outputs"], json!(["a.sh", "trace-hash"]));
    let task = world.json(&HUMAN, &["task", "show", "WN-003"]).ok().data();
    assert_eq!(task["depends_on"], json!(["WN-001", "WN-002"]));
    // Only nodes without open dependencies are offered, under the graph's role names.
    let coder = world.register("coder", "coder-1");
    let offered = world.json(&coder, &["next", "--role", "Implementer"]).ok().data();
    assert_eq!(offered["task"], "WN-001");
    world.sound();
}

#[test]
fn incomplete_nodes_become_draft_tasks() {
    let world = with_core();
    let bare = json!({"graph_id": "G-002", "nodes": [
        {"id": "a", "description": "First", "outputs": ["a.sh"]},
        {"id": "b", "description": "Second", "outputs": ["b.sh"], "dependencies": ["a"], "done_when": ["b is there"]},
    ]});
    let checked = planned(&world, &bare, &["--check"]).ok().data();
    assert_eq!(checked["lacking"], json!({"a": ["done_when", "spec_ref"], "b": ["spec_ref"]}));
    let ran = planned(&world, &bare, &[]).ok();
    assert_eq!(ran.data()["status"], "DRAFT");
    for part in ["a lacks done_when, spec_ref", "b lacks spec_ref", "liza task finalize --all", "--spec"] {
        assert!(ran.stderr.contains(part), "{part} in {}", ran.stderr);
    }
    world.json(&HUMAN, &["task", "finalize", "--all"]).exits(1);
    // The commands in the message work: the drafts are completed by hand.
    let state = world.state();
    let completed = state
        .replace(
            "title: First\n",
            "title: First\n    spec_ref: specs/vision.md\n    done_when:\n      - it works\n",
        )
        .replace("title: Second\n", "title: Second\n    spec_ref: specs/vision.md\n");
    assert_ne!(state, completed);
    std::fs::write(world.path(".liza/state.yaml"), completed).unwrap();
    world.human(&["task", "finalize", "--all"]).ok();
    assert_eq!(world.row("a")["status"], "IDLE");
    // The flags also fill in missing values.
    let more = json!({"nodes": [{"id": "c", "description": "Third", "outputs": ["c.sh"]}]});
    planned(&world, &more, &["--spec", "specs/vision.md", "--done", "c is there"]).ok();
    let task = world.json(&HUMAN, &["task", "show", "c"]).ok().data();
    assert_eq!((&task["status"], &task["done_when"]), (&json!("IDLE"), &json!(["c is there"])));
    assert_eq!(report(&world)["graph_id"], "G-002", "a plan without a name joins the graph that is there");
    world.sound();
}

#[test]
fn invalid_graph_is_refused_whole() {
    let world = with_core();
    planned(&world, &json!({"id": "G-001", "nodes": [{"id": "first", "description": "d"}]}), &[]).ok();
    let before = world.bytes();
    let change = |field: &str, value: Value| {
        let mut plan = graph();
        plan["nodes"][1][field] = value;
        plan
    };
    let top = |field: &str, value: Value| {
        let mut plan = graph();
        plan[field] = value;
        plan
    };
    for (plan, exit, code, says) in [
        (change("status", json!("passed")), 2, "usage.input", "nodes[1].status"),
        (change("owner_role", json!("Reviewer")), 2, "usage.input", "reviews every task"),
        (change("owner_role", json!("Red-team")), 2, "usage.input", "reviews every task"),
        (change("owner_role", json!("wizard")), 1, "refused.unknown_role", "wizard"),
        (change("outputs", json!(["../../etc"])), 2, "usage.input", "nodes[1].outputs[0]"),
        (change("dependencies", json!(["ghost"])), 1, "refused.dependency_missing", "ghost"),
        (top("edges", json!([["WN-003", "WN-001"], ["WN-001", "WN-003"]])), 1, "refused.cycle", "→"),
        (top("edges", json!([["WN-001", "ghost"]])), 2, "usage.input", "edges[0]"),
        (top("id", json!("G-002")), 1, "refused.value", "G-001"),
        (top("id", json!("../x")), 2, "usage.input", "id"),
        (top("max_parallel", json!(9)), 1, "refused.value", "liza.yaml"),
        (top("colour", json!("red")), 2, "usage.input", "colour"),
    ] {
        for more in [&[][..], &["--check"]] {
            let ran = planned(&world, &plan, more);
            assert_eq!((ran.exit, ran.code().as_str()), (exit, code), "{says}: {}", ran.stdout);
            assert!(ran.stdout.contains(says), "{says} in {}", ran.stdout);
        }
    }
    // Drafts may not form a cycle either.
    let mut drafts = top("edges", json!([["WN-003", "WN-001"], ["WN-001", "WN-003"]]));
    drafts["defaults"] = json!({});
    assert_eq!(planned(&world, &drafts, &[]).exits(1).code(), "refused.cycle");
    assert!(world.bytes() == before);
    // Ignored keys are named.
    let mut extended = graph();
    extended["nodes"][0]["assigned_to"] = json!("agent-7");
    extended["nodes"][0]["review_result"] = json!({"decision": "approve"});
    let ran = planned(&world, &extended, &[]).ok();
    assert!(ran.stderr.contains("agent-7") && ran.stderr.contains("review_result"), "{}", ran.stderr);
    assert_eq!(world.row("WN-001")["assigned_to"], Value::Null);
}

#[test]
fn graph_report_has_exactly_documented_keys() {
    let world = with_core();
    planned(&world, &graph(), &[]).ok();
    let (coder, reviewer) =
        (world.register("coder", "coder-1"), world.register("code_reviewer", "reviewer-1"));
    let commit = world.submit_work(&coder, "WN-001", "crates/core/a.sh", "echo a\n");
    world.approve(&reviewer, "WN-001", &commit);
    world.liza(&reviewer, &["merge", "WN-001"]).ok();
    world.human(&["task", "abandon", "WN-005", "--reason", "not wanted"]).ok();
    world.claim(&coder, "WN-002");
    let gates = json!({"node_id": "WN-001", "gates": {
        "compile": {"status": "pass", "duration_ms": 3200},
        "test": {"status": "pass", "duration_ms": 8100, "total": 179, "passed": 179},
        "replay": {"status": "pass", "duration_ms": 5, "hash": "a1b2"},
    }});
    std::fs::write(world.path(".liza/gates/WN-001.gate.json"), gates.to_string()).unwrap();
    std::fs::write(world.path(".liza/gates/WN-002.gate.json"), "not json at all {{{").unwrap();
    let bundle = json!({"version": 1, "task": "WN-002", "metadata": {}, "patches": []});
    std::fs::write(world.path(".liza/bundles/PB-1.patchbundle.json"), bundle.to_string()).unwrap();
    world.json(&coder, &["bundle", "create", "WN-001"]).ok();
    let ran = world.json(&HUMAN, &["report"]).ok();
    let said = ran.data();
    let keys: Vec<&str> = said.as_object().unwrap().keys().map(String::as_str).collect();
    let documented =
        ["graph_id", "total_nodes", "passed", "failed", "pending", "nodes", "locks", "last_gate_results"];
    assert_eq!(keys, documented);
    assert_eq!(said["graph_id"], "G-001");
    let counts = ["total_nodes", "passed", "failed", "pending"].map(|key| said[key].as_u64().unwrap());
    assert_eq!(counts, [5, 1, 1, 3]);
    assert_eq!(said["last_gate_results"], json!({"WN-001": gates["gates"]}));
    assert!(ran.stderr.contains("WN-002.gate.json"), "{}", ran.stderr);
    let done = node(&said, "WN-001");
    let keys: Vec<&str> = done.as_object().unwrap().keys().map(String::as_str).collect();
    let documented = [
        "id",
        "description",
        "inputs",
        "outputs",
        "dependencies",
        "owner_role",
        "tags",
        "status",
        "assigned_to",
        "patch_bundle",
        "review_result",
        "task_status",
    ];
    assert_eq!(keys, documented);
    assert_eq!((&done["status"], &done["task_status"]), (&json!("passed"), &json!("MERGED")));
    assert_eq!((&done["owner_role"], &done["assigned_to"]), (&json!("Implementer"), &json!("coder-1")));
    assert_eq!(done["description"], "Do WN-001\nThe long story of WN-001.");
    assert_eq!(done["review_result"]["verdict"], "approve");
    assert_eq!(done["review_result"]["reviewer"], "reviewer-1");
    let working = node(&said, "WN-002");
    assert_eq!((&working["status"], &working["dependencies"]), (&json!("running"), &json!(["WN-001"])));
    // Any process can put files into the directory; only the board says which bundle a task has.
    assert_eq!(working["patch_bundle"], json!(null));
    let made = done["patch_bundle"].as_str().expect("a bundle");
    assert!(made.starts_with(".liza/bundles/PB-") && made.ends_with("-001.patchbundle.json"), "{made}");
    assert_eq!(node(&said, "WN-003")["status"], "pending");
    assert_eq!(node(&said, "WN-004")["status"], "ready");
    assert_eq!(node(&said, "WN-005")["status"], "failed");
    let paths: Vec<&str> =
        said["locks"].as_array().unwrap().iter().map(|lock| lock["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["a.sh"], "the merged one holds nothing");
    let text = world.human(&["report"]).ok().stdout;
    for part in
        ["# Work graph G-001", "5 nodes: ", "1 passed", "test pass (179 of 179)", "- a.sh (file): WN-002"]
    {
        assert!(text.contains(part), "{part} in {text}");
    }
    // The graph keeps archived tasks.
    world.human(&["archive", "--all"]).ok();
    let later = report(&world);
    let counts = ["total_nodes", "passed", "failed", "pending"].map(|key| later[key].as_u64().unwrap());
    assert_eq!(counts, [5, 1, 1, 3]);
    assert_eq!(node(&later, "WN-001")["task_status"], "MERGED");
    // The exported graph is refused as a plan: its tasks exist already.
    let exported = world.read(".liza/graphs/G-001.json");
    assert_eq!(world.json_stdin(&HUMAN, &["plan", "-"], &exported).exits(2).code(), "usage.input");
}

#[test]
fn graph_and_lock_files_carry_their_revision() {
    let world = with_core();
    planned(&world, &graph(), &[]).ok();
    let kept = view(&world, ".liza/graphs/G-001.json");
    assert_eq!((&kept["graph_id"], &kept["revision"]), (&json!("G-001"), &json!(world.revision())));
    assert_eq!(kept["nodes"].as_array().unwrap().len(), 5);
    assert_eq!(view(&world, ".liza/locks/locks.json")["locks"], json!([]));
    let coder = world.register("coder", "coder-1");
    world.claim(&coder, "WN-001");
    assert_eq!(view(&world, ".liza/locks/locks.json")["revision"], world.revision());
    for refreshing in [&["lock", "list"][..], &["report"], &["watch", "--once"]] {
        std::fs::remove_file(world.path(".liza/locks/locks.json")).unwrap();
        world.human(refreshing).ok();
        let kept = view(&world, ".liza/locks/locks.json");
        assert_eq!(kept["revision"], world.revision(), "{refreshing:?}");
        assert_eq!(kept["locks"][0]["path"], "crates/core/", "{refreshing:?}");
    }
    assert_eq!(view(&world, ".liza/graphs/G-001.json")["nodes"][0]["status"], "running");
    // Liza never reads these files: wrong content does no harm, and if they cannot be written, commands still answer.
    std::fs::write(world.path(".liza/locks/locks.json"), "nonsense").unwrap();
    std::fs::remove_dir_all(world.path(".liza/graphs")).unwrap();
    std::fs::write(world.path(".liza/graphs"), "in the way").unwrap();
    let ran = world.json(&HUMAN, &["report"]).ok();
    assert_eq!(ran.data()["locks"][0]["task"], "WN-001");
    assert!(ran.stderr.contains("not up to date"), "{}", ran.stderr);
    std::fs::remove_file(world.path(".liza/graphs")).unwrap();
    world.human(&["report"]).ok();
    world.human(&["doctor"]).ok();
    world.sound();
}

#[test]
fn unnamed_graph_is_called_after_the_goal() {
    let world = World::new();
    world.task("t1", &["x/"]);
    let said = report(&world);
    assert_eq!((&said["graph_id"], &said["total_nodes"]), (&json!("goal-1"), &json!(1)));
    assert_eq!(said["nodes"][0]["outputs"], json!(["x/"]), "what it owns, where nothing else was said");
    assert!(world.path(".liza/graphs/goal-1.json").is_file());
    let named = "graph_id: G-9\ntasks:\n- {id: t2, title: t, spec_ref: specs/vision.md, done_when: [d], scope: {in: [y/]}}\n";
    world.json_stdin(&HUMAN, &["plan", "-"], named).ok();
    assert_eq!(report(&world)["graph_id"], "G-9");
}

#[test]
fn next_accepts_graph_names_of_roles() {
    let world = World::new();
    let (coder, reviewer) =
        (world.register("coder", "coder-1"), world.register("code_reviewer", "reviewer-1"));
    let planner = world.register("planner", "planner-1");
    world.submitted(&coder, "t1", "t1.sh", "echo 1\n");
    assert_eq!(world.json(&reviewer, &["next", "--role", "reviewer"]).ok().data()["task"], "t1");
    // A node may belong to a planner, who gets it when nothing else needs planning.
    let plan = json!({"nodes": [{"id": "p1", "description": "Cut the rest", "outputs": ["specs/rest.md"],
        "owner_role": "planner", "spec_ref": "specs/vision.md", "done_when": ["cut"]}]});
    planned(&world, &plan, &[]).ok();
    world.tier0(&coder, &["task", "claim", "p1"], "tier0.role_boundary");
    assert_eq!(world.json(&planner, &["next", "--role", "Planner"]).ok().data()["task"], "p1");
}

/// `max_parallel` limits the scheduler: four coders and six tasks, but never more than two at once.
#[test]
fn max_parallel_limits_concurrent_tasks() {
    let world = World::new();
    team::play(
        &world,
        r#"
        mkdir "$OUT/work.$LIZA_TASK.$LIZA_ROLE"
        ls -d "$OUT"/work.* | wc -l >> "$OUT/counts"
        touch "$OUT/seen.$LIZA_TASK"
        # The first waits for a second one: two at once is what the setting allows.
        tries=0
        while [ "$(ls -d "$OUT"/seen.* | wc -l)" -lt 2 ] && [ $tries -lt 600 ]; do sleep 0.1; tries=$((tries + 1)); done
        ls -d "$OUT"/work.* | wc -l >> "$OUT/counts"
        case "$LIZA_ROLE" in coder) good_coder ;; code_reviewer) good_reviewer ;; esac
        rmdir "$OUT/work.$LIZA_TASK.$LIZA_ROLE"
        "#,
    );
    team::configure(&world, "run: { max_parallel: 2 }\n");
    let nodes: Vec<Value> = (1..=6)
        .map(|n| {
            let id = format!("n{n}");
            json!({"id": id, "description": id, "outputs": [format!("{id}.txt"), format!("tests/test_{id}.sh")]})
        })
        .collect();
    let plan = json!({"id": "G-1", "max_parallel": 2, "nodes": nodes, "spec_ref": "specs/vision.md"});
    planned(&world, &plan, &["--done", "it says hello"]).ok();
    let ran = world.json(&HUMAN, &["run", "--team", "coder=4", "--team", "code_reviewer=2"]).ok();
    assert_eq!(team::answer(&ran)["data"]["outcome"], "complete");
    let counts: Vec<u32> =
        team::out(&world, "counts").lines().filter_map(|line| line.trim().parse().ok()).collect();
    assert_eq!(counts.iter().max(), Some(&2), "{counts:?}");
    assert_eq!(report(&world)["passed"], 6);
    // The run updated the files for other programs.
    assert!(
        view(&world, ".liza/graphs/G-1.json")["nodes"]
            .as_array()
            .unwrap()
            .iter()
            .all(|n| n["status"] == "passed")
    );
    world.sound();
}

/// After every commit that changes it, report and files agree; a note changes nothing in them.
#[test]
fn graph_and_lock_files_follow_every_commit() {
    let world = with_core();
    let (coder, reviewer) =
        (world.register("coder", "coder-1"), world.register("code_reviewer", "reviewer-1"));
    planned(&world, &graph(), &[]).ok();
    let kept = |path: &str| view(&world, path);
    let states = |kept: &Value| -> Vec<(String, String)> {
        let nodes = kept["nodes"].as_array().unwrap().iter();
        nodes
            .map(|node| (node["id"].to_string(), format!("{} {}", node["status"], node["assigned_to"])))
            .collect()
    };
    let check = |after: &str| {
        let (files, locks) = (kept(".liza/graphs/G-001.json"), kept(".liza/locks/locks.json"));
        let said = report(&world);
        assert_eq!(states(&files), states(&said), "{after}");
        for (file, said) in files["nodes"].as_array().unwrap().iter().zip(said["nodes"].as_array().unwrap()) {
            assert_eq!(file, said, "{after}");
        }
        assert_eq!(locks["locks"], said["locks"], "{after}");
    };
    let worktree = world.claim(&coder, "WN-001");
    assert_eq!(kept(".liza/graphs/G-001.json")["nodes"][3]["status"], "blocked", "its path is held");
    check("claim");
    let before = kept(".liza/graphs/G-001.json")["revision"].clone();
    world.human(&["note", "hello"]).ok();
    assert_eq!(kept(".liza/graphs/G-001.json")["revision"], before, "a note changes nothing it shows");
    world.checkpoint(&coder, "WN-001", &["crates/core/lib.rs", "tests/test_core.sh"]);
    world.write_and_commit(
        &worktree,
        &[("crates/core/lib.rs", "// 2\n"), ("tests/test_core.sh", "echo ok\n")],
    );
    let commit = world.json(&coder, &["task", "submit", "WN-001"]).ok().data()["review_commit"].clone();
    check("submit");
    world.approve(&reviewer, "WN-001", commit.as_str().unwrap());
    let verdict = &kept(".liza/graphs/G-001.json")["nodes"][0]["review_result"];
    assert_eq!((&verdict["verdict"], &verdict["reviewer"]), (&json!("approve"), &json!("reviewer-1")));
    world.json(&reviewer, &["merge", "WN-001"]).ok();
    let merged = kept(".liza/graphs/G-001.json");
    assert_eq!(merged["nodes"][0]["status"], "passed");
    assert_eq!(merged["nodes"][1]["status"], "ready", "what waited for it can start");
    assert_eq!(merged["revision"], world.revision());
    check("merge");
    world.task("late", &["late.sh"]);
    check("a new task");
    assert_eq!(kept(".liza/graphs/G-001.json")["nodes"][5]["id"], "late");
    world.sound();
}

#[test]
fn large_graph_file_is_left_to_commands_that_show_it() {
    let world = World::new();
    let revision = || -> Value {
        let path = std::fs::read_dir(world.path(".liza/graphs")).unwrap().flatten().next().unwrap().path();
        let graph: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        json!([graph["revision"], graph["nodes"].as_array().unwrap().len()])
    };
    let tasks: Vec<Value> = (0..20)
        .map(|number| {
            let text = "long text ".repeat(6_000);
            json!({
                "id": format!("t{number}"), "title": "one of many", "description": text, "spec_ref": "goal",
                "kind": "docs", "done_when": ["it is there"], "scope": { "in": [format!("docs/{number}.md")] },
            })
        })
        .collect();
    world.write("plan.json", &json!({ "tasks": tasks }).to_string());
    world.human(&["plan", "plan.json"]).ok();
    let before = revision();
    world.human(&["task", "add", "--id", "more", "--title", "one more"]).ok();
    assert_eq!(revision(), before, "a command does not copy a megabyte");
    world.human(&["report"]).ok();
    assert_eq!(revision()[1], before[1].as_u64().unwrap() + 1);
    world.sound();
}
