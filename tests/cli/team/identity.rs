//! A descendant of a runner counts as its agent, whatever its environment contains.

use super::*;
use crate::support::process::Bounded as _;

#[test]
fn coder_keeps_identity_however_it_starts_liza() {
    let world = scripted(
        r#"me=$(command -v liza)
bare() { env -i PATH="$PATH" HOME="$HOME" "$@"; }
tell() { name=$1; shift; "$@" > "$OUT/$name" 2>&1; echo "exit $?" >> "$OUT/$name"; }
liza task checkpoint t1 --intent "the file of t1 says hello" --risks "none, a new file" --validate "cat t1.txt" --expect hello --file t1.txt --file tests/test_t1.sh
mkdir -p tests; echo hello > t1.txt; echo true > tests/test_t1.sh
git add -A; git commit -qm t1; liza task submit t1
sha=$(git rev-parse HEAD)
# Without any identity it would be the human, who may review.
tell unset bare $me review claim t1
tell resume bare $me resume
tell register bare $me agent register --role code_reviewer --id friend
tell run bare $me agent run --role code_reviewer --provider scripted --once
# In a session of its own, and with a parent that is gone.
tell setsid bare setsid -w $me review claim t1
bare sh -c "(setsid sh -c 'until [ \$(ps -o ppid= -p \$\$ | tr -d \" \") != '\$\$' ]; do :; done; $me review claim t1 > $OUT/fork 2>&1; echo exit \$? >> $OUT/fork; touch $OUT/fork.done' &) "
until [ -e $OUT/fork.done ]; do sleep 0.05; done
# With another clock, by which the start of every process looks different.
tell clock bare unshare -r -T --boottime 100000 --fork $me review claim t1
# With the token of an agent that may.
tell token env LIZA_AGENT_ID=rev LIZA_AGENT_TOKEN_FILE=$PROJECT_ROOT/.liza/tokens/rev $me review claim t1
tell approve env LIZA_AGENT_ID=rev LIZA_AGENT_TOKEN_FILE=$PROJECT_ROOT/.liza/tokens/rev $me review approve t1 --commit $sha
tell merge bare $me merge t1
tell who env LIZA_AGENT_ID=rev LIZA_AGENT_TOKEN_FILE=$PROJECT_ROOT/.liza/tokens/rev $me note "who am I" --task t1
# Retiring is no way out either.
tell retire bare $me agent retire coder-1
tell after bare $me review claim t1
"#,
    );
    let reviewer = world.register("code_reviewer", "rev");
    add(&world, "t1");
    let ran = agent_run(&world, &["--role", "coder", "--once"]);
    assert!(ran.exit == 0 || ran.exit == 1, "{}", ran.stdout);
    for name in ["unset", "setsid", "fork", "token", "approve", "merge"] {
        let said = out(&world, name);
        assert!(said.trim_end().ends_with("exit 1"), "{name}: {said}");
        assert!(said.contains("coder-1") || said.contains("role"), "{name}: {said}");
    }
    for name in ["resume", "register", "run", "after"] {
        let said = out(&world, name);
        assert!(said.trim_end().ends_with("exit 1"), "{name}: {said}");
    }
    // Where time namespaces cannot be made, `unshare` fails by itself.
    let clock = out(&world, "clock");
    assert!(!clock.contains("reviewing") && !clock.trim_end().ends_with("exit 0"), "{clock}");
    assert!(out(&world, "who").ends_with("exit 0\n"), "{}", out(&world, "who"));
    assert!(world.state().contains("who am I"));
    let task = world.json(&HUMAN, &["task", "show", "t1"]).ok().data();
    assert_eq!(task["status"], "READY_FOR_REVIEW");
    assert!(world.violations() >= 5, "{}", world.violations());
    // The same command from outside of the runner acts with the identity it presents.
    let commit = task["review_commit"].as_str().unwrap();
    world.approve(&reviewer, "t1", commit);
    // The author of a note is the agent that really wrote it.
    let notes = world.json(&HUMAN, &["inbox"]).ok().stdout;
    assert!(notes.contains("coder-1"), "{notes}");
}

#[test]
fn two_runners_cannot_share_an_agent_id() {
    let world = scripted("touch $OUT/up; sleep 600");
    add(&world, "t1");
    let mut child = start(&world, &["agent", "run", "--role", "coder", "--id", "coder-1"]);
    until("the agent works", || world.home().join("out/up").exists());
    let ran = agent_run(&world, &["--role", "coder", "--id", "coder-1", "--once"]).exits(1);
    assert_eq!(answer(&ran)["error"]["code"], "refused.agent_running");
    world.refused(
        &HUMAN,
        &["agent", "register", "--role", "coder", "--id", "coder-1"],
        1,
        "refused.agent_running",
    );
    // Without an id it gets the next free one.
    let ran = agent_run(&world, &["--role", "coder", "--once"]).ok();
    assert!(events(&ran).iter().all(|event| event["agent"] == "coder-2"), "{}", ran.stdout);
    signal(child.id(), "-TERM");
    assert_eq!(child.wait().expect("it ends").code(), Some(143));
}

#[test]
fn deep_or_orphaned_agent_is_no_person() {
    let world = scripted(
        r#"cat > $OUT/deep.sh <<'END'
if [ "$1" -gt 0 ]; then sh "$0" $(($1 - 1)); exit $?; fi
env -i PATH="$PATH" HOME="$HOME" liza agent register --role code_reviewer --id evil > "$DEEP" 2>&1
END
DEEP=$OUT/deep sh $OUT/deep.sh 300
runner=$(liza --json agent list | sed 's/.*"id":"coder-1"[^}]*"runner":\([0-9]*\).*/\1/')
cat > $OUT/free.sh <<END
kill -9 $runner
until ! kill -0 $runner 2>/dev/null; do :; done
env -i PATH="$PATH" HOME="$HOME" liza note "whose am I" --task t1 > $OUT/free 2>&1
END
setsid sh $OUT/free.sh
sleep 600"#,
    );
    add(&world, "t1");
    let mut child = start(&world, &["run", "--team", "coder"]);
    until("its runner was killed", || world.row("t1")["epoch"] != 1 && !out(&world, "deep").is_empty());
    signal(child.id(), "-INT");
    signal(child.id(), "-INT");
    child.wait().expect("it ends");
    assert!(out(&world, "deep").contains("only a person"), "{}", out(&world, "deep"));
    let state = world.state();
    assert!(!state.contains("evil") && !state.contains("whose am I"), "{state}");
    until("nothing is left", || agents_of(&world).is_empty());
}

#[test]
fn runners_submit_uses_agents_environment() {
    let world = scripted(
        r#"liza task checkpoint t1 --intent "the file of t1 says hello" --risks "none, a new file" \
  --validate "env > $OUT/env; cat t1.txt" --expect hello --file t1.txt --file tests/test_t1.sh
mkdir -p tests; echo hello > t1.txt; echo true > tests/test_t1.sh; git add -A; git commit -qm t1"#,
    );
    add(&world, "t1");
    let mut command = world.liza_command(&HUMAN, &world.root, &["agent", "run", "--role", "coder", "--once"]);
    command.env("SOMEBODYS_SECRET", "canary-0123456789");
    Ran::of(command.finish().expect("liza runs")).ok();
    assert_eq!(world.row("t1")["status"], "READY_FOR_REVIEW");
    assert!(
        out(&world, "env").contains("PATH=") && !out(&world, "env").contains("canary"),
        "{}",
        out(&world, "env")
    );
}
