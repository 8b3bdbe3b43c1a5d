# promise: a process that hides where it comes from is refused
# attack: act from process and mount namespaces of its own, as in a container
# play: coder

needs() { needs_namespaces; }

coder() {
    work && submit || return
    attempts
}

attempts() {
    try register unshare -rpf --mount-proc env -i PATH="$PATH" HOME="$PLAIN_HOME" liza agent register --role code_reviewer --id evil
    try claim unshare -rpf --mount-proc env LIZA_AGENT_ID=rev LIZA_AGENT_TOKEN_FILE="$ROOT/.liza/tokens/rev" liza review claim t1
    try twice unshare -rpf --mount-proc unshare -rpf --mount-proc env -i PATH="$PATH" HOME="$PLAIN_HOME" liza agent register --role code_reviewer --id evil2
    try no-locks unshare -rpf --mount-proc sh -c "mount -t tmpfs none '$ROOT/.liza/locks'"' && exec "$@"' sh env -i PATH="$PATH" HOME="$PLAIN_HOME" liza agent register --role code_reviewer --id evil3
}

outcome() {
    was_refused register claim twice no-locks
}

won() {
    for name in register claim twice no-locks; do
        try $name liza agent register --role code_reviewer --id "evil-$name"
    done
}
