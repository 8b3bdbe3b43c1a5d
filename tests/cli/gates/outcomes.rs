//! What counts as a pass, a fail and a gate that could not run.

use serde_json::{Value, json};

use super::{alive, log_of, marker, optional, run_all, said, with_gates};

#[test]
fn gate_passes_fails_or_could_not_run() {
    // Name, command, expected outcome, number of runs, and a word of the reason.
    let table: [(&str, Value, &str, u64, &str); 8] = [
        ("fine", json!(["true"]), "pass", 1, ""),
        ("shell", json!("test -f README.md && echo 'a b' | grep -q 'a b'"), "pass", 1, ""),
        ("red", json!("exit 1"), "fail", 1, "1"),
        ("missing", json!(["no-such-program", "x"]), "could_not_run", 1, "127"),
        ("typo", json!("no-such-program"), "could_not_run", 1, "127"),
        ("no-program", json!(["./README.md"]), "could_not_run", 1, "126"),
        ("shot", json!("kill -9 $$"), "could_not_run", 3, "signal 9"),
        ("child-shot", json!("exit 137"), "fail", 3, "137"),
    ];
    let commands: Vec<(&str, Value)> = table.iter().map(|row| (row.0, row.1.clone())).collect();
    let world = with_gates(optional(&commands));
    let data = run_all(&world);
    for (name, _, status, tries, reason) in table {
        let found = &data["gates"][name];
        assert_eq!(found["status"], status, "{name}: {found}");
        assert_eq!(found["tries"].as_u64().unwrap_or(1), tries, "{name}: {found}");
        let why = found["reason"].as_str().unwrap_or_default();
        assert!(why.contains(reason), "{name}: {found}");
        assert_eq!(why.is_empty(), status == "pass", "{name}: {found}");
    }
    assert!(log_of(&world, &data["gates"]["shot"]).contains("[run again: try 3]"));
    world.sound();
}

#[test]
fn required_gate_not_passed_exits_7() {
    for (command, status) in [("exit 1", "fail"), ("exit 127", "could_not_run")] {
        let world = with_gates(json!([
            { "name": "first", "command": command },
            { "name": "second", "command": "true" },
        ]));
        let ran = world.json(&crate::support::HUMAN, &["gate", "run", "--tree", "main"]).exits(7);
        assert_eq!(ran.data()["passed"], false);
        assert_eq!(ran.data()["gates"]["first"]["status"], status);
        assert!(ran.data()["gates"].get("second").is_none(), "{}", ran.stdout);
        let text = world.human(&["gate", "run", "--tree", "main"]).exits(7).stdout;
        assert!(text.contains("second         not run"), "{text}");
        // A single gate can still be run.
        world.human(&["gate", "run", "--tree", "main", "--gate", "second"]).ok();
    }
}

#[test]
fn hanging_gate_is_stopped_with_grandchildren() {
    let world = with_gates(json!([]));
    let word = marker(&world, "hang");
    let hang = format!("sh -c 'sh -c \"while :; do sleep 1; done\" {word} & wait' & echo started; wait");
    super::configure(&world, json!([{ "name": "hang", "command": hang, "timeout": 1 }]));
    let found = said(&world, "hang");
    assert_eq!(found["status"], "could_not_run");
    assert!(found["reason"].as_str().unwrap().contains("longer than 1 s"), "{found}");
    assert!(log_of(&world, &found).contains("started"));
    assert_eq!(alive(&word), Vec::<String>::new());
}

#[test]
fn gate_daemons_do_not_outlive_the_gate() {
    let world = with_gates(json!([]));
    let word = marker(&world, "daemon");
    let alive_once = world.home().join("alive-once");
    let begins = format!("touch {}", alive_once.display());
    let endless = format!("sh -c \"{begins}; trap \\\"\\\" TERM HUP INT; while :; do sleep 1; done\" {word}");
    let sees = format!("while test ! -e {}; do sleep 0.02; done", alive_once.display());
    let daemon =
        format!("setsid sh -c 'setsid {endless} </dev/null >/dev/null 2>&1 & exit 0'; {sees}; echo begun");
    super::configure(
        &world,
        optional(&[
            ("daemon", json!(daemon)),
            // If a gate kills its holder, the process above ends the gate.
            ("rebel", json!(format!("(setsid {endless} &) ; kill -9 $PPID; {endless}"))),
        ]),
    );
    let found = said(&world, "daemon");
    assert_eq!(found["status"], "pass", "{found}");
    assert!(log_of(&world, &found).contains("begun"));
    assert_eq!(alive(&word), Vec::<String>::new());
    assert_eq!(said(&world, "rebel")["status"], "could_not_run");
    assert_eq!(alive(&word), Vec::<String>::new());
}

#[test]
fn gate_output_flood_is_bounded() {
    // At its end the gate prints the peak memory of the process that reads its output.
    let flood = "echo FIRST; head -c 200000000 /dev/zero | tr '\\0' x; echo; \
        judge=$(awk '/^PPid/{print $2}' /proc/$PPID/status); grep VmHWM /proc/$judge/status; echo LAST >&2; echo LAST";
    let world = with_gates(json!([{ "name": "flood", "command": flood }]));
    let found = said(&world, "flood");
    assert_eq!(found["status"], "pass", "{found}");
    let log = log_of(&world, &found);
    assert!(log.contains("FIRST\n") && log.trim_end().ends_with("LAST"), "{}", log.len());
    assert!(log.contains("bytes left out") && log.len() < 3_000_000, "{}", log.len());
    let peak = log.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    let kib: u64 = peak.trim().trim_end_matches("kB").trim().parse().expect("a number");
    assert!(kib < 64 * 1024, "{kib} KiB");
}

#[test]
fn standard_input_of_a_gate_is_empty() {
    let world =
        with_gates(json!([{ "name": "asks", "command": "read answer; cat; echo \"got <$answer>\"" }]));
    let args = ["--json", "gate", "run", "--tree", "main"];
    let ran = world.liza_with(&crate::support::HUMAN, &args, b"yes\n", &[]).ok();
    assert!(log_of(&world, &ran.data()["gates"]["asks"]).contains("got <>"));
}

#[test]
fn flaky_gate_is_retried_if_allowed_and_marked() {
    let world = with_gates(json!([]));
    let count = world.home().join("count");
    // Fails the first time only.
    let flaky = "echo x >> \"$COUNT\"; test $(wc -l < \"$COUNT\") -gt 1";
    let gate = |retries: u32| json!([{ "name": "flaky", "command": flaky, "flaky_retries": retries, "environment": { "COUNT": count } }]);
    super::configure(&world, gate(0));
    assert_eq!(said(&world, "flaky")["status"], "fail");
    std::fs::remove_file(&count).unwrap();
    super::configure(&world, gate(2));
    let found = said(&world, "flaky");
    assert_eq!(
        (&found["status"], &found["flaky"], &found["tries"]),
        (&json!("pass"), &json!(true), &json!(2))
    );
    assert!(log_of(&world, &found).contains("[run again: try 2]"));
    // Reused, the pass is still marked as flaky.
    let again = run_all(&world)["gates"]["flaky"].clone();
    assert_eq!((&again["reused"], &again["flaky"]), (&json!(true), &json!(true)));
    let text = world.human(&["gate", "run", "--tree", "main"]).ok().stdout;
    assert!(text.contains("reused, flaky, 2 tries"), "{text}");
}

#[test]
fn only_the_report_of_this_run_counts() {
    let junit = "<testsuite tests='2' failures='0'><testcase name='a'/><testcase name='b'/></testsuite>";
    let world = with_gates(json!([]));
    let gate = |command: String, report: &str| json!([{ "name": "unit", "command": command, "adapter": "junit", "report": report }]);
    let keep = json!({ "keep": ["out/"] });
    super::configure_with(
        &world,
        gate(format!("mkdir -p out; echo \"{junit}\" > out/r.xml"), "out/r.xml"),
        keep.clone(),
    );
    let found = said(&world, "unit");
    assert_eq!(
        (&found["status"], &found["total"], &found["passed"]),
        (&json!("pass"), &json!(2), &json!(2)),
        "{found}"
    );
    // The directory is kept, but its old report does not count for this run.
    super::configure_with(&world, gate("test -d out".to_owned(), "out/r.xml"), keep);
    assert_eq!(said(&world, "unit")["status"], "could_not_run");
    // A link made by the tree leads nowhere either, and no file behind it is removed.
    std::fs::write(world.home().join("r.xml"), junit).unwrap();
    std::os::unix::fs::symlink(world.home(), world.path("away")).unwrap();
    world.commit_all("a link");
    super::configure(&world, gate("true".to_owned(), "away/r.xml"));
    assert!(said(&world, "unit")["reason"].as_str().unwrap().contains("inside of the tree"));
    assert!(world.home().join("r.xml").exists());
}
