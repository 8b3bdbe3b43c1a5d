"""Scenarios in which a person, a crash or a full context interrupts an agent."""

import os
import signal

from .process import descendants
from .protocols import Fail, Say, Silence
from .scenarios import Scenario, last_lines
from .script import Shell


def command_line(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().decode("utf-8", "replace").split("\0")
    except OSError:
        return []


def parent(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return int(file.read().rsplit(")", 1)[1].split()[1])
    except (OSError, IndexError, ValueError):
        return 0


class Interrupted(Scenario):
    """The first session of the coder stops after its commit; the scenario says what happens then."""

    def coder(self, session):
        if session.number == 1:
            return [self.checkpoint(session), self.write(session), self.commit(session), *self.then(session)]
        return [self.checkpoint(session), self.submit(session)]

    def then(self, session):
        return [self.submit(session)]

    def agents_alive(self):
        """Processes of the CLI that work below this run's directory."""
        alive = []
        for entry in os.listdir("/proc"):
            if entry.isdigit():
                try:
                    cwd = os.readlink(f"/proc/{entry}/cwd")
                except OSError:
                    continue
                if cwd.startswith(str(self.world.root)):
                    alive.append(f"{entry} {' '.join(command_line(entry))[:80]}")
        return alive


class Pause(Interrupted):
    """A person pauses before the coder submits; the agent stops, and after `liza resume` the work is submitted."""

    name = "pause"
    resumed = False

    def step(self, session):
        step = super().step(session)
        if session.role == "coder" and session.number == 1 and session.step == 3:
            self.world.liza("pause", "--reason", "a look at the work")
        return step

    def watch(self, output):
        if "paused" in output and not self.resumed:
            self.resumed = True
            self.while_paused = self.world.task_status("greet")
            self.world.liza("resume")

    def problems(self, run, requests):
        found = self.is_merged(run) + self.prompts_arrived(requests)
        if not self.resumed:
            found.append("liza never said that it is paused")
        elif self.while_paused != "WORKING":
            found.append(f"while it was paused the task was {self.while_paused}")
        # The work is committed and its validation is green, so the runner may submit it without a second session.
        if len(self.world.sessions("coder")) > 2:
            found.append(f"{len(self.world.sessions('coder'))} sessions of coders instead of 1 or 2")
        return found


class Abort(Interrupted):
    """A person aborts while the model thinks; no process is left, the commit is kept, and the next run goes on."""

    name = "abort"

    def then(self, session):
        return [Silence()]

    def step(self, session):
        step = super().step(session)
        if isinstance(step, Silence):
            self.world.liza("abort", "--reason", "wrong goal")
        return step

    def after(self, run):
        self.first, self.left = run, self.agents_alive()
        self.status_after_abort = self.world.task_status("greet")
        self.world.liza("resume")
        return self.start_again()

    def problems(self, run, requests):
        found = self.is_merged(run) + self.prompts_arrived(requests)
        if self.first.exit != 5:
            found.append(f"liza run ended with exit {self.first.exit} instead of 5: {last_lines(self.first)}")
        found += [f"a process was left: {one}" for one in self.left]
        if self.status_after_abort == "MERGED":
            found.append("it was merged in spite of the abort")
        return found


class Crash(Interrupted):
    """The CLI is killed in the middle of its work; liza starts it again and loses nothing."""

    name = "crash"

    def __init__(self):
        super().__init__()
        self.killed = []

    def coder(self, session):
        if session.number == 1:
            return [self.checkpoint(session), self.write(session), Silence()]
        return [self.commit(session), self.submit(session)]

    def step(self, session):
        step = super().step(session)
        if isinstance(step, Silence):
            self.killed += self.kill_agent()
        return step

    def kill_agent(self):
        """The command that `liza __hold` started for the coder; its worktree is its working directory."""
        killed = []
        for pid in descendants(self.running.process.pid):
            try:
                if "__hold" in command_line(parent(pid)) and os.readlink(f"/proc/{pid}/cwd").endswith("/greet"):
                    os.kill(pid, signal.SIGKILL)
                    killed.append(pid)
            except OSError:
                continue
        return killed

    def problems(self, run, requests):
        found = self.is_merged(run) + self.prompts_arrived(requests)
        if not self.killed:
            found.append("the CLI was not killed")
        if "signal 9" not in run.stdout + run.stderr:
            found.append("liza did not say that the agent was killed")
        return found


class Context(Interrupted):
    """The coder's context is full: it hands over, and the next session, a fresh one, knows what is left to do."""

    name = "context"
    summary, next_step = "src/greet.sh is written and committed", "submit it"

    def then(self, session):
        return [Shell(f"liza task handoff greet --summary '{self.summary}' --next '{self.next_step}'; echo \"exit $?\"")]

    def problems(self, run, requests):
        found = self.is_merged(run) + self.prompts_arrived(requests)
        coders = self.world.sessions("coder")
        if len(coders) != 2 or self.summary not in coders[-1].read_text() or self.next_step not in coders[-1].read_text():
            found.append(f"{len(coders)} sessions of coders; the last was not given the handoff")
        if any(session.prompts_before for session, _ in self.script.asked if session.role == "coder"):
            found.append("the session with the full context was continued")
        return found


class ContextError(Interrupted):
    """The model refuses a prompt that is too long; a fresh session takes over, and liza names the reason."""

    name = "context-error"

    def failure(self, ask, session):
        if session is None or session.role != "coder" or session.number > 1 or session.step < 3:
            return None
        if ask.protocol == "anthropic":
            return Fail(400, "invalid_request_error", "prompt is too long: 214000 tokens > 200000 maximum")
        return Fail(400, "context_length_exceeded", "Your input exceeds the context window of this model. Please adjust your input and try again.")

    def problems(self, run, requests):
        found = self.is_merged(run) + self.prompts_arrived(requests)
        if "context" not in run.stdout + run.stderr:
            found.append(f"liza did not say that the context is full: {last_lines(run, 12)}")
        if any(session.prompts_before for session, _ in self.script.asked if session.role == "coder"):
            found.append("the session with the full context was continued")
        return found


class Useless(Scenario):
    """The model only talks; after a few sessions the task is blocked with a question for a person."""

    name = "useless"

    def step(self, session):
        return Say("I have thought about it, and it is a good task.")

    def problems(self, run, requests):
        found = self.prompts_arrived(requests)
        if run.exit != 1:
            found.append(f"liza run ended with exit {run.exit} instead of 1")
        if self.world.task_status("greet") != "BLOCKED":
            found.append(f"task greet is {self.world.task_status('greet')} instead of BLOCKED")
        count = len(self.world.sessions("coder"))
        if not 1 <= count <= 4:
            found.append(f"{count} sessions of coders")
        if "without submitting" not in run.stdout + run.stderr:
            found.append(f"liza did not say why: {last_lines(run)}")
        return found
