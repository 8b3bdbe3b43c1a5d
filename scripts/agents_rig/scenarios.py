"""The scenarios tried with each CLI, and the checks of their results."""

import json

from .protocols import INPUT_TOKENS, Say
from .script import SPECS, Play, Shell
from .world import README_MARK


ESCAPE_NOTE = ("In these instructions a backslash before an at sign is not part of the text: "
               "leave it out wherever you use that text.")
ESCAPES = {"gemini": (ESCAPE_NOTE, "\\@"), "qwen": (ESCAPE_NOTE, "\\@"),
           "vibe": ("In these instructions [at] stands for an at sign.", "[at]")}


# What the CLIs call the tools by which an agent starts others.
SUBAGENTS = {"task", "agent", "workflow", "spawn_agent", "invoke_agent", "subagent", "delegate", "codebase_investigator"}
# Claude's, by their exact names: tools of other CLIs that are called alike start no agents.
SUBAGENTS_OF_CLAUDE = {"Skill", "SendMessage", "ListAgents"}
# Theirs are not denied; specs/providers.md says so.
KEEP_SUBAGENTS = {"kimi", "gemini"}


class Scenario(Play):
    """A play with its settings, its interventions while liza runs, and its check. `problems` returns what is wrong."""

    name = ""
    config = ""
    command = ("run", "--color", "never")
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
        """Called repeatedly while liza runs, with its output so far."""

    def after(self, run):
        """Called when liza ended; may start it again and returns the last run."""
        return run

    def problems(self, run, requests):
        return self.is_merged(run) + self.prompts_arrived(requests) + self.no_subagents(requests)

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
        """Some CLIs expand `@file` in prompts; liza escapes it, and the prompt says so at its start."""
        note, escaped = ESCAPES.get(self.world.cli, ("", "@"))
        return f"{note}\n\n" + prompt.replace("@", escaped) if note and "@" in prompt else prompt

    def no_subagents(self, requests):
        """No session is given a tool that starts another agent."""
        if self.world.cli in KEEP_SUBAGENTS:
            return []
        offered = sorted({tool for ask in requests for tool in ask.tools if tool.lower() in SUBAGENTS or tool in SUBAGENTS_OF_CLAUDE})
        return [f"the agent is offered tools that start agents: {', '.join(offered)}"] if offered else []

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


class Plan(Scenario):
    """A plan of two tasks, one after the other."""

    name = "plan"
    planned = True
    plan_tasks = ("greet", "bye")

    def problems(self, run, requests):
        found = self.is_merged(run, self.plan_tasks) + self.prompts_arrived(requests)
        depends = next((one["depends_on"] for one in self.world.status().get("tasks", []) if one["id"] == "bye"), None)
        if depends != ["greet"]:
            found.append(f"bye depends on {depends}")
        return found


class Reject(Scenario):
    """The reviewer sends the work back once; the coder does what the review asks."""

    name = "reject-and-fix"
    reason = "The comment says nothing; remove it"

    def code(self, session):
        return "echo hello\n" if self.reason in session.prompt else "echo hello # greets\n"

    def verdict(self, session):
        if session.find(r"# Your review: \S+ round (\d+)") != "1":
            return super().verdict(session) if "prior" not in session.prompt else self.approve_with_prior(session)
        commit = session.find(r"Judge exactly commit (\w+)")
        return Shell(f"liza review reject {session.task} --commit {commit} --reason '{self.reason}' "
                     f"--issue 'major:src/greet.sh:1:{self.reason}'")

    def approve_with_prior(self, session):
        prior = session.find(r"review approve [^\n]*?--prior (\w+)=")
        approval = super().verdict(session)
        return Shell(f"{approval.command} --prior {prior}=resolved" if prior else approval.command)

    def problems(self, run, requests):
        found = self.is_merged(run) + self.prompts_arrived(requests)
        coders = self.world.sessions("coder")
        if len(coders) != 2 or self.reason not in coders[-1].read_text():
            found.append(f"{len(coders)} sessions of coders; the last was not given the review")
        return found


class Probe(Scenario):
    """An operator gets a dispatch, answers with prose first, and with one JSON value when asked again."""

    name = "probe"
    title = "Measure the greeting"

    def prepare(self):
        path = self.world.repo / "liza.yaml"
        path.write_text(path.read_text().replace("  - {role: coder, count: 1}", "  - {role: operator, count: 1}\n  - {role: coder, count: 1}"))
        self.world.must([self.world.liza_path, "task", "add", "--id", "probe", "--title", self.title, "--kind", "report", "--role", "operator",
                         "--slice-kind", "probe", "--spec", "specs/vision.md", "--done", "the figure is known", "--timebox", "4", "--finalize"])

    def operator(self, session):
        return [Shell("ls | wc -l"), Say(self.answer(session))]

    def answer(self, session):
        if "is not the result that liza needs" not in session.last_words:
            return "It is 3."
        return json.dumps({"schema": "worker-result.operator/1", "ssot_id": session.find(r'"ssot_id": "(scenario-\w+)"'), "slice_id": "probe",
                           "status": "complete", "summary": "three entries", "measurements": {"entries": 3}})

    def problems(self, run, requests):
        status, found = self.world.task_status("probe"), self.no_subagents(requests)
        if status != "MERGED":
            found.append(f"task probe is {status}: {last_lines(run)}")
        shown = self.world.liza("result", "show", "probe", "--raw").stdout
        if '"entries": 3' not in shown:
            found.append(f"the result is {shown!r}")
        return found


class AtSigns(Scenario):
    """Text with `@`, shell characters and quotes goes through prompts unaltered, and nothing of it is run or expanded."""

    name = "at-and-shell"
    text = ("See @README.md, @./README.md, a@b.org, \"@README.md\" and (@README.md).\n@README.md\n@@ -1 +1 @@\n@decorator\n"
            "$(touch canary) `touch canary`; touch canary & | > canary < * ~ ! # %s {{ 7 }} {prompt} \\@ \\n 'one' \"two\" \u00fc")

    def prepare(self):
        self.world.add_task("greet", "--desc", self.text)

    def checkpoint(self, session):
        usual = super().checkpoint(session).command
        return Shell(usual.replace("--risks 'none, a new file'", "--risks 'see @README.md, a@b.org; $HOME & * ~ \"q\"'"))

    def problems(self, run, requests):
        found = self.is_merged(run) + self.prompts_arrived(requests)
        first = self.world.sessions("coder")[0].read_text()
        found += [f"the prompt lacks {line!r}" for line in self.text.splitlines() if line not in first]
        found += [f"a command in a text was run: {path}" for path in self.world.root.rglob("canary")]
        reviews = self.world.sessions("code_reviewer")
        if not reviews or "a@b.org; $HOME & * ~" not in reviews[0].read_text():
            found.append("the reviewer was not given what the coder announced")
        return found


class Resume(Scenario):
    """A session that ends too early is continued as the same session, and its tokens count once."""

    name = "resume"

    def coder(self, session):
        if session.number == 1:
            return [self.checkpoint(session), self.write(session)]
        return [self.commit(session), self.submit(session)]

    def problems(self, run, requests):
        found = self.is_merged(run) + self.prompts_arrived(requests)
        sessions = {session.number: session for session, _ in self.script.asked if session.role == "coder"}
        if 2 not in sessions or sessions[2].prompts_before != 1:
            before = sessions[2].prompts_before if 2 in sessions else "no second session"
            found.append(f"the second session did not go on with the first one: {before} prompts before its own")
        return found + self.tokens_are_exact(requests)

    def tokens_are_exact(self, requests):
        if self.world.cli in ("kimi", "vibe"):
            return []  # They report none.
        counted = self.world.status().get("spent", {}).get("input_tokens", 0)
        least, most = len(self.script.asked) * INPUT_TOKENS, len(requests) * INPUT_TOKENS
        if least <= counted <= most:
            return []
        return [f"liza counted {counted} input tokens; the model billed {least}, with side calls {most}"]
