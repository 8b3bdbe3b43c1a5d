# promise: below a runner the token of another agent counts for nothing
# attack: show the token of a reviewer and judge own work with it
# play: coder
# quick: yes

coder() {
    work && submit || return
    attempts
}

attempts() {
    commit=$(git -C "$ROOT" rev-parse refs/heads/task/t1)
    try claim as_rev liza review claim t1
    try approve as_rev liza review approve t1 --commit "$commit" --summary evil
    try bare-approve bare LIZA_AGENT_ID=rev LIZA_AGENT_TOKEN_FILE="$ROOT/.liza/tokens/rev" liza review approve t1 --commit "$commit" --summary evil
}

outcome() {
    was_refused claim approve bare-approve
}

won() { attempts; }
