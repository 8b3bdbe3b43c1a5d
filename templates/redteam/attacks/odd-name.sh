# promise: ancestry is read as bytes; a process name cannot cut it
# attack: run below a process whose name is not UTF-8 and looks like the end of its record
# play: coder

coder() {
    work && submit || return
    attempts
}

attempts() {
    name="$OUT/$(printf '\377) \376 1')"
    cp "$(command -v sh)" "$name"
    try register "$name" -c '"$@"; exit $?' sh env -i PATH="$PATH" HOME="$PLAIN_HOME" liza agent register --role code_reviewer --id evil
    try claim "$name" -c '"$@"; exit $?' sh env -i PATH="$PATH" HOME="$PLAIN_HOME" liza review claim t1
}

outcome() {
    was_refused register claim
}

won() { attempts; }
