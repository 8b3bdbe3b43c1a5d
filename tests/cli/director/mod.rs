//! Goals that are given to `liza run`: routed, split into workstreams, scheduled within windows, audited.

mod routing;

use serde_json::Value;

use crate::support::{HUMAN, Ran, World};
use crate::team::{QUICK, answer, scripted};

/// A coder that does any task: it writes a file named after it, and a test.
pub const CODER: &str = r#"
good_coder() {
  liza task checkpoint "$LIZA_TASK" --intent "the file of $LIZA_TASK says hello" --risks "none, a new file" \
    --validate "cat $LIZA_TASK.txt" --expect hello --file "$LIZA_TASK.txt" --file "tests/test_$LIZA_TASK.sh" || return 1
  mkdir -p tests; echo hello > "$LIZA_TASK.txt"; echo true > "tests/test_$LIZA_TASK.sh"
  git add -A && git commit -qm "$LIZA_TASK" && liza task submit "$LIZA_TASK"
}
"#;

/// A board whose first goal is given up, so that the next one starts at once.
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

/// The routes on the board, in their order.
pub fn routes(world: &World) -> Vec<Value> {
    let status = world.json(&HUMAN, &["status"]).ok().data();
    status["routes"].as_array().cloned().unwrap_or_default()
}
