"""A goal that is given to `liza run`: routed by the planner's estimate, first as a single job, then as workstreams with plans, slices,
merge slices and an audit. The model answers from the data of each prompt or dispatch, as an agent does."""

import json
import re

from .protocols import Say
from .scenarios import Scenario, last_lines
from .script import Read, Shell, Write

# What each program prints. Goals name programs; all else follows from the goal's text, the dispatches and the results of commands.
PROGRAMS = {"greet": "hello", "bye": "goodbye", "thanks": "thank you"}
SECONDS_EACH = 60
NOT_JSON = "is not the result that liza needs"
PASSED = "all tests passed"


def programs_of(text):
    """The programs a goal asks for: those behind its colon."""
    named = re.search(r"Write these programs: ([\w ]+)", text)
    return [name for name in re.findall(r"\w+", named.group(1)) if name in PROGRAMS] if named else []


def paths_of(program):
    return [f"src/{program}.sh", f"tests/test_{program}.sh"]


def dispatch_of(session):
    """The dispatch that a session was sent, or none."""
    start = session.prompt.find("{")
    try:
        value, _ = json.JSONDecoder().raw_decode(session.prompt[start:])
    except ValueError:
        return None
    return value if start >= 0 and value.get("schema") == "task-dispatch/1" else None


def result(dispatch, summary, **more):
    return {"schema": dispatch["result_schema"], "ssot_id": dispatch["ssot_id"], "slice_id": dispatch["slice_id"],
            "status": "complete", "summary": summary, **more}


def exit_of_tests(session):
    return 0 if any(PASSED in text for text in session.results) else 1


class Director(Scenario):
    """A small goal is one job; a larger one goes through two workstreams, a fenced answer, and an audit that wants evidence."""

    name = "director"
    planned = True
    seconds = 400
    single = "Write these programs: greet. Each prints its word and has a test."
    multi = "Write these programs: bye thanks. Each prints its word and has a test."
    command = ("run", single, "--color", "never")

    def prepare(self):
        self.first = None
        self.world.must([self.world.liza_path, "goal", "abandon", "goal-1", "--reason", "the next ones are given to run"])

    def after(self, run):
        self.first = run
        self.command = ("run", self.multi, "--color", "never")
        return self.start_again() if run.exit == 0 else run

    # --- the model

    def who(self, text):
        # The estimate is asked of the planner's command; it is no agent of the team yet.
        return ("route", "route") if text.lstrip().startswith("# Estimate a goal") else super().who(text)

    def step(self, session):
        dispatch = dispatch_of(session)
        play = {"route": self.estimate, "planner": self.planner, "supervisor": self.supervisor, "coder": self.coder,
                "operator": self.operator, "auditor": self.auditor, "code_reviewer": self.reviewer}[session.role]
        steps = play(session) if dispatch is None else play(session, dispatch)
        return steps[session.step] if session.step < len(steps) else Say("Done.")

    def estimate(self, session):
        count = len(programs_of(session.prompt))
        return [Shell("ls src"), Say(json.dumps({
            "schema": "route/1", "t_max_s": SECONDS_EACH * max(count, 1), "t_why": f"{count} programs of {SECONDS_EACH} s",
            "tiny": count == 1, "clear": count > 0, "risk": "low"}))]

    def planner(self, session):
        if "Nothing is planned yet" not in session.prompt:
            return []
        lines = ["workstreams:"]
        for program in programs_of(session.prompt):
            lines += [f"  - id: {program}", f"    goal: The program {program} prints {PROGRAMS[program]}",
                      f"    ownership_paths: [{', '.join(paths_of(program))}]", "    timebox_minutes: 8"]
        plan = "\n".join(lines) + "\n"
        return [Shell(f"liza plan - --check <<'END'\n{plan}END"), Shell(f"liza plan - <<'END'\n{plan}END")]

    def supervisor(self, session, dispatch):
        stream = dispatch["workstream"]
        if dispatch["slice_kind"] == "merge":
            checks = [{"cmd": "sh tests/run.sh", "exit": exit_of_tests(session)}]
            return [Shell("sh tests/run.sh"), Say(json.dumps(result(dispatch, "the slices work together", files_changed=[], checks=checks)))]
        paths = dispatch["allowed_paths"]
        contract = {"goal": dispatch["task_contract"]["goal"], "acceptance": [f"`sh src/{stream}.sh` prints {PROGRAMS[stream]}"]}
        one = {"slice_id": f"{stream}-code", "agent_type": "coder_spark", "slice_kind": "work", "timebox_minutes": 8,
               "ownership_paths": paths, "allowed_paths": paths, "depends_on": [], "task_contract": contract}
        plan = {"workstream": stream, "timebox_minutes": 8, "ownership_paths": paths, "allowed_paths": paths, "slices": [one]}
        text = json.dumps(result(dispatch, f"one slice for {stream}", dispatch_plan=plan))
        # One of them puts its first answer into a fence, as models do.
        fenced = stream == "thanks" and NOT_JSON not in session.last_words and session.step == 1
        return [Shell("ls src tests"), Say(f"```json\n{text}\n```" if fenced else text)]

    def coder(self, session, dispatch=None):
        program = dispatch["workstream"] if dispatch else programs_of(session.prompt)[0]
        code, test = paths_of(program)
        word = PROGRAMS[program]
        checkpoint = Shell(f"liza task checkpoint {session.task} --intent '{code} prints {word}' --risks 'none, a new file' "
                           f"--validate 'sh {test}' --expect ok --file {code} --file {test}")
        commit = Shell(f"echo 'sh {code} | grep -qx \"{word}\" && echo ok' > {test} && sh tests/run.sh; git add -A && "
                       f"git commit -q -m 'Write {program}' && git log -1 --format=commit:%H")
        steps = [Read(f"{self.place(session)}/README.md"), checkpoint, Write(f"{self.place(session)}/{code}", f"echo {word}\n"), commit,
                 self.submit(session)]
        if dispatch is None:
            return steps
        found = re.search(r"commit:([0-9a-f]{40,64})", "\n".join(session.results))
        checks = [{"cmd": "sh tests/run.sh", "exit": exit_of_tests(session)}]
        answer = result(dispatch, f"{code} prints {word}", files_changed=[code, test], commit=found.group(1) if found else "", checks=checks)
        return [*steps, Say(json.dumps(answer))]

    def reviewer(self, session):
        if f"liza result accept {session.task}" in session.prompt:
            return [Shell("sh tests/run.sh"), Shell(f"liza result accept {session.task}")]
        return super().reviewer(session)

    def auditor(self, session, dispatch):
        evidence = [given for given in dispatch.get("inputs", {}).values() if given.get("commands")]
        proven = exit_of_tests(session) == 0 and any(command["exit"] == 0 for given in evidence for command in given["commands"])
        verdict = "APPROVE" if proven else "NEEDS_EVIDENCE"
        asked = [] if proven else ["what each program prints"]
        return [Shell("sh tests/run.sh"), Say(json.dumps(result(
            dispatch, f"{len(evidence)} probes were read", verdict=verdict, findings=[], evidence_requests=asked, residual_risk="none known")))]

    def operator(self, session, dispatch):
        command = "for one in src/*.sh; do sh $one; done"
        said = session.results[-1] if session.results else ""
        exit_code = 0 if all(word in said for word in PROGRAMS.values()) else 1
        return [Shell(command), Say(json.dumps(result(
            dispatch, "each program was run", commands=[{"cmd": command, "exit": exit_code}], findings=[said[:500]])))]

    # --- the check

    def problems(self, run, requests):
        found = self.no_subagents(requests) + self.dispatches_arrived(requests)
        for which, one in (("single", self.first), ("multi", run)):
            if one is None or one.exit != 0:
                found.append(f"the run of the {which} goal ended with exit {one and one.exit}: {last_lines(one) if one else ''}")
        status = self.world.status()
        routes = [(route["route"], route.get("t_max_s")) for route in status.get("routes", [])]
        if routes != [("single", SECONDS_EACH), ("multi", 2 * SECONDS_EACH)]:
            found.append(f"routes: {routes}")
        verdicts = [audit["verdict"] for route in status.get("routes", [])[-1:] for audit in route.get("audits", [])]
        if verdicts != ["NEEDS_EVIDENCE", "APPROVE"]:
            found.append(f"the auditor said {verdicts}")
        tasks = {one["id"]: one["status"] for one in status.get("tasks", [])}
        wanted = [f"{stream}-{part}" for stream in ("bye", "thanks") for part in ("plan", "code", "merge")]
        wanted += ["audit-goal-3-1", "audit-goal-3-1-probe-1", "audit-goal-3-2"]
        found += [f"task {task} is {tasks.get(task)}" for task in wanted if tasks.get(task) != "MERGED"]
        for program, word in PROGRAMS.items():
            if self.world.merged(f"src/{program}.sh") != f"echo {word}\n":
                found.append(f"integration has {self.world.merged(f'src/{program}.sh')!r} in src/{program}.sh")
        if not (self.world.task("bye-merge").get("merge") or {}).get("nothing"):
            found.append("the merge slice did not end with its result")
        refused = list((self.world.repo / ".liza" / "runs" / "thanks-plan").rglob("refused-result-*.txt"))
        if len(refused) != 1 or "```json" not in refused[0].read_text():
            found.append(f"the fenced answer is not kept beside the run: {[path.name for path in refused]}")
        for words in (["validate"], ["verify"], ["deliver", "--to", "main", "--dry-run"]):
            done = self.world.liza(*words)
            if done.exit != 0:
                found.append(f"liza {' '.join(words)}: exit {done.exit}: {last_lines(done)}")
        return found

    def dispatches_arrived(self, requests):
        """Each dispatch is the whole message, byte for byte, and has the published schema's fields."""
        received = [turn.text.strip() for ask in requests for turn in ask.turns if turn.kind == "user"]
        written = sorted((self.world.repo / ".liza" / "runs").rglob("*.dispatch.json"))
        schema = json.loads((self.world.repo / ".liza" / "schema" / "task-dispatch.schema.json").read_text())
        found = [] if len(written) >= 9 else [f"only {len(written)} dispatches were written"]
        for path in written:
            text = path.read_text().strip()
            if not any(text in message for message in received):
                found.append(f"{path.name} did not arrive as liza wrote it")
            found += [f"{path.name}: {why}" for why in schema_problems(schema, json.loads(text))]
        return found


def schema_problems(schema, value):
    """By Python's `jsonschema` where it is installed; else the names of the fields."""
    try:
        import jsonschema
    except ImportError:
        known, needed = set(schema["properties"]), set(schema.get("required", []))
        return [f"unknown field {name}" for name in set(value) - known] + [f"no field {name}" for name in needed - set(value)]
    return [error.message for error in jsonschema.Draft202012Validator(schema).iter_errors(value)]
