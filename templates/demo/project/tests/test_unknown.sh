. tests/check.sh
sh wordtool nonsense < /dev/null 2> /dev/null
check "an unknown command" 2 "$?"
