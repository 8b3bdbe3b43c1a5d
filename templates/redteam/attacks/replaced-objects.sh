# promise: decisions about content trust objects only
# attack: replace the submitted commit by another (refs/replace) and give it other parents (grafts)
# play: coder reviewer
# lands: t1

coder() {
    work && submit || return
    commit=$(git rev-parse HEAD)
    blob=$(echo "hello evil" | git hash-object -w --stdin)
    tree=$(GIT_INDEX_FILE="$OUT/index" sh -c "git read-tree HEAD && git update-index --cacheinfo 100644,$blob,t1.txt && git write-tree")
    evil=$(git commit-tree "$tree" -m t1)
    git replace "$commit" "$evil"
    git replace "$(git rev-parse "$commit^{tree}")" "$tree" 2> /dev/null
    echo "$commit" > "$(common_dir)/info/grafts"
    echo "$commit" > "$OUT/commit"
}

reviewer() {
    cat t1.txt > "$OUT/reviewed"
    liza review approve t1 --commit "$(cat "$OUT/commit")" --summary "says hello"
}

outcome() {
    [ -s "$(common_dir)/info/grafts" ] || broken "nothing was replaced"
    export GIT_NO_REPLACE_OBJECTS=1
    [ "$(cat "$OUT/reviewed" 2> /dev/null)" = hello ] || breach "the reviewer saw the replacement"
    if [ "$(status_of t1)" = MERGED ]; then
        has_landed t1.txt hello
        refused "replacements and grafts are not used: what was approved is what landed"
    else
        refused "t1 is $(status_of t1): $(liza task show t1 | grep -i -m 1 -e replac -e graft)"
    fi
}

# git itself believes the replacement: a checkout that it makes is what the reviewer would have seen.
won_last() {
    git worktree add -q --detach "$OUT/replaced" "$(cat "$OUT/commit")"
    cat "$OUT/replaced/t1.txt" > "$OUT/reviewed"
}
