//! Review rounds end: issues keep their ids, disagreements are classified, and the result is recorded.

use serde_json::{Value, json};

use crate::support::{HUMAN, Who, World};

struct Scene {
    world: World,
    coder: Who,
    reviewer: Who,
}

fn scene() -> Scene {
    let world = World::new();
    let coder = world.register("coder", "coder-1");
    let reviewer = world.register("code_reviewer", "reviewer-1");
    Scene { world, coder, reviewer }
}

/// Lines that are all different.
fn lines(range: std::ops::Range<u32>) -> String {
    range.map(|number| format!("step_{number}\n")).collect()
}

impl Scene {
    #[track_caller]
    fn first(&self, text: &str) -> String {
        self.world.submitted(&self.coder, "t1", "a.sh", text)
    }

    #[track_caller]
    fn again(&self, text: &str) -> String {
        let worktree = self.world.claim(&self.coder, "t1");
        self.world.checkpoint(&self.coder, "t1", &["a.sh"]);
        self.world.write_and_commit(&worktree, &[("a.sh", text)]);
        let data = self.world.json(&self.coder, &["task", "submit", "t1"]).ok().data();
        data["review_commit"].as_str().unwrap().to_owned()
    }

    fn args<'a>(commit: &'a str, reason: &'a str, more: &[&'a str]) -> Vec<&'a str> {
        [&["review", "reject", "t1", "--commit", commit, "--reason", reason], more].concat()
    }

    #[track_caller]
    fn reject(&self, commit: &str, reason: &str, more: &[&str]) -> Value {
        self.world.liza(&self.reviewer, &["review", "claim", "t1"]).ok();
        self.world.json(&self.reviewer, &Self::args(commit, reason, more)).ok().data()
    }

    #[track_caller]
    fn result(&self) -> Value {
        self.world.show("t1")["review_result"].clone()
    }
}

#[test]
fn oscillating_work_is_blocked() {
    let scene = scene();
    let world = &scene.world;
    let commit = scene.first("exec one\n");
    scene.reject(&commit, "too fast to be safe", &["--issue", "major:a.sh:1:the lock is not taken"]);
    let commit = scene.again("exec two\n");
    let more = ["--prior", "i1=resolved", "--issue", "major:a.sh:1:every start waits for a second"];
    assert_eq!(scene.reject(&commit, "starting takes ages", &more)["status"], "REJECTED");
    let commit = scene.again("exec one\n");
    world.liza(&scene.reviewer, &["review", "claim", "t1"]).ok();
    let args = Scene::args(&commit, "unsafe once more", &["--prior", "i1=open", "--prior", "i2=resolved"]);
    let output = world.liza(&scene.reviewer, &args).ok().stdout;
    assert!(
        output.contains("t1 is BLOCKED: oscillating: the work is again what it was in round 1"),
        "{output}"
    );
    let task = world.show("t1");
    assert_eq!((&task["status"], &task["blocked_from"]), (&json!("BLOCKED"), &json!("REJECTED")));
    assert_eq!(task["failed_by"], json!(["coder-1"]));
    let result = scene.result();
    assert_eq!(
        (&result["ending"], &result["disagreement"], &result["rounds"], &result["verdict"]),
        (&json!("limit"), &json!("oscillating"), &json!(3), &json!("request_changes"))
    );
    let question = task["blocked_questions"][0].as_str().unwrap();
    assert!(question.contains("lock is not taken") && question.contains("waits for a second"), "{question}");
    // The planner sees both positions beside each other.
    let status = world.human(&["status"]).ok().stdout;
    let planner = world.planner_prompt();
    let show = world.human(&["task", "show", "t1"]).ok().stdout;
    for text in [&status, &planner, &show] {
        let row = text
            .lines()
            .find(|line| line.contains("the files say what the spec asks for"))
            .unwrap_or_else(|| panic!("{text}"));
        assert!(row.contains(" | i1 major a.sh:1:"), "{row}");
    }
    assert!(planner.contains("review_deadlock on t1 by reviewer-1"), "{planner}");
    let anomalies = world.json(&HUMAN, &["inbox"]).ok().stdout;
    assert!(anomalies.contains("oscillating: the work is again"), "{anomalies}");
    // After the answer the count of rounds starts again.
    world.human(&["task", "unblock", "t1", "--answer", "the lock"]).ok();
    assert!(scene.result().is_null());
    let commit = scene.again("exec two\n");
    let data = scene.reject(&commit, "nearly there", &["--prior", "i1=partial"]);
    assert_eq!(data["status"], "REJECTED");
    world.sound();
}

#[test]
fn issue_keeps_id_through_moves_and_rewording() {
    let scene = scene();
    let world = &scene.world;
    world.task("t1", &["a.sh", "b.sh", "tests/"]);
    let body = format!("{}read name\necho $name\n{}", lines(0..30), lines(30..60));
    let commit = world.submit_work(&scene.coder, "t1", "a.sh", &body);
    let issues =
        ["--issue", "major:a.sh:32:the name is not quoted", "--issue", "minor:a.sh:50:say what it does"];
    assert_eq!(scene.reject(&commit, "not safe with blanks", &issues)["issues"], json!(["i1", "i2"]));
    // Forty lines are inserted above; the reviewer rewords the issue and names the next line.
    let body = format!("{}{body}", lines(100..140));
    let commit = scene.again(&body);
    world.liza(&scene.reviewer, &["review", "claim", "t1"]).ok();
    let again = ["--issue", "critical:a.sh:73:quoting of the name is missing", "--prior", "i2=partial"];
    let output = world.liza(&scene.reviewer, &Scene::args(&commit, "blanks break it", &again)).ok().stdout;
    assert!(output.contains("finding 1 is i1: it is the same issue, so it keeps its name"), "{output}");
    let issues = world.show("t1")["issues"].clone();
    assert_eq!(issues.as_array().unwrap().len(), 2, "{issues}");
    assert_eq!((&issues[0]["line"], &issues[0]["severity"]), (&json!(73), &json!("critical")));
    assert_eq!(issues[1]["line"], 90, "the verdict did not name its line, and it moved all the same");
    let feedback = world.liza(&scene.coder, &["task", "show", "t1", "--feedback"]).ok().stdout;
    assert!(feedback.contains("[i1] must fix critical a.sh:73 (still there since round 1)"), "{feedback}");
    assert!(
        feedback.contains("[i2] optional minor a.sh:90 (mended in part; there since round 1)"),
        "{feedback}"
    );
    // The file is renamed, and the lines of the issue are rewritten.
    let worktree = world.claim(&scene.coder, "t1");
    world.checkpoint(&scene.coder, "t1", &["a.sh", "b.sh"]);
    world.git_in(&worktree, &["mv", "a.sh", "b.sh"]);
    let body = body.replace("echo $name\n", "printf '%s' $name\n");
    world.write_and_commit(&worktree, &[("b.sh", &body)]);
    let data = world.json(&scene.coder, &["task", "submit", "t1"]).ok().data();
    let commit = data["review_commit"].as_str().unwrap();
    let more = [
        "--issue",
        "major:b.sh:72:the name is still not quoted",
        "--prior",
        "i1=resolved",
        "--prior",
        "i2=resolved",
    ];
    let data = scene.reject(commit, "a third try", &more);
    assert_eq!((&data["issues"], &data["same_as"][0]["issue"]), (&json!([]), &json!("i1")), "{data}");
    assert_eq!(data["same_as"][0]["said_resolved"], true);
    let show = world.liza(&scene.reviewer, &["review", "show", "t1", "--no-diff"]).ok().stdout;
    assert!(show.contains("round 1 new, round 2 still present, round 3 still present"), "{show}");
    assert!(show.contains("round 1 new, round 2 partial, round 3 resolved"), "{show}");
    assert_eq!(world.show("t1")["issues"][0]["file"], "b.sh");
    world.sound();
}

#[test]
fn repeated_minor_issues_are_accepted_with_notes() {
    let scene = scene();
    let world = &scene.world;
    world.write("liza.yaml", "version: 1\ngates:\n  - {name: exists, command: 'test -s a.sh'}\n");
    let commit = scene.first("one\n");
    scene.reject(&commit, "names could be better", &["--issue", "minor:a.sh:1:call it first"]);
    assert!(scene.result().is_null());
    let commit = scene.again("two\n");
    world.liza(&scene.reviewer, &["review", "claim", "t1"]).ok();
    let more = ["--prior", "i1=open", "--issue", "nitpick:a.sh:1:a blank line would help"];
    let output = world.liza(&scene.reviewer, &Scene::args(&commit, "and a little air", &more)).ok().stdout;
    assert!(output.contains("t1 is APPROVED, accepted with notes (i1, i2)"), "{output}");
    let task = world.show("t1");
    assert_eq!(task["status"], "APPROVED");
    assert_eq!(task["approval"]["notes"], json!(["i1", "i2"]));
    assert_eq!(task["gates"]["results"][0]["status"], "pass", "the gates of an approval were asked: {task}");
    let result = scene.result();
    assert_eq!(
        (&result["ending"], &result["disagreement"], &result["accepted_with_notes"]),
        (&json!("approved"), &json!("subjective"), &json!(["i1", "i2"]))
    );
    let show = world.human(&["task", "show", "t1"]).ok().stdout;
    assert!(show.contains("accepted with i1, i2 open") && show.contains("i1 a.sh:1 call it first"), "{show}");
    let merged = world.liza(&scene.reviewer, &["merge", "t1"]).ok().stdout;
    assert!(merged.contains("accepted with notes"), "{merged}");
    world.sound();
}

#[test]
fn review_time_limit_ignores_waiting_time() {
    let scene = scene();
    let world = &scene.world;
    world.write("liza.yaml", "version: 1\nreview: {max_seconds: 1000}\n");
    let commit = scene.first("one\n");
    // The submission waits for a day; then the review takes ten minutes.
    let day = 86_400;
    world.later(day, &scene.reviewer, &["review", "claim", "t1"]).ok();
    let args = Scene::args(&commit, "it crashes", &["--issue", "major:a.sh:1:no default"]);
    let data = world.later(day + 600, &scene.reviewer, &args).ok().data();
    assert_eq!(data["status"], "REJECTED", "{data}");
    // The next day ten more minutes exceed the limit.
    let next = 2 * day;
    world.later(next, &scene.coder, &["task", "claim", "t1"]).ok();
    let checkpoint = crate::support::checkpoint_args("t1", &["a.sh"], "echo ok", "ok");
    world.later(next + 60, &scene.coder, &checkpoint).ok();
    world.write_and_commit(&world.path(".worktrees/t1"), &[("a.sh", "two\n")]);
    let data = world.later(next + 120, &scene.coder, &["task", "submit", "t1"]).ok().data();
    let commit = data["review_commit"].as_str().unwrap().to_owned();
    world.later(next + 5000, &scene.reviewer, &["review", "claim", "t1"]).ok();
    let args = Scene::args(
        &commit,
        "it hangs",
        &["--prior", "i1=resolved", "--issue", "major:a.sh:1:it waits for ever"],
    );
    let data = world.later(next + 5300, &scene.reviewer, &args).ok().data();
    assert_eq!((&data["status"], &data["disagreement"]), (&json!("BLOCKED"), &json!("unknown")), "{data}");
    assert!(
        data["blocked_reason"].as_str().unwrap().contains("Max time for work and review (1000 s)"),
        "{data}"
    );
    let result = scene.result();
    let seconds = |name: &str| result[name].as_u64().unwrap();
    // The machine's clock goes on a little meanwhile.
    assert!((120..220).contains(&seconds("work_seconds")), "{result}");
    assert!((900..1000).contains(&seconds("review_seconds")), "{result}");
    world.sound();
}

#[test]
fn minor_issues_are_rejected_while_a_gate_is_red() {
    let scene = scene();
    let red = "version: 1\ngates:\n  - {name: red, command: 'grep -q never a.sh', on: [merge]}\n";
    scene.world.write("liza.yaml", red);
    let commit = scene.first("one\n");
    scene.reject(&commit, "names could be better", &["--issue", "minor:a.sh:1:call it first"]);
    let commit = scene.again("two\n");
    let data = scene.reject(&commit, "and a little air", &["--prior", "i1=open"]);
    assert_eq!(data["status"], "REJECTED", "{data}");
    assert!(scene.world.show("t1")["approval"].is_null());
}

#[test]
fn review_show_prints_the_result_of_the_review() {
    let scene = scene();
    let world = &scene.world;
    let commit = scene.first("one\n");
    world.liza(&scene.reviewer, &["review", "claim", "t1"]).ok();
    let discuss = ["review", "discuss", "t1", "--commit", &commit, "--reason", "spec is silent"];
    world.liza(&scene.reviewer, &[&discuss[..], &["--question", "Which?"]].concat()).ok();
    let show = world.liza(&scene.reviewer, &["review", "show", "t1", "--no-diff"]).ok().stdout;
    assert!(show.contains("review:    needs_discussion after 1 round"), "{show}");
}
