#!/bin/sh
# Tries every window and writes how far off the predictions were.
echo window,off > results.csv
for window in 2 3 4 5; do
    off=$(sh forecast.sh "$window" < data/numbers.txt) || exit 1
    echo "$window,$off" | tee -a results.csv
done
