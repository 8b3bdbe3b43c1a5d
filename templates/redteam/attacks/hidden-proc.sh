# promise: a process that hides where it comes from is refused
# attack: hide /proc in a mount namespace of its own
# play: coder
# quick: yes

needs() { needs_namespaces; }

coder() {
    work && submit || return
    attempts
}

hide() {
    how=$1
    shift
    unshare -rm sh -c "$how"' && exec "$@"' sh "$@"
}

attempts() {
    mkdir -p "$OUT/empty"
    try no-proc hide 'mount -t tmpfs none /proc' env -i PATH="$PATH" HOME="$PLAIN_HOME" liza agent register --role code_reviewer --id evil
    try empty-proc hide "mount --bind '$OUT/empty' /proc" env -i PATH="$PATH" HOME="$PLAIN_HOME" liza agent register --role code_reviewer --id evil2
    try token-no-proc hide 'mount -t tmpfs none /proc' env LIZA_AGENT_ID=rev LIZA_AGENT_TOKEN_FILE="$ROOT/.liza/tokens/rev" liza review claim t1
    try other-parent hide 'mount --bind /proc/1 /proc/$PPID' env -i PATH="$PATH" HOME="$PLAIN_HOME" liza agent register --role code_reviewer --id evil3
}

outcome() {
    was_refused no-proc empty-proc token-no-proc other-parent
}

# A person's own command outside of every namespace is what would be allowed.
won() {
    for name in no-proc empty-proc token-no-proc other-parent; do
        try $name liza agent register --role code_reviewer --id "evil-$name"
    done
}
