#!/bin/sh
# A constant series is predicted exactly, from one number on.
for window in 1 2 3; do
    off=$(printf '70\n70\n70\n70\n' | sh forecast.sh "$window") || { echo "forecast.sh $window fails"; exit 1; }
    [ "$off" = 0 ] || { echo "window $window: a constant series is off by $off"; exit 1; }
done
echo "all tests passed"
