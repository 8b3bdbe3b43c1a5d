# promise: an agent that has lost its lease is refused
# attack: submit, renew and claim with the claim number of another agent
# play: person coder

person() {
    liza agent register --role coder --id other > /dev/null
    env LIZA_AGENT_ID=other LIZA_AGENT_TOKEN_FILE="$ROOT/.liza/tokens/other" liza task claim t2 > /dev/null
}

coder() {
    try submit liza task submit t2
    try renew liza task renew t2
    try release liza task release t2 --reason evil
    try token env LIZA_AGENT_ID=other LIZA_AGENT_TOKEN_FILE="$ROOT/.liza/tokens/other" liza task release t2 --reason evil
    work && submit
}

outcome() {
    was_refused submit renew release token
    [ "$(status_of t2)" = WORKING ] || breach "t2 is $(status_of t2)"
    liza --json task show t2 | grep -q '"assigned_to":"other"' || breach "t2 is no longer the other agent's"
}

won() {
    env LIZA_AGENT_ID=other LIZA_AGENT_TOKEN_FILE="$ROOT/.liza/tokens/other" liza task release t2 --reason evil
}
