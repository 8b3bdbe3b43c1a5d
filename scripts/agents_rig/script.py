"""What the scripted model does: it plays planner, coder and reviewer by calling the tools that a CLI offers."""

import re
from dataclasses import dataclass

from .protocols import Call, Say

WHO = re.compile(r"You are (\S+), in the role (\w+), started by liza")
SHELLS = ["Bash", "exec_command", "shell_command", "shell", "run_shell_command", "bash", "Shell", "run_command"]
WRITERS = ["Write", "write_file", "write", "create", "WriteFile", "create_file"]
READERS = ["Read", "read_file", "read", "view", "ReadFile"]
SPECS = {"greet": "hello", "bye": "goodbye"}


@dataclass
class Shell:
    command: str


@dataclass
class Write:
    path: str
    text: str


@dataclass
class Read:
    path: str


@dataclass
class Session:
    """The asking agent, its task, and the steps of this session since its prompt."""

    agent: str
    role: str
    task: str
    number: int
    step: int
    results: list
    prompt: str
    prompts_before: int
    # The last text it got, from liza or from a tool.
    last_words: str = ""

    def find(self, pattern):
        found = re.search(pattern, self.prompt)
        return found.group(1) if found else ""


class Script:
    """Reads a conversation and answers as the scenario's play says."""

    def __init__(self, play):
        self.play, self.world = play, None
        self.asked = []

    def session(self, ask):
        prompts = [(at, turn.text) for at, turn in enumerate(ask.turns) if turn.kind == "user" and self.play.who(turn.text)]
        if not prompts:
            return None
        at, prompt = prompts[-1]
        agent, role = self.play.who(prompt)
        results = [turn.text for turn in ask.turns[at:] if turn.kind == "result"]
        task = re.search(r"# Your (?:task|review|slice|decision): ([\w-]+)", prompt)
        return Session(agent, role, task.group(1) if task else "", len(self.world.sessions(role)), len(results), results,
                       prompt, len(prompts) - 1, ask.turns[-1].text if ask.turns else "")

    def reply(self, ask):
        session = self.session(ask)
        failure = self.play.failure(ask, session)
        if failure is not None:
            return failure
        # CLIs ask for titles and summaries without offering tools.
        if session is None or not ask.tools:
            return Say("Greeting")
        step = self.play.step(session)
        if self.world.cli == "vibe" and isinstance(step, Shell):
            # Its shell has another PATH, so the agent types the path of liza that its prompt names.
            liza = session.find(r"`liza` is `([^`]+)`")
            step = Shell(re.sub(r"(^|&& |; )liza ", rf"\1{liza} ", step.command))
        self.asked.append((session, step))
        return self.tool_call(ask, step)

    def tool_call(self, ask, step):
        if isinstance(step, Read):
            name = _offered(ask, READERS)
            if name:
                return Call(name, _fill(ask.tools[name], {("file_path", "filePath", "absolute_path", "path"): step.path}))
            step = Shell(f"cat '{step.path}'")
        if isinstance(step, Write):
            name = _offered(ask, WRITERS)
            if name:
                fields = {("file_path", "filePath", "path"): step.path, ("content", "file_text", "contents"): step.text}
                return Call(name, _fill(ask.tools[name], fields))
            step = Shell(f"mkdir -p \"$(dirname '{step.path}')\" && cat > '{step.path}' <<'END'\n{step.text}END")
        if isinstance(step, Shell):
            name = _offered(ask, SHELLS)
            if not name:
                return Say(f"I have no shell; I was offered {', '.join(sorted(ask.tools))}.")
            command = step.command
            if _property(ask.tools[name], "command").get("type") == "array":
                command = ["bash", "-c", command]
            return Call(name, _fill(ask.tools[name], {("command", "cmd"): command}))
        return step


def _offered(ask, names):
    return next((name for name in names if name in ask.tools), None)


def _property(schema, name):
    return (schema.get("properties") or {}).get(name) or {}


def _fill(schema, fields):
    """Arguments under this tool's names, and harmless values for its other required arguments."""
    known = schema.get("properties") or {}
    arguments = {}
    for names, value in fields.items():
        arguments[next((name for name in names if name in known), names[0])] = value
    for name in schema.get("required") or []:
        if name not in arguments:
            kind = _property(schema, name).get("type")
            arguments[name] = {"boolean": False, "integer": 60000, "number": 60000, "array": []}.get(kind, "Work on the task")
    return arguments


class Play:
    """A good planner, coder and reviewer. Scenarios override what they try."""

    plan_tasks = ("greet",)

    def __init__(self):
        self.world = None

    def who(self, text):
        """The agent and the role that a prompt of liza addresses; none for other prompts."""
        found = WHO.search(text)
        return found.groups() if found else None

    def failure(self, ask, session):
        return None

    def step(self, session):
        steps = {"planner": self.planner, "coder": self.coder, "code_reviewer": self.reviewer, "operator": self.operator}[session.role](session)
        return steps[session.step] if session.step < len(steps) else Say("Done.")

    def operator(self, session):
        return []

    # --- planner

    def plan(self):
        lines = ["tasks:"]
        for at, task in enumerate(self.plan_tasks):
            before = [self.plan_tasks[at - 1]] if at else []
            lines += [f"  - id: {task}", f"    title: Write {task}", f"    spec_ref: specs/vision.md#{task}",
                      f"    done_when: [\"sh src/{task}.sh prints {SPECS[task]}\"]",
                      f"    scope: {{in: [src/{task}.sh, tests/test_{task}.sh]}}", f"    depends_on: [{', '.join(before)}]",
                      "    timebox_minutes: 8"]
        return "\n".join(lines) + "\n"

    def planner(self, session):
        if "Nothing is planned yet" not in session.prompt:
            return []
        return [Shell(f"liza plan - --check <<'END'\n{self.plan()}END"), Shell(f"liza plan - <<'END'\n{self.plan()}END")]

    # --- coder

    def code(self, session):
        return f"echo {SPECS[session.task]}\n"

    def place(self, session):
        return session.find(r"Work only in (\S+), on branch").strip("`'\"")

    def checkpoint(self, session):
        task = session.task
        return Shell(f"liza task checkpoint {task} --intent 'src/{task}.sh prints {SPECS[task]}' --risks 'none, a new file' "
                     f"--validate 'sh tests/test_{task}.sh' --expect ok --file src/{task}.sh --file tests/test_{task}.sh")

    def commit(self, session):
        task = session.task
        # Gemini refuses commands with backticks or `$(…)`, even in quotes.
        return Shell(f"echo 'sh src/{task}.sh | grep -qx {SPECS[task]} && echo ok' > tests/test_{task}.sh"
                     f" && sh tests/run.sh; git add -A && git commit -q -m 'Write {task}' && git log -1 --format=%an")

    def write(self, session):
        path = f"{self.place(session)}/src/{session.task}.sh"
        if session.number == 1:
            return Write(path, self.code(session))
        # Some CLIs refuse to overwrite a file that the session has not read.
        return Shell(f"echo '{self.code(session).strip()}' > src/{session.task}.sh")

    def submit(self, session):
        return Shell(f"liza task submit {session.task}; echo \"exit $?\"")

    def coder(self, session):
        specs = session.find(r"SPECS_LOCATION: (\S+)").strip("`'\"")
        return [
            Read(f"{specs}/architecture/roles.md"),
            self.checkpoint(session),
            self.write(session),
            self.commit(session),
            self.submit(session),
        ]

    # --- reviewer

    def verdict(self, session):
        commit = session.find(r"Judge exactly commit (\w+)")
        return Shell(f"liza review approve {session.task} --commit {commit} --summary 'it prints what the spec says'")

    def reviewer(self, session):
        return [Shell("sh tests/run.sh"), self.verdict(session)]
