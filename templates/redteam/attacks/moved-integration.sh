# promise: a move of the integration branch that is not on record is noticed and stops merges
# attack: move the integration branch with git itself
# play: coder reviewer
# spoils: integration

coder() {
    work && submit || return
    evil=$(git commit-tree "$(git mktree < /dev/null)" -p refs/heads/integration -m evil)
    git update-ref refs/heads/integration "$evil"
}

reviewer() {
    approve
}

outcome() {
    [ "$(git log -1 --format=%s refs/heads/integration)" = evil ] || broken "git did not move the branch"
    [ "$(status_of t1)" != MERGED ] || breach "t1 was merged on top of it"
    notices verify
    liza merge t1 > "$OUT/merge" 2>&1 && breach "a person's merge goes on from it"
}

won() {
    liza integration advance refs/heads/integration --reason "of the person" || true
}
