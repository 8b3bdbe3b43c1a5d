# promise: git clean takes nothing that liza acknowledged
# attack: git clean -fdx in the person's checkout
# play: coder
# spoils: board private.txt .worktrees
# quick: yes

coder() {
    work && submit || return
    liza note "the note that must not vanish" > /dev/null || return
    cd "$ROOT" && git clean -ffdxq
    [ -e .liza/state.yaml ] || touch "$OUT/cleaned"
}

outcome() {
    [ -e "$OUT/cleaned" ] || broken "the board was not removed"
    liza status > "$OUT/status" 2>&1 && breach "liza status is content without a board"
    liza doctor --fix > "$OUT/fixed" 2>&1
    if ! grep -q "must not vanish" "$ROOT/.liza/state.yaml" 2> /dev/null; then
        breach "the board did not come back: $(head -n 1 "$OUT/fixed")"
    else
        noticed "$(message "$OUT/status"); liza doctor --fix brought board, journal and archive back"
    fi
    git cat-file -e refs/heads/task/t1:t1.txt || breach "the submitted work is gone"
    is_content verify
}

won() { rm -rf "$ROOT/.git/liza"; }
