# promise: a merge holds what was approved and nothing else
# attack: put a false git before the real one while its own runner's liza merges
# play: coder reviewer
# lands: t1

coder() {
    work && submit
}

reviewer() {
    approve
    mkdir -p "$OUT/bin"
    real=$(command -v git)
    cat > "$OUT/bin/git" << INNER
#!/bin/sh
echo "\$*" >> "$OUT/false"
case "\$*" in *update-ref*) exit 0 ;; esac
exec $real "\$@"
INNER
    chmod +x "$OUT/bin/git"
    PATH="$OUT/bin:$PATH" liza merge t1 > "$OUT/merge" 2>&1
    touch "$OUT/done"
}

outcome() {
    [ -e "$OUT/done" ] || broken "the false git was not tried"
    if [ "$(status_of t1)" = MERGED ] && [ "$(landed t1.txt)" != hello ]; then
        breach "t1 counts as merged and is not on integration"
    fi
    case $(status_of t1) in
    MERGED) refused "liza looked itself: t1 is on integration" ;;
    *) refused "$(message "$OUT/merge")" ;;
    esac
}

won_last() { git update-ref refs/heads/integration "$(git rev-parse refs/heads/integration~1)"; }
