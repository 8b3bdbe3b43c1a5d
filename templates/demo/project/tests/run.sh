#!/bin/sh
# Runs the tests that are named, or every one: each is a script that ends with 0 if all is well. REPORT=FILE asks for a
# JUnit report, too.
cd "$(dirname "$0")/.." || exit 1
failed=0
cases=
[ "$#" -gt 0 ] || set -- tests/test_*.sh
for test in "$@"; do
    if sh "$test"; then
        echo "ok      $test"
        cases="$cases<testcase name=\"$test\"/>"
    else
        echo "FAILED  $test"
        cases="$cases<testcase name=\"$test\"><failure/></testcase>"
        failed=1
    fi
done
[ -z "${REPORT:-}" ] || echo "<testsuite>$cases</testsuite>" > "$REPORT"
[ "$failed" = 0 ] && echo "all tests passed"
exit "$failed"
