"""What is tried with each CLI, and what must have come of it."""

from .script import SPECS, Play
from .world import README_MARK


ESCAPE_NOTE = ("In these instructions a backslash before an at sign is not part of the text: "
               "leave it out wherever you use that text.")


class Scenario(Play):
    """A play with its settings, its interventions while liza runs, and its check. `problems` returns what is wrong."""

    name = ""
    config = ""
    # Whether a planner makes the task, or a person has made it before.
    planned = False
    seconds = 240

    def config_for(self, cli):
        return self.config

    def prepare(self):
        """Before liza runs."""
        if not self.planned:
            self.world.add_task("greet")

    def watch(self, output):
        """Called again and again while liza runs, with what it printed so far."""

    def after(self, run):
        """Called when liza ended; may start it again and returns the last run."""
        return run

    def problems(self, run, requests):
        return self.is_merged(run) + self.prompts_arrived(requests)

    # --- checks that several scenarios share

    def is_merged(self, run, tasks=("greet",), exit_code=0):
        found = []
        if run.exit != exit_code:
            found.append(f"liza run ended with exit {run.exit}: {last_lines(run)}")
        for task in tasks:
            status = self.world.task_status(task)
            if status != "MERGED":
                found.append(f"task {task} is {status}")
            code = self.world.merged(f"src/{task}.sh")
            if code != f"echo {SPECS[task]}\n":
                found.append(f"integration has {code!r} in src/{task}.sh")
            if not self.world.merged(f"tests/test_{task}.sh"):
                found.append(f"integration has no tests/test_{task}.sh")
        return found

    def as_sent(self, prompt):
        """Gemini and Qwen expand `@file` in any prompt; liza escapes it, and says so at the start."""
        if self.world.cli in ("gemini", "qwen") and "@" in prompt:
            return f"{ESCAPE_NOTE}\n\n" + prompt.replace("@", "\\@")
        return prompt

    def prompts_arrived(self, requests):
        """Every prompt as liza wrote it is in some request, byte for byte."""
        received = [turn.text for ask in requests for turn in ask.turns if turn.kind == "user"]
        found = []
        for path in self.world.sessions():
            prompt = self.as_sent(path.read_text().strip())
            if not any(prompt in text for text in received):
                found.append(f"the prompt {path.name} did not arrive as liza wrote it{first_difference(prompt, received)}")
        if any(README_MARK in text for text in received):
            found.append("a file was put into a prompt")
        return found


def last_lines(run, count=6):
    return " | ".join((run.stdout + run.stderr).strip().splitlines()[-count:])


def first_difference(prompt, received):
    best = ("", "")
    for text in received:
        start = text.find(prompt[:40])
        if start < 0:
            continue
        text = text[start:]
        at = next((i for i, (a, b) in enumerate(zip(prompt, text)) if a != b), min(len(prompt), len(text)))
        if at >= len(best[0]):
            best = (prompt[:at], f": meant {prompt[at - 20:at + 40]!r}, received {text[at - 20:at + 40]!r}")
    return best[1]


class Work(Scenario):
    """Plan, code, review and merge of one task."""

    name = "work"
    planned = True


SCENARIOS = {one.name: one for one in [Work]}
FOR_ALL = ["work"]
FOR_MAIN = FOR_ALL
