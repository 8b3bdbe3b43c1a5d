# promise: a process below a runner is that agent, whatever its environment says
# attack: take every identity variable off and act as the person
# play: coder
# quick: yes

coder() {
    work && submit || return
    commit=$(git rev-parse HEAD)
    attempts
}

attempts() {
    try register bare liza agent register --role code_reviewer --id evil
    try claim bare liza review claim t1
    try approve bare liza review approve t1 --commit "${commit:-$(git -C "$ROOT" rev-parse task/t1)}"
    try resume bare liza resume
    try pause bare liza pause
}

outcome() {
    was_refused register claim approve resume pause
}

won() { attempts; }
