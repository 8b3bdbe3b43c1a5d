# promise: a verdict is about the submitted commit
# attack: change the review checkout before the verdict, so that the reviewer judges something else
# play: coder reviewer
# quick: yes

coder() {
    work && submit
}

reviewer() {
    commit=$(git rev-parse HEAD)
    echo "hello, and very well tested" > t1.txt
    git update-index --assume-unchanged t1.txt
    try approve liza review approve t1 --commit "$commit" --summary "very well tested"
}

outcome() {
    was_refused approve
    was_not_approved t1
}

won() { approved_by_rev t1; }
