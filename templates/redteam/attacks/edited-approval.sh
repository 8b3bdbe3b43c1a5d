# promise: an edit of the board is a person's
# attack: write APPROVED into state.yaml with sed
# play: coder
# spoils: board

coder() {
    work && submit || return
    [ ! -e "$OUT/weakened" ] || return 0
    sed -i 's/READY_FOR_REVIEW/APPROVED/' "$ROOT/.liza/state.yaml"
    liza note "what is there now?" > "$OUT/note" 2>&1
    liza merge t1 > "$OUT/said-merge" 2>&1
    echo "exit $?" >> "$OUT/said-merge"
}

outcome() {
    was_refused merge
    case $(status_of t1) in
    APPROVED | MERGED) liza validate > /dev/null 2>&1 && breach "t1 is $(status_of t1) by an edit" ;;
    esac
    [ -z "$(landed t1.txt)" ] || breach "t1 has landed"
}

won() {
    approved_by_rev t1
    liza merge t1
}
