# promise: no link that an agent made is followed
# attack: put links to a file of the person in place of liza's copies below .git
# play: coder person2

coder() {
    work && submit || return
    echo "of the person" > "$OUT/victim"
    for name in log.yaml state.yaml; do
        rm -f "$(common_dir)/liza/$name"
        ln -s "$OUT/victim" "$(common_dir)/liza/$name"
    done
    liza note "past the links" > "$OUT/note" 2>&1
    touch "$OUT/done"
}

person2() {
    liza note "of a person, past the links"
}

outcome() {
    [ -e "$OUT/done" ] || broken "no link was made"
    if [ "$(cat "$OUT/victim")" = "of the person" ]; then
        refused "the links were not followed; the copies are files again"
    else
        breach "a file of the person was written through a link"
    fi
    is_content verify
}

won_last() { echo evil >> "$OUT/victim"; }
