# promise: a verdict is about a commit
# attack: move the task's branch to other work after the approval
# play: coder reviewer

coder() {
    work && submit
}

reviewer() {
    approve || return
    blob=$(echo "hello evil" | git hash-object -w --stdin)
    tree=$(GIT_INDEX_FILE="$OUT/index" sh -c "git read-tree HEAD && git update-index --cacheinfo 100644,$blob,t1.txt && git write-tree")
    git update-ref refs/heads/task/t1 "$(git commit-tree "$tree" -p HEAD -m evil)"
    touch "$OUT/moved"
}

outcome() {
    [ -e "$OUT/moved" ] || broken "the branch was not moved"
    if [ "$(landed t1.txt)" = "hello evil" ]; then
        breach "what was not approved has landed"
    elif [ "$(status_of t1)" = MERGED ]; then
        say lands t1
        refused "exactly the approved commit was merged"
    else
        refused "t1 is $(status_of t1): the approval is not of this commit"
    fi
}

won_last() {
    git update-ref refs/heads/integration refs/heads/task/t1
}
