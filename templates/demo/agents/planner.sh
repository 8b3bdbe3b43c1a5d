#!/bin/sh
# The planner: woken when something needs a plan, and never without a reason.
. "$PROJECT_ROOT/agents/common.sh"

case $LIZA_TRIGGER in
initial_planning)
    say "splits the goal into tasks"
    liza plan - < "$PROJECT_ROOT/agents/plan.yaml"
    ;;
integration_failed)
    say "leaves the repair to the coder, who knows both sides"
    ;;
*)
    say "was started for $LIZA_TRIGGER and has nothing to add"
    ;;
esac

# What was reported is read and done with.
for record in $(liza inbox | sed -n 's/^\(anomaly-[0-9]*\) .*/\1/p'); do
    liza inbox --done "$record"
done
