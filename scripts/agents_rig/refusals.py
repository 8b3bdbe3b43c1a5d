"""Scenarios in which a provider or a CLI refuses: no login, a wrong key, a used-up quota, tools that are denied."""

import json
import time

from .cli_setup import KEY
from .protocols import Fail
from .scenarios import Scenario, last_lines


class Refused(Scenario):
    """`run` and `status` must name the class of the error; liza must not retry where a retry cannot help."""

    kind = ""
    most_sessions = 1

    def names_class(self, run):
        said, status = run.stdout + run.stderr, self.world.liza("status").stdout
        found = []
        if self.kind not in said and not (self.kind == "login" and "is not logged in" in said):
            found.append(f"liza run did not name the class `{self.kind}`: {last_lines(run)}")
        if self.kind not in status:
            found.append(f"liza status does not name the class `{self.kind}`: {' | '.join(status.splitlines())}")
        return found

    def problems(self, run, requests):
        found = self.names_class(run)
        if run.exit != 1:
            found.append(f"liza run ended with exit {run.exit} instead of 1")
        if self.world.task_status("greet") == "MERGED":
            found.append("the task was merged")
        count = len(self.world.sessions("coder"))
        if not 1 <= count <= self.most_sessions:
            found.append(f"{count} sessions of coders instead of {self.most_sessions}")
        return found


class NotLoggedIn(Refused):
    """No key and no login."""

    name = "not-logged-in"
    kind = "login"

    def prepare(self):
        self.world.add_task("greet")
        self.world.log_out()

    def failure(self, ask, session):
        # A CLI that sends a request anyway gets its provider's refusal.
        return unauthorized(ask)


def unauthorized(ask):
    kind = {"anthropic": "authentication_error", "gemini": "unauthenticated"}.get(ask.protocol, "invalid_api_key")
    message = {"anthropic": "invalid x-api-key", "gemini": "API key not valid. Please pass a valid API key."}
    return Fail(401, kind, message.get(ask.protocol, "Incorrect API key provided: dummy-key."))


class Unauthorized(Refused):
    """The provider refuses the key."""

    name = "401"
    kind = "login"

    def failure(self, ask, session):
        return unauthorized(ask)


class Quota(Refused):
    """A used-up quota with the time of its reset: liza waits until then, names it, and goes on by itself."""

    name = "429"
    kind = "quota"
    wait = 20

    def prepare(self):
        self.world.add_task("greet")
        self.reset = 0
        self.status_meanwhile = ""
        if self.world.cli == "claude":
            # Only subscriptions have limits with a reset time.
            del self.world.env["ANTHROPIC_API_KEY"]
            self.world.env["CLAUDE_CODE_OAUTH_TOKEN"] = KEY

    def failure(self, ask, session):
        if session is None and not self.reset:
            return None
        self.reset = self.reset or int(time.time()) + self.wait
        if time.time() >= self.reset:
            return None
        if ask.protocol == "anthropic":
            headers = {
                "anthropic-ratelimit-unified-status": "rejected", "anthropic-ratelimit-unified-reset": str(self.reset),
                "anthropic-ratelimit-unified-representative-claim": "five_hour",
                "anthropic-ratelimit-unified-5h-status": "rejected", "anthropic-ratelimit-unified-5h-reset": str(self.reset),
                "anthropic-ratelimit-unified-5h-utilization": "1.0", "anthropic-ratelimit-unified-overage-status": "rejected",
                "retry-after": str(self.wait), "x-should-retry": "false",
            }
            return Fail(429, "rate_limit_error", "This request would exceed your account's rate limit. Please try again later.", headers)
        return QuotaFail(429, "usage_limit_reached", "The usage limit has been reached", {}, self.reset)

    def watch(self, output):
        if self.kind in output and not self.status_meanwhile:
            self.status_meanwhile = self.world.liza("status").stdout

    def problems(self, run, requests):
        found = self.is_merged(run) + self.prompts_arrived(requests)
        if self.kind not in run.stdout + run.stderr:
            found.append(f"liza run did not name the class `{self.kind}`: {last_lines(run, 12)}")
        if self.kind not in self.status_meanwhile:
            found.append("liza status did not name the class meanwhile")
        count = len(self.world.sessions("coder"))
        if count != 2:
            found.append(f"{count} sessions of coders instead of 2: one before and one after the reset")
        return found


class QuotaFail(Fail):
    """With the fields in which OpenAI's service names the reset time."""

    def __init__(self, status, kind, message, headers, reset):
        super().__init__(status, kind, message, headers)
        self.more = {"plan_type": "plus", "resets_at": reset, "resets_in_seconds": max(1, int(reset - time.time()))}


class ToolsDenied(Refused):
    """The CLI denies what the agent needs: liza stops at once and says which setting to change."""

    name = "tools-denied"
    kind = "permission"

    def config_for(self, cli):
        return "roles: {coder: {deny: [write]}}\n" if cli == "codex" else ""

    def prepare(self):
        self.world.add_task("greet")
        if self.world.cli == "claude":
            path = self.world.home / ".claude" / "settings.json"
            settings = json.loads(path.read_text())
            settings["permissions"] = {"deny": ["Bash(liza *)", "Bash(git *)", "Bash(echo *)", "Read(//**)", "Edit(//**)"]}
            path.write_text(json.dumps(settings))

    def coder(self, session):
        # An agent without tools tries its first step and stops.
        return [self.checkpoint(session), self.write(session)]
