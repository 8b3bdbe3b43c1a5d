#!/bin/sh
# Every test there is.
for test in tests/*/test_*.sh; do
    [ ! -e "$test" ] || sh "$test" || { echo "$test failed"; exit 1; }
done
echo "ok"
