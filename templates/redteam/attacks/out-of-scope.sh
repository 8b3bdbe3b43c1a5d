# promise: a task changes only what it owns
# attack: submit changes of liza.yaml and of a file of another task
# play: coder

coder() {
    work || return
    [ ! -e "$OUT/weakened" ] || { submit; return; }
    echo "gates: []" > liza.yaml
    echo evil > private-of-t2.txt
    git add -A && git commit -q -m evil
    try submit submit
}

outcome() {
    was_refused submit
    was_not_submitted t1
}

# The coder submits what it may: what is judged is that a submission is seen.
won() { :; }
