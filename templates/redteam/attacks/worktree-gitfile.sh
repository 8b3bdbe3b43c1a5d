# promise: in an agent's worktree liza uses the repository that the board names
# attack: rewrite the worktree's .git file to a repository with filters of its own
# play: coder reviewer
# lands: t1

coder() {
    work || return
    planted=$(canary "sed s/hello/evil/")
    fake="$OUT/fake.git"
    mkdir -p "$fake/info"
    for name in objects refs HEAD worktrees logs packed-refs; do
        [ ! -e "$(common_dir)/$name" ] || ln -s "$(common_dir)/$name" "$fake/$name"
    done
    printf '[core]\n\trepositoryformatversion = 0\n\tfsmonitor = %s\n[filter "x"]\n\tclean = %s\n\tsmudge = %s\n' "$planted" "$planted" "$planted" > "$fake/config"
    echo '* filter=x' > "$fake/info/attributes"
    admin=$(git rev-parse --git-dir)
    echo "gitdir: $fake/worktrees/$(basename "$admin")" > .git
    touch -d '+5 seconds' t1.txt 2> /dev/null || touch t1.txt
    submit
}

reviewer() {
    approve
}

outcome() {
    [ -e "$OUT/fake.git/config" ] || broken "nothing was rewritten"
    was_not_run
    case $(status_of t1) in
    MERGED)
        has_landed t1.txt hello
        refused "the .git file is not asked: t1 was submitted and merged from the real repository"
        ;;
    *) refused "t1 is $(status_of t1): its worktree is not what the board names" ;;
    esac
}

won() {
    "$OUT/canary" < /dev/null
}
