//! The ordinary way, from an empty board to merged work.

use crate::support::World;

#[test]
fn work_goes_from_task_to_integration() {
    let world = World::new();
    let coder = world.register("coder", "coder-1");
    let reviewer = world.register("code_reviewer", "reviewer-1");
    let before = world.git(&["status", "--porcelain"]);
    let commit = world.merge_task(&coder, &reviewer, "t1", "greet.sh", "echo hello\n");
    assert_eq!(world.status_of("t1"), "MERGED");
    assert_eq!(world.git(&["rev-parse", "integration"]), commit);
    assert_eq!(world.git(&["show", "integration:greet.sh"]), "echo hello");
    let message = world.git(&["log", "-1", "--format=%B", "integration"]);
    assert!(message.contains("Liza-Task: t1") && message.contains("Reviewed-by: reviewer-1"), "{message}");
    // The user's own checkout is as it was.
    assert_eq!(world.git(&["status", "--porcelain"]), before);
    assert!(!world.path("greet.sh").exists());
    world.sound();
}
