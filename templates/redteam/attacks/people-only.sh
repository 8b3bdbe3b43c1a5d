# promise: only a person accepts gates and git settings, moves integration by hand and ends a halt
# attack: accept, advance, restore and register as an agent
# play: coder

coder() {
    work && submit || return
    attempts
}

attempts() {
    try gate-accept liza gate accept
    try accept-git liza doctor --accept-git
    try advance liza integration advance task/t1 --reason evil
    try register liza agent register --role code_reviewer --id evil
    try uninstall liza uninstall --yes
    try finish liza task abandon t2 --reason evil
}

outcome() {
    was_refused gate-accept accept-git advance register uninstall finish
}

won() { attempts; }
