//! A repository whose configuration runs programs: commands that only read run none of them, and plain git
//! shows that each trap works.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::support::process::Bounded as _;
use crate::support::{HUMAN, Who, World, write};

struct Traps {
    world: World,
    coder: Who,
    reviewer: Who,
}

/// A trap and the plain git command that triggers it.
struct Control {
    trap: &'static str,
    args: Vec<String>,
    stdin: &'static str,
}

fn control(trap: &'static str, args: &[&str]) -> Control {
    Control { trap, args: args.iter().map(|&arg| arg.to_owned()).collect(), stdin: "" }
}

const HOOKS: [&str; 9] = [
    "post-checkout",
    "post-index-change",
    "reference-transaction",
    "pre-commit",
    "commit-msg",
    "post-commit",
    "post-merge",
    "pre-auto-gc",
    "fsmonitor-watchman",
];

impl Traps {
    /// A harmless script that creates a file of this name when it runs.
    fn script(&self, name: &str) -> PathBuf {
        let canaries = self.world.home().join("canaries");
        std::fs::create_dir_all(&canaries).expect("a directory");
        let script = self.world.home().join("traps").join(name);
        std::fs::create_dir_all(script.parent().expect("above")).expect("a directory");
        let canary = canaries.join(name);
        // A filter must pass its input on, or git would wait for ever.
        let rest = if ["clean", "smudge", "process"].contains(&name) { "exec cat\n" } else { "" };
        let text = format!("#!/bin/sh\necho \"$@\" >> '{}'\n{rest}", canary.display());
        std::fs::write(&script, text).expect("a script");
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).expect("runnable");
        script
    }

    /// Which traps were triggered so far.
    fn triggered(&self) -> BTreeSet<String> {
        let entries = std::fs::read_dir(self.world.home().join("canaries")).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    }

    fn set(&self, key: &str, trap: &str) {
        let script = self.script(trap);
        self.world.git(&["config", key, script.to_str().expect("a path")]);
    }

    /// Changed file times, so that git reads and filters the files again.
    fn touch(&self) {
        let later = SystemTime::now() + Duration::from_secs(5);
        for dir in
            [self.world.root.clone(), self.world.path(".worktrees/w1"), self.world.path(".worktrees/s1")]
        {
            for name in ["README.md", "specs/vision.md", "a.clean", "a.process", "a.conv", "a.driver"] {
                let file = std::fs::File::options().append(true).open(dir.join(name)).expect(name);
                file.set_modified(later).expect("touched");
            }
        }
    }
}

/// Each file pattern (`*.clean`, …) has its own trap; the history contains a signed commit, a submodule, and
/// promised objects that are missing.
fn repository_with_traps() -> Traps {
    let world = World::bare_repo();
    world.write(
        ".gitattributes",
        "*.clean filter=clean\n*.process filter=process\n*.conv diff=conv\n*.driver diff=driver\n*.sh diff=conv\n",
    );
    for name in ["a.clean", "a.process", "a.conv", "a.driver"] {
        world.write(name, "text\n");
    }
    let other = world.home().join("other");
    std::fs::create_dir(&other).expect("a directory");
    world.git_in(&other, &["init", "-q", "-b", "main"]);
    world.write_and_commit(&other, &[("x", "1")]);
    let url = other.to_str().expect("a path");
    world.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", url, "sub"]);
    world.commit_all("traps");
    // A signature without a signer: git starts the program to check it.
    let signed = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n iHUE\n -----END PGP SIGNATURE-----\n";
    let text = world.git(&["cat-file", "commit", "HEAD"]).replacen("\n\n", &format!("\n{signed}\n"), 1);
    world.write(".git/signed", &format!("{text}\n"));
    let signed = world.git(&["hash-object", "-t", "commit", "-w", ".git/signed"]);
    world.git(&["reset", "-q", "--hard", &signed]);

    world.human(&["init", "A greeting program"]).ok();
    let coder = world.register("coder", "coder-1");
    let reviewer = world.register("code_reviewer", "reviewer-1");
    world.merge_task(&coder, &reviewer, "m1", "m1.sh", "echo merged\n");
    world.task("g1", &["g1/"]);
    let place = world.claim(&coder, "g1");
    world.write_and_commit(&place, &[("g1/a.driver", "text\n")]);
    world.human(&["task", "abandon", "g1", "--reason", "r"]).ok();
    world.human(&["archive", "g1"]).ok();
    world.submitted(&coder, "s1", "s1.sh", "x\n");
    world.liza(&reviewer, &["review", "claim", "s1"]).ok();
    world.task("w1", &["w1/"]);
    let place = world.claim(&coder, "w1");
    write(&place, "w1/new.clean", "uncommitted\n");

    let traps = Traps { world, coder, reviewer };
    for (key, trap) in [
        ("core.fsmonitor", "fsmonitor"),
        ("core.sshCommand", "ssh"),
        ("core.pager", "pager"),
        ("pager.log", "pager"),
        ("pager.diff", "pager"),
        ("core.editor", "editor"),
        ("sequence.editor", "editor"),
        ("core.askPass", "askpass"),
        ("diff.external", "external"),
        ("diff.conv.textconv", "textconv"),
        ("diff.driver.command", "driver"),
        ("filter.clean.clean", "clean"),
        ("filter.clean.smudge", "smudge"),
        ("filter.process.process", "process"),
        ("gpg.program", "gpg"),
        ("credential.helper", "credential"),
        ("trailer.sign.command", "trailer"),
        ("interactive.diffFilter", "difffilter"),
        ("merge.tool", "mergetool"),
    ] {
        traps.set(key, trap);
    }
    for (key, trap) in
        [("alias.canary", "alias"), ("alias.status", "alias"), ("submodule.sub.update", "submodule")]
    {
        let script = traps.script(trap);
        traps.world.git(&["config", key, &format!("!{}", script.display())]);
    }
    for (key, value) in [
        ("log.showSignature", "true"),
        ("submodule.recurse", "true"),
        ("status.submoduleSummary", "true"),
        ("diff.submodule", "log"),
        ("remote.origin.url", "ssh://nobody@host.invalid/repo"),
        ("remote.origin.promisor", "true"),
        ("remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*"),
        ("extensions.partialClone", "origin"),
    ] {
        traps.world.git(&["config", key, value]);
    }
    for hook in HOOKS {
        traps.script(hook);
    }
    let hooks = traps.world.home().join("traps");
    traps.world.git(&["config", "core.hooksPath", hooks.to_str().expect("a path")]);
    // Only the reads and the controls from here on count.
    let _ = std::fs::remove_dir_all(traps.world.home().join("canaries"));
    std::fs::create_dir(traps.world.home().join("canaries")).expect("a directory");
    traps
}

const READS: [&[&str]; 30] = [
    &["status"],
    &["status", "--all"],
    &["task", "list"],
    &["task", "show", "s1"],
    &["task", "show", "g1"],
    &["log"],
    &["graph"],
    &["diff", "m1"],
    &["diff", "s1"],
    &["--color", "always", "diff", "s1"],
    &["review", "show", "s1"],
    &["--color", "always", "review", "show", "s1"],
    &["verify"],
    &["validate"],
    &["doctor"],
    &["doctor", "--fix", "--dry-run"],
    &["doctor", "--image", "3"],
    &["worktree", "list"],
    &["worktree", "prune", "--dry-run"],
    &["worktree", "prune", "--save", "--dry-run"],
    &["gc", "--dry-run", "--keep-days", "0"],
    &["archive", "--all", "--dry-run"],
    &["trash", "list"],
    &["trash", "empty", "--dry-run"],
    &["uninstall", "--dry-run"],
    &["agent", "list"],
    &["inbox"],
    &["completions", "bash"],
    &["schema", "state"],
    &["man"],
];

#[test]
fn reading_commands_run_no_program_of_the_repository() {
    let traps = repository_with_traps();
    let world = &traps.world;
    for args in READS {
        traps.touch();
        for who in [&HUMAN, &traps.coder, &traps.reviewer] {
            let ran = world.liza(who, args);
            assert!(ran.exit < 12, "{args:?}: exit {}: {}", ran.exit, ran.stderr);
            assert_eq!(traps.triggered(), BTreeSet::new(), "{args:?}");
        }
    }
    world.human(&["review", "show", "s1"]).ok();
    world.human(&["verify"]).ok();

    // The traps work: plain git triggers them.
    let missing = "1".repeat(40);
    let sub = world.path("sub");
    world.git_in(&sub, &["-c", "core.hooksPath=/dev/null", "commit", "-q", "--allow-empty", "-m", "ahead"]);
    let mut controls = vec![
        control("fsmonitor", &["status"]),
        control("clean", &["status"]),
        control("process", &["status"]),
        control("smudge", &["checkout-index", "-f", "--prefix=.git/out-", "a.clean"]),
        control("ssh", &["cat-file", "-p", &missing]),
        control("editor", &["tag", "-a", "canary"]),
        control("external", &["diff", "--ext-diff", "main", "integration"]),
        control("textconv", &["show", "integration:m1.sh", "--textconv"]),
        control("textconv", &["grep", "--textconv", "text", "--", "a.conv"]),
        control("driver", &["diff", "main~1", "main", "--", "a.driver"]),
        control("gpg", &["log", "-1", "--format=%G?", "main"]),
        control("alias", &["canary"]),
        control("submodule", &["submodule", "update", "--no-fetch"]),
        control("trailer", &["interpret-trailers", "README.md"]),
        control("post-index-change", &["update-index", "--force-write-index", "--refresh"]),
        control("post-checkout", &["checkout", "-q", "--detach"]),
        control("reference-transaction", &["update-ref", "refs/canary", "main"]),
        control("pre-commit", &["commit", "--allow-empty", "-m", "x"]),
    ];
    let mut credential = control("credential", &["credential", "fill"]);
    credential.stdin = "protocol=https\nhost=host.invalid\n\n";
    controls.push(credential);
    for Control { trap, args, stdin } in controls {
        let canary = world.home().join("canaries").join(trap);
        let _ = std::fs::remove_file(&canary);
        traps.touch();
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let said = plain_git(world, &args, stdin);
        assert!(canary.exists(), "git {args:?} does not step into {trap}: {said}");
    }
    // A pager needs a terminal: git prints which one it would start.
    assert!(world.git(&["var", "GIT_PAGER"]).ends_with("traps/pager"));
}

/// Its output does not matter, only what it runs.
fn plain_git(world: &World, args: &[&str], stdin: &str) -> String {
    use std::io::Write as _;
    let mut command = world.command("git", &world.root);
    for name in ["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"] {
        command.env(name, "somebody@example.org");
    }
    let pipe = std::process::Stdio::piped;
    let mut child = command
        .args(args)
        .env("TERM", "xterm")
        .env("GIT_TERMINAL_PROMPT", "0")
        .stdin(pipe())
        .stdout(pipe())
        .stderr(pipe())
        .start()
        .expect("git starts");
    let _ = child.stdin.take().expect("a pipe").write_all(stdin.as_bytes());
    let output = child.wait_with_output().expect("git ends");
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn changing_commands_run_only_filters() {
    let traps = repository_with_traps();
    let world = &traps.world;
    let commit = world.show("s1")["review_commit"].as_str().expect("a commit").to_owned();
    world.git(&["config", "--unset", "core.hooksPath"]);
    world.approve(&traps.reviewer, "s1", &commit);
    world.liza(&traps.reviewer, &["merge", "s1"]).ok();
    world.liza(&traps.coder, &["task", "sync", "w1"]).ok();
    world.liza(&traps.coder, &["task", "release", "w1"]).ok();
    // The repository's files need filters: checkouts run them, as git would.
    let filters = ["clean", "smudge", "process"];
    let others: Vec<String> =
        traps.triggered().into_iter().filter(|trap| !filters.contains(&trap.as_str())).collect();
    assert_eq!(others, Vec::<String>::new());
}

#[test]
fn pipes_among_the_files_of_the_board_stop_nothing() {
    let world = World::new();
    let coder = world.register("coder", "coder-1");
    world.task("t1", &["a.sh", "tests/test_t1.sh"]);
    let graphs = world.path(".liza/graphs");
    let graph = std::fs::read_dir(&graphs).unwrap().flatten().next().expect("a graph").path();
    let files = [graph, world.path(".liza/locks/locks.json"), world.path(".liza/locks/views.lock")];
    let pipe = |path: &Path| {
        let _ = std::fs::remove_file(path);
        assert!(world.command("mkfifo", &world.root).arg(path).finish_status().unwrap().success());
    };
    files.iter().for_each(|file| pipe(file));
    world.claim(&coder, "t1");
    // The validation puts one where its log goes.
    let log = ".liza/runs/t1/1-1/validation.log";
    let validate = format!("mkdir -p ../../.liza/runs/t1/1-1; mkfifo ../../{log}; echo ok");
    world.checkpoint_with(&coder, "t1", &["a.sh", "tests/test_t1.sh"], &validate, "ok");
    let worktree = world.root.join(".worktrees/t1");
    write(&worktree, "a.sh", "echo a\n");
    write(&worktree, "tests/test_t1.sh", "echo ok\n");
    world.git_in(&worktree, &["add", "-A"]);
    world.git_in(&worktree, &["commit", "-qm", "work"]);
    world.liza(&coder, &["task", "submit", "t1"]).ok();
    assert!(world.path(log).symlink_metadata().unwrap().is_file(), "the log takes the place of the pipe");
    // Without the pipe in place of their lock the files are written again.
    std::fs::remove_file(&files[2]).unwrap();
    world.human(&["report", "--format", "json"]);
    assert!(world.human(&["status"]).ok().stdout.contains("t1"));
    world.sound();
}
