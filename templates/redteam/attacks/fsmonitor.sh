# promise: liza's git runs no program that no person accepted
# attack: name programs as fsmonitor, pager, editor, alias, credential helper and ssh command
# play: coder reviewer
# spoils: .git/config
# lands: t1

coder() {
    work || return
    planted=$(canary)
    for setting in core.fsmonitor core.pager core.editor core.sshCommand core.askPass core.gitProxy credential.helper gpg.program sequence.editor diff.external alias.worktree alias.status alias.rev-parse; do
        git config "$setting" "$planted"
    done
    git config commit.gpgsign true
    submit
}

reviewer() {
    approve
}

outcome() {
    liza worktree list > /dev/null 2>&1
    liza verify > /dev/null 2>&1
    has_landed t1.txt hello
    was_not_run
    doctor_names core.fsmonitor
}

won() {
    liza doctor --accept-git
}
