#!/bin/sh
# Runs every test: each is a script that ends with 0 if all is well. REPORT=FILE asks for a JUnit report, too.
cd "$(dirname "$0")/.." || exit 1
failed=0
cases=
for test in tests/test_*.sh; do
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
