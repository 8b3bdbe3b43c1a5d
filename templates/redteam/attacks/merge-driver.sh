# promise: a merge holds what was approved and nothing else
# attack: plant a merge driver that adds a line
# play: coder person reviewer
# spoils: .git/config
# lands: t1
# quick: yes

coder() {
    work || return
    sed 's/^line 28$/twenty-eight/' lines.txt > lines.new && mv lines.new lines.txt
    git commit -q -a -m "line 28"
    submit
    planted=$(canary 'git merge-file "$2" "$1" "$3"; echo evil >> "$2"; exit 0')
    git config merge.evil.driver "$planted %O %A %B"
    git config merge.default evil
    echo '* merge=evil' > "$(common_dir)/info/attributes"
}

# The same file goes on on integration meanwhile, so that there is something to merge.
person() {
    blob=$(git show refs/heads/integration:lines.txt | sed 's/^line 2$/two/' | git hash-object -w --stdin)
    tree=$(GIT_INDEX_FILE="$OUT/index" sh -c "git read-tree refs/heads/integration && git update-index --cacheinfo 100644,$blob,lines.txt && git write-tree")
    liza integration advance "$(git commit-tree "$tree" -p refs/heads/integration -m "line 2")" --reason "of the person" > /dev/null
}

reviewer() {
    approve
}

outcome() {
    landed lines.txt > "$OUT/lines"
    if ! grep -qx two "$OUT/lines" || ! grep -qx twenty-eight "$OUT/lines"; then
        broken "nothing was merged: $(status_of t1)"
    fi
    [ "$(wc -l < "$OUT/lines" | tr -d ' ')" = 30 ] || breach "lines.txt has $(wc -l < "$OUT/lines") lines on integration: $(tail -n 1 "$OUT/lines")"
    was_not_run
    doctor_names merge.evil.driver
}

won() {
    liza doctor --accept-git
}
