# promise: the person's checkout stays as it is
# attack: work with git in a worktree that lost its .git file, inside of the person's checkout
# play: coder

coder() {
    work || return
    mv .git "$OUT/gitfile"
    # In a test of the check nothing keeps git from looking further up.
    [ ! -e "$OUT/weakened" ] || unset GIT_CEILING_DIRECTORIES
    git add -A > "$OUT/said-add" 2>&1
    echo "exit $?" >> "$OUT/said-add"
    git commit -q -m evil > "$OUT/said-commit" 2>&1
    echo "exit $?" >> "$OUT/said-commit"
    mv "$OUT/gitfile" .git
    submit
}

outcome() {
    [ -e "$OUT/said-commit" ] || broken "git was not tried"
    for attempt in add commit; do
        if [ "$(tail -n 1 "$OUT/said-$attempt")" = "exit 0" ]; then
            breach "git $attempt worked in the person's checkout"
        else
            refused "git $attempt: $(sed -n 's/^fatal: //p' "$OUT/said-$attempt" | head -n 1)"
        fi
    done
}

won() { :; }
