# promise: the person's branches stay where they are
# attack: replace the file of the integration branch by a link to a branch of the person
# play: coder reviewer
# spoils: integration

coder() {
    work && submit || return
    rm -f "$(common_dir)/refs/heads/integration"
    ln -s mine "$(common_dir)/refs/heads/integration"
}

reviewer() {
    approve
}

outcome() {
    [ -L "$(common_dir)/refs/heads/integration" ] || broken "integration is no link"
    [ "$(status_of t1)" != MERGED ] || breach "t1 was merged through the link"
    liza merge t1 > "$OUT/merge" 2>&1 && breach "a person's merge follows the link"
    refused "$(message "$OUT/merge")"
}

won_last() {
    git update-ref --no-deref refs/heads/mine refs/heads/task/t1
}
