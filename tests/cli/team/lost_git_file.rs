//! A worktree without its `.git` file lies inside the person's checkout. An agent's git there finds no repository.

use super::*;
use crate::support::process::Bounded as _;

const LOSES_ITS_GIT_FILE: &str = r#"
cat > $OUT/try.sh <<END
git add -A
git commit -qm evil > $OUT/\$1-commit 2>&1
echo "exit \$?" >> $OUT/\$1-commit
END
try() { sh $OUT/try.sh "$1"; }
case "$LIZA_ROLE" in
  coder)
    liza task checkpoint t1 --intent "the file of t1 says hello" --risks "none, a new file" \
      --validate "mv .git $OUT/gitfile; cd tests; sh $OUT/try.sh validation; cd ..; mv $OUT/gitfile .git; cat t1.txt" --expect hello \
      --file t1.txt --file tests/test_t1.sh
    mkdir -p tests; echo hello > t1.txt; echo true > tests/test_t1.sh; git add -A; git commit -qm t1
    mv .git $OUT/gitfile
    try agent; mkdir -p deeper/still; (cd deeper/still; try below)
    mv $OUT/gitfile .git; rm -rf deeper
    liza task submit t1 ;;
esac
"#;

#[test]
fn agents_git_never_reaches_the_checkout() {
    let world = scripted(LOSES_ITS_GIT_FILE);
    let gate = format!(
        "rm .git; git add -A; git commit -qm evil > {0} 2>&1; echo \"exit $?\" >> {0}",
        world.home().join("out/gate-commit").display()
    );
    configure(
        &world,
        &format!("run: {{ grace_seconds: 1 }}\ngates:\n  - {{ name: lost, command: '{gate}' }}\n"),
    );
    add(&world, "t1");
    world.write("private.txt", "of the person");
    let before = (world.git(&["rev-parse", "HEAD"]), world.git(&["status", "--porcelain"]));
    agent_run(&world, &["--role", "coder", "--once"]);
    world.human(&["gate", "run", "t1"]);
    for name in ["agent", "below", "validation", "gate"] {
        let said = out(&world, &format!("{name}-commit"));
        assert!(said.contains("not a git repository"), "{name}: {said}");
        assert!(!said.ends_with("exit 0\n"), "{name}: {said}");
    }
    assert_eq!((world.git(&["rev-parse", "HEAD"]), world.git(&["status", "--porcelain"])), before);
}

/// Two fixed worlds of `scripts/torture agents`: hostile agents generated from a grammar, below a real run.
#[test]
fn hostile_agents_break_nothing() {
    let has = |program: &str, arg: &str| {
        std::process::Command::new(program).arg(arg).finish().is_ok_and(|ran| ran.status.success())
    };
    if !has("python3", "--version") {
        crate::support::skip("there is no python3 here");
        return;
    }
    let world = World::bare_repo();
    let script = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/torture");
    let mut command = world.command("python3", &world.root);
    command.arg(script).args(["--binary", env!("CARGO_BIN_EXE_liza"), "--seed", "104", "--quick", "agents"]);
    let ran = Ran::of(command.finish().expect("the script runs"));
    for line in ran.stdout.lines().filter(|line| line.contains("skipped")) {
        crate::support::skip(line);
    }
    assert_eq!(ran.exit, 0, "{}\n{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("2 tried, 2 as they must be"), "{}", ran.stdout);
}
