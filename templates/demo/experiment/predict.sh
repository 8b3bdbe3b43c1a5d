# Predicts what follows the numbers in "$@", the newest last, and sets `prediction`.
predict() {
    sum=0
    for number in "$@"; do
        sum=$((sum + number))
    done
    prediction=$((sum / $#))
}
