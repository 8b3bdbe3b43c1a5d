# What the scripted agents share. An agent for the provider `command` is any program. Its runner
#   - has claimed the work already: $LIZA_TASK names it, $LIZA_ROLE the role, $LIZA_TRIGGER why a planner was woken;
#   - starts it in the place for that work: a coder in the task's worktree, on its branch; a reviewer in a checkout of
#     exactly the commit that was submitted; a planner in a checkout of integration;
#   - gives the prompt on standard input and in $LIZA_PROMPT_FILE (a model would read it; these scripts know their part);
#   - says who it is ($LIZA_AGENT_ID and a token file), so that every `liza` command is that agent's;
#   - names the main checkout, to read and never to change: $PROJECT_ROOT.
# When the agent ends, its runner looks at what it left, not at what it said: submitted, committed, blocked, or nothing.

# These commits are plain ones, whatever this machine's git configuration says.
export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null

# say WHAT: one line in .liza/runs/<task>/…/*.out.log, where all output of an agent is kept.
say() {
    echo "$LIZA_AGENT_ID: $*"
    [ -z "${DEMO_SPEED:-}" ] || sleep "$DEMO_SPEED"
}

# The demo's stage: a folder of marker files by which it knows where an agent is. Without it no agent waits.
mark() {
    [ ! -d "${DEMO_STAGE:-}" ] || echo "$LIZA_AGENT_ID $$" > "$DEMO_STAGE/$1"
}

seen() {
    [ -e "${DEMO_STAGE:-/nowhere}/$1" ]
}

# await MARKER: waits for it, some minutes at most.
await() {
    tries=0
    while [ -d "${DEMO_STAGE:-}" ] && ! seen "$1" && [ "$tries" -lt 6000 ]; do
        tries=$((tries + 1))
        sleep 0.05 2> /dev/null || { sleep 1 && tries=$((tries + 20)); }
    done
}
