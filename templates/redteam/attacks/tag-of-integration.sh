# promise: a name means a branch
# attack: make tags with the names of the integration branch and of the person's branch
# play: coder reviewer
# spoils: .git/refs/tags
# lands: t1

coder() {
    work && submit || return
    evil=$(git commit-tree "$(git mktree < /dev/null)" -m evil)
    git tag integration "$evil"
    git tag task/t1 "$evil"
    git tag main "$evil"
    echo "$evil" > "$OUT/evil"
}

reviewer() {
    liza review approve t1 --commit "$(git rev-parse HEAD)" --summary "says hello"
}

outcome() {
    [ -s "$OUT/evil" ] || broken "no tag was made"
    has_landed t1.txt hello
    # In a test of the check it is there already.
    git rev-parse -q --verify refs/heads/released > /dev/null || git branch -q released refs/heads/main
    liza deliver --to released > "$OUT/delivered" 2>&1
    if [ "$(git rev-parse refs/heads/released 2> /dev/null)" = "$(git rev-parse refs/heads/integration)" ]; then
        refused "the tags are not asked: liza merged to and delivered refs/heads/integration"
    else
        breach "refs/heads/released is not integration: $(head -n 1 "$OUT/delivered")"
    fi
}

won_last() {
    git update-ref refs/heads/released "$(cat "$OUT/evil")"
    git update-ref refs/heads/integration "$(cat "$OUT/evil")"
}
