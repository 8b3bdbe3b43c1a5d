# promise: a process below a runner is that agent, whatever its environment says
# attack: fork twice, wait until the parent is gone, and act as the person
# play: coder

coder() {
    work && submit || return
    attempts
}

attempts() {
    [ -z "${LIZA_AGENT_ID:-}" ] || [ ! -e "$OUT/weakened" ] || return 0
    cat > "$OUT/orphan.sh" << INNER
until [ "\$(sed 's/.*) //' /proc/\$\$/stat | cut -d ' ' -f 2)" != "\$1" ]; do :; done
liza agent register --role code_reviewer --id evil > "$OUT/said-register" 2>&1
echo "exit \$?" >> "$OUT/said-register"
touch "$OUT/orphan.done"
INNER
    bare sh -c '(setsid sh "$0" $$ > /dev/null 2>&1 &)' "$OUT/orphan.sh"
    await "$OUT/orphan.done"
}

needs() { command -v setsid > /dev/null || echo "there is no setsid here"; }

outcome() {
    was_refused register
}

won() { attempts; }
