//! A coder and a reviewer who cannot agree, below runners.

use super::*;

#[test]
fn oscillating_task_blocks_while_others_finish() {
    // The coder alternates between two versions; the reviewer always wants the other one.
    let world = scripted(&format!(
        r#"ping_pong_coder() {{
  liza task checkpoint "$LIZA_TASK" --intent "the file of $LIZA_TASK says what the review wants" --risks "none, one file" \
    --validate "cat $LIZA_TASK.txt" --expect hello --file "$LIZA_TASK.txt" --file "tests/test_$LIZA_TASK.sh" || return 1
  mkdir -p tests
  if grep -qs loud "$LIZA_TASK.txt"; then echo "hello soft" > "$LIZA_TASK.txt"; else echo "hello loud" > "$LIZA_TASK.txt"; fi
  echo true > "tests/test_$LIZA_TASK.sh"
  git add -A && git commit -qm "$LIZA_TASK" && liza task submit "$LIZA_TASK"
}}
ping_pong_reviewer() {{
  commit="$(git rev-parse HEAD)"
  open="$(liza --json review show "$LIZA_TASK" --no-diff | grep -o '"id":"i[12]"' | wc -l)"
  case "$open" in
    0) liza review reject "$LIZA_TASK" --commit "$commit" --reason "far too noisy" --issue "major:ring.txt:1:it must be soft" ;;
    1) liza review reject "$LIZA_TASK" --commit "$commit" --reason "too quiet to hear" --issue "major:ring.txt:1:speak up, people sleep" \
         --prior i1=resolved ;;
    *) liza review reject "$LIZA_TASK" --commit "$commit" --reason "my ears hurt" --prior i1=open --prior i2=resolved ;;
  esac
}}
if [ "$LIZA_TASK" = ring ]; then
  case "$LIZA_ROLE" in coder) ping_pong_coder ;; code_reviewer) ping_pong_reviewer ;; esac
  exit 0
fi
{EVERY_ROLE}"#
    ));
    add(&world, "ring");
    add(&world, "calm");
    let ran = world.json(&HUMAN, &["run", "--team", "coder", "--team", "code_reviewer"]).exits(1);
    let data = answer(&ran)["data"].clone();
    assert_eq!(data["outcome"], "stuck", "{data}");
    let task = world.show("ring");
    assert_eq!(task["status"], "BLOCKED", "{}", ran.stdout);
    assert_eq!(task["review_result"]["disagreement"], "oscillating", "{}", task["review_result"]);
    assert_eq!(task["review_cycles_total"], 3);
    assert_eq!(world.show("calm")["status"], "MERGED");
}
