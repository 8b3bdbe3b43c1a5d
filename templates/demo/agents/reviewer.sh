#!/bin/sh
# A reviewer: tries the examples of the spec on exactly what was handed in, and judges by that. The tests are the gate's:
# liza ran them when the work was handed in, on a tree of its own, and no approval gets past them.
. "$PROJECT_ROOT/agents/common.sh"
task=$LIZA_TASK
commit=$(git rev-parse HEAD)
case $task in
words) await tried-words ;;
# The demo lets these two meet: both are handed in before either lands, and `separator` lands first.
separator) await submitted-join ;;
join) await merged-separator ;;
esac

# verdict COMMAND…: exit 5 means PAUSE; the next session looks at it again.
verdict() {
    "$@"
    answer=$?
    [ "$answer" != 5 ] || exit 0
    exit "$answer"
}

# The lines of the spec under the task's heading. An example is "    $ COMMAND", and below it what that prints.
examples() {
    sed -n "/^## $task\$/,/^## /p" specs/wordtool.md | grep '^    '
}

say "tries the examples of the spec"
examples | {
    while read -r sign example && read -r expected; do
        [ "$sign" = '$' ] || continue
        actual=$(sh -c "$example" < /dev/null 2>&1)
        # What the shell reads has no blanks at its ends.
        if [ "${actual% }" != "$expected" ]; then
            echo "$example: expected $expected, got $actual"
            echo "$example prints $actual; the spec says $expected" > "${LIZA_PROMPT_FILE%.md}.finding"
            exit 1
        fi
    done
}
if [ $? != 0 ]; then
    finding=$(cat "${LIZA_PROMPT_FILE%.md}.finding")
    say "rejects $task"
    verdict liza review reject "$task" --commit "$commit" --reason "It does not do what the spec says" \
        --issue "major:commands/$task.sh:1:$finding"
fi

say "approves $task"
verdict liza review approve "$task" --commit "$commit" --summary "the examples of the spec hold"
