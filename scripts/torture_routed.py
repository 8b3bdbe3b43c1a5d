"""A routed goal in the worlds of `scripts/torture`: stages and commands for the sweeps over system calls, and a whole routed run of scripted
agents (`routed`) whose planner, supervisors, coders, operators, auditor, runners and run are killed at random."""

import json
import os
import random
import time

from torture_team import Fire, TeamWorld, count, words_of
from torture_world import Failed, put

STREAMS = """workstreams:
  - {id: a, goal: The files of a, ownership_paths: ["a*.txt", "tests/test_a*.sh"], timebox_minutes: 10}
  - {id: b, goal: The files of b, ownership_paths: ["b*.txt", "tests/test_b*.sh"], timebox_minutes: 10}
"""

AGENT = r"""OUT='@OUT@'
ssot() { liza --json status | grep -o 'scenario-[0-9a-f]\{12\}' | tail -n 1; }
hand_in() {
  file="$OUT/$LIZA_TASK.$$.json"
  printf '{"schema":"%s","ssot_id":"%s","slice_id":"%s","status":"complete","summary":"done"%s}' "$1" "$(ssot)" "$LIZA_TASK" "$2" > "$file"
  liza task submit "$LIZA_TASK" --result "$file"
}
slice() {
  printf '{"slice_id":"%s","agent_type":"coder_spark","slice_kind":"work","timebox_minutes":8,"ownership_paths":["%s.txt","tests/test_%s.sh"],"allowed_paths":["%s.txt","tests/test_%s.sh"],"task_contract":{"goal":"Write %s","acceptance":["it says hello"]}}' $1 $1 $1 $1 $1 $1
}
sleep 0.$(( $$ % 4 ))
case "$LIZA_ROLE" in
planner)
  [ "$LIZA_TRIGGER" != initial_planning ] || liza plan '@PLAN@' ;;
supervisor)
  case "$LIZA_TASK" in
  *-merge) hand_in worker-result.supervisor/1 ',"checks":[{"cmd":"true","exit":0}]' ;;
  *) name=${LIZA_TASK%-plan}
     hand_in worker-result.supervisor/1 ",\"dispatch_plan\":{\"workstream\":\"$name\",\"timebox_minutes\":10,\"ownership_paths\":[],\"slices\":[$(slice ${name}1),$(slice ${name}2)]}" ;;
  esac ;;
operator) hand_in worker-result.operator/1 ',"commands":[{"cmd":"ls","exit":0}],"findings":["there are files"]' ;;
auditor)
  case "$LIZA_TASK" in
  *-1) hand_in review-result.auditor/1 ',"verdict":"NEEDS_EVIDENCE","evidence_requests":["how many files are there"]' ;;
  *) hand_in review-result.auditor/1 ',"verdict":"APPROVE"' ;;
  esac ;;
coder)
  liza task checkpoint "$LIZA_TASK" --intent "the file of $LIZA_TASK says hello" --risks "none, a new file" \
    --validate "cat $LIZA_TASK.txt" --expect hello --file "$LIZA_TASK.txt" --file "tests/test_$LIZA_TASK.sh"
  [ $? = 5 ] && exit 0
  mkdir -p tests && echo hello > "$LIZA_TASK.txt" && echo "grep -q hello $LIZA_TASK.txt" > "tests/test_$LIZA_TASK.sh" || exit 1
  git add -A || exit 1
  git diff --cached --quiet || git commit -qm "$LIZA_TASK" || exit 1
  liza task submit "$LIZA_TASK" ;;
code_reviewer)
  case "$LIZA_TASK" in
  *-merge) liza result accept "$LIZA_TASK" ;;
  *) liza review approve "$LIZA_TASK" --commit "$(git rev-parse HEAD)" --summary fine ;;
  esac ;;
esac
said=$?
[ $said = 5 ] && exit 0
exit $said
"""


class RoutedWorld(TeamWorld):
    def play(self, first="", middle=""):
        put(self.words["STREAMS"], STREAMS)
        put(self.script, AGENT.replace("@OUT@", self.out).replace("@PLAN@", self.words["STREAMS"]))

    def __init__(self, options):
        super().__init__(options, config="run: { grace_seconds: 1, window: 9 }\n")
        self.must("goal", "abandon", "goal-1", "--reason", "the next one is given to run")

    def over(self):
        """The goal is complete: routed once, planned first, audited, and every report without a commit."""
        self.gone(10)
        status = self.data("status")
        routes = status["routes"]
        if len(routes) != 1 or routes[0]["route"] != "multi":
            raise Failed(f"routes: {routes}")
        verdicts = [audit["verdict"] for audit in routes[0]["audits"]]
        if verdicts != ["NEEDS_EVIDENCE", "APPROVE"]:
            raise Failed(f"the auditor said {verdicts}")
        for task in status["tasks"]:
            shown = self.task(task["id"])
            if shown["status"] != "MERGED":
                raise Failed(f"{task['id']} is {shown['status']}")
            merge = shown.get("merge") or {}
            if (shown["kind"] == "report" or task["id"].endswith("-merge")) != bool(merge.get("nothing")) or bool(merge.get("commit")) == bool(merge.get("nothing")):
                raise Failed(f"{task['id']} of kind {shown['kind']}: {merge}")
        for name in ("a1", "a2", "b1", "b2"):
            if self.git("show", f"integration:{name}.txt") != "hello":
                raise Failed(f"{name}: its file is not on integration")
        self.sound_and_untouched()
        self.must("archive", "--all")
        self.sound_and_untouched()
        self.must("deliver", "--to", "release", "--create")


class RoutedFire(Fire):
    def to_the_end(self, seconds):
        """Like a team's, but the goal is given once, and then `run` goes on with it."""
        given = self.world.start("run", "Write two parts, each of two files", "--multi")
        given.wait_for(lambda events: len(events) > 2)
        given.kill()
        given.end()
        self.note("run")
        if not self.world.data("status")["routes"]:
            raise Failed("the goal was killed before it was routed; nothing tells of it")
        super().to_the_end(seconds)


def part_routed(options):
    failed = 0
    end = time.time() + options.minutes * 60
    for number in range(options.rounds if options.rounds > 1 else 1000):
        if number and options.rounds <= 1 and time.time() > end:
            break
        seed, began = options.seed + number, time.time()
        world = RoutedWorld(options)
        fire = RoutedFire(world, random.Random(seed), wild=False)
        try:
            fire.to_the_end(600)
            world.over()
            count(f"routed (seed {seed})", 1, 0, began, words_of(fire.done))
        except (Failed, OSError, KeyError) as error:
            failed += count(f"routed (seed {seed})", 1, 1, began, f"{type(error).__name__} {error}; {words_of(fire.done)}")
            if options.keep:
                print(f"  kept: {world.home}")
                continue
        world.close()
    return failed


PARTS = {"routed": part_routed}
