# What every agent of an attack is played by: the step of the attack that its runner was started for.
SCRIPTS=@SCRIPTS@
. "$SCRIPTS/common.sh"
. "$SCRIPTS/attack.sh"
"$(cat "$OUT/step")"
