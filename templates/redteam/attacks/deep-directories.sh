# promise: a place of any depth can be emptied
# attack: leave 19,000 nested directories where gates and agents work
# play: coder reviewer person2
# lands: t1

coder() {
    liza task checkpoint t1 --intent "t1.txt says hello" --risks "none, a new file" \
        --validate "sh tests/test_t1.sh" --expect hello --file t1.txt --file tests/test_t1.sh || return
    mkdir -p tests
    echo hello > t1.txt
    # Each chain is as deep as a path may be long; the stack so far is moved to its end.
    cat > tests/test_t1.sh << INNER
chain=\$(printf '%01900d' 0 | sed 's|0|d/|g')
n=0
while [ \$n -lt 10 ]; do
    n=\$((n + 1))
    mkdir -p "new/\$chain" || exit 1
    [ ! -d deep ] || mv deep "new/\${chain}deep"
    mv new deep
done
pwd >> "$OUT/deep"
cat t1.txt
INNER
    git add -A && git commit -q -m t1
    submit
    sh tests/test_t1.sh
}

reviewer() {
    approve
}

person2() {
    liza archive t1
    liza worktree prune
    liza trash empty
}

outcome() {
    [ "$(wc -l < "$OUT/deep")" -ge 2 ] || broken "the directories were not made in both places"
    left=$(ls -d "$ROOT"/.worktrees/t1/deep "$ROOT"/.liza/trash/*/deep 2> /dev/null | head -n 1)
    if [ -n "$left" ]; then
        named=$(liza doctor 2>&1 | grep -m 1 -F "t1")
        if [ -n "$named" ]; then noticed "liza doctor: $named"; else breach "they stay in ${left#"$ROOT"/} and no command says so"; fi
    elif [ "$(landed t1.txt)" != hello ]; then
        breach "no gate could run any more: $(status_of t1)"
    else
        refused "liza emptied the gate's place and removed the worktree"
    fi
    # Not every program can remove what the trash keeps for a while.
    find "$ROOT/.worktrees" "$ROOT/.liza/trash" -maxdepth 4 -name deep -prune -exec rm -rf {} +
}

won_last() { mkdir -p "$ROOT/.worktrees/t1/deep"; }
