//! The red team checks a task between approval and merge (its turn).

use serde_json::{Value, json};

use crate::support::{HUMAN, Who, World};
use crate::team::{EVERY_ROLE, agent_run, answer, configure, out, play, scripted};

struct Scene {
    world: World,
    coder: Who,
    reviewer: Who,
    red: Who,
}

fn scene() -> Scene {
    let world = World::new();
    world.write("liza.yaml", "version: 1\nred_team: { from: high }\n");
    let coder = world.register("coder", "coder-1");
    let reviewer = world.register("code_reviewer", "reviewer-1");
    let red = world.register("red_team", "red-1");
    Scene { world, coder, reviewer, red }
}

impl Scene {
    /// `t1`, of this risk, approved.
    #[track_caller]
    fn approved(&self, id: &str, risk: &str) -> String {
        let file = format!("{id}.sh");
        self.world.task_with(id, &[&file, &format!("tests/test_{id}.sh")], &["--risk", risk]);
        let commit = self.world.submit_work(&self.coder, id, &file, "echo a\n");
        self.world.approve(&self.reviewer, id, &commit);
        commit
    }
}

fn reject<'a>(id: &'a str, commit: &'a str) -> Vec<&'a str> {
    let mut args = vec!["review", "reject", id, "--commit", commit, "--reason", "empty input crashes it"];
    args.extend(["--issue", "major:t1.sh:1:run it with an empty argument"]);
    args
}

fn waiting(world: &World, id: &str) -> Value {
    world.row(id)["waiting_on"].clone()
}

#[test]
fn high_risk_task_merges_after_red_team_turn() {
    let scene = scene();
    let Scene { world, reviewer, red, .. } = &scene;
    let commit = scene.approved("t1", "high");
    assert_eq!(world.show("t1")["red_team"], json!({ "status": "pending", "commit": commit }));
    assert_eq!(waiting(world, "t1"), json!(["red_team"]));
    let text = world.human(&["status"]).ok().stdout;
    assert!(text.contains("the red team has its turn before the merge"), "{text}");
    for who in [reviewer, &HUMAN] {
        let error = world.refused(who, &["merge", "t1"], 1, "refused.red_team");
        assert!(error["hint"].as_str().unwrap().contains("liza review claim t1"), "{error}");
    }
    world.json(reviewer, &["merge", "--all"]).ok();
    assert_eq!(world.status_of("t1"), "APPROVED");

    let offered = world.json(red, &["next", "--role", "red_team"]).ok().data();
    assert_eq!((&offered["task"], &offered["review_commit"]), (&json!("t1"), &json!(commit)));
    let checkout = std::path::PathBuf::from(offered["checkout"].as_str().unwrap());
    assert_eq!(world.git_in(&checkout, &["rev-parse", "HEAD"]), commit);
    assert_eq!(waiting(world, "t1"), json!([]));
    let error = world.refused(reviewer, &["merge", "t1"], 1, "refused.red_team");
    assert!(error["message"].as_str().unwrap().contains("`red-1` reviews it now"), "{error}");
    world.refused(red, &["review", "approve", "t1", "--commit", &commit], 1, "refused.incomplete");
    let clear = ["review", "approve", "t1", "--commit", &commit, "--summary", "tried empty input"];
    let said = world.liza(red, &clear).ok().stdout;
    assert!(said.contains("liza merge t1"), "{said}");
    let turn = &world.show("t1")["red_team"];
    assert_eq!((&turn["status"], &turn["by"]), (&json!("cleared"), &json!("red-1")));
    assert_eq!(waiting(world, "t1"), json!(["code_reviewer"]));
    // The red team gives a verdict and does not merge.
    world.tier0(red, &["merge", "t1"], "tier0.role_boundary");
    world.liza(reviewer, &["merge", "t1"]).ok();
    world.sound();
}

#[test]
fn red_team_delays_only_configured_risks() {
    let scene = scene();
    scene.approved("t1", "medium");
    assert_eq!(scene.world.show("t1").get("red_team"), None);
    scene.world.liza(&scene.reviewer, &["merge", "t1"]).ok();
    assert_eq!(scene.world.json(&scene.red, &["next", "--role", "red_team"]).ok().data(), Value::Null);
    scene.world.write("liza.yaml", "version: 1\n");
    scene.approved("t2", "high");
    scene.world.liza(&scene.reviewer, &["merge", "t2"]).ok();
}

#[test]
fn implementer_and_approver_cannot_be_red_team() {
    let scene = scene();
    let Scene { world, coder, reviewer, red } = &scene;
    let commit = scene.approved("t1", "high");
    world.tier0(coder, &["review", "claim", "t1"], "tier0.role_boundary");
    world.refused(reviewer, &["review", "claim", "t1"], 1, "refused.transition");
    // Even with the role, an implementer or approver of the task is refused.
    let coder = world.register_roles(&["coder", "red_team"], "coder-1");
    let reviewer = world.register_roles(&["code_reviewer", "red_team"], "reviewer-1");
    for who in [&coder, &reviewer] {
        world.tier0(who, &["review", "claim", "t1"], "tier0.self_approval");
        assert_eq!(world.json(who, &["next", "--role", "red_team"]).ok().data(), Value::Null);
    }
    // While one agent holds the turn, another is refused; a person may release it.
    world.liza(red, &["review", "claim", "t1"]).ok();
    world.refused(&HUMAN, &["review", "claim", "t1"], 3, "stale.held");
    world.refused(&HUMAN, &reject("t1", &commit), 3, "stale.lease_lost");
    world.liza(red, &["review", "renew", "t1"]).ok();
    world.human(&["review", "release", "t1"]).ok();
    world.refused(red, &reject("t1", &commit), 3, "stale.lease_lost");
    world.human(&["review", "claim", "t1"]).ok();
    world.human(&["pause"]).ok();
    world.refused(&HUMAN, &reject("t1", &commit), 5, "switch.set");
    world.human(&["resume"]).ok();
    world.human(&["review", "approve", "t1", "--commit", &commit, "--summary", "tried"]).ok();
    world.human(&["merge", "t1"]).ok();
}

const TEAM: &str = "run: { grace_seconds: 1 }\nred_team: { from: high }\nteam:\n  - { role: coder }\n  - { role: code_reviewer }\n";

fn add(world: &World, id: &str, risk: &str) {
    world.task_with(id, &[&format!("{id}.txt"), &format!("tests/test_{id}.sh")], &["--risk", risk]);
}

#[test]
fn red_team_finding_sends_task_back_once() {
    let world = scripted("");
    play(
        &world,
        &format!(
            r#"if [ "$LIZA_ROLE" = red_team ]; then
  cat > $OUT/prompt; git rev-parse HEAD >> $OUT/seen; pwd > $OUT/cwd
  if [ -e $OUT/found ]; then
    liza review approve "$LIZA_TASK" --commit "$(git rev-parse HEAD)" --summary "tried it again"
  else
    touch $OUT/found
    liza review reject "$LIZA_TASK" --commit "$(git rev-parse HEAD)" --reason "nobody is greeted" --issue "major:$LIZA_TASK.txt:1:no name"
  fi
  exit
fi

if [ "$LIZA_ROLE" = coder ] && [ -e $OUT/found ]; then
  liza task checkpoint "$LIZA_TASK" --intent "a name is greeted" --risks "none, one line" --validate "cat $LIZA_TASK.txt" --expect Ada --file "$LIZA_TASK.txt"
  echo "hello Ada" > "$LIZA_TASK.txt"; git commit -qam again; liza task submit "$LIZA_TASK"
  exit
fi
{EVERY_ROLE}"#
        ),
    );
    configure(&world, &format!("{TEAM}  - {{ role: red_team }}\n"));
    add(&world, "safe", "low");
    add(&world, "risky", "high");
    let ran = world.json(&HUMAN, &["run"]).ok();
    let data = answer(&ran)["data"].clone();
    assert_eq!((&data["outcome"], &data["counts"]["MERGED"]), (&json!("complete"), &json!(2)), "{data}");
    let task = world.show("risky");
    assert_eq!(task["red_team"]["by"], "red-team-1");
    let verdicts: Vec<(&Value, bool)> = task["reviews"]
        .as_array()
        .unwrap()
        .iter()
        .map(|review| (&review["verdict"], review["red_team"] == true))
        .collect();
    let (approve, changes) = (json!("approve"), json!("request_changes"));
    assert_eq!(verdicts, [(&approve, false), (&changes, true), (&approve, false), (&approve, true)]);
    assert_eq!(world.show("safe").get("red_team"), None);
    let seen = out(&world, "seen");
    assert_eq!(seen.lines().last(), task["review_commit"].as_str(), "it sees exactly what was approved");
    assert_eq!(out(&world, "cwd").trim(), world.path(".worktrees/.review/risky").to_str().unwrap());
    let prompt = out(&world, "prompt");
    assert!(prompt.contains("# Break it: risky") && prompt.contains("liza review reject risky"), "{prompt}");
    world.sound();
    world.human(&["doctor"]).ok();
}

#[test]
fn run_without_red_team_names_missing_role() {
    let world = scripted(EVERY_ROLE);
    configure(&world, TEAM);
    add(&world, "risky", "high");
    let ran = world.json(&HUMAN, &["run"]);
    let data = answer(&ran)["data"].clone();
    assert_eq!(data["outcome"], "stuck", "{data}");
    let cause = &data["causes"][0];
    assert_eq!((&cause["kind"], &cause["task"]), (&json!("missing_role"), &json!("risky")), "{data}");
    assert!(cause["hint"].as_str().unwrap().contains("liza agent run --role red_team"), "{cause}");
    // One agent of that role in the team is enough.
    play(&world, "liza review approve $LIZA_TASK --commit $(git rev-parse HEAD) --summary tried");
    agent_run(&world, &["--role", "red_team", "--once"]).ok();
    assert_eq!(world.show("risky")["red_team"]["status"], "cleared");
    assert_eq!(world.status_of("risky"), "APPROVED");
    play(&world, EVERY_ROLE);
    world.json(&HUMAN, &["run"]).ok();
    assert_eq!(world.status_of("risky"), "MERGED");
}
