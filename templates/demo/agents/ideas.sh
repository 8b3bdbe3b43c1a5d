# What a model would think up: for each task its intent, its files, its test and its code.

idea() {
    case $1 in
    words) intent="words prints one word a line, in lower case" ;;
    count) intent="count tells how many words there are" ;;
    top) intent="top tells the most frequent word" ;;
    upper) intent="upper prints capital letters" ;;
    reverse) intent="reverse prints the last line first" ;;
    separator) intent="join_lines takes the separator as an argument" ;;
    join) intent="join prints all lines in one" ;;
    usage) intent="wordtool --help says how it is used" ;;
    version) intent="wordtool --version tells the version" ;;
    readme) intent="the README lists every command" ;;
    column*) intent="$1 prints one word of each line" ;;
    esac
    subject=$intent
    case $1 in
    upper | reverse) files="commands/$1.sh tests/test_$1.sh lib/text.sh" ;;
    separator) files="lib/lines.sh tests/test_separator.sh" ;;
    usage | version) files="wordtool tests/test_$1.sh" ;;
    readme) files="README.md" ;;
    *) files="commands/$1.sh tests/test_$1.sh" ;;
    esac
    # What the coder runs again and again: its own test. All of them are the gate's.
    case $1 in
    readme) run_tests="sh tests/run.sh" ;;
    *) run_tests="sh tests/run.sh tests/test_$1.sh" ;;
    esac
}

# test_of NAME COMMAND EXPECTED: writes a test of one check.
test_of() {
    cat > "tests/test_$task.sh" << END
. tests/check.sh
check "$1" "$3" "\$($2)"
END
}

# Whether the last review sent it back.
found_wrong() {
    case $feedback in
    *"the spec says"*) true ;;
    *) false ;;
    esac
}

# Whether a gate stopped it on the merged tree. What was red there is in the prompt: the gate, its log, the failing tests.
was_red_together() {
    grep -q "is red on the merged tree" "$LIZA_PROMPT_FILE" && grep -q "tests/test_$task.sh" "$LIZA_PROMPT_FILE"
}

# after LINE FILE: puts standard input behind that line.
after() {
    before=$(sed "/^$1/q" "$2")
    behind=$(sed "1,/^$1/d" "$2")
    { printf '%s\n' "$before" && cat && printf '%s\n' "$behind"; } > "$2.new"
    mv "$2.new" "$2"
}

write_test() {
    case $task in
    words) test_of "four words" "echo 'To be, or NOT' | sh wordtool words | tr '\n' ' '" "to be or not " ;;
    count)
        test_of "six words" "echo 'to be or not to be' | sh wordtool count" 6
        # The review said it: no text at all was forgotten.
        if found_wrong; then
            echo "check \"no words\" 0 \"\$(printf '' | sh wordtool count)\"" >> tests/test_count.sh
        fi
        ;;
    top) test_of "three times" "echo 'to be or not to be to' | sh wordtool top" "3 to" ;;
    upper) test_of "capital letters" "echo 'to be' | sh wordtool upper" "TO BE" ;;
    reverse) test_of "the last first" "printf 'one\ntwo\n' | sh wordtool reverse | tr '\n' ' '" "two one " ;;
    separator) test_of "a plus between" "printf 'one\ntwo\n' | { . lib/lines.sh && join_lines +; }" "one+two" ;;
    join) test_of "a comma between" "printf 'one\ntwo\n' | sh wordtool join" "one,two" ;;
    usage) test_of "the first line" "sh wordtool --help | head -n 1" "usage: sh wordtool COMMAND" ;;
    version) test_of "the version" "sh wordtool --version" "wordtool 1" ;;
    column*) test_of "a word of each line" "echo 1 2 3 4 5 6 7 8 9 | sh wordtool $task" "$((${task#column} % 9 + 1))" ;;
    esac
}

write_code() {
    mkdir -p commands
    case $task in
    words) echo "split_words | tr '[:upper:]' '[:lower:]'" > commands/words.sh ;;
    count)
        if found_wrong; then
            subject="count says 0 where there is no text"
            echo 'split_words | wc -l | tr -d " "' > commands/count.sh
        else
            # A mistake that is easily made: echo prints a line even if there is nothing to print.
            echo 'echo "$(split_words)" | wc -l | tr -d " "' > commands/count.sh
        fi
        ;;
    top) echo 'split_words | sort | uniq -c | sort -rn | head -n 1 | sed "s/^ *//"' > commands/top.sh ;;
    upper)
        echo upper > commands/upper.sh
        cat >> lib/text.sh << 'END'

# Everything in capital letters.
upper() {
    tr '[:lower:]' '[:upper:]'
}
END
        ;;
    reverse)
        echo backwards > commands/reverse.sh
        cat >> lib/text.sh << 'END'

# The last line first.
backwards() {
    sed '1!G;h;$!d'
}
END
        ;;
    separator)
        cat > lib/lines.sh << 'END'
# What the commands do with lines.

# join_lines SEPARATOR: all lines in one, with that between them.
join_lines() {
    paste -s -d "${1:?what comes between the lines?}" -
}
END
        ;;
    join)
        if was_red_together; then
            subject="join says what comes between the lines"
            echo 'join_lines ,' > commands/join.sh
        else
            # Right here, where join_lines takes no argument. Meanwhile another agent adds one.
            echo join_lines > commands/join.sh
        fi
        ;;
    usage)
        after "# Options" wordtool << 'END'
--help)
    echo "usage: sh wordtool COMMAND"
    for command in "$here"/commands/*.sh; do
        [ ! -f "$command" ] || echo "  $(basename "$command" .sh)"
    done
    exit
    ;;
END
        ;;
    version)
        after "# Options" wordtool << 'END'
--version)
    echo "wordtool 1"
    exit
    ;;
END
        ;;
    readme)
        { echo && echo "Its commands:" && echo; } >> README.md
        for command in commands/*.sh; do
            name=$(basename "$command" .sh)
            echo "- \`$name\`" >> README.md
        done
        ;;
    column*)
        echo "while read -r line; do set -- \$line; shift $((${task#column} % 9)); echo \"\$1\"; done" > "commands/$task.sh"
        ;;
    esac
}
