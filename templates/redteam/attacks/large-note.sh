# promise: what is acknowledged can be read again; sizes are checked before a commit
# attack: write notes that would make the board larger than readers accept
# play: coder

coder() {
    head -c 3000000 /dev/zero | tr '\0' x > "$OUT/large"
    try note sh -c 'liza note - < "$0"' "$OUT/large"
    cat > "$OUT/flood.sh" << 'INNER'
text=$(head -c 60000 /dev/zero | tr '\0' y)
n=0
while [ $n -lt 90 ]; do
    n=$((n + 1))
    liza note "$n $text" || exit
done
INNER
    try flood sh "$OUT/flood.sh"
    work && submit
}

outcome() {
    was_refused note flood
    is_content verify
    is_content status
}

# What an attack of this kind is after: a board that readers do not accept.
won_last() { truncate -s 1G "$ROOT/.liza/state.yaml"; }
