//! Reviews as commands. The effects of verdicts are tested in src/flow/tests/review.rs.

use serde_json::{Value, json};

use crate::support::{Who, World};

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

impl Scene {
    /// Claims the review and rejects.
    #[track_caller]
    fn reject(&self, commit: &str, reason: &str, more: &[&str]) -> Value {
        self.world.liza(&self.reviewer, &["review", "claim", "t1"]).ok();
        let mut args = vec!["review", "reject", "t1", "--commit", commit, "--reason", reason];
        args.extend(more);
        self.world.json(&self.reviewer, &args).ok().data()
    }

    /// The same coder claims the task again, changes the file and submits.
    #[track_caller]
    fn again(&self, text: &str) -> String {
        let worktree = self.world.claim(&self.coder, "t1");
        self.world.checkpoint(&self.coder, "t1", &["a.sh"]);
        self.world.write_and_commit(&worktree, &[("a.sh", text)]);
        let data = self.world.json(&self.coder, &["task", "submit", "t1"]).ok().data();
        data["review_commit"].as_str().unwrap().to_owned()
    }
}

#[test]
fn review_show_has_everything_for_a_verdict() {
    let Scene { world, coder, reviewer } = scene();
    world.task("t1", &["a.sh", "tests/", "unused.sh"]);
    let worktree = world.claim(&coder, "t1");
    let mut args =
        crate::support::checkpoint_args("t1", &["a.sh", "unused.sh", "tests/x.sh"], "echo ok", "ok");
    args.extend(["--assume", "sh is there", "--assume-critical", "names are UTF-8"]);
    world.liza(&coder, &args).ok();
    world.refused(&reviewer, &["review", "show", "t1"], 1, "refused.transition");
    let commit = world.write_and_commit(&worktree, &[("a.sh", "echo a\n"), ("tests/x.sh", "echo ok\n")]);
    world.liza(&coder, &["task", "submit", "t1"]).ok();
    let data = world.json(&reviewer, &["review", "show", "t1"]).ok().data();
    assert_eq!((&data["review_commit"], &data["round"]), (&json!(commit), &json!(1)));
    assert_eq!(data["files"], json!(["a.sh", "tests/x.sh"]));
    assert_eq!((&data["tests_present"], &data["tests"]), (&json!(true), &json!(["tests/x.sh"])));
    assert_eq!(
        (&data["validation"]["exit"], data["gates"].get("results")),
        (&json!(0), None),
        "no gate is configured"
    );
    assert_eq!(data["checkpoint"]["risks"], "none that matter");
    assert!(data["diff"].as_str().unwrap().contains("+echo a"));
    // The four questions, each answered.
    let alignment = data["alignment"].as_array().unwrap();
    assert_eq!(alignment.len(), 4);
    let holds: Vec<bool> = alignment.iter().map(|answer| answer["holds"].as_bool().unwrap()).collect();
    assert_eq!(holds, [true, false, true, false], "{alignment:?}");
    assert!(alignment[1]["answer"].as_str().unwrap().contains("unused.sh"));
    assert!(alignment[3]["answer"].as_str().unwrap().contains("names are UTF-8"));
    let text = world.liza(&reviewer, &["review", "show", "t1"]).ok().stdout;
    for part in ["+echo a", "tests/x.sh", "announced but not touched: unused.sh", "echo ok"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let short = world.liza(&reviewer, &["review", "show", "t1", "--no-diff"]).ok().stdout;
    assert!(!short.contains("+echo a"));
    let colored = world.liza(&reviewer, &["--color", "always", "review", "show", "t1"]).ok().stdout;
    assert!(colored.contains("\u{1b}[32m+echo a"), "{colored}");
}

#[test]
fn feedback_can_be_read_from_yaml_or_json() {
    let scene = scene();
    let Scene { world, coder, reviewer } = &scene;
    let commit = world.submitted(coder, "t1", "a.sh", "echo a\n");
    world.liza(reviewer, &["review", "claim", "t1"]).ok();
    let yaml = format!(
        "verdict: request_changes\ncommit: {commit}\nsummary: Names are not quoted\nissues:\n  - severity: major\n    file: a.sh\n    line: 1\n    issue: |\n      unquoted\n    suggestion: quote \"$1\"\n    code_after: echo \"$1\"\nstrengths: [short]\napproval_conditions: [quote it]\n"
    );
    let wrong = world.json_stdin(reviewer, &["review", "approve", "t1", "--from", "-"], &yaml).exits(2);
    assert_eq!(wrong.code(), "usage.argument");
    world.json_stdin(reviewer, &["review", "reject", "t1", "--from", "-"], &yaml).ok();
    let feedback = world.liza(coder, &["task", "show", "t1", "--feedback"]).ok().stdout;
    for part in [
        "Names are not quoted",
        "unquoted",
        "quote \"$1\"",
        "echo \"$1\"",
        "condition for approval: quote it",
    ] {
        assert!(feedback.contains(part), "{part} in {feedback}");
    }
    let commit = scene.again("echo \"$1\"\n");
    world.liza(reviewer, &["review", "claim", "t1"]).ok();
    let open = json!({ "verdict": "approve", "commit": commit, "summary": "ok", "issues": [
        { "severity": "critical", "file": "a.sh", "line": 1, "issue": "boom" } ] });
    let ran = world.json_stdin(reviewer, &["review", "approve", "t1", "--from", "-"], &open.to_string());
    assert_eq!(ran.exits(1).code(), "refused.issues_open");
    let fine =
        json!({ "commit": commit, "summary": "ok", "prior": [{ "issue": "i1", "status": "resolved" }] });
    world.write("feedback.json", &fine.to_string());
    world.liza(reviewer, &["review", "approve", "t1", "--from", "feedback.json"]).ok();
    assert_eq!(world.status_of("t1"), "APPROVED");
}

#[test]
fn person_reviews_agents_work() {
    let Scene { world, coder, .. } = scene();
    let commit = world.submitted(&coder, "t1", "a.sh", "echo a\n");
    world.human(&["review", "claim", "t1"]).ok();
    world.human(&["review", "approve", "t1", "--commit", &commit[..12]]).ok();
    world.human(&["merge", "t1"]).ok();
    assert!(world.git(&["log", "-1", "--format=%B", "integration"]).contains("Reviewed-by: human"));
}

/// `--issue` and `--prior` are parsed, and the coder gets them as instructions.
#[test]
fn a_rejection_becomes_the_coders_instructions() {
    let scene = scene();
    let Scene { world, coder, reviewer } = &scene;
    let commit = world.submitted(coder, "t1", "a.sh", "echo a\n");
    world.liza(reviewer, &["review", "claim", "t1"]).ok();
    let base = ["review", "reject", "t1", "--commit", commit.as_str()];
    let refused = |more: &[&str], exit: i32, code: &str| {
        world.refused(reviewer, &[&base[..], more].concat(), exit, code)
    };
    refused(&["--reason", "bad"], 1, "refused.feedback_incomplete");
    for issue in ["major:a.sh:x:text", "huge:a.sh:1:text", "major:a.sh", "major"] {
        refused(&["--reason", "bad", "--issue", issue], 2, "usage.argument");
    }
    let data = scene.reject(
        &commit,
        "empty names crash",
        &["--issue", "major:a.sh:1:no default: it fails", "--issue", "nitpick:a.sh:1:spacing"],
    );
    assert_eq!((&data["status"], &data["issues"]), (&json!("REJECTED"), &json!(["i1", "i2"])));
    let feedback = world.liza(coder, &["task", "show", "t1", "--feedback"]).ok().stdout;
    for part in
        ["empty names crash", "[i1] must fix major a.sh:1: no default: it fails", "[i2] optional nitpick"]
    {
        assert!(feedback.contains(part), "{part} in {feedback}");
    }
    let second = scene.again("echo ${1:-World}\n");
    world.liza(reviewer, &["review", "claim", "t1"]).ok();
    let approve = ["review", "approve", "t1", "--commit", second.as_str()];
    world.refused(reviewer, &[&approve[..], &["--prior", "i1=partial"]].concat(), 1, "refused.issues_open");
    world.refused(reviewer, &[&approve[..], &["--prior", "i1=maybe"]].concat(), 2, "usage.argument");
    world.liza(reviewer, &[&approve[..], &["--prior", "i2=open", "--summary", "good now"]].concat()).ok();
    assert_eq!(world.show("t1")["issues"][1]["status"], "open");
}

#[test]
fn discuss_blocks_the_task_with_its_question() {
    let Scene { world, coder, reviewer } = scene();
    let commit = world.submitted(&coder, "t1", "a.sh", "echo a\n");
    world.liza(&reviewer, &["review", "claim", "t1"]).ok();
    let args = ["review", "discuss", "t1", "--commit", &commit, "--reason", "spec is silent"];
    world.refused(&reviewer, &args, 1, "refused.incomplete");
    let data = world.json(&reviewer, &[&args[..], &["--question", "Empty names?"]].concat()).ok().data();
    assert_eq!(data["status"], "BLOCKED");
}

#[test]
fn approve_needs_a_commit_a_lease_and_allowed_paths() {
    let Scene { world, coder, reviewer } = scene();
    world.task("t1", &["tests/", "CLAUDE.md"]);
    let commit = world.submit_work(&coder, "t1", "CLAUDE.md", "x\n");
    let approve = ["review", "approve", "t1", "--commit", commit.as_str()];
    world.refused(&reviewer, &approve, 3, "stale.lease_lost");
    world.liza(&reviewer, &["review", "claim", "t1"]).ok();
    world.refused(&reviewer, &["review", "approve", "t1", "--commit", "HEAD"], 2, "usage.argument");
    world.refused(&reviewer, &["review", "approve", "t1"], 1, "refused.protected_paths");
    let error = world.refused(&reviewer, &approve, 1, "refused.protected_paths");
    assert_eq!(crate::support::paths(&error), ["CLAUDE.md"]);
    let text = world.liza(&reviewer, &["review", "show", "t1"]).ok().stdout;
    assert!(text.contains("CLAUDE.md"));
    world.liza(&reviewer, &["review", "renew", "t1"]).ok();
    world.liza(&reviewer, &["review", "release", "t1"]).ok();
    world.liza(&reviewer, &["review", "claim", "t1"]).ok();
    world.liza(&reviewer, &[&approve[..], &["--allow-protected"]].concat()).ok();
    assert_eq!(world.show("t1")["approval"]["protected_paths_allowed"], true);
}

#[test]
fn own_review_is_refused_and_counted_in_status() {
    let world = World::new();
    let both = world.register_roles(&["coder", "code_reviewer"], "both-1");
    world.submitted(&both, "t1", "a.sh", "echo a\n");
    world.tier0(&both, &["review", "claim", "t1"], "tier0.self_approval");
    world.tier0(&both, &["merge", "t1"], "tier0.unapproved_merge");
    let status = world.human(&["status"]).ok().stdout;
    assert!(status.contains("rule breaches refused: 2 (Tier 0:"), "{status}");
}
