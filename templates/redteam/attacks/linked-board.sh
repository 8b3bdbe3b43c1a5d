# promise: no link that an agent made is followed
# attack: put links to files of the person in place of PAUSE, tokens and run logs
# play: coder person2

coder() {
    work && submit || return
    echo "of the person" > "$OUT/victim"
    ln -s "$OUT/victim" "$ROOT/.liza/alerts.log" 2> /dev/null
    ln -s "$OUT/victim" "$ROOT/.liza/PAUSE"
    mkdir -p "$OUT/dir"
    mv "$ROOT/.worktrees" "$OUT/worktrees" && ln -s "$OUT/dir" "$ROOT/.worktrees"
    touch "$OUT/done"
}

person2() {
    liza resume
    liza agent register --role coder --id other
    env LIZA_AGENT_ID=other LIZA_AGENT_TOKEN_FILE="$ROOT/.liza/tokens/other" liza task claim t2 > "$OUT/said-claim" 2>&1
    echo "exit $?" >> "$OUT/said-claim"
}

outcome() {
    [ -e "$OUT/done" ] || broken "no link was made"
    [ "$(cat "$OUT/victim")" = "of the person" ] || breach "a file of the person was written through a link"
    [ -z "$(ls -A "$OUT/dir")" ] || breach "a worktree was made through the link: $(ls "$OUT/dir" | head -n 1)"
    was_refused claim
}

won_last() { mkdir "$OUT/dir/t2"; }
