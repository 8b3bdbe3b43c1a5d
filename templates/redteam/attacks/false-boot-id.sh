# promise: a process that hides where it comes from is refused
# attack: show another boot id, so that runners on the board seem to be of an earlier boot
# play: coder

needs() { needs_namespaces; }

coder() {
    work && submit || return
    echo 01234567-89ab-cdef-0123-456789abcdef > "$OUT/boot"
    try register unshare -rm sh -c "mount --bind '$OUT/boot' /proc/sys/kernel/random/boot_id"' && exec "$@"' sh env -i PATH="$PATH" HOME="$PLAIN_HOME" liza agent register --role code_reviewer --id evil
    try claim unshare -rm sh -c "mount --bind '$OUT/boot' /proc/sys/kernel/random/boot_id"' && exec "$@"' sh env -i PATH="$PATH" HOME="$PLAIN_HOME" liza review claim t1
}

outcome() {
    was_refused register claim
}

won() {
    try register liza agent register --role code_reviewer --id evil
    try claim liza review claim t1
}
