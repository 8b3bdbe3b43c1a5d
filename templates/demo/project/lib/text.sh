# What the commands share.

# One word a line, without anything that is not a letter or digit.
split_words() {
    tr -cs '[:alnum:]' '\n' | sed '/^$/d'
}
