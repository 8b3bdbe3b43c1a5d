# promise: an agent that implemented a task never merges it
# attack: merge its own work after another agent has approved it
# play: coder person coder2

coder() {
    work && submit
}

person() {
    approved_by_rev t1
}

coder2() {
    try merge liza merge t1
    try merge-all liza merge --all
    try merge-bare bare liza merge t1
    try merge-token as_rev liza merge t1
}

outcome() {
    [ "$(status_of t1)" = APPROVED ] || breach "t1 is $(status_of t1)"
    was_refused merge merge-bare merge-token
}

won_last() { liza merge t1; }
