# promise: a lease expires by the machine's clock, not by an agent's
# attack: take over the task of another agent in a time namespace where its lease is over
# play: person coder

needs() { unshare -rT --monotonic 1000000 --boottime 1000000 --fork true 2> /dev/null || echo "this user may not make time namespaces (unshare -T)"; }

person() {
    liza agent register --role coder --id other > /dev/null
    env LIZA_AGENT_ID=other LIZA_AGENT_TOKEN_FILE="$ROOT/.liza/tokens/other" liza task claim t2 > /dev/null
}

coder() {
    try later unshare -rT --monotonic 1000000 --boottime 1000000 --fork liza task claim t2
    try later-bare unshare -rT --monotonic 1000000 --boottime 1000000 --fork env -i PATH="$PATH" HOME="$PLAIN_HOME" liza task claim t2
    work && submit
}

outcome() {
    was_refused later later-bare
    [ "$(status_of t2)" = WORKING ] || breach "t2 is $(status_of t2)"
    liza --json task show t2 | grep -q '"assigned_to":"other"' || breach "t2 is no longer the other agent's"
}

won() {
    env LIZA_AGENT_ID=other LIZA_AGENT_TOKEN_FILE="$ROOT/.liza/tokens/other" liza task release t2 --reason evil
}
