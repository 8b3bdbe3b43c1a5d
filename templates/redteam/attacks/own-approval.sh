# promise: an agent that implemented a task never approves it
# attack: approve its own work under its own name
# play: coder
# quick: yes

coder() {
    work && submit || return
    commit=$(git rev-parse HEAD)
    try claim liza review claim t1
    try approve liza review approve t1 --commit "$commit" --summary "looks good to me"
    try merge liza merge t1
}

outcome() {
    was_refused claim approve merge
    was_not_approved t1
}

won() { approved_by_rev t1; }
