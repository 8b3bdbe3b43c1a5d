//! An agent that hides its ancestors is refused: hiding makes it neither a person nor another agent.

use super::*;
use crate::support::process::Bounded as _;

/// Ways to start a command with hidden or false ancestors; `$1…` is the command.
const WAYS: &str = r#"
bare="env -i PATH=$PATH HOME=$HOME"
tell() { name=$1; shift; "$@" > "$OUT/$name" 2>&1 </dev/null; echo "exit $?" >> "$OUT/$name"; }
in_mounts() { steps=$1; shift; unshare -rm sh -c "$steps"' && exec "$@"' sh "$@"; }
way_noproc() { in_mounts 'mount -t tmpfs none /proc' "$@"; }
way_emptyproc() { mkdir -p $OUT/empty; in_mounts "mount --bind $OUT/empty /proc" "$@"; }
way_boot() { in_mounts 'mount --bind /proc/sys/kernel/random/uuid /proc/sys/kernel/random/boot_id' "$@"; }
way_bootfile() { echo 01234567-89ab-cdef-0123-456789abcdef > $OUT/boot; in_mounts "mount --bind $OUT/boot /proc/sys/kernel/random/boot_id" "$@"; }
way_random() { mkdir -p $OUT/random; echo 01234567-89ab-cdef-0123-456789abcdef > $OUT/random/boot_id; in_mounts "mount --bind $OUT/random /proc/sys/kernel/random" "$@"; }
way_otherstat() { in_mounts 'mount --bind /proc/1 /proc/$PPID' "$@"; }
way_pids() { unshare -rpf --mount-proc "$@"; }
way_pidsonly() { unshare -rpf "$@"; }
way_nolocks() { unshare -rpf --mount-proc sh -c "mount -t tmpfs none $PROJECT_ROOT/.liza/locks"' && exec "$@"' sh "$@"; }
way_nolocksproc() { in_mounts "mount -t tmpfs none $PROJECT_ROOT/.liza/locks && mount -t tmpfs none /proc" "$@"; }
way_twice() { unshare -rpf --mount-proc unshare -rpf --mount-proc "$@"; }
way_orphan() { (setsid "$@" & ) ; sleep 0.2; }
way_users() { unshare -r "$@"; }
way_clock() { unshare -rT --monotonic 1000000 --boottime 1000000 --fork "$@"; }
way_clockpids() { unshare -rTpf --monotonic 1000000 --mount-proc "$@"; }
way_fakedclock() { mkdir -p $OUT/ns; ln -sfn 'time:[4026531834]' $OUT/ns/time; ln -sfn "$(readlink /proc/self/ns/pid)" $OUT/ns/pid
  unshare -rTm --monotonic 1000000 --boottime 1000000 --fork sh -c "mount --bind $OUT/ns /proc/\$\$/ns"' && exec "$@"' sh "$@"; }
way_name() { n=$OUT/$(printf '\377\376 \375'); cp "$(command -v sh)" "$n"; "$n" -c '"$@"; exit $?' sh "$@"; }
WAYS="noproc emptyproc boot bootfile random otherstat pids pidsonly nolocks nolocksproc twice users clock clockpids fakedclock name"
"#;

fn has_namespaces() -> bool {
    let mut probe = std::process::Command::new("unshare");
    probe.args(["-rmpf", "--mount-proc", "true"]);
    let able = probe.finish_status().is_ok_and(|status| status.success());
    if !able {
        crate::support::skip("this user may not make namespaces");
    }
    able
}

#[test]
fn hidden_agent_keeps_its_identity() {
    if !has_namespaces() {
        return;
    }
    let world = scripted(&format!(
        r#"{WAYS}
me=$(command -v liza)
liza task checkpoint t1 --intent "the file of t1 says hello" --risks "none, a new file" --validate "cat t1.txt" --expect hello --file t1.txt --file tests/test_t1.sh
mkdir -p tests; echo hello > t1.txt; echo true > tests/test_t1.sh
git add -A; git commit -qm t1; liza task submit t1
sha=$(git rev-parse HEAD)
rev="env LIZA_AGENT_ID=rev LIZA_AGENT_TOKEN_FILE=$PROJECT_ROOT/.liza/tokens/rev"
for way in $WAYS; do
  tell person-$way way_$way $bare $me agent register --role code_reviewer --id evil-$way
  tell token-$way way_$way $rev $me review claim t1
  tell approve-$way way_$way $rev $me review approve t1 --commit $sha
  tell switch-$way way_$way $bare $me pause
done
echo $WAYS > $OUT/ways
"#
    ));
    world.register("code_reviewer", "rev");
    add(&world, "t1");
    let ran = agent_run(&world, &["--role", "coder", "--once"]);
    assert!(ran.exit == 0 || ran.exit == 1, "{}", ran.stdout);
    let ways = out(&world, "ways");
    assert!(ways.split_whitespace().count() > 10, "{ways}");
    for way in ways.split_whitespace() {
        for what in ["person", "token", "approve", "switch"] {
            let said = out(&world, &format!("{what}-{way}"));
            assert!(said.contains("liza:") || said.contains("error"), "{what}-{way} did not run: {said}");
            assert!(!said.trim_end().ends_with("exit 0"), "{what}-{way}: {said}");
        }
    }
    let state = world.state();
    assert!(!state.contains("evil-"), "{state}");
    assert_eq!(world.row("t1")["status"], "READY_FOR_REVIEW");
    assert!(!world.path(".liza/PAUSE").exists());
}

#[test]
fn agent_in_own_namespace_acts_as_itself() {
    if !has_namespaces() {
        return;
    }
    // As in a container: the runner is not visible, and the agent presents its own token.
    let world = scripted(&format!(
        "{WAYS}\ntell own way_pids liza note 'from a container' --task t1\n\
         tell bare way_pids $bare $(command -v liza) note 'without a token' --task t1\n"
    ));
    add(&world, "t1");
    agent_run(&world, &["--role", "coder", "--once"]);
    assert!(out(&world, "own").ends_with("exit 0\n"), "{}", out(&world, "own"));
    // The process has its runner's mark and needs no token.
    assert!(out(&world, "bare").ends_with("exit 0\n"), "{}", out(&world, "bare"));
    let notes = world.json(&HUMAN, &["inbox"]).ok().stdout;
    assert!(notes.contains("from a container") && notes.contains("coder-1"), "{notes}");
}

#[test]
fn other_clock_expires_no_lease() {
    if !has_namespaces() {
        return;
    }
    let world = scripted(&format!(
        "{WAYS}\ntell claim way_clock liza task claim t2\ntell plain liza task claim t2\ntell hid way_noproc liza task claim t2\ntell faked way_fakedclock liza task claim t2\n"
    ));
    let other = world.register("coder", "other");
    add(&world, "t1");
    add(&world, "t2");
    world.claim(&other, "t2");
    agent_run(&world, &["--role", "coder", "--once", "--task", "t1"]);
    for name in ["claim", "plain", "hid", "faked"] {
        let said = out(&world, name);
        assert!(!said.is_empty() && !said.trim_end().ends_with("exit 0"), "{name}: {said}");
    }
    assert_eq!(world.show("t2")["assigned_to"], "other");
}

#[test]
fn replaced_getpid_changes_no_identity() {
    let world = World::new();
    let source = world.home().join("pid.c");
    let library = world.home().join("pid.so");
    let text =
        "#include <sys/types.h>\npid_t getpid(void) { return 1; }\npid_t getppid(void) { return 0; }\n";
    std::fs::write(&source, text).expect("a source");
    let mut cc = std::process::Command::new("cc");
    cc.args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source);
    if !cc.finish_status().is_ok_and(|status| status.success()) {
        crate::support::skip("there is no `cc` here");
        return;
    }
    play(
        &world,
        &format!(
            "{WAYS}\nme=$(command -v liza)\n\
             tell person $bare LD_PRELOAD={lib} $me agent register --role code_reviewer --id evil\n\
             tell note $bare LD_PRELOAD={lib} $me note 'whose am I' --task t1\n",
            lib = library.display()
        ),
    );
    configure(&world, "run: { grace_seconds: 1 }\n");
    add(&world, "t1");
    agent_run(&world, &["--role", "coder", "--once"]);
    assert!(out(&world, "person").contains("only a person"), "{}", out(&world, "person"));
    assert!(!world.state().contains("evil"));
    let notes = world.json(&HUMAN, &["inbox"]).ok().stdout;
    assert!(notes.contains("coder-1"), "{notes}");
}

#[test]
fn orphan_of_killed_runner_acts_as_the_agent() {
    let world = scripted(
        r#"me=$(command -v liza)
runner=$(liza --json agent list | sed 's/.*"id":"coder-1"[^}]*"runner":\([0-9]*\).*/\1/')
cat > $OUT/free.sh <<END
kill -9 $runner \$1
until ! kill -0 $runner 2>/dev/null; do :; done
env -i PATH="$PATH" HOME="$HOME" $me agent register --role code_reviewer --id evil > $OUT/free 2>&1
echo "exit \$?" >> $OUT/free
touch $OUT/free.done
END
setsid sh $OUT/free.sh $PPID &
sleep 600"#,
    );
    add(&world, "t1");
    // Runner and holder die at once: no process is left between the agent and init.
    let mut child = start(&world, &["agent", "run", "--role", "coder", "--once"]);
    child.wait().expect("it ends");
    until("the orphan has tried", || world.home().join("out/free.done").exists());
    let said = out(&world, "free");
    assert!(!said.trim_end().ends_with("exit 0"), "{said}");
    assert!(!world.state().contains("evil"));
    for pid in agents_of(&world) {
        signal(pid, "-KILL");
    }
}

/// A process that outlives its runner is refused: also with lowered limits, with limits that cannot be read, and after the next
/// runner of the same agent has another mark.
#[test]
fn orphan_is_no_person_and_uses_no_token() {
    let world = scripted(
        r#"me=$(command -v liza)
if [ "$LIZA_TASK" = t2 ]; then touch $OUT/again; while [ ! -e $OUT/orphan.done ]; do sleep 0.05; done; exit 0; fi
runner=$(liza --json agent list | sed 's/.*"id":"coder-1"[^}]*"runner":\([0-9]*\).*/\1/')
cat > $OUT/free.sh <<END
bare="env -i PATH=$PATH HOME=$HOME"
rev="\$bare LIZA_AGENT_ID=rev LIZA_AGENT_TOKEN_FILE=$PROJECT_ROOT/.liza/tokens/rev"
tell() { name=\$1; shift; "\$@" > $OUT/\$name 2>&1 </dev/null; echo "exit \$?" >> $OUT/\$name; }
both() { name=\$1; shift; tell person-\$name \$bare "\$@" $me agent register --role code_reviewer --id evil-\$name; tell token-\$name \$rev "\$@" $me note evil; }
kill -9 $runner \$1
until ! kill -0 $runner 2>/dev/null; do :; done
both plain env
both locks prlimit --locks=5:5
both rttime prlimit --rttime=5:5
both unasked strace -f -o /dev/null -e inject=prlimit64:error=EINVAL
both zero strace -f -o /dev/null -e inject=prlimit64:retval=0
touch $OUT/free.done
while [ ! -e $OUT/again ]; do sleep 0.05; done
both later env
touch $OUT/orphan.done
END
setsid sh $OUT/free.sh $PPID &
sleep 600"#,
    );
    let has = |program: &str, args: &[&str]| {
        let mut probe = std::process::Command::new(program);
        let able = probe.args(args).finish_status().is_ok_and(|status| status.success());
        if !able {
            crate::support::skip(&format!("{program} cannot be used here"));
        }
        able
    };
    let limits = has("prlimit", &["--locks=5:5", "true"]);
    let traced = has("strace", &["-o", "/dev/null", "-e", "inject=prlimit64:error=EINVAL", "true"]);
    world.register("code_reviewer", "rev");
    add(&world, "t1");
    add(&world, "t2");
    start(&world, &["agent", "run", "--role", "coder", "--once", "--task", "t1"]).wait().expect("it ends");
    until("the orphan has tried", || world.home().join("out/free.done").exists());
    agent_run(&world, &["--role", "coder", "--once", "--task", "t2"]);
    until("it has tried again", || world.home().join("out/orphan.done").exists());
    let mut names = vec!["plain", "later"];
    names.extend(if limits { &["locks", "rttime"][..] } else { &[] });
    names.extend(if traced { &["unasked", "zero"][..] } else { &[] });
    for name in names {
        let said = out(&world, &format!("person-{name}"));
        assert!(said.contains("error:") && !said.trim_end().ends_with("exit 0"), "{name}: {said}");
    }
    assert!(!world.state().contains("evil-"), "{}", world.state());
    // Before the next runner starts, the process still counts as its agent, whatever token it presents.
    let notes = world.json(&HUMAN, &["inbox"]).ok().data()["human_notes"].clone();
    let by: Vec<&str> =
        notes.as_array().expect("notes").iter().filter_map(|note| note["from"].as_str()).collect();
    assert!(!by.contains(&"rev") && !by.contains(&"human"), "{notes}");
    assert!(!out(&world, "token-later").trim_end().ends_with("exit 0"), "{}", out(&world, "token-later"));
    for pid in agents_of(&world) {
        signal(pid, "-KILL");
    }
}

#[test]
fn agents_and_gates_have_no_terminal() {
    let world = scripted(
        r#"if (: </dev/tty) 2>/dev/null; then echo open; else echo none; fi > $OUT/agent
liza task checkpoint t1 --intent "the file of t1 says hello" --risks "none, a new file" \
  --validate "if (: </dev/tty) 2>/dev/null; then echo open; else echo none; fi > $OUT/gate; cat t1.txt" --expect hello --file t1.txt --file tests/test_t1.sh
mkdir -p tests; echo hello > t1.txt; echo true > tests/test_t1.sh; git add -A; git commit -qm t1; liza task submit t1"#,
    );
    add(&world, "t1");
    let inside = format!(
        "(: </dev/tty) && echo open > {}/out/person; {} agent run --role coder --once",
        world.home().display(),
        env!("CARGO_BIN_EXE_liza")
    );
    let mut script = world.command("script", &world.root);
    script.args(["-qec", &inside, "/dev/null"]);
    if script.finish().is_err() {
        crate::support::skip("there is no `script` here");
        return;
    }
    assert_eq!(out(&world, "person").trim(), "open", "the control has a terminal");
    assert_eq!(out(&world, "agent").trim(), "none");
    assert_eq!(out(&world, "gate").trim(), "none");
}
