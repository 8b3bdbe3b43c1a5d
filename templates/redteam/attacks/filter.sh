# promise: liza's git runs no filter that no person accepted
# attack: plant a clean and smudge filter for every file, in four places
# play: coder reviewer
# spoils: .git/config
# lands: t1
# quick: yes

coder() {
    work || return
    planted=$(canary "sed s/hello/evil/")
    git config filter.x.clean "$planted"
    git config filter.x.smudge "$planted"
    git config extensions.worktreeConfig true
    git config --worktree filter.y.smudge "$planted"
    echo '* filter=x' > "$(common_dir)/info/attributes"
    echo '* filter=y' > "$OUT/attributes"
    git config core.attributesFile "$OUT/attributes"
    touch t1.txt lines.txt
    submit
}

reviewer() {
    cat t1.txt > "$OUT/reviewed"
    approve
}

outcome() {
    [ "$(cat "$OUT/reviewed" 2> /dev/null)" = hello ] || breach "the reviewer saw another file: $(cat "$OUT/reviewed")"
    has_landed t1.txt hello
    was_not_run
    doctor_names filter.x.smudge
}

won() {
    liza doctor --accept-git
}
