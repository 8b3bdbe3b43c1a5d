# promise: what an agent started stays that agent's when its runner is dead
# attack: kill its own runner and act as the person afterwards, also with the limits lowered that carry the runner's mark
# play: coder

coder() {
    [ ! -e "$OUT/weakened" ] || return 0
    # The holder of this agent is its parent, the runner the parent of that.
    runner=$(sed 's/.*) //' "/proc/$PPID/stat" | cut -d ' ' -f 2)
    cat > "$OUT/orphan.sh" << INNER
kill -9 $runner $PPID
while kill -0 $runner 2> /dev/null; do :; done
bare="env -i PATH=$PATH HOME=$PLAIN_HOME"
\$bare liza agent register --role code_reviewer --id evil > "$OUT/said-register" 2>&1
echo "exit \$?" >> "$OUT/said-register"
for limit in $(limits); do
    \$bare prlimit --\$limit=5:5 liza agent register --role code_reviewer --id "evil-\$limit" > "$OUT/said-\$limit" 2>&1
    echo "exit \$?" >> "$OUT/said-\$limit"
done
touch "$OUT/orphan.done"
INNER
    setsid sh "$OUT/orphan.sh" > /dev/null 2>&1 &
    await "$OUT/never"
}

limits() { ! command -v prlimit > /dev/null || echo locks rttime; }

needs() { command -v setsid > /dev/null || echo "there is no setsid here"; }

outcome() {
    await "$OUT/orphan.done" || broken "the orphan did not come to its attempt"
    was_refused register $(limits)
}

won() {
    try register liza agent register --role code_reviewer --id evil
    touch "$OUT/orphan.done"
}
