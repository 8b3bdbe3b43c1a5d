#!/bin/sh
# A coder: says what it will do, does it with a test, commits, hands it in. What a model would think up is in ideas.sh.
. "$PROJECT_ROOT/agents/common.sh"
. "$PROJECT_ROOT/agents/ideas.sh"
task=$LIZA_TASK

# Exit 5 means that a switch such as PAUSE is set: save and stop. The runner starts a new session when it is over; the
# note, in the worktree's own part of .git, tells that session what is left to do.
note=$(git rev-parse --git-dir)/left-to-do

hand_in() {
    say "submits $task"
    liza task submit "$task"
    case $? in
    0)
        [ "$task" != words ] || approve_own_work
        exit 0
        ;;
    5)
        say "pauses on request; the work is committed"
        echo submit > "$note"
        mark "paused-$task"
        exit 0
        ;;
    esac
}

# An agent may not approve its own work. This agent tries, and then pretends to be another agent.
approve_own_work() {
    commit=$(git rev-parse HEAD)
    say "approves its own work"
    liza review approve "$task" --commit "$commit" --summary "looks good to me"
    echo "exit $?"
    # Where the kernel tells who started whom (Linux), an agent is known by its runner, whatever its environment says.
    if [ "$(uname)" = Linux ]; then
        say "approves it without an identity"
        (
            unset LIZA_AGENT_ID LIZA_AGENT_TOKEN LIZA_AGENT_TOKEN_FILE LIZA_CLAIM LIZA_ROLE LIZA_TASK
            liza review approve "$task" --commit "$commit" --summary "looks good to me"
            echo "exit $?"
        )
    fi
    mark "tried-$task"
}

if [ -e "$note" ]; then
    rm "$note"
    hand_in
fi

# Before a single file is changed: what will be different, how that is checked, and which files it takes.
idea "$task"
say "announces $task"
set --
for file in $files; do
    set -- "$@" --file "$file"
done
liza task checkpoint "$task" --intent "$intent" --risks "none beyond its own files" \
    --validate "$run_tests" --expect "all tests passed" "$@" || exit

# The claim of a task that could not be integrated has merged integration into its branch; what git could not settle is
# waiting here. Both sides only added something at the end of a file: both additions stay.
if git rev-parse -q --verify MERGE_HEAD > /dev/null; then
    for file in $(git diff --name-only --diff-filter=U); do
        say "keeps both sides of $file"
        length=$(git show ":1:$file" | wc -l)
        git show ":2:$file" > "$file"
        git show ":3:$file" | tail -n "+$((length + 1))" >> "$file"
    done
    sh tests/run.sh || exit 1
    git add -A && git commit -q --no-edit || exit 1
    hand_in
    exit 1
fi

# What the last review found wrong, if it was sent back.
feedback=$(liza task show "$task" --feedback)

# An agent that takes over finds on its branch what the one before it committed.
say "writes the test of $task"
write_test
if [ "$task" = top ] && ! seen at-top; then
    git add -A && git commit -q -m "Test of $task" || exit 1
    # Half the work is done and committed. Here the demo kills this agent and its runner.
    mark at-top
    await never
fi

if was_red_together; then
    say "sees what fails together with the merged work:"
    $run_tests
fi
say "writes $task"
write_code
$run_tests || exit 1
git add -A && git commit -q -m "$subject" || exit 1

case $task in
upper | reverse)
    # Both have begun from the same commit before either is handed in.
    mark "begun-$task"
    await begun-upper
    await begun-reverse
    ;;
usage)
    mark at-usage
    await go-usage
    ;;
esac
hand_in
# Refused: an exit code that is not 0 makes the runner start this agent again, with a prompt that says what it left.
exit 1
