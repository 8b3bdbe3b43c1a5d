# What the commands do with lines.

# All lines in one, with a comma between them.
join_lines() {
    paste -s -d , -
}
