//! Goals that are given to `liza run`: routed, split into workstreams, scheduled within windows, audited.

mod audits;
mod routing;
mod streams;
mod windows;

use serde_json::Value;

use crate::support::{HUMAN, Ran, World};
use crate::team::{QUICK, answer, scripted};

/// A coder that does any task: it writes a file named after the task, and a test.
pub const CODER: &str = r#"
good_coder() {
  liza task checkpoint "$LIZA_TASK" --intent "the file of $LIZA_TASK says hello" --risks "none, a new file" \
    --validate "cat $LIZA_TASK.txt" --expect hello --file "$LIZA_TASK.txt" --file "tests/test_$LIZA_TASK.sh" || return 1
  mkdir -p tests; echo hello > "$LIZA_TASK.txt"; echo true > "tests/test_$LIZA_TASK.sh"
  git add -A && git commit -qm "$LIZA_TASK" && liza task submit "$LIZA_TASK"
}
"#;

/// Agents of every role of the playbook. A test says what is planned (`initial_planning`, `plan_of`) and what the auditor says
/// (`verdict_of`), and calls `play` last.
pub const PLAYBOOK: &str = r#"
ssot() { liza --json status | grep -o 'scenario-[0-9a-f]\{12\}' | tail -n 1; }
begin_json() { printf '{"schema":"%s","ssot_id":"%s","slice_id":"%s","status":"complete","summary":"done"' "$1" "$(ssot)" "$LIZA_TASK"; }
hand_in() {
  printf '%s' "$1" > "$OUT/$LIZA_TASK.$$.json"
  liza task submit "$LIZA_TASK" --result "$OUT/$LIZA_TASK.$$.json" >> "$OUT/submits" 2>&1
}
plan_json() {
  hand_in "$(begin_json worker-result.supervisor/1),\"dispatch_plan\":{\"workstream\":\"$1\",\"timebox_minutes\":10,\"ownership_paths\":[],\"slices\":$2}}"
}
audit_json() { hand_in "$(begin_json review-result.auditor/1),\"verdict\":\"$1\"$2}"; }
before_plan() { :; }
supervisor() {
  case "$LIZA_TASK" in
  *-merge) hand_in "$(begin_json worker-result.supervisor/1),\"checks\":[{\"cmd\":\"true\",\"exit\":0}]}" ;;
  *) before_plan && plan_of "${LIZA_TASK%-plan}" ;;
  esac
}
operator() { hand_in "$(begin_json worker-result.operator/1),\"commands\":[{\"cmd\":\"ls\",\"exit\":0}],\"findings\":[\"there are files\"]}"; }
verdict_of() { audit_json APPROVE ''; }
reviewer() {
  case "$LIZA_TASK" in
  *-merge) liza result accept "$LIZA_TASK" ;;
  *) liza review approve "$LIZA_TASK" --commit "$(git rev-parse HEAD)" --summary fine ;;
  esac
}
good_coder() {
  liza task checkpoint "$LIZA_TASK" --intent "the file of $LIZA_TASK says hello" --risks "none, a new file" \
    --validate "cat $LIZA_TASK.txt" --expect hello --file "$LIZA_TASK.txt" --file "tests/test_$LIZA_TASK.sh" || return 1
  mkdir -p tests; echo hello > "$LIZA_TASK.txt"; echo true > "tests/test_$LIZA_TASK.sh"
  git add -A && git commit -qm "$LIZA_TASK" && liza task submit "$LIZA_TASK"
}
audit_block() { :; }
initial_planning() { :; }
play() {
  case "$LIZA_ROLE" in
  planner) case "$LIZA_TRIGGER" in initial_planning | audit_block) "$LIZA_TRIGGER" ;; esac ;;
  supervisor) supervisor ;;
  operator) operator ;;
  auditor) verdict_of ;;
  coder) good_coder ;;
  code_reviewer) reviewer ;;
  esac
}
"#;

/// A plan that opens these workstreams; each owns the files whose names begin with its id.
pub fn streams(ids: &[&str]) -> String {
    let one = |id: &&str| {
        format!(
            "- {{id: {id}, goal: The files of {id}, ownership_paths: [\"{id}*.txt\", \"tests/test_{id}*.sh\"], timebox_minutes: 10}}"
        )
    };
    format!("workstreams:\n{}", ids.iter().map(one).collect::<Vec<_>>().join("\n"))
}

/// Slices of a plan, each one file and its test.
pub fn slices(ids: &[&str]) -> String {
    let one = |id: &&str| {
        format!(
            r#"{{"slice_id":"{id}","agent_type":"coder_spark","slice_kind":"work","timebox_minutes":8,"ownership_paths":["{id}.txt","tests/test_{id}.sh"],"allowed_paths":["{id}.txt","tests/test_{id}.sh"],"task_contract":{{"goal":"Write the file {id}","acceptance":["`cat {id}.txt` prints hello"]}}}}"#
        )
    };
    format!("[{}]", ids.iter().map(one).collect::<Vec<_>>().join(","))
}

/// A board whose first goal is abandoned, so that the next one starts at once.
pub fn fresh(script: &str) -> World {
    let world = scripted(script);
    world.human(&["goal", "abandon", "goal-1", "--reason", "another one comes"]).ok();
    world
}

/// `liza run` with short waits.
pub fn run(world: &World, args: &[&str]) -> Ran {
    let mut all = vec!["--json", "run"];
    all.extend(args);
    world.liza_with(&HUMAN, &all, b"", &QUICK)
}

pub fn data(ran: &Ran) -> Value {
    answer(ran)["data"].clone()
}

/// The routes on the board, in order.
pub fn routes(world: &World) -> Vec<Value> {
    let status = world.json(&HUMAN, &["status"]).ok().data();
    status["routes"].as_array().cloned().unwrap_or_default()
}
