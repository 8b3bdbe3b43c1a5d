# Plays a planner: every idea is about how `predict` predicts.
cat > /dev/null
cat <<'END'
PLAN
1. Change `predict` in predict.sh so that it predicts as the idea says; nothing else has to change.

RISKS
A window of one number leaves little to compute with. Rounding goes down.
END
