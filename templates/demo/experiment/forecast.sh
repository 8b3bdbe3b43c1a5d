#!/bin/sh
# Usage: forecast.sh WINDOW < numbers
# Predicts each number from up to WINDOW numbers before it, and prints how far off the predictions are in all.
. ./predict.sh
window=$1
shift
off=0
while read -r actual; do
    if [ $# -gt 0 ]; then
        predict "$@"
        miss=$((actual - prediction))
        off=$((off + ${miss#-}))
    fi
    set -- "$@" "$actual"
    [ $# -le "$window" ] || shift
done
echo "$off"
