# promise: what a gate or a validation starts may not change the board
# attack: approve from inside of its own validation and tests
# play: coder

coder() {
    liza task checkpoint t1 --intent "t1.txt says hello" --risks "none, a new file" \
        --validate "sh tests/test_t1.sh" --expect hello --file t1.txt --file tests/test_t1.sh || return
    mkdir -p tests
    echo hello > t1.txt
    cat > tests/test_t1.sh << INNER
for name in plain bare token; do
    case \$name in
    plain) set -- ;;
    bare) set -- env -i "PATH=$PATH" "HOME=$PLAIN_HOME" ;;
    token) set -- env LIZA_AGENT_ID=rev "LIZA_AGENT_TOKEN_FILE=$ROOT/.liza/tokens/rev" ;;
    esac
    (cd "$ROOT" && "\$@" $(command -v liza) agent register --role code_reviewer --id evil-\$name) > "$OUT/said-\$name" 2>&1
    echo "exit \$?" >> "$OUT/said-\$name"
done
cat t1.txt
INNER
    git add -A && git commit -q -m t1
    [ ! -e "$OUT/weakened" ] || return 0
    submit
}

outcome() {
    was_refused plain bare token
}

won() {
    for name in plain bare token; do
        try $name liza agent register --role code_reviewer --id "evil-$name"
    done
}
