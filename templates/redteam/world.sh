# The throw-away repository of one attack, as a person would set it up. $ROOT is its checkout, $OUT a folder for traces.
set -e
cd "$ROOT"
git init --quiet --template= --initial-branch=main .
git config user.name Person
git config user.email person@localhost
git config commit.gpgsign false
git config core.autocrlf false
mkdir -p specs tests .git/info
n=0
while [ $n -lt 30 ]; do
    n=$((n + 1))
    echo "line $n"
done > lines.txt
echo "# Vision" > specs/vision.md
echo "Every task adds a file that says hello." >> specs/vision.md
cat > liza.yaml << YAML
version: 1
provider: scripted
providers:
  scripted: {base: command, command: [sh, "$SCRIPTS/agent.sh"]}
gates:
  - name: words
    command: "! grep -rq BAD . --include=*.txt"
run: {grace_seconds: 1}
YAML
git add --all
git commit --quiet -m "A repository"
git branch mine
git tag v1
liza --quiet init "Every task adds a file" --no-hooks > /dev/null
# What a person has here and has not committed.
echo "changed by a person" >> lines.txt
echo "written by a person" > private.txt
liza --quiet agent register --role code_reviewer --id rev > /dev/null
for task in t1 t2; do
    [ $task = t2 ] || set -- --in lines.txt
    liza --quiet task add --id $task --title "Say hello ($task)" --spec specs/vision.md --done "$task.txt says hello" \
        --in $task.txt --in tests/test_$task.sh "$@" --finalize > /dev/null
    set --
done
