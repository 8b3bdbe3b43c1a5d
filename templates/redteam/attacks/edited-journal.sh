# promise: verify notices a changed journal
# attack: change a line of the journal
# play: coder
# spoils: board

coder() {
    work && submit || return
    sed -i 's/"says hello"/"says evil"/; s/t1.txt says hello/t1.txt says evil/' "$ROOT/.liza/log.yaml"
    grep -c 'says evil' "$ROOT/.liza/log.yaml" > "$OUT/edited"
}

outcome() {
    [ "$(cat "$OUT/edited" 2> /dev/null || echo 0)" != 0 ] || broken "nothing was changed"
    notices verify
}

won() {
    liza doctor --fix > /dev/null 2>&1
    sed -i 's/says evil/says hello/' "$ROOT/.liza/log.yaml"
    true
}
