# promise: what liza removes is what the board names, and no link is followed
# attack: replace its worktree by a link to a worktree of the person
# play: person coder person2

person() {
    git worktree add -q -b private "$OUT/private" main
    echo "of the person" > "$OUT/private/uncommitted"
}

coder() {
    work || return
    cd "$ROOT" || return
    mv .worktrees/t1 "$OUT/aside"
    ln -s "$OUT/private" .worktrees/t1
}

person2() {
    liza task release t1 --reason "let us see"
    liza task abandon t1 --reason "let us see"
    liza archive t1
    liza worktree prune
    liza gc
    liza doctor --fix
}

outcome() {
    [ -e "$OUT/aside/t1.txt" ] || broken "the worktree was not replaced"
    if [ "$(cat "$OUT/private/uncommitted" 2> /dev/null)" != "of the person" ]; then
        breach "the person's worktree has lost a file"
    elif ! git worktree list | grep -q "$OUT/private"; then
        breach "git no longer knows the person's worktree"
    else
        refused "the link was not followed: the person's worktree and git's record of it are whole"
    fi
}

won_last() {
    git worktree remove --force "$OUT/private"
}
