//! Reviews: a sealed checkout, verdicts on one commit, and never of one's own work.

use std::path::Path;

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

impl Scene {
    /// Takes the review and rejects.
    #[track_caller]
    fn reject(&self, commit: &str, reason: &str, more: &[&str]) -> Value {
        self.world.liza(&self.reviewer, &["review", "claim", "t1"]).ok();
        let mut args = vec!["review", "reject", "t1", "--commit", commit, "--reason", reason];
        args.extend(more);
        self.world.json(&self.reviewer, &args).ok().data()
    }

    /// The same coder takes it up again, changes the file and submits.
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
fn the_checkout_is_exactly_the_commit_and_detached() {
    let Scene { world, coder, reviewer } = scene();
    let commit = world.submitted(&coder, "t1", "a.sh", "echo a\n");
    let data = world.json(&reviewer, &["review", "claim", "t1"]).ok().data();
    let checkout = Path::new(data["checkout"].as_str().unwrap()).to_owned();
    assert!(checkout.is_absolute() && checkout.ends_with(".worktrees/.review/t1"));
    assert_eq!(data["review_commit"], commit);
    assert_eq!(world.git_in(&checkout, &["rev-parse", "HEAD"]), commit);
    assert_eq!(world.git_in(&checkout, &["rev-parse", "--abbrev-ref", "HEAD"]), "HEAD");
    // What a reviewer does to it never reaches the branch, and the next claim gives a clean one again.
    crate::support::write(&checkout, "a.sh", "tampered\n");
    world.git_in(&checkout, &["commit", "-q", "-a", "-m", "tampered"]);
    world.liza(&reviewer, &["review", "claim", "t1"]).ok();
    assert_eq!(world.git_in(&checkout, &["rev-parse", "HEAD"]), commit);
    assert_eq!(std::fs::read_to_string(checkout.join("a.sh")).unwrap(), "echo a\n");
    world.liza(&reviewer, &["review", "approve", "t1", "--commit", &commit]).ok();
    world.liza(&reviewer, &["merge", "t1"]).ok();
    assert_eq!(world.git(&["show", "integration:a.sh"]), "echo a");
}

#[test]
fn show_has_everything_a_verdict_rests_on() {
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
    refused(&["--reason", "", "--issue", "major:a.sh:1:x"], 1, "refused.incomplete");
    for issue in ["major:a.sh:x:text", "huge:a.sh:1:text", "major:a.sh", "major"] {
        refused(&["--reason", "bad", "--issue", issue], 2, "usage.argument");
    }
    refused(&["--reason", "bad", "--issue", "major:a.sh:0:text"], 1, "refused.feedback_incomplete");
    refused(&["--reason", "bad", "--issue", "major:../a.sh:1:text"], 1, "refused.feedback_incomplete");
    refused(&["--reason", "bad", "--issue", "major:a.sh:1: "], 1, "refused.incomplete");
    refused(&["--reason", "bad", "--prior", "i9=open"], 1, "refused.unknown_record");
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
    // Another coder may not take it while it is reserved; the same one goes on where it was.
    let other = world.register("coder", "coder-2");
    world.refused(&other, &["task", "claim", "t1"], 3, "stale.reserved");
    let data = world.json(coder, &["task", "claim", "t1"]).ok().data();
    assert_eq!((&data["iteration"], &data["branch"]), (&json!(2), &json!("task/t1")));
    let worktree = world.path(".worktrees/t1");
    assert_eq!(data["worktree"], worktree.to_str().unwrap());
    assert_eq!(world.git_in(&worktree, &["rev-parse", "HEAD"]), commit);
    // A new iteration wants a new checkpoint, which need not repeat the files of the first.
    world.refused(coder, &["task", "submit", "t1"], 1, "refused.checkpoint_missing");
    world.checkpoint(coder, "t1", &["a.sh"]);
    world.write_and_commit(&worktree, &[("a.sh", "echo ${1:-World}\n")]);
    let second = world.json(coder, &["task", "submit", "t1"]).ok().data()["review_commit"].clone();
    let second = second.as_str().unwrap();
    world.liza(reviewer, &["review", "claim", "t1"]).ok();
    // Prior issues must be answered by a rejection, and may not stay open in an approval.
    let reject = [
        "review",
        "reject",
        "t1",
        "--commit",
        second,
        "--reason",
        "still not quoted",
        "--issue",
        "minor:a.sh:1:quote it",
    ];
    let error = world.refused(reviewer, &reject, 1, "refused.feedback_incomplete");
    assert_eq!(error["details"]["issues"], json!(["i1", "i2"]));
    let approve = ["review", "approve", "t1", "--commit", second];
    world.refused(reviewer, &[&approve[..], &["--prior", "i1=partial"]].concat(), 1, "refused.issues_open");
    world.refused(reviewer, &[&approve[..], &["--prior", "i1=maybe"]].concat(), 2, "usage.argument");
    world.liza(reviewer, &[&approve[..], &["--prior", "i2=open", "--summary", "good now"]].concat()).ok();
    let task = world.show("t1");
    assert_eq!(task["status"], "APPROVED");
    assert_eq!(
        (&task["issues"][0]["status"], &task["issues"][1]["status"]),
        (&json!("resolved"), &json!("open"))
    );
    assert!(task["rejection_reason"].is_null());
    assert_eq!(task["reviews"].as_array().unwrap().len(), 2);
    world.sound();
}

#[test]
fn the_same_reason_twice_blocks() {
    let scene = scene();
    let commit = scene.world.submitted(&scene.coder, "t1", "a.sh", "1\n");
    scene.reject(&commit, "The error from the parser is swallowed", &["--issue", "major:a.sh:1:x"]);
    let commit = scene.again("2\n");
    let data = scene.reject(&commit, "the error from the parser is swallowed!", &["--prior", "i1=open"]);
    assert_eq!(data["status"], "BLOCKED");
    assert!(data["blocked_reason"].as_str().unwrap().contains("Same rejection reason"), "{data}");
    let task = scene.world.show("t1");
    assert_eq!(task["failed_by"], json!(["coder-1"]));
    assert!((1..=3).contains(&task["blocked_questions"].as_array().unwrap().len()));
    // Back to its agent with an answer; the count starts anew.
    scene.world.human(&["task", "unblock", "t1", "--answer", "log it"]).ok();
    scene.world.claim(&scene.coder, "t1");
    scene.world.sound();
}

#[test]
fn three_rejections_in_a_row_block_and_two_failed_agents_exhaust_it() {
    let scene = scene();
    let world = &scene.world;
    let reasons = ["no default for names", "tests do not run on BSD", "documentation contradicts code"];
    let mut commit = world.submitted(&scene.coder, "t1", "a.sh", "0\n");
    for (number, reason) in reasons.iter().enumerate() {
        let prior = format!("i{number}=resolved");
        let issue = format!("major:a.sh:1:{reason}");
        let mut more = vec!["--issue", issue.as_str()];
        if number > 0 {
            more.extend(["--prior", prior.as_str()]);
        }
        let data = scene.reject(&commit, reason, &more);
        let wanted = if number == 2 { "BLOCKED" } else { "REJECTED" };
        assert_eq!(data["status"], wanted, "round {}: {data}", number + 1);
        if number < 2 {
            commit = scene.again(&format!("{}\n", number + 1));
        }
    }
    assert_eq!(world.show("t1")["review_cycles_total"], 3);
    // A second agent fails too: then only a new cut helps.
    world.human(&["task", "unblock", "t1", "--answer", "try once more"]).ok();
    world.liza(&scene.coder, &["task", "release", "t1"]).ok();
    let second = world.register("coder", "coder-2");
    world.claim(&second, "t1");
    assert_eq!(world.show("t1")["review_cycles_current"], 0);
    assert_eq!(world.show("t1")["review_cycles_total"], 3);
    let mut args = crate::support::checkpoint_args("t1", &["a.sh"], "echo ok", "ok");
    for text in ["1", "2", "3", "4"] {
        args.extend(["--assume-critical", text]);
    }
    assert_eq!(world.json(&second, &args).ok().data()["status"], "BLOCKED");
    world.refused(&HUMAN, &["task", "unblock", "t1", "--answer", "a"], 1, "refused.hypothesis_exhausted");
    let planner = world.json(&HUMAN, &["status"]).ok().data()["planner"].clone();
    assert_eq!(planner[0]["trigger"], "hypothesis_exhausted", "{planner}");
    world.sound();
}

#[test]
fn max_review_cycles_block_and_more_can_be_granted() {
    let scene = scene();
    let world = &scene.world;
    world.edit_state("max_review_cycles: 5", "max_review_cycles: 1");
    let commit = world.submitted(&scene.coder, "t1", "a.sh", "0\n");
    let data = scene.reject(&commit, "wrong", &["--issue", "major:a.sh:1:x"]);
    assert_eq!(data["status"], "BLOCKED", "{data}");
    world.refused(&HUMAN, &["task", "unblock", "t1", "--answer", "a"], 1, "refused.limit");
    world.human(&["task", "unblock", "t1", "--answer", "a", "--cycles", "2"]).ok();
    let commit = scene.again("1\n");
    let data = scene.reject(&commit, "another reason altogether", &["--prior", "i1=open"]);
    assert_eq!(data["status"], "REJECTED", "{data}");
}

#[test]
fn discuss_asks_and_the_answer_goes_back_to_review() {
    let Scene { world, coder, reviewer } = scene();
    let commit = world.submitted(&coder, "t1", "a.sh", "echo a\n");
    world.liza(&reviewer, &["review", "claim", "t1"]).ok();
    let args = ["review", "discuss", "t1", "--commit", &commit, "--reason", "spec is silent"];
    world.refused(&reviewer, &args, 1, "refused.incomplete");
    let data = world.json(&reviewer, &[&args[..], &["--question", "Empty names?"]].concat()).ok().data();
    assert_eq!(data["status"], "BLOCKED");
    world.human(&["task", "unblock", "t1", "--answer", "not allowed"]).ok();
    assert_eq!(world.status_of("t1"), "READY_FOR_REVIEW");
    world.approve(&reviewer, "t1", &commit);
}

#[test]
fn a_code_task_without_tests_is_not_approved() {
    let Scene { world, coder, reviewer } = scene();
    for (id, kind, file) in [("c1", "code", "c1.sh"), ("d1", "docs", "d1.md")] {
        world.task_with(id, &[file], &["--kind", kind]);
        let worktree = world.claim(&coder, id);
        world.checkpoint(&coder, id, &[file]);
        let commit = world.write_and_commit(&worktree, &[(file, "x\n")]);
        world.liza(&coder, &["task", "submit", id]).ok();
        world.liza(&reviewer, &["review", "claim", id]).ok();
        let approve = ["review", "approve", id, "--commit", &commit];
        if kind == "code" {
            world.refused(&reviewer, &approve, 1, "refused.tests_missing");
            world.refused(&HUMAN, &approve, 3, "stale.lease_lost");
            world.liza(&reviewer, &["review", "release", id]).ok();
        } else {
            world.liza(&reviewer, &approve).ok();
        }
    }
    // A deleted test is no test; liza.yaml says what counts.
    world.write("liza.yaml", "tests: ['checks/']\n");
    world.task("e1", &["e1.sh", "tests/", "checks/"]);
    let commit = world.submit_work(&coder, "e1", "e1.sh", "x\n");
    world.liza(&reviewer, &["review", "claim", "e1"]).ok();
    world.refused(&reviewer, &["review", "approve", "e1", "--commit", &commit], 1, "refused.tests_missing");
}

#[test]
fn protected_paths_want_an_express_word() {
    let Scene { world, coder, reviewer } = scene();
    world.task("t1", &["tests/", "CLAUDE.md", ".github/workflows/", "sub/AGENTS.md"]);
    let worktree = world.claim(&coder, "t1");
    let files = ["CLAUDE.md", ".github/workflows/ci.yml", "sub/AGENTS.md", "tests/x.sh"];
    world.checkpoint(&coder, "t1", &files);
    let commit = world.write_and_commit(&worktree, &files.map(|file| (file, "x\n")));
    world.liza(&coder, &["task", "submit", "t1"]).ok();
    world.liza(&reviewer, &["review", "claim", "t1"]).ok();
    let error = world.refused(
        &reviewer,
        &["review", "approve", "t1", "--commit", &commit],
        1,
        "refused.protected_paths",
    );
    let mut listed = crate::support::paths(&error);
    listed.sort();
    assert_eq!(listed, [".github/workflows/ci.yml", "CLAUDE.md", "sub/AGENTS.md"]);
    let text = world.liza(&reviewer, &["review", "show", "t1"]).ok().stdout;
    assert!(text.contains("CLAUDE.md"));
    world.liza(&reviewer, &["review", "approve", "t1", "--commit", &commit, "--allow-protected"]).ok();
    assert_eq!(world.show("t1")["approval"]["protected_paths_allowed"], true);
}

#[test]
fn feedback_comes_whole_as_yaml_or_json() {
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
    let ran = world.json_stdin(reviewer, &["review", "approve", "t1", "--from", "-"], "summary: ok\n");
    assert_eq!(ran.exits(2).code(), "usage.argument", "names no commit");
    let fine =
        json!({ "commit": commit, "summary": "ok", "prior": [{ "issue": "i1", "status": "resolved" }] });
    world.write("feedback.json", &fine.to_string());
    world.liza(reviewer, &["review", "approve", "t1", "--from", "feedback.json"]).ok();
    assert_eq!(world.status_of("t1"), "APPROVED");
}

#[test]
fn a_person_reviews_what_agents_did() {
    let Scene { world, coder, .. } = scene();
    let commit = world.submitted(&coder, "t1", "a.sh", "echo a\n");
    world.human(&["review", "claim", "t1"]).ok();
    world.human(&["review", "approve", "t1", "--commit", &commit[..12]]).ok();
    world.human(&["merge", "t1"]).ok();
    assert!(world.git(&["log", "-1", "--format=%B", "integration"]).contains("Reviewed-by: human"));
}

#[test]
fn nobody_judges_his_own_work_in_any_form() {
    let world = World::new();
    let both = world.register_roles(&["coder", "code_reviewer"], "both-1");
    let coder = world.register("coder", "coder-1");
    let commit = world.submitted(&both, "t1", "a.sh", "echo a\n");
    // By himself, with both roles.
    world.tier0(&both, &["review", "claim", "t1"], "tier0.self_approval");
    world.tier0(&both, &["review", "approve", "t1", "--commit", &commit], "tier0.self_approval");
    world.tier0(
        &both,
        &["review", "reject", "t1", "--commit", &commit, "--reason", "r", "--issue", "major:a.sh:1:x"],
        "tier0.self_approval",
    );
    // Under a new incarnation of the same id.
    let reborn = world.register("code_reviewer", "both-1");
    world.tier0(&reborn, &["review", "claim", "t1"], "tier0.self_approval");
    // A mere coder has no verdicts at all, not even on others' work.
    world.tier0(&coder, &["review", "claim", "t1"], "tier0.role_boundary");
    world.tier0(&coder, &["review", "approve", "t1", "--commit", &commit], "tier0.role_boundary");
    world.tier0(&coder, &["merge", "t1"], "tier0.role_boundary");
    // A person who implemented is barred like anybody.
    let commit = world.submitted(&HUMAN, "t2", "b.sh", "echo b\n");
    world.tier0(&HUMAN, &["review", "claim", "t2"], "tier0.self_approval");
    world.tier0(&HUMAN, &["review", "approve", "t2", "--commit", &commit], "tier0.self_approval");
    // What was not submitted cannot be approved, what was not approved cannot be merged.
    world.task("t3", &["c.sh"]);
    world.tier0(&HUMAN, &["review", "approve", "t3", "--commit", &commit], "tier0.skipped_state");
    world.tier0(&HUMAN, &["merge", "t2"], "tier0.unapproved_merge");
    assert_eq!(world.violations(), 11);
    let status = world.human(&["status"]).ok().stdout;
    assert!(status.contains("Tier 0 violations refused: 11"), "{status}");
    world.sound();
}

#[test]
fn whoever_had_a_hand_in_it_is_an_implementer() {
    let world = World::new();
    let one = world.register_roles(&["coder", "code_reviewer"], "one");
    let two = world.register_roles(&["coder", "code_reviewer"], "two");
    let three = world.register("code_reviewer", "three");
    world.task("t1", &["a.sh", "tests/"]);
    // `one` only began it; `two` finished; a commit bears the name of `three`.
    world.claim(&one, "t1");
    world.liza(&one, &["task", "handoff", "t1", "--summary", "s", "--next", "n"]).ok();
    let worktree = world.claim(&two, "t1");
    world.checkpoint(&two, "t1", &["a.sh", "tests/x.sh"]);
    world.write_and_commit(&worktree, &[("tests/x.sh", "echo ok\n")]);
    crate::support::write(&worktree, "a.sh", "echo a\n");
    world.git_in(&worktree, &["add", "-A"]);
    world.git_in(&worktree, &["commit", "-q", "-m", "mine", "--author", "Three <x@example.org>"]);
    world.liza(&two, &["task", "submit", "t1"]).ok();
    for who in [&one, &two, &three] {
        world.tier0(who, &["review", "claim", "t1"], "tier0.self_approval");
    }
    let row = world.show("t1")["implementers"].clone();
    assert_eq!(row, json!(["one", "two", "three"]));
    world.human(&["review", "claim", "t1"]).ok();
}

#[test]
fn a_verdict_is_about_the_commit_under_review() {
    let Scene { world, coder, reviewer } = scene();
    let commit = world.submitted(&coder, "t1", "a.sh", "echo a\n");
    let other = world.register("code_reviewer", "reviewer-2");
    let approve = ["review", "approve", "t1", "--commit", commit.as_str()];
    world.refused(&reviewer, &approve, 3, "stale.lease_lost");
    world.liza(&reviewer, &["review", "claim", "t1"]).ok();
    world.refused(&other, &["review", "claim", "t1"], 3, "stale.held");
    world.refused(&other, &approve, 3, "stale.lease_lost");
    let main = world.git(&["rev-parse", "main"]);
    world.refused(&reviewer, &["review", "approve", "t1", "--commit", &main], 3, "stale.commit");
    world.refused(&reviewer, &["review", "approve", "t1", "--commit", "HEAD"], 2, "usage.argument");
    world.refused(&reviewer, &["review", "approve", "t1"], 2, "usage.arguments");
    // The branch moves after the submission: no verdict on what is no longer there.
    world.write_and_commit(&world.path(".worktrees/t1"), &[("a.sh", "sneaky\n")]);
    world.refused(&reviewer, &approve, 3, "stale.commit");
    world.liza(&reviewer, &["review", "renew", "t1"]).ok();
    world.liza(&reviewer, &["review", "release", "t1"]).ok();
    world.liza(&other, &["review", "claim", "t1"]).ok();
}
