# promise: a task changes only what it owns
# attack: submit changes of liza.yaml and of a file of another task
# play: coder

coder() {
    work || return
    echo "gates: []" > liza.yaml
    echo evil > private-of-t2.txt
    git add -A && git commit -q -m evil
    try submit submit
}

outcome() {
    was_refused submit
    case $(status_of t1) in WORKING | IDLE) ;; *) breach "t1 is $(status_of t1)" ;; esac
}

won() {
    try submit true
}
