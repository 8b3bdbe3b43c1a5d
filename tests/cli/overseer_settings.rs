//! What `liza.yaml` may say about the overseer.

use crate::support::{HUMAN, World};

#[test]
fn invalid_overseer_setting_is_refused_by_name() {
    let world = World::new();
    for (said, wanted) in [
        ("check_interval_seconds: 0", "`overseer.check_interval_seconds` is 0"),
        ("snapshot_history_size: 1", "`overseer.snapshot_history_size` is 1"),
        ("loop_detection_window: 21", "`overseer.loop_detection_window` is 21"),
        ("answer_seconds: 0", "`overseer.answer_seconds` is 0"),
        ("max_nudges: 3", "unknown field `max_nudges`"),
        ("halt_on_critical: perhaps", "halt_on_critical"),
    ] {
        world.write("liza.yaml", &format!("overseer: {{{said}}}\n"));
        let error = world.refused(&HUMAN, &["gate", "list"], 2, "usage.config");
        let message = error["message"].as_str().unwrap();
        assert!(message.starts_with("liza.yaml: ") && message.contains(wanted), "{said}: {message}");
        assert!(error["hint"].as_str().unwrap().contains("fix liza.yaml"), "{error}");
    }
    world.write(
        "liza.yaml",
        "overseer: {check_interval_seconds: 0.2, max_nudges_per_agent: 0, max_tokens: 0}\n",
    );
    world.human(&["gate", "list"]).ok();
}
