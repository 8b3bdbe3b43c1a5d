# promise: a gate judges as a person accepted it
# attack: weaken the gate's command in liza.yaml, then submit work that it would refuse
# play: coder reviewer
# spoils: liza.yaml
# quick: yes

coder() {
    work BAD || return
    sed 's/command: "! grep.*/command: "true"/' "$ROOT/liza.yaml" > "$OUT/liza.yaml"
    cp "$OUT/liza.yaml" "$ROOT/liza.yaml"
    submit
}

reviewer() {
    try approve approve
}

outcome() {
    grep -q '"true"' "$ROOT/liza.yaml" || broken "the gate was not weakened"
    was_refused approve
    was_not_approved t1
}

won() {
    liza gate accept
    approved_by_rev t1
}
