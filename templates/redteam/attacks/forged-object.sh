# promise: new objects of what is merged are verified by content
# attack: put other content into the loose object of an approved file
# play: coder reviewer

coder() {
    work && submit
}

reviewer() {
    approve || return
    good=$(git rev-parse HEAD:t1.txt)
    evil=$(echo "hello evil" | git hash-object -w --stdin)
    file() { echo "$(common_dir)/objects/$(echo "$1" | cut -c 1-2)/$(echo "$1" | cut -c 3-)"; }
    cp -f "$(file "$good")" "$OUT/kept"
    rm -f "$(file "$good")"
    cp "$(file "$evil")" "$(file "$good")"
    git cat-file blob "$good" > "$OUT/believed"
}

outcome() {
    [ "$(cat "$OUT/believed" 2> /dev/null)" = "hello evil" ] || broken "git did not believe the forged object"
    [ "$(status_of t1)" != MERGED ] || breach "t1 was merged with a forged object"
    liza merge t1 > "$OUT/merge" 2>&1
    if [ $? = 0 ]; then
        breach "a person's merge takes the forged object"
    else
        refused "$(message "$OUT/merge")"
    fi
}

# The honest content is put back before the outcome is looked at: the merge that is then made stands for one that believed.
won_last() {
    good=$(git rev-parse refs/heads/task/t1:t1.txt)
    cp -f "$OUT/kept" "$(common_dir)/objects/$(echo "$good" | cut -c 1-2)/$(echo "$good" | cut -c 3-)"
}
