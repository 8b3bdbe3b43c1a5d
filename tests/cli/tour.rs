//! The ordinary course, from an empty board to merged work.

use crate::support::process::Bounded as _;
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
    // The user's own checkout is unchanged.
    assert_eq!(world.git(&["status", "--porcelain"]), before);
    assert!(!world.path("greet.sh").exists());
    world.sound();
}

/// The code blocks of a page in this language.
fn blocks_of(page: &str, language: &str) -> Vec<String> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").join(page);
    let text = std::fs::read_to_string(path).expect("a page");
    let begins = format!("```{language}\n");
    let blocks = text.split(&begins).skip(1);
    blocks.map(|block| block.split("```").next().expect("an end").to_owned()).collect()
}

#[test]
fn examples_of_docs_pages_run_as_printed() {
    let world = World::bare_repo();
    let (by_hand, gates) = (blocks_of("by-hand.md", "sh"), blocks_of("gates.md", "sh"));
    let ([tour], [gates]) = (by_hand.as_slice(), gates.as_slice()) else { panic!("{by_hand:?} {gates:?}") };
    let ran = run_lines(&world, tour).ok();
    assert!(ran.stdout.contains("Merge greet: Greet by name"), "{}", ran.stdout);
    assert_eq!(world.status_of("greet"), "MERGED");
    // The gates on that page are for the tour's program.
    let before = world.read("liza.yaml");
    assert!(before.contains("gates: []\n"), "{before}");
    world.write("liza.yaml", &before.replace("gates: []\n", &blocks_of("gates.md", "yaml").concat()));
    let ran = run_lines(&world, gates).ok();
    assert_eq!(ran.stdout.matches("sh tests/test_greet.sh").count(), 1, "{}", ran.stdout);
    assert!(ran.stdout.contains("pass"), "{}", ran.stdout);
    world.sound();
}

#[test]
fn settings_on_docs_pages_are_accepted() {
    let world = World::new();
    for page in ["agents.md", "cost.md", "experiments.md", "gates.md", "review-myself.md"] {
        for block in blocks_of(page, "yaml") {
            let version = if block.contains("version:") { "" } else { "version: 1\n" };
            world.write("liza.yaml", &format!("{version}{block}"));
            let ran = world.human(&["gate", "list"]);
            assert_eq!(ran.exit, 0, "{page}: {block}{}", ran.stderr);
        }
    }
}

fn run_lines(world: &World, lines: &str) -> Ran {
    let liza = std::path::Path::new(env!("CARGO_BIN_EXE_liza"));
    let path = format!(
        "{}:{}",
        liza.parent().expect("a folder").display(),
        std::env::var("PATH").unwrap_or_default()
    );
    let mut shell = world.command("sh", &world.root);
    shell.args(["-e", "-c", lines]).env("PATH", path);
    for name in ["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"] {
        shell.env(name, "tester");
    }
    Ran::of(shell.finish().expect("a shell"))
}

#[test]
fn commands_that_readme_and_docs_name_exist() {
    let world = World::bare_repo();
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let pages = std::fs::read_dir(root.join("docs")).expect("pages").flatten().map(|entry| entry.path());
    let pages = pages.filter(|path| path.extension().is_some_and(|kind| kind == "md"));
    let texts =
        pages.chain([root.join("README.md")]).map(|path| std::fs::read_to_string(path).expect("a page"));
    // Each page separately: an unclosed fence must not affect the next page.
    let prose: String =
        texts.flat_map(|text| text.split("```").step_by(2).map(str::to_owned).collect::<Vec<_>>()).collect();
    let spans = prose.split('`').skip(1).step_by(2).filter_map(|span| span.strip_prefix("liza "));
    let mut seen = 0;
    for span in spans {
        let is_letter = |letter: char| letter.is_ascii_lowercase() || letter == '-';
        let is_word = |word: &&str| !word.starts_with('-') && word.chars().all(is_letter);
        let mut help: Vec<&str> = span.split_whitespace().take_while(is_word).collect();
        help.push("--help");
        let said = world.human(&help).ok().stdout;
        for option in span.split_whitespace().filter(|word| word.starts_with("--")) {
            assert!(said.contains(option), "{span}: {said}");
        }
        seen += 1;
    }
    assert!(seen > 40, "{seen}");
}
