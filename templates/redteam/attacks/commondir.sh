# promise: in an agent's worktree liza uses the repository that the board names
# attack: rewrite the worktree's commondir to settings of its own
# play: coder reviewer
# spoils: .git/config
# lands: t1

coder() {
    work || return
    fake=$(false_repository)
    echo "$fake" > "$(git rev-parse --git-dir)/commondir"
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
        refused "commondir is not asked: t1 was submitted and merged from the real repository"
        ;;
    *) refused "t1 is $(status_of t1): its worktree is not what the board names" ;;
    esac
}

won() { false_settings_accepted; }
