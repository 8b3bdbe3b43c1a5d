# promise: an agent that implemented a task never merges it
# attack: merge its own work after another agent has approved it
# play: coder person coder2
# lands-not: t1

coder() {
    work && submit
}

person() {
    as_rev liza review claim t1 > /dev/null
    as_rev liza review approve t1 --commit "$(git rev-parse refs/heads/task/t1)" --summary fine > /dev/null
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

won_last() {
    for name in merge merge-all merge-bare merge-token; do try $name liza merge t1; done
}
