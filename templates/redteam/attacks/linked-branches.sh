# promise: liza writes its refs where git keeps them, and nowhere else
# attack: put links to other directories and files in place of the directory of task branches and of a branch's log
# play: coder reviewer coder2
# spoils: integration

coder() {
    work && submit || return
    echo "of the person" > "$OUT/victim"
    rm -f "$(common_dir)/logs/refs/heads/integration"
    ln -s "$OUT/victim" "$(common_dir)/logs/refs/heads/integration"
    cp -R "$(common_dir)/refs/heads/task" "$OUT/task"
    rm -r "$(common_dir)/refs/heads/task"
    ln -s "$OUT/task" "$(common_dir)/refs/heads/task"
}

reviewer() {
    approve
}

coder2() {
    work
}

outcome() {
    [ -L "$(common_dir)/refs/heads/task" ] || broken "there is no link"
    [ "$(cat "$OUT/victim")" = "of the person" ] || breach "the log of integration was written through a link"
    [ ! -e "$OUT/task/t2" ] || breach "the branch of t2 was made where the link leads"
    liza task claim t2 > "$OUT/claim" 2>&1 && breach "a person's claim follows the link"
    refused "$(message "$OUT/claim")"
    liza doctor --fix > "$OUT/fixed" 2>&1
    [ -d "$(common_dir)/refs/heads/task" ] && [ ! -L "$(common_dir)/refs/heads/task" ] || breach "liza doctor --fix leaves the link"
    is_content verify
}

won_last() {
    git update-ref --no-deref refs/heads/task/t2 refs/heads/main
}
