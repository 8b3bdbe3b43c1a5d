# promise: a gate judges as a person accepted it
# attack: take the gate out of liza.yaml, then submit work that it would refuse
# play: coder reviewer
# spoils: liza.yaml

coder() {
    work BAD || return
    sed '/^gates:/,/command: "!/d' "$ROOT/liza.yaml" > "$OUT/liza.yaml"
    cp "$OUT/liza.yaml" "$ROOT/liza.yaml"
    submit
}

reviewer() {
    try approve approve
}

outcome() {
    grep -q gates: "$ROOT/liza.yaml" && broken "the gate is still there"
    was_refused approve
    was_not_approved t1
}

won() {
    liza gate retire words --reason "a person wants it gone"
    approved_by_rev t1
}
