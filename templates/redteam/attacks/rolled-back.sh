# promise: an old board, journal and lock put back together are noticed
# attack: put back copies of all three from before a change
# play: coder person2
# spoils: board
# quick: yes

coder() {
    mkdir -p "$OUT/old"
    cp "$ROOT/.liza/state.yaml" "$ROOT/.liza/log.yaml" "$ROOT/.liza/state.yaml.lock" "$OUT/old/"
    liza note "the note that must not vanish" > /dev/null || return
    [ -e "$OUT/weakened" ] || cp "$OUT/old/"* "$ROOT/.liza/"
    touch "$OUT/done"
}

person2() { :; }

outcome() {
    [ -e "$OUT/done" ] || broken "nothing was put back"
    notices verify
    liza doctor --fix > "$OUT/fixed" 2>&1
    grep -q "must not vanish" "$ROOT/.liza/state.yaml" || breach "the note is gone after liza doctor --fix"
}

# Nothing was put back: verify must be content, and the check says that it noticed nothing.
won() { :; }
