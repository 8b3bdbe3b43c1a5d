# check WHAT EXPECTED ACTUAL: says what is wrong and ends the test.
check() {
    [ "$2" = "$3" ] && return
    echo "$1: expected \"$2\", got \"$3\"" >&2
    exit 1
}
