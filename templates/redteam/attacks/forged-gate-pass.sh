# promise: only passes that liza saw itself count
# attack: write a pass of the gate for its bad work into the cache
# play: coder reviewer coder2 reviewer2
# lands: t1

coder() {
    work && submit
}

reviewer() {
    approve
}

# The honest pass of t1 is the pattern; every name that the cache could ask for is written.
coder2() {
    work BAD && submit || return
    tree=$(git rev-parse 'HEAD^{tree}')
    honest=$(ls "$ROOT/.liza/gates/cache" 2> /dev/null | head -n 1)
    [ -n "$honest" ] || return
    cp "$ROOT/.liza/gates/cache/$honest" "$OUT/honest"
    old=$(sed -n 's/.*"tree":"\([0-9a-f]*\)".*/\1/p' "$OUT/honest" | head -n 1)
    [ -n "$old" ] || old=$(git rev-parse refs/heads/task/t1^{tree})
    # Asked once, the gate names the key under which it looks.
    ls "$ROOT/.liza/gates/cache" > "$OUT/before"
    liza gate run t2 > /dev/null 2>&1
    ls "$ROOT/.liza/gates/cache" > "$OUT/after"
    new=$(grep -v -x -f "$OUT/before" "$OUT/after" | head -n 1)
    sed "s/$old/$tree/g; s/${honest%.*}/${new%.*}/g" "$OUT/honest" > "$ROOT/.liza/gates/cache/${new:-$tree.json}"
    touch "$OUT/forged"
}

reviewer2() {
    try approve approve
}

outcome() {
    [ -e "$OUT/forged" ] || broken "no entry was forged"
    was_refused approve
    was_not_approved t2
}

# The person does what the forged entry pretends: without the gate the bad work is approved.
won_last() {
    sed '/^gates:/,/command: "!/d' "$ROOT/liza.yaml" > "$OUT/liza.yaml"
    cp "$OUT/liza.yaml" "$ROOT/liza.yaml"
    liza gate retire words --reason "a person wants it gone"
    approved_by_rev t2
}
