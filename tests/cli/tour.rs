//! The ordinary way, from an empty board to merged work.

use crate::support::{Ran, World};

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

/// The lines of the README's tour, as they stand there.
fn readme_tour() -> String {
    let readme =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md")).expect("the README");
    let start = readme.find("```sh\n").expect("the tour begins") + 6;
    let end = readme[start..].find("```").expect("the tour ends");
    readme[start..start + end].to_owned()
}

#[test]
fn the_tour_of_the_readme_runs_as_it_stands() {
    let world = World::bare_repo();
    let liza = std::path::Path::new(env!("CARGO_BIN_EXE_liza"));
    let path = format!(
        "{}:{}",
        liza.parent().expect("a folder").display(),
        std::env::var("PATH").unwrap_or_default()
    );
    let mut shell = world.command("sh", &world.root);
    shell.args(["-e", "-c", &readme_tour()]).env("PATH", path);
    for name in ["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"] {
        shell.env(name, "somebody");
    }
    let ran = Ran::of(shell.output().expect("a shell")).ok();
    assert!(ran.stdout.contains("Merge greet: Greet by name"), "{}", ran.stdout);
    assert_eq!(world.status_of("greet"), "MERGED");
    world.sound();
}
