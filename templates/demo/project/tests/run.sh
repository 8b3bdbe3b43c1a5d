#!/bin/sh
# Runs every test: each is a script that ends with 0 if all is well.
cd "$(dirname "$0")/.." || exit 1
failed=0
for test in tests/test_*.sh; do
    if sh "$test"; then
        echo "ok      $test"
    else
        echo "FAILED  $test"
        failed=1
    fi
done
[ "$failed" = 0 ] && echo "all tests passed"
exit "$failed"
