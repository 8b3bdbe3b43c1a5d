"""Every scenario, and which CLIs run it."""

from .director import Director
from .experiments import Experiment
from .interruptions import Abort, Context, ContextError, Crash, Pause, Useless
from .refusals import NotLoggedIn, Quota, ToolsDenied, Unauthorized
from .scenarios import AtSigns, Plan, Probe, Reject, Resume, Work

ALL = [Work, Plan, Reject, Pause, Abort, Crash, Context, ContextError, NotLoggedIn, Unauthorized, Quota, ToolsDenied,
       Useless, AtSigns, Resume, Experiment, Probe, Director]
SCENARIOS = {one.name: one for one in ALL}
MAIN = ("claude", "codex")
FOR_OTHERS = ["work", "reject-and-fix", "not-logged-in", "at-and-shell", "resume", "experiment"]


def scenarios_of(cli, asked):
    """The requested scenarios, or all for this CLI."""
    if cli == "codex_mcp":
        return [one for one in asked or ["experiment"] if one == "experiment"]  # Only experiments know it.
    if cli == "acpx":
        return asked or ["work", "reject-and-fix", "at-and-shell", "experiment"]  # It continues no session; logins are its agents' own.
    return asked or (list(SCENARIOS) if cli in MAIN else FOR_OTHERS)
