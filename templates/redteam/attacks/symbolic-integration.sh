# promise: the person's branches stay where they are
# attack: make the integration branch a symbolic ref to a branch of the person
# play: coder reviewer
# spoils: integration

coder() {
    work && submit || return
    git symbolic-ref refs/heads/integration refs/heads/mine
}

reviewer() {
    approve
}

outcome() {
    [ "$(git symbolic-ref -q refs/heads/integration)" = refs/heads/mine ] || broken "integration is not a symbolic ref"
    [ "$(status_of t1)" != MERGED ] || breach "t1 was merged through the symbolic ref"
    liza merge t1 > "$OUT/merge" 2>&1 && breach "a person's merge follows the symbolic ref"
    why=$(message "$OUT/merge")
    refused "${why:-nothing was said}"
    notices doctor
}

won_last() {
    git update-ref refs/heads/mine refs/heads/task/t1
}
