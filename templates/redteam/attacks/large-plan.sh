# promise: what is acknowledged can be read again; sizes are checked before a commit
# attack: hand in plans that are too large, or grow when they are read
# play: person planner

# Something for a planner to look at.
person() {
    liza note "please plan the rest" > /dev/null
}

planner() {
    task='{title: Big, spec_ref: specs/vision.md, scope: {in: [big.txt]}, done_when: ['
    {
        printf 'tasks:\n  - {id: big, %s"' "${task#?}"
        head -c 40000000 /dev/zero | tr '\0' z
        echo '"]}'
    } > "$OUT/plan.yaml"
    try large liza plan "$OUT/plan.yaml"
    {
        echo 'a: &a ["hello hello hello hello hello hello hello hello"]'
        last=a
        for name in b c d e f g h i; do
            printf '%s: &%s [' $name $name
            for n in 1 2 3 4 5 6 7 8 9; do printf '*%s, ' $last; done
            echo "*$last]"
            last=$name
        done
        printf 'tasks:\n  - {id: bomb, title: Bomb, spec_ref: specs/vision.md, scope: {in: [bomb.txt]}, done_when: *i}\n'
    } > "$OUT/bomb.yaml"
    try bomb liza plan "$OUT/bomb.yaml"
}

outcome() {
    was_refused large bomb
    is_content verify
    is_content status
}

# What an attack of this kind is after: a board that readers do not accept.
won_last() { truncate -s 1G "$ROOT/.liza/state.yaml"; }
