//! A queue of goals: the next starts when the current one is complete.

use serde_json::json;

use super::Newcomer;
use crate::support::{HUMAN, World};

/// Every goal is planned as one task named after it.
const TASK_FOR_EACH_GOAL: &str = r#"
cat > /dev/null
case "$LIZA_ROLE" in
planner)
  goal=$(liza --json goal list | sed 's/.*"current":"\([^"]*\)".*/\1/')
  liza plan - <<PLAN
tasks:
  - id: work-$goal
    title: Do what $goal says
    spec_ref: goal
    done_when: ["\`cat $goal.txt\` prints it"]
    scope: {in: ["$goal.txt", "tests/test_$goal.sh"]}
    timebox_minutes: 8
PLAN
  ;;
coder)
  goal=${LIZA_TASK#work-}
  liza task checkpoint "$LIZA_TASK" --intent "$goal.txt is there" --risks "none, new files" \
    --validate "cat $goal.txt" --expect "$goal" --file "$goal.txt" --file "tests/test_$goal.sh" || exit 1
  mkdir -p tests
  echo "$goal" > "$goal.txt"
  echo "grep -q $goal $goal.txt" > "tests/test_$goal.sh"
  git add -A && git commit -qm "$LIZA_TASK" && liza task submit "$LIZA_TASK"
  ;;
code_reviewer)
  liza review approve "$LIZA_TASK" --commit "$(git rev-parse HEAD)" --summary fine
  ;;
esac
"#;

#[test]
fn run_continues_queue_and_names_next_command() {
    let person = Newcomer::new(&[], TASK_FOR_EACH_GOAL);
    person.liza(&["init", "The first goal", "--no-gate"]).ok();
    let queued = person.liza(&["goal", "The second goal"]).ok();
    assert!(queued.stdout.contains("goal-2 is queued behind 1 goal"), "{}", queued.stdout);
    let ran = person.liza(&["run"]).ok();
    assert!(ran.stderr.contains("continues with goal-2: The second goal"), "{}\n{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("complete: 1 merged"), "of the current goal: {}", ran.stdout);
    assert!(ran.stdout.trim_end().ends_with("next: liza deliver"), "{}", ran.stdout);
    let list = person.liza(&["--json", "goal", "list"]).ok().data();
    assert_eq!(list["current"], "goal-2");
    let goals: Vec<_> = list["goals"]
        .as_array()
        .unwrap()
        .iter()
        .map(|goal| (goal["id"].clone(), goal["status"].clone(), goal["tasks"].clone()))
        .collect();
    let row = |id: &str| (json!(id), json!("COMPLETE"), json!(1));
    assert_eq!(goals, [row("goal-1"), row("goal-2")]);
    // Figures are about the current goal, or about all.
    let done = |args: &[&str]| person.liza(args).ok().data()["figures"]["tasks_done"].clone();
    assert_eq!(done(&["--json", "metrics"]), 1);
    assert_eq!(done(&["--json", "metrics", "--all-goals"]), 2);
    assert_eq!(person.liza(&["--json", "report"]).ok().data()["total_nodes"], 1);
    // With no open task, the run names the next command, and starts no agent.
    let ran = person.liza(&["run"]).ok();
    assert!(ran.stdout.contains("nothing to do: goal-2 is complete"), "{}", ran.stdout);
    assert!(
        ran.stdout.contains("liza deliver") && ran.stdout.contains("liza goal \"TEXT\""),
        "{}",
        ran.stdout
    );
    // The next goal starts at once.
    let third = person.liza(&["goal", "The third goal"]).ok();
    assert!(third.stdout.contains("goal-3 is the current goal"), "{}", third.stdout);
    person.liza(&["run"]).ok();
    person.world.sound();
}

#[test]
fn goals_are_edited_listed_and_abandoned() {
    let world = World::new();
    world.task("t1", &["a/"]);
    world.human(&["goal", "Something else entirely"]).ok();
    world.human(&["goal", "edit", "goal-2", "Another wording of it"]).ok();
    let shown = world.human(&["goal", "show", "goal-2"]).ok().stdout;
    assert!(shown.starts_with("goal-2 (queued)\nAnother wording of it\nspec: goal\n"), "{shown}");
    assert!(world.human(&["goal"]).ok().stdout.contains("* goal-1   in progress A greeting program"));
    // Mistakes: an unknown subcommand, and an unknown goal.
    let ran = world.human(&["goal", "lst"]).exits(2);
    assert!(
        ran.stderr.contains("`lst` is a single word") && ran.stderr.contains("liza goal list"),
        "{}",
        ran.stderr
    );
    world.refused(&HUMAN, &["goal", "abandon", "goal-7", "--reason", "x"], 1, "refused.unknown_record");
    let planner = world.register("planner", "planner-1");
    world.refused(&planner, &["goal", "What a planner would like"], 1, "refused.human_only");
    // Abandoned: its unfinished tasks are abandoned too, and the queue continues.
    let ran = world.human(&["goal", "abandon", "goal-1", "--reason", "not needed"]).ok();
    assert!(ran.stdout.contains("goal-1 is abandoned, and with it t1\nnext: liza run"), "{}", ran.stdout);
    assert_eq!(world.status_of("t1"), "ABANDONED");
    world.refused(&HUMAN, &["goal", "edit", "goal-1", "too late now"], 1, "refused.transition");
    let add = ["task", "add", "--id", "t2", "--title", "T", "--spec", "goal", "--done", "d", "--in", "b/"];
    let error = world.refused(&HUMAN, &add, 1, "refused.transition");
    assert!(error["message"].as_str().unwrap().contains("goal-1 was abandoned"), "{error}");
    world.sound();
}
