//! Runners and runs with gates.

use super::*;

/// A coder whose work depends on integration's content: it looks there, and fixes its work when its prompt names the failure.
const PARTS: &str = r#"
mkdir -p parts
cat > "$OUT/$LIZA_ROLE-$LIZA_TASK.$(date +%s%N).prompt"
case "$LIZA_ROLE" in
  coder)
    liza task checkpoint "$LIZA_TASK" --intent "one more part" --risks "too many of them" --validate "ls tests" --expect "test_$LIZA_TASK" \
      --file "parts/$LIZA_TASK" --file "parts/whole" --file "tests/test_$LIZA_TASK.sh" 2>> "$OUT/said"
    mkdir -p parts tests
    # Only one part may be there; who comes later joins the whole.
    if ls parts | grep -qv -e "^$LIZA_TASK$" -e '^whole$'; then
      rm -f "parts/$LIZA_TASK"; echo "$LIZA_TASK" >> parts/whole
    else
      echo part > "parts/$LIZA_TASK"
    fi
    echo "echo ok" > "tests/test_$LIZA_TASK.sh"
    git add -A; git commit -qm "$LIZA_TASK"
    liza task submit "$LIZA_TASK" >> "$OUT/said" 2>&1 ;;
  code_reviewer) good_reviewer >> "$OUT/said" 2>&1 ;;
  planner) good_planner ;;
esac
"#;

const FEW: &str = "run: { grace_seconds: 1 }\ngates:\n  - name: few\n    command: 'test $(ls parts | grep -cv ^whole) -le 1 || { echo too many parts; exit 1; }'\n";

#[test]
fn coder_fixes_red_merge_in_next_session() {
    let world = scripted(PARTS);
    configure(
        &world,
        &format!("{FEW}team:\n  - {{ role: coder, count: 2 }}\n  - {{ role: code_reviewer, count: 1 }}\n"),
    );
    for id in ["t1", "t2"] {
        let own = format!("parts/{id}");
        let test = format!("tests/test_{id}.sh");
        world.task_with(id, &["parts/", &test], &["--owns", &own, "--owns", &test]);
    }
    let ran = world.liza(&HUMAN, &["--json", "run"]);
    assert_eq!(ran.exit, 0, "{}\n{}\n{}", ran.stdout, ran.stderr, out(&world, "said"));
    let failed = events(&ran);
    assert_eq!(named(&failed, "merge_failed").len(), 1, "{}", ran.stdout);
    for id in ["t1", "t2"] {
        assert_eq!(world.row(id)["status"], "MERGED");
    }
    let sent_back = named(&failed, "merge_failed")[0]["task"].as_str().unwrap().to_owned();
    let prompts: Vec<String> = std::fs::read_dir(world.home().join("out"))
        .unwrap()
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(&format!("coder-{sent_back}.")))
        .map(|entry| std::fs::read_to_string(entry.path()).unwrap())
        .collect();
    let named_in_prompt = prompts.iter().any(|prompt| {
        prompt.contains("Gate `few` is red on the merged tree") && prompt.contains("gate-merge-few.log")
    });
    assert!(named_in_prompt, "{prompts:?}");
    world.sound();
}

#[test]
fn reviewer_prompt_has_the_gate_results() {
    let world = scripted(&format!("cat > $OUT/$LIZA_ROLE.prompt; {EVERY_ROLE}"));
    let asked = world.home().join("asked");
    configure(
        &world,
        &format!(
            "run: {{ grace_seconds: 1 }}\ngates:\n  - name: count\n    command: 'echo x >> {}'\n",
            asked.display()
        ),
    );
    add(&world, "t1");
    agent_run(&world, &["--role", "coder", "--once"]).ok();
    assert!(!asked.exists(), "it is not asked at submit");
    agent_run(&world, &["--role", "code_reviewer", "--once"]).ok();
    assert_eq!(world.row("t1")["status"], "MERGED");
    let prompt = out(&world, "code_reviewer.prompt");
    assert!(prompt.contains("gate count: pass"), "{prompt}");
    // The gate runs before the review and not again: approval and merge check the same tree.
    assert_eq!(std::fs::read_to_string(asked).unwrap().lines().count(), 1);
}

#[test]
fn run_reports_red_integration_and_ends() {
    let world = scripted(EVERY_ROLE);
    configure(
        &world,
        "run: { grace_seconds: 1 }\nteam:\n  - { role: coder, count: 1 }\n  - { role: code_reviewer, count: 1 }\n",
    );
    add(&world, "t1");
    agent_run(&world, &["--role", "coder", "--once"]).ok();
    let commit = world.show("t1")["review_commit"].as_str().unwrap().to_owned();
    let reviewer = world.register("code_reviewer", "judge");
    world.approve(&reviewer, "t1", &commit);
    configure(
        &world,
        "run: { grace_seconds: 1 }\nteam:\n  - { role: coder, count: 1 }\n  - { role: code_reviewer, count: 1 }\ngates:\n  - { name: licence, command: 'test -f LICENCE' }\n",
    );
    let ran = quickly(&world, &["--json", "run"]);
    assert_ne!(ran.exit, 0);
    let said = format!("{}{}", ran.stdout, ran.stderr);
    assert!(said.contains("licence") && said.contains("integration advance"), "{said}");
    assert_eq!(world.row("t1")["status"], "APPROVED");
}
