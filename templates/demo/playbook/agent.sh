#!/bin/sh
# All roles of the playbook: planner, supervisors, operator, coders, reviewer and auditor. A model would read the dispatch; this knows
# its part. Report tasks end with one JSON value, handed in by `liza task submit --result`.
export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null
task=${LIZA_TASK:-}
stream=${task%%-*}

say() {
    echo "${LIZA_AGENT_ID:-planner}: $*" >&2
    [ -z "${DEMO_SPEED:-}" ] || sleep "$DEMO_SPEED"
}

# The scenario, as the route names it.
ssot() {
    liza --json status | grep -o 'scenario-[0-9a-f]\{12\}' | tail -n 1
}

# result SCHEMA REST: the fields every result has, and those of the role.
result() {
    printf '{"schema":"%s","ssot_id":"%s","slice_id":"%s","status":"complete","summary":"%s is done"%s}' \
        "$1" "$(ssot)" "$task" "$task" "$2"
}

# Handed in, and said last: an answer is one JSON value and nothing else.
hand_in() {
    result "$@" | liza task submit "$task" --result - >&2
    result "$@"
}

# slice NAME: one file of the stream, and its test.
slice() {
    printf '{"slice_id":"%s","agent_type":"coder_spark","slice_kind":"work","timebox_minutes":8,' "$1"
    printf '"ownership_paths":["%s/%s.sh","tests/%s/test_%s.sh"],"allowed_paths":["%s/","tests/%s/"],' \
        "$stream" "$1" "$stream" "$1" "$stream" "$stream"
    printf '"task_contract":{"goal":"Write %s","acceptance":["`sh %s/%s.sh` prints %s"]}}' "$1" "$stream" "$1" "$1"
}

merged() {
    liza --json task show "$1" 2> /dev/null | grep -q '"status":"MERGED"'
}

case $LIZA_ROLE/${LIZA_TRIGGER:-} in
planner/route)
    # The whole answer is this one value.
    echo '{"schema":"route/1","t_max_s":1500,"t_why":"two parts with two files each, and their tests","tiny":false,"clear":true,"risk":"low"}'
    ;;
planner/initial_planning)
    say "splits the goal into two workstreams"
    liza plan - <<'PLAN'
workstreams:
  - {id: greet, goal: Scripts that greet, ownership_paths: [greet/, tests/greet/], timebox_minutes: 10}
  - {id: count, goal: Scripts that count, ownership_paths: [count/, tests/count/], timebox_minutes: 10}
PLAN
    ;;
planner/*)
    say "was woken for $LIZA_TRIGGER and has nothing to add"
    ;;
supervisor/*)
    case $task in
    count-plan)
        # This plan comes late: the other stream works meanwhile.
        tries=0
        until merged greet-hello || [ "$tries" -gt 600 ]; do
            tries=$((tries + 1))
            sleep 0.1
        done
        slices="$(slice count-words),$(slice count-lines)"
        ;;
    greet-plan) slices="$(slice greet-hello),$(slice greet-bye)" ;;
    *-merge)
        say "runs the tests of the whole"
        sh tests/run.sh > /dev/null
        hand_in worker-result.supervisor/1 ",\"checks\":[{\"cmd\":\"sh tests/run.sh\",\"exit\":$?}]"
        exit
        ;;
    esac
    say "plans $stream"
    hand_in worker-result.supervisor/1 ",\"dispatch_plan\":{\"workstream\":\"$stream\",\"timebox_minutes\":10,\"ownership_paths\":[\"$stream/\",\"tests/$stream/\"],\"slices\":[$slices]}"
    ;;
operator/*)
    say "measures"
    files=$(find greet count -name '*.sh' | wc -l | tr -d ' ')
    # Not handed in: what it says last is taken, if it is exactly one JSON value. The first time it is not.
    grep -q '"attempt": 2' "$LIZA_PROMPT_FILE" || echo 'Here is what I found:'
    result worker-result.operator/1 ",\"commands\":[{\"cmd\":\"find greet count -name '*.sh'\",\"exit\":0}],\"findings\":[\"$files scripts\"],\"measurements\":{\"scripts\":$files}"
    ;;
coder/*)
    say "writes $task"
    exec 3>&1 >&2
    liza task checkpoint "$task" --intent "\`sh $stream/$task.sh\` prints $task" --risks "none, new files" \
        --validate "sh tests/$stream/test_$task.sh" --expect ok --file "$stream/$task.sh" --file "tests/$stream/test_$task.sh" || exit 1
    mkdir -p "$stream" "tests/$stream"
    echo "echo $task" > "$stream/$task.sh"
    echo "[ \"\$(sh $stream/$task.sh)\" = $task ] && echo ok" > "tests/$stream/test_$task.sh"
    git add --all && git commit --quiet -m "$task" && liza task submit "$task" || exit 1
    result worker-result.coder/1 ",\"files_changed\":[\"$stream/$task.sh\",\"tests/$stream/test_$task.sh\"]" >&3
    ;;
code_reviewer/*)
    case $task in
    *-merge) liza result accept "$task" ;;
    *) liza review approve "$task" --commit "$(git rev-parse HEAD)" --summary "it prints what it should" ;;
    esac
    ;;
auditor/*)
    # Evidence first; the second look approves.
    case $task in
    *-1) hand_in review-result.auditor/1 ',"verdict":"NEEDS_EVIDENCE","evidence_requests":["How many scripts are there?"]' ;;
    *) hand_in review-result.auditor/1 ',"verdict":"APPROVE","residual_risk":"none that the tests do not see"' ;;
    esac
    ;;
esac
