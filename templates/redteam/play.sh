# play.sh STEP: one step of an attack. What it says is kept in $OUT/STEP.log; a session of an agent is played below a runner.
STEP=$1
# `liza` is the program that plays this, whatever it is called.
[ -e "$BIN/liza" ] || ln -s "$PROGRAM" "$BIN/liza"
. "$SCRIPTS/common.sh"
. "$SCRIPTS/attack.sh"
exec > "$OUT/$STEP.log" 2> "$OUT/$STEP.err"
case $STEP in
world)
    . "$SCRIPTS/world.sh"
    exit
    ;;
coder* | reviewer* | planner*)
    echo "$STEP" > "$OUT/step"
    number=$(echo "$STEP" | tr -d a-z)
    case $STEP in
    coder*) set -- --role coder --task "t${number:-1}" ;;
    reviewer*) set -- --role code_reviewer --task "t${number:-1}" ;;
    planner*) set -- --role planner ;;
    esac
    cd "$ROOT" || exit 1
    if grep -q '^# terminal: yes' "$SCRIPTS/attack.sh"; then
        exec script -qec "tty > '$OUT/terminal'; liza --json agent run --once $*" /dev/null
    fi
    exec liza --json agent run --once "$@"
    ;;
needs | won | won_last)
    cd "$ROOT" || exit 1
    ! command -v "$STEP" > /dev/null || "$STEP"
    ;;
*)
    cd "$ROOT" || exit 1
    "$STEP"
    ;;
esac
