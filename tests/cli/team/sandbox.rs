//! Agents in a sandbox like Codex's: another PATH, another pid namespace, and no right to write where gates run.

use super::*;

/// Runs the agent with `.worktrees/.gates` and `.git/worktrees` read-only, in its own pid namespace.
const SANDBOX: &str = r#"
if [ -z "$IN_SANDBOX" ]; then
  export IN_SANDBOX=yes
  exec unshare --mount --pid --fork --mount-proc sh -c '
    root="$PROJECT_ROOT"
    mkdir -p "$root/.worktrees/.gates"
    own=$(git rev-parse --path-format=absolute --git-dir)
    mount --bind "$own" "$own" &&
    mount --bind "$root/.worktrees/.gates" "$root/.worktrees/.gates" &&
    mount -o remount,bind,ro "$root/.worktrees/.gates" &&
    mount --bind "$root/.git/worktrees" "$root/.git/worktrees" &&
    mount --bind "$own" "$own" &&
    mount -o remount,bind,ro "$root/.git/worktrees" || exit 1
    export PATH="/usr/lib/other:$PATH"
    touch "$root/.worktrees/.gates/x" 2>/dev/null && { echo writable >> "$OUT/said"; exit 1; }
    exec sh "$0"' "$0"
fi
"#;

/// Whether this machine lets a test make such a sandbox.
fn can_unshare() -> bool {
    let tried = std::process::Command::new("unshare")
        .args(["--mount", "--pid", "--fork", "--mount-proc", "sh", "-c", "mount --bind /tmp /tmp"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .finish_status();
    let can = tried.is_ok_and(|status| status.success());
    if !can {
        crate::support::skip("this machine allows no mount namespace");
    }
    can
}

fn gated(world: &World, command: &str) {
    configure(
        world,
        &format!(
            "run: {{ grace_seconds: 1 }}\nteam:\n  - {{ role: coder, count: 1 }}\n  - {{ role: code_reviewer, count: 1 }}\n\
             gates:\n  - {{ name: count, command: '{command}', on: [submit, merge] }}\n"
        ),
    );
}

#[test]
fn sandboxed_team_uses_gates_of_its_runners() {
    if !can_unshare() {
        return;
    }
    let world = scripted(&format!("{SANDBOX}\n({EVERY_ROLE}) >> $OUT/said 2>&1"));
    let asked = world.home().join("asked");
    gated(&world, &format!("echo \"$PATH\" >> {}", asked.display()));
    add(&world, "t1");
    let ran = quickly(&world, &["--json", "run"]);
    assert_eq!(ran.exit, 0, "{}\n{}\n{}", ran.stdout, ran.stderr, out(&world, "said"));
    assert_eq!(world.row("t1")["status"], "MERGED");
    let said = out(&world, "said");
    assert!(said.contains("the runner of coder-1 runs it"), "{said}");
    // The reviewer's approval uses the recorded pass.
    assert!(!said.contains("the runner of code-reviewer-1 runs it"), "{said}");
    // Once for submit, review, approval and merge: all have the same tree and environment.
    let paths = std::fs::read_to_string(asked).unwrap();
    assert_eq!(paths.lines().count(), 1, "{paths}");
    assert!(!paths.contains("/usr/lib/other"), "{paths}");
    world.sound();
}

#[test]
fn sandboxed_submit_reports_a_red_gate() {
    if !can_unshare() {
        return;
    }
    let world = scripted(&format!(
        "{SANDBOX}\ngood_coder >> $OUT/said 2>&1\nliza task block \"$LIZA_TASK\" --reason red --question why"
    ));
    gated(&world, "echo no such licence; exit 3");
    add(&world, "t1");
    agent_run(&world, &["--role", "coder", "--once"]).ok();
    let said = out(&world, "said");
    assert!(said.contains("gate count: fail") && said.contains("exit"), "{said}");
    assert_eq!(world.row("t1")["status"], "BLOCKED");
    assert!(!world.path(".liza/gates/requests/coder-1").exists());
}

#[test]
fn agent_with_other_path_reuses_runners_pass() {
    let world = scripted(
        "PATH=/usr/lib/other:$PATH; export PATH; case \"$LIZA_ROLE\" in coder) good_coder ;; code_reviewer) liza gate run \"$LIZA_TASK\" > $OUT/said 2>&1; good_reviewer ;; esac",
    );
    let asked = world.home().join("asked");
    gated(&world, &format!("echo \"$PATH\" >> {}", asked.display()));
    add(&world, "t1");
    let ran = quickly(&world, &["--json", "run"]);
    assert_eq!(ran.exit, 0, "{}\n{}", ran.stdout, ran.stderr);
    assert!(out(&world, "said").contains("reused"), "{}", out(&world, "said"));
    assert_eq!(std::fs::read_to_string(asked).unwrap().lines().count(), 1);
}
